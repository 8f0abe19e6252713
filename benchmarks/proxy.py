"""What the proxy adds to a request: a conversation of 500 KB that grows, sent by turns to a bare
loopback server and through the proxy to the same.

Server and proxy are processes of their own, as in use; the client is this one. Each answer is a
stream of 40 events. Needs the extra `proxy`.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow

BYTES = 500_000
"""Size of a request (the issue's figure)."""
TURNS = 200
WARM = 20
"""Turns that are not counted: the first ones open connections and the session."""
GOAL_MEDIAN, GOAL_LATE = 3.0, 10.0
"""Milliseconds that the proxy may add at the half and at 99 of 100 (the issue's figures)."""
EVENTS = 40
BYTES_PER_TOKEN = 6
"""What the bare server counts: so few tokens that the conversation of this benchmark stays below
the window, and more for each request, as one that keeps counting the same is taken for a server
that cuts what does not fit.
"""
ID_MARK = "msg_0000000"
"""Stands in a made answer where its own id is written: replies of one id are taken for one."""
COUNT_MARK = 9_000_000
"""Stands in a made answer where the tokens of its request are written, in as many characters."""
START_SECONDS = 30.0
MODEL = "claude-sonnet-4-5"
_WORDS = (
    "The importer reads a row, checks its date against the list of holidays, and writes "
    "what is left to the ledger of the month. "
)


class ProxyTimings(Struct):
    """Seconds of each turn to the last byte of the answer: from the server itself, through the
    proxy by a path that it passes on unread, and as a model call; the proxy's CPU seconds for the
    last two; and how many answers were not as they should be.
    """

    bare: list[float]
    unread: list[float]
    proxied: list[float]
    processor_unread: float = 0.0
    processor: float = 0.0
    changed: int = 0


def measure(data: Path) -> BenchResult:
    """Needs no data; takes about 20 seconds."""
    del data
    with (
        bare_server() as upstream,
        tempfile.TemporaryDirectory() as home,
        proxy_before(upstream, Path(home)) as (port, process),
    ):
        if not port:
            return BenchResult(
                "proxy", absent="the proxy did not start; it needs the extra `proxy`"
            )
        heard = converse(upstream, port, before=lambda: _processor(process))
    return BenchResult("proxy", proxy_rows(heard))


def proxy_rows(heard: ProxyTimings) -> tuple[BenchRow, ...]:
    """The table."""
    bare, unread, proxied = (_shares(found) for found in (heard.bare, heard.unread, heard.proxied))
    counted = max(1, len(heard.proxied) - WARM) / 1_000
    half, late = proxied[0] - bare[0], proxied[1] - bare[1]
    return (
        BenchRow("bare server, half of the requests", bare[0], "ms"),
        BenchRow("bare server, 99 of 100", bare[1], "ms"),
        BenchRow("passed on unread, half of the requests", unread[0], "ms"),
        BenchRow("passed on unread, 99 of 100", unread[1], "ms"),
        BenchRow("through the proxy, half of the requests", proxied[0], "ms"),
        BenchRow("through the proxy, 99 of 100", proxied[1], "ms"),
        BenchRow(
            "added, half of the requests", half, "ms", f"below {GOAL_MEDIAN:g}", half < GOAL_MEDIAN
        ),
        BenchRow("added, 99 of 100", late, "ms", f"below {GOAL_LATE:g}", late < GOAL_LATE),
        BenchRow("of that memorist's own part, half of the requests", proxied[0] - unread[0], "ms"),
        BenchRow(
            "the proxy's processor time, passed on unread", heard.processor_unread / counted, "ms"
        ),
        BenchRow(
            "the proxy's processor time, all work after the answer included",
            heard.processor / counted,
            "ms",
        ),
        BenchRow(
            "requests that were not passed on as they came",
            heard.changed,
            "",
            "0",
            heard.changed == 0,
        ),
    )


def _shares(seconds: list[float]) -> tuple[float, float]:
    counted = sorted(seconds[WARM:] or seconds)
    return 1_000 * statistics.median(counted), 1_000 * counted[
        min(len(counted) - 1, int(0.99 * len(counted)))
    ]


def converse(
    upstream: int, proxy: int, turns: int = TURNS, before: Callable[[], float] = float
) -> ProxyTimings:
    """Send the growing conversation to both, by turns. `before` gives the proxy's CPU seconds so
    far.
    """
    heard = ProxyTimings([], [], [])
    bodies, asked = _bodies(turns), 0.0
    with (
        closing(http.client.HTTPConnection("127.0.0.1", upstream)) as bare,
        closing(http.client.HTTPConnection("127.0.0.1", proxy)) as through,
    ):
        for turn, body in enumerate(bodies):
            heard.bare.append(_ask(bare, body)[0])
            # what the proxy did since the last call, while the bare server answered, belongs to
            # that
            began = before()
            heard.processor += began - asked if turn > WARM else 0.0
            heard.unread.append(_ask(through, body, "/v1/unread")[0])
            asked = before()
            heard.processor_unread += asked - began if turn >= WARM else 0.0
            took, word = _ask(through, body)
            heard.proxied.append(took)
            heard.changed += word != "unchanged"
    return heard


def _bodies(turns: int) -> list[bytes]:
    """All requests, made before any is sent: a client that is busy with something else is not what
    is measured.
    """
    messages, bodies = _history(), []
    for turn in range(turns):
        bodies.append(_body(messages))
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": _said()}]},
            _user(f"And what of row {turn}? {_WORDS}"),
        ]
    return bodies


def _history() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [_user("Please explain the importer.")]
    while len(messages) * 1_000 < BYTES - 20_000:
        messages += [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": f"{len(messages)}: {_WORDS * 7}"}],
            },
            _user(f"{_WORDS * 7}"),
        ]
    return messages


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _body(messages: list[dict[str, Any]]) -> bytes:
    """As Claude Code writes it: a mark on the system prompt, one on the newest message."""
    newest = {
        "role": "user",
        "content": [{**messages[-1]["content"][0], "cache_control": {"type": "ephemeral"}}],
    }
    system = [{"type": "text", "text": _WORDS * 50, "cache_control": {"type": "ephemeral"}}]
    tools = [
        {"name": f"tool_{number}", "description": _WORDS * 3, "input_schema": {"type": "object"}}
        for number in range(12)
    ]
    body = {
        "model": MODEL,
        "messages": [*messages[:-1], newest],
        "system": system,
        "tools": tools,
        "max_tokens": 32_000,
        "stream": True,
    }
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def _ask(
    connection: http.client.HTTPConnection, body: bytes, path: str = "/v1/messages"
) -> tuple[float, str]:
    headers = {
        "content-type": "application/json",
        "x-claude-code-session-id": "bench",
        "anthropic-version": "2023-06-01",
        "x-api-key": "none",
    }
    began = time.perf_counter()
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    took = time.perf_counter() - began
    if b"message_stop" not in data:
        raise AssertionError("the answer is not whole")
    return took, answer.headers.get("x-memorist") or ""


def _said() -> str:
    return "It is checked. " * EVENTS


def _stream(block: dict[str, Any] | None = None) -> bytes:
    """The chunks of an answer: a text, or a call of a tool."""

    def event(kind: str, **more: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()

    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": COUNT_MARK,
        "cache_creation_input_tokens": 200,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": ID_MARK,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    parts = [
        event("message_start", message=message),
        event("content_block_start", index=0, content_block=block or {"type": "text", "text": ""}),
    ]
    delta = {"type": "text_delta", "text": "It is checked. "}
    if block is not None:
        delta = {"type": "input_json_delta", "partial_json": '{"row": 7}'}
    parts += [
        event("content_block_delta", index=0, delta=delta)
        for _ in range(EVENTS if block is None else 1)
    ]
    reason = "end_turn" if block is None else "tool_use"
    parts += [
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 160}),
    ]
    return (
        b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, event("message_stop")))
        + b"0\r\n\r\n"
    )


def _serve(told: Connection, calls_tools: bool) -> None:
    """A server that reads a request and streams the answer, and does nothing else. One that
    `calls_tools` answers what is not a tool's result by a call.
    """
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    text = head + _stream()
    call = head + _stream({"type": "tool_use", "id": "toolu_1", "name": "tool_1", "input": {}})

    numbers = count()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = asked.partition(b"content-length:")[2].partition(b"\r")[0]
                body = await reader.readexactly(int(length or 0))
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            newest = body[body.rfind(b'"role"') :] if calls_tools else b""
            answer = call if calls_tools and b'"tool_result"' not in newest else text
            counted = b"%7d" % min(len(body) // BYTES_PER_TOKEN, COUNT_MARK)
            number = b"msg_%07d" % next(numbers)
            own = answer.replace(b"%d" % COUNT_MARK, counted).replace(ID_MARK.encode(), number)
            writer.write(own)
            await writer.drain()
            if b"connection: close" in asked:
                writer.close()
                return

    async def main() -> None:
        server = await asyncio.start_server(one, "127.0.0.1", 0, limit=2**20)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


@contextmanager
def bare_server(*, calls_tools: bool = False) -> Iterator[int]:
    """The port of a bare server, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, calls_tools), daemon=True)
    process.start()
    try:
        yield mine.recv()
    finally:
        process.terminate()
        process.join()


@contextmanager
def proxy_before(upstream: int, home: Path) -> Iterator[tuple[int, int]]:
    """The port and the process of `memorist proxy` before a server; no port where it does not
    start.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--port",
        str(port),
        "--quiet",
        "--upstream",
        f"anthropic=http://127.0.0.1:{upstream}",
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")
    } | {"MEMORIST_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-m", "memorist", "proxy", *options],
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            yield (port if _up(port, process) else 0), process.pid
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def _up(port: int, process: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def _processor(process: int) -> float:
    """CPU seconds of a process so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
