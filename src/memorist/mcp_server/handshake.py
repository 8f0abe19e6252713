"""Answer a client's first requests before the SDK is loaded, which takes a second of processor time
that a client's start would wait for.

`initialize`, `ping` and `tools/list` need nothing but constants. The first other request loads the
SDK: what was held of the handshake is replayed to it, and its own answer to `initialize`, which is
the same, is dropped.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from memorist import __version__
from memorist.core.prompt_templates import load_prompt
from memorist.mcp_server.tool_arguments import TOOLS

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize` and get the same answer; a client of another one
is left to the SDK. Dates of the specification's revisions.
"""
CHUNK_BYTES = 64 * 1024
MAX_LAST_ANSWERS_SECONDS = 10.0
"""Longest wait for answers once the client's requests have ended. Our choice."""
INPUT, OUTPUT = 0, 1
END_MARK = b"\0"
"""Behind the last answer; no answer holds it."""

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""An escape in JSON; `lone` is one half of a character without its other half."""


class EarlyHandshakeBytes(Struct, frozen=True):
    """What was read before the SDK is needed."""

    replay: bytes
    """Lines for the SDK, as the client wrote them, and what was read behind them."""
    answered: bool
    """Whether `initialize` was answered, so that the SDK's answer is dropped."""


def describe_server() -> dict[str, Any]:
    """The result of `initialize` but for the version of the protocol."""
    return {
        "capabilities": {
            "prompts": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
            "tools": {"listChanged": False},
        },
        "instructions": load_prompt("mcp/instructions").strip(),
        "serverInfo": {"name": "memorist", "title": "memorist", "version": __version__},
    }


def describe_tools() -> list[dict[str, Any]]:
    """The tools as `tools/list` gives them."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.schema,
            "annotations": {
                "title": tool.title,
                "readOnlyHint": tool.is_read_only,
                "destructiveHint": False,
                "idempotentHint": tool.is_read_only,
                "openWorldHint": False,
            },
        }
        for tool in TOOLS
    ]


def answer_first_requests() -> EarlyHandshakeBytes | None:
    """Answer on standard output what constants can answer, until another request comes; None when
    the client leaves before.
    """
    received, rest, answered = b"", b"", False
    while True:
        line, found, rest = rest.partition(b"\n")
        if not found:
            part = os.read(INPUT, CHUNK_BYTES)
            if not part:
                return None
            rest = line + part
            continue
        request = _decode(line)
        method = request.get("method")
        result = _find_result(request, answered=answered)
        if result is not None:
            _write(OUTPUT, _encode_answer(request["id"], result))
        if method == "initialize" and result is not None:
            answered = True
        if method == "initialize" or result is None:
            received += line + b"\n"
        if result is None and method != "notifications/initialized":
            return EarlyHandshakeBytes(received + rest, answered)


def _decode(line: bytes) -> dict[str, Any]:
    try:
        request = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return request if isinstance(request, dict) else {}


def _find_result(request: dict[str, Any], *, answered: bool) -> dict[str, Any] | None:
    """The result of a request that constants can answer; None for any other."""
    params = request.get("params") or {}
    if not isinstance(request.get("id"), int | str) or not isinstance(params, dict):
        return None
    match request.get("method"):
        case "initialize" if not answered and params.get("protocolVersion") in HANDSHAKE_VERSIONS:
            return {"protocolVersion": params["protocolVersion"], **describe_server()}
        case "ping" if answered:
            return {}
        case "tools/list" if answered and not params.get("cursor"):
            return {"tools": describe_tools()}
        case _:
            return None


def _encode_answer(id: int | str, result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result}) + b"\n"


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


class OpenRequests:
    """The client's requests that are not answered yet. The SDK drops them when its input ends, as
    it does at once behind requests that a script pipes in. Thread-safe.
    """

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._changed = threading.Condition()

    def on_client_lines(self, lines: bytes) -> None:
        """Note what the client asks and withdraws."""
        with self._changed:
            for message in map(_decode, lines.split(b"\n")):
                params, id = message.get("params"), message.get("id")
                if message.get("method") == "notifications/cancelled" and isinstance(params, dict):
                    self._ids.discard(str(params.get("requestId")))
                elif "method" in message and isinstance(id, int | str):
                    self._ids.add(str(id))
            self._changed.notify_all()

    def on_server_lines(self, lines: bytes) -> None:
        """Note what the server answers."""
        answers = (each for each in map(_decode, lines.split(b"\n")) if "method" not in each)
        with self._changed:
            self._ids -= {str(each.get("id")) for each in answers}
            self._changed.notify_all()

    def on_client_gone(self) -> None:
        """Note that nobody reads answers any more."""
        with self._changed:
            self._ids.clear()
            self._changed.notify_all()

    def wait_until_answered(self) -> None:
        """Wait for all answers, at most `MAX_LAST_ANSWERS_SECONDS`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._ids, MAX_LAST_ANSWERS_SECONDS)


@contextmanager
def replay_handshake(handshake: EarlyHandshakeBytes) -> Iterator[None]:
    """Put pipes in the place of standard input and output: what was held comes first, and the
    second answer to `initialize` is dropped.
    """
    real_input, real_output = os.dup(INPUT), os.dup(OUTPUT)
    to_server, from_server = os.pipe(), os.pipe()
    os.dup2(to_server[0], INPUT)
    os.dup2(from_server[1], OUTPUT)
    os.close(to_server[0])
    os.close(from_server[1])
    requests = OpenRequests()
    threading.Thread(
        target=_relay, args=(real_input, to_server[1], handshake.replay, requests), daemon=True
    ).start()
    writing = threading.Thread(
        target=_relay_output,
        args=(from_server[0], real_output, handshake.answered, requests),
        daemon=True,
    )
    writing.start()
    try:
        yield
    finally:
        _write(OUTPUT, END_MARK)  # the SDK keeps a duplicate of the pipe, so that it never ends
        writing.join()
        os.dup2(real_output, OUTPUT)


def _relay(source: int, target: int, first: bytes, requests: OpenRequests) -> None:
    """Copy line by line until the source ends and its requests are answered; a reader that is gone
    ends it too.
    """
    pending: list[bytes] = []
    try:
        part = first or os.read(source, CHUNK_BYTES)
        while part:
            lines, end, rest = part.rpartition(b"\n")
            if end:
                whole = b"".join((*pending, lines, end))
                requests.on_client_lines(whole)
                _write(target, _replace_lone_surrogates(whole))
                pending.clear()
            pending.append(rest)
            part = os.read(source, CHUNK_BYTES)
        if last := b"".join(pending):
            requests.on_client_lines(last)
            _write(target, _replace_lone_surrogates(last + b"\n"))
        requests.wait_until_answered()
    except OSError:
        pass
    finally:
        os.close(target)


def _replace_lone_surrogates(lines: bytes) -> bytes:
    """Replace each escaped half of a character: the SDK refuses the whole line without an answer,
    and the client would wait for one.
    """
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["lone"] else found[0], lines)


def _relay_output(source: int, target: int, drop_first: bool, requests: OpenRequests) -> None:
    """Copy the server's answers line by line, without the first if it is the second answer to
    `initialize`: nothing else can come before it.
    """
    pending = b""
    try:
        while pending != END_MARK and (part := os.read(source, CHUNK_BYTES)):
            lines, end, pending = (pending + part).rpartition(b"\n")
            answers = lines + end
            requests.on_server_lines(answers)
            if drop_first and end:
                answers, drop_first = answers.partition(b"\n")[2], False
            _write(target, answers)
    except OSError:
        pass  # the client is gone
    finally:
        requests.on_client_gone()
