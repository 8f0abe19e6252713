"""Checks that any `Model` and any `Files` must pass; run them on your own.

A failed check raises AssertionError with the rule that was broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from memorist.core.messages import JsonObject
from memorist.errors import ModelRefused, ModelTimeout, StoreError, WriteConflict
from memorist.formats.registry import codec
from memorist.ports import Files, Model, Reply, Request

SECONDS = 60.0
"""Longest time of one call in a check, in seconds; the local model on a slow machine needs some."""


def _hold(rule: str, *, when: bool) -> None:
    if not when:
        raise AssertionError(rule)


async def check_model(make_model: Callable[[], Model], *, wire_model: str = "scripted") -> None:
    """Check a model with small requests. `make_model` returns a new one each time; `wire_model` is
    the model name in the requests.

    The model must answer any request, at least eight times. Raises AssertionError.
    """
    model = make_model()
    try:
        _hold("A model has a name.", when=bool(model.name))
        _hold("A window is a number of tokens.", when=model.window > 0)
        body = codec(model.format).new_body(wire_model, system="Answer shortly.", text="Say yes.", max_output=16)
        reply = await _answered(model, body)
        await _second_turn(model, body, reply)
        await _at_once(model, body)
        await _refusals(model, body)
        await _cancelled(model, body)
    finally:
        await model.close()
    await model.close()


async def _answered(model: Model, body: JsonObject) -> Reply:
    before = deepcopy(body)
    reply = await model.send(Request(format=model.format, body=body, timeout_seconds=SECONDS))
    _hold("A model does not change the body it is given.", when=body == before)
    _hold("A reply is in the model's format.", when=reply.format == model.format)
    _hold("A reply holds at least one message.", when=len(reply.messages) > 0)
    _hold("A reply's messages are the model's.", when=all(message.role == "assistant" for message in reply.messages))
    _hold("A reply counts its output.", when=reply.usage.output > 0)
    _hold("A reply counts its input.", when=reply.usage.context > reply.usage.output)
    _hold("A reply tells its attempts.", when=reply.attempts >= 1)
    _hold("A cost is not negative.", when=reply.cost_usd is None or reply.cost_usd >= 0)
    return reply


async def _second_turn(model: Model, body: JsonObject, reply: Reply) -> None:
    wire = codec(model.format)
    longer = wire.extend(body, reply.body, wire.user_text("And now say no."))
    second = await _answered(model, longer)
    _hold("A longer request counts more input.", when=second.usage.context - second.usage.output > reply.usage.context - reply.usage.output)


async def _at_once(model: Model, body: JsonObject) -> None:
    await asyncio.gather(_answered(model, body), _answered(model, body))


async def _refusals(model: Model, body: JsonObject) -> None:
    other = "openai_chat" if model.format != "openai_chat" else "anthropic"
    try:
        await model.send(Request(format=other, body=body, timeout_seconds=SECONDS))
    except ModelRefused:
        pass
    else:
        raise AssertionError("A model refuses a request of another format.")
    try:
        await model.send(Request(format=model.format, body=body, timeout_seconds=0.0))
    except ModelTimeout:
        pass
    else:
        raise AssertionError("A model raises ModelTimeout when the limit passes.")


async def _cancelled(model: Model, body: JsonObject) -> None:
    call = asyncio.ensure_future(model.send(Request(format=model.format, body=body, timeout_seconds=SECONDS)))
    await asyncio.sleep(0)
    call.cancel()
    done, _ = await asyncio.wait({call}, timeout=SECONDS)
    _hold("A cancelled call ends.", when=call in done)
    _hold("Cancellation passes through a call.", when=call.cancelled())
    await _answered(model, body)


def check_files(make_files: Callable[[], Files], root: Path, *, link: Callable[[Files, Path, Path], None] | None = None) -> None:
    """Check a file system. `make_files` returns one whose folder `root` (a resolved path) is empty
    or absent.

    `link(files, path, target)` creates a symbolic link; without it the rules about links are not
    checked. Raises AssertionError.
    """
    files = make_files()
    _reading_and_writing(files, root / "plain")
    _conflicts(files, root / "conflicts")
    _creating(files, root / "creating")
    _walking(files, root / "walking")
    if link is not None:
        _links(files, root / "links", link)


def _missing(files: Files, path: Path) -> None:
    for rule, act in (("Reading", lambda: files.read(path)), ("Removing", lambda: files.remove(path))):
        try:
            act()
        except FileNotFoundError:
            continue
        raise AssertionError(f"{rule} what is not there raises FileNotFoundError.")


def _reading_and_writing(files: Files, folder: Path) -> None:
    path = folder / "deep" / "a.md"
    _missing(files, path)
    _hold("Nothing is known about what is not there.", when=files.facts(path) is None)
    files.write(path, b"one two\n")
    _hold("What was written is read.", when=files.read(path) == b"one two\n")
    _hold("A limit cuts what is read.", when=files.read(path, limit=3) == b"one")
    facts = files.facts(path)
    _hold("A file's facts tell its size and kind.", when=facts is not None and facts.is_file and facts.size == 8)
    parent = files.facts(folder / "deep")
    _hold("Missing folders are made.", when=parent is not None and parent.is_folder and not parent.is_file)
    files.write(path, b"")
    _hold("A file is replaced whole.", when=files.read(path) == b"")
    _refused("Reading a folder", lambda: files.read(folder))
    _refused("Writing over a folder", lambda: files.write(folder, b""))
    _refused("Writing below a file", lambda: files.write(path / "below.md", b""))
    files.remove(path)
    _missing(files, path)


def _refused(what: str, act: Callable[[], object]) -> None:
    try:
        act()
    except StoreError:
        return
    raise AssertionError(f"{what} raises StoreError.")


def _conflicts(files: Files, folder: Path) -> None:
    path = folder / "a.md"
    files.write(path, b"one")
    files.write(path, b"two", expect=b"one")
    for place in (path, folder / "absent.md"):
        try:
            files.write(place, b"three", expect=b"one")
        except WriteConflict:
            continue
        raise AssertionError("A write that expects other bytes raises WriteConflict.")
    _hold("A conflict writes nothing.", when=files.read(path) == b"two" and files.facts(folder / "absent.md") is None)


def _creating(files: Files, folder: Path) -> None:
    path = folder / "a.md"
    _hold("A new file is made.", when=files.create(path, b"one") is True)
    _hold("A file that is there is not made again.", when=files.create(path, b"two") is False)
    _hold("A file that is there stays.", when=files.read(path) == b"one")


def _walking(files: Files, folder: Path) -> None:
    names = ["b.md", "a/z.md", "a.md", "a/a/b.md"]
    for name in names:
        files.write(folder / name, b"x")
    _hold("A walk names every file, sorted, and nothing else.", when=files.walk(folder) == sorted(folder / name for name in names))
    _hold("A path is resolved without `..`.", when=files.resolve(folder / "a" / ".." / "none" / "x") == folder / "none" / "x")
    try:
        files.walk(folder / "none")
    except FileNotFoundError:
        return
    raise AssertionError("A walk of a folder that is not there raises FileNotFoundError.")


def _links(files: Files, folder: Path, link: Callable[[Files, Path, Path], None]) -> None:
    files.write(folder / "real" / "a.md", b"one")
    link(files, folder / "alias", Path("real"))
    link(files, folder / "file.md", folder / "real" / "a.md")
    link(files, folder / "loop", folder / "loop")
    facts = files.facts(folder / "file.md")
    _hold("Facts are about a link, not its target.", when=facts is not None and facts.is_link and not facts.is_file)
    _hold("Links are followed in a path.", when=files.resolve(folder / "alias" / "new" / "b.md") == folder / "real" / "new" / "b.md")
    _hold("Reading follows links.", when=files.read(folder / "alias" / "a.md") == b"one")
    _refused("Resolving a loop of links", lambda: files.resolve(folder / "loop" / "x"))
    _hold("A walk does not enter linked folders.", when=folder / "alias" / "a.md" not in files.walk(folder))
    files.write(folder / "file.md", b"two")
    _hold("A write replaces a link, not its target.", when=files.read(folder / "real" / "a.md") == b"one")
