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
INPUT, OUTPUT = 0, 1
END_MARK = b"\0"
"""Behind the last answer; no answer holds it."""

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""An escape in JSON; `lone` is one half of a character without its other half."""


class ReceivedHandshake(Struct, frozen=True):
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


def answer_first_requests() -> ReceivedHandshake | None:
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
            return ReceivedHandshake(received + rest, answered)


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


@contextmanager
def replay_handshake(handshake: ReceivedHandshake) -> Iterator[None]:
    """Put pipes in the place of standard input and output: what was held comes first, and the
    second answer to `initialize` is dropped.
    """
    real_input, real_output = os.dup(INPUT), os.dup(OUTPUT)
    to_server, from_server = os.pipe(), os.pipe()
    os.dup2(to_server[0], INPUT)
    os.dup2(from_server[1], OUTPUT)
    os.close(to_server[0])
    os.close(from_server[1])
    threading.Thread(
        target=_relay, args=(real_input, to_server[1], handshake.replay), daemon=True
    ).start()
    writing = threading.Thread(
        target=_relay_output, args=(from_server[0], real_output, handshake.answered), daemon=True
    )
    writing.start()
    try:
        yield
    finally:
        _write(OUTPUT, END_MARK)  # the SDK keeps a duplicate of the pipe, so that it never ends
        writing.join()
        os.dup2(real_output, OUTPUT)


def _relay(source: int, target: int, first: bytes) -> None:
    """Copy line by line until the source ends; a reader that is gone ends it too."""
    pending: list[bytes] = []
    try:
        part = first or os.read(source, CHUNK_BYTES)
        while part:
            lines, end, rest = part.rpartition(b"\n")
            if end:
                _write(target, _replace_lone_surrogates(b"".join((*pending, lines, end))))
                pending.clear()
            pending.append(rest)
            part = os.read(source, CHUNK_BYTES)
        _write(target, b"".join(pending))
    except OSError:
        pass
    finally:
        os.close(target)


def _replace_lone_surrogates(lines: bytes) -> bytes:
    """Replace each escaped half of a character: the SDK refuses the whole line without an answer,
    and the client would wait for one.
    """
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["lone"] else found[0], lines)


def _relay_output(source: int, target: int, drop_first: bool) -> None:
    """Copy the server's answers, without the first line if it is the second answer to
    `initialize`: nothing else can come before it.
    """
    received = b""
    try:
        while part := os.read(source, CHUNK_BYTES):
            received += part.removesuffix(END_MARK)
            if drop_first and b"\n" in received:
                received, drop_first = received.partition(b"\n")[2], False
            if not drop_first:
                _write(target, received)
                received = b""
            if part.endswith(END_MARK):
                return
    except OSError:
        pass  # the client is gone
