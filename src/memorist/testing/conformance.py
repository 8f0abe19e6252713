"""Checks that any `Model` and any `Files` must pass; run them on your own.

A failed check raises AssertionError with the rule that was broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from memorist.core.messages import JsonObject
from memorist.errors import ModelRequestRejected, ModelTimeout, StoreError, WriteConflict
from memorist.formats.codec_registry import find_codec
from memorist.ports import FileSystem, Model, Reply, Request

MAX_CALL_SECONDS = 60.0
"""Longest time of one call in a check, in seconds; the local model on a slow machine needs some."""


def _require(rule: str, *, when: bool) -> None:
    if not when:
        raise AssertionError(rule)


async def check_model(make_model: Callable[[], Model], *, wire_model: str = "scripted") -> None:
    """Check a model with small requests. `make_model` returns a new one each time; `wire_model` is
    the model name in the requests.

    The model must answer any request, at least eight times. Raises AssertionError.
    """
    model = make_model()
    try:
        _require("A model has a name.", when=bool(model.name))
        _require("A window is a number of tokens.", when=model.window > 0)
        body = find_codec(model.format).build_request(
            wire_model, system="Answer shortly.", text="Say yes.", max_output=16
        )
        reply = await _check_reply(model, body)
        await _check_second_turn(model, body, reply)
        await _check_concurrent_calls(model, body)
        await _check_refusals(model, body)
        await _check_cancellation(model, body)
    finally:
        await model.close()
    await model.close()


async def _check_reply(model: Model, body: JsonObject) -> Reply:
    before = deepcopy(body)
    reply = await model.send(
        Request(format=model.format, body=body, timeout_seconds=MAX_CALL_SECONDS)
    )
    _require("A model does not change the body it is given.", when=body == before)
    _require("A reply is in the model's format.", when=reply.format == model.format)
    _require("A reply holds at least one message.", when=len(reply.messages) > 0)
    _require(
        "A reply's messages are the model's.",
        when=all(message.role == "assistant" for message in reply.messages),
    )
    _require("A reply counts its output.", when=reply.usage.output > 0)
    _require("A reply counts its input.", when=reply.usage.context_tokens > reply.usage.output)
    _require("A reply tells its attempts.", when=reply.attempts >= 1)
    _require("A cost is not negative.", when=reply.cost_usd is None or reply.cost_usd >= 0)
    return reply


async def _check_second_turn(model: Model, body: JsonObject, reply: Reply) -> None:
    wire = find_codec(model.format)
    longer = wire.append_reply_and_messages(
        body, reply.body, wire.build_user_messages("And now say no.")
    )
    second = await _check_reply(model, longer)
    _require(
        "A longer request counts more input.",
        when=second.usage.context_tokens - second.usage.output
        > reply.usage.context_tokens - reply.usage.output,
    )


async def _check_concurrent_calls(model: Model, body: JsonObject) -> None:
    await asyncio.gather(_check_reply(model, body), _check_reply(model, body))


async def _check_refusals(model: Model, body: JsonObject) -> None:
    other = "openai_chat" if model.format != "openai_chat" else "anthropic"
    try:
        await model.send(Request(format=other, body=body, timeout_seconds=MAX_CALL_SECONDS))
    except ModelRequestRejected:
        pass
    else:
        raise AssertionError("A model refuses a request of another format.")
    try:
        await model.send(Request(format=model.format, body=body, timeout_seconds=0.0))
    except ModelTimeout:
        pass
    else:
        raise AssertionError("A model raises ModelTimeout when the limit passes.")


async def _check_cancellation(model: Model, body: JsonObject) -> None:
    call = asyncio.ensure_future(
        model.send(Request(format=model.format, body=body, timeout_seconds=MAX_CALL_SECONDS))
    )
    await asyncio.sleep(0)
    call.cancel()
    done, _ = await asyncio.wait({call}, timeout=MAX_CALL_SECONDS)
    _require("A cancelled call ends.", when=call in done)
    _require("Cancellation passes through a call.", when=call.cancelled())
    await _check_reply(model, body)


def check_files(
    make_files: Callable[[], FileSystem],
    root: Path,
    *,
    link: Callable[[FileSystem, Path, Path], None] | None = None,
) -> None:
    """Check a file system. `make_files` returns one whose folder `root` (a resolved path) is empty
    or absent.

    `link(files, path, target)` creates a symbolic link; without it the rules about links are not
    checked. Raises AssertionError.
    """
    files = make_files()
    _check_read_and_write(files, root / "plain")
    _check_conflicts(files, root / "conflicts")
    _check_create(files, root / "creating")
    _check_walk(files, root / "walking")
    if link is not None:
        _check_links(files, root / "links", link)


def _check_missing_file(files: FileSystem, path: Path) -> None:
    for rule, act in (
        ("Reading", lambda: files.read(path)),
        ("Removing", lambda: files.remove(path)),
    ):
        try:
            act()
        except FileNotFoundError:
            continue
        raise AssertionError(f"{rule} what is not there raises FileNotFoundError.")


def _check_read_and_write(files: FileSystem, folder: Path) -> None:
    path = folder / "deep" / "a.md"
    _check_missing_file(files, path)
    _require("Nothing is known about what is not there.", when=files.lstat(path) is None)
    files.write(path, b"one two\n")
    _require("What was written is read.", when=files.read(path) == b"one two\n")
    _require("A limit cuts what is read.", when=files.read(path, limit=3) == b"one")
    facts = files.lstat(path)
    _require(
        "A file's facts tell its size and kind.",
        when=facts is not None and facts.is_file and facts.size == 8,
    )
    parent = files.lstat(folder / "deep")
    _require(
        "Missing folders are made.",
        when=parent is not None and parent.is_folder and not parent.is_file,
    )
    files.write(path, b"")
    _require("A file is replaced whole.", when=files.read(path) == b"")
    _expect_store_error("Reading a folder", lambda: files.read(folder))
    _expect_store_error("Writing over a folder", lambda: files.write(folder, b""))
    _expect_store_error("Writing below a file", lambda: files.write(path / "below.md", b""))
    files.remove(path)
    _check_missing_file(files, path)


def _expect_store_error(what: str, act: Callable[[], object]) -> None:
    try:
        act()
    except StoreError:
        return
    raise AssertionError(f"{what} raises StoreError.")


def _check_conflicts(files: FileSystem, folder: Path) -> None:
    path = folder / "a.md"
    files.write(path, b"one")
    files.write(path, b"two", expect=b"one")
    for target in (path, folder / "absent.md"):
        try:
            files.write(target, b"three", expect=b"one")
        except WriteConflict:
            continue
        raise AssertionError("A write that expects other bytes raises WriteConflict.")
    _require(
        "A conflict writes nothing.",
        when=files.read(path) == b"two" and files.lstat(folder / "absent.md") is None,
    )


def _check_create(files: FileSystem, folder: Path) -> None:
    path = folder / "a.md"
    _require("A new file is made.", when=files.create(path, b"one") is True)
    _require("A file that is there is not made again.", when=files.create(path, b"two") is False)
    _require("A file that is there stays.", when=files.read(path) == b"one")


def _check_walk(files: FileSystem, folder: Path) -> None:
    names = ["b.md", "a/z.md", "a.md", "a/a/b.md"]
    for name in names:
        files.write(folder / name, b"x")
    _require(
        "A walk names every file, sorted, and nothing else.",
        when=files.walk(folder) == sorted(folder / name for name in names),
    )
    _require(
        "A path is resolved without `..`.",
        when=files.resolve(folder / "a" / ".." / "none" / "x") == folder / "none" / "x",
    )
    try:
        files.walk(folder / "none")
    except FileNotFoundError:
        return
    raise AssertionError("A walk of a folder that is not there raises FileNotFoundError.")


def _check_links(
    files: FileSystem, folder: Path, link: Callable[[FileSystem, Path, Path], None]
) -> None:
    files.write(folder / "real" / "a.md", b"one")
    link(files, folder / "alias", Path("real"))
    link(files, folder / "file.md", folder / "real" / "a.md")
    link(files, folder / "loop", folder / "loop")
    facts = files.lstat(folder / "file.md")
    _require(
        "Facts are about a link, not its target.",
        when=facts is not None and facts.is_link and not facts.is_file,
    )
    _require(
        "Links are followed in a path.",
        when=files.resolve(folder / "alias" / "new" / "b.md") == folder / "real" / "new" / "b.md",
    )
    _require("Reading follows links.", when=files.read(folder / "alias" / "a.md") == b"one")
    _expect_store_error("Resolving a loop of links", lambda: files.resolve(folder / "loop" / "x"))
    _require(
        "A walk does not enter linked folders.",
        when=folder / "alias" / "a.md" not in files.walk(folder),
    )
    files.write(folder / "file.md", b"two")
    _require(
        "A write replaces a link, not its target.",
        when=files.read(folder / "real" / "a.md") == b"one",
    )
