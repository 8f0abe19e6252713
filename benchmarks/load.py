"""The proxy under load: fifty agents at once, streaming and with tools, each request sent to a bare
loopback server and through the proxy in the same run; then the same while somebody's first request
of 20 MB is read; then five hundred conversations, and the memory that they take.

Server and proxy are processes of their own; the agents are tasks of this one. Needs the extra
`proxy`.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.proxy import bare_server, proxy_before
from benchmarks.report import BenchResult, BenchRow

AGENTS, MANY_AGENTS = 50, 500
REQUESTS = 12
"""Requests of each agent in the first part."""
THINK_SECONDS = 1.0
"""Mean wait of an agent between two requests: its tool runs, or its user reads."""
LARGE_BYTES = 20_000_000
LARGE_READINGS = 2
GOAL_LATE, GOAL_DELAY, GOAL_MEMORY = 15.0, 50.0, 1_000.0
"""Milliseconds at 99 of 100, the same while 20 MB are read, and megabytes of 500 conversations."""
_TEXT = "The importer reads a row, checks its date against the holidays, and writes it down. "


class LoadSizes(Struct, frozen=True):
    """How much is sent."""

    agents: int = AGENTS
    requests: int = REQUESTS
    many_agents: int = MANY_AGENTS
    think_seconds: float = THINK_SECONDS
    large_bytes: int = LARGE_BYTES
    large_readings: int = LARGE_READINGS


class LoadTimings(Struct):
    """Seconds of each request to the last byte of its answer, and how many were lost: answered
    otherwise than whole, or not read by memorist.
    """

    bare: list[float]
    proxied: list[float]
    lost: int = 0


class LoadFigures(Struct):
    """All that was measured; memory in megabytes."""

    calm: LoadTimings
    reading: LoadTimings
    large_seconds: list[float]
    many: LoadTimings
    memory_after_fifty: float = 0.0
    memory_later: float = 0.0
    memory_of_many: float = 0.0


def measure(data: Path) -> BenchResult:
    """Needs no data; takes about two minutes."""
    del data
    figures = measure_load(LoadSizes())
    if figures is None:
        return BenchResult("load", absent="the proxy did not start; it needs the extra `proxy`")
    return BenchResult("load", load_rows(figures))


def measure_load(sizes: LoadSizes) -> LoadFigures | None:
    """Run all parts against a server and a proxy of their own; None where the proxy does not
    start.
    """
    with (
        bare_server(calls_tools=True) as upstream,
        tempfile.TemporaryDirectory() as home,
        proxy_before(upstream, Path(home)) as (port, process),
    ):
        return asyncio.run(_run(sizes, upstream, port, process)) if port else None


async def _run(sizes: LoadSizes, upstream: int, port: int, process: int) -> LoadFigures:
    agents = [_Agent(number, upstream, port) for number in range(sizes.agents)]
    warm, calm, reading, crowd = (LoadTimings([], []) for _ in range(4))
    await _converse(agents, 3, warm, sizes.think_seconds / 4)
    await _converse(agents, sizes.requests, calm, sizes.think_seconds)
    figures = LoadFigures(
        calm, reading, [], crowd, memory_after_fifty=read_resident_megabytes(process)
    )
    stop = asyncio.Event()
    others = asyncio.create_task(_converse(agents, 1_000, reading, sizes.think_seconds, stop))
    for number in range(sizes.large_readings):
        figures.large_seconds.append(await _send_large(port, number, sizes.large_bytes))
    stop.set()
    await others
    figures.memory_later = read_resident_megabytes(process)
    many = [_Agent(1_000 + number, upstream, port) for number in range(sizes.many_agents)]
    await _converse(many, 3, crowd, 5 * sizes.think_seconds)
    figures.memory_of_many = read_resident_megabytes(process)
    return figures


def load_rows(figures: LoadFigures) -> tuple[BenchRow, ...]:
    """The table."""
    calm, reading = figures.calm, figures.reading
    late = _late(calm.proxied) - _late(calm.bare)
    delay = _late(reading.proxied) - _late(calm.proxied)
    all_of_them = (calm, reading, figures.many)
    lost = sum(each.lost for each in all_of_them)
    sent = sum(len(each.proxied) for each in all_of_them)
    return (
        BenchRow("requests through the proxy", sent, ""),
        BenchRow("50 agents, bare server, half of the requests", _half(calm.bare), "ms"),
        BenchRow("50 agents, bare server, 99 of 100", _late(calm.bare), "ms"),
        BenchRow("50 agents, through the proxy, half of the requests", _half(calm.proxied), "ms"),
        BenchRow("50 agents, through the proxy, 99 of 100", _late(calm.proxied), "ms"),
        BenchRow("added, half of the requests", _half(calm.proxied) - _half(calm.bare), "ms"),
        BenchRow("added, 99 of 100", late, "ms", f"below {GOAL_LATE:g}", late < GOAL_LATE),
        BenchRow("a first request of 20 MB, whole", 1_000 * max(figures.large_seconds), "ms"),
        BenchRow("others meanwhile, bare server, 99 of 100", _late(reading.bare), "ms"),
        BenchRow("others meanwhile, through the proxy, 99 of 100", _late(reading.proxied), "ms"),
        BenchRow(
            "others meanwhile, through the proxy, the worst", 1_000 * max(reading.proxied), "ms"
        ),
        BenchRow(
            "delay of others by it, 99 of 100",
            delay,
            "ms",
            f"below {GOAL_DELAY:g}",
            delay < GOAL_DELAY,
        ),
        BenchRow("memory with 50 agents", figures.memory_after_fifty, "MB"),
        BenchRow("memory after two requests of 20 MB", figures.memory_later, "MB"),
        BenchRow(
            "memory with 500 more",
            figures.memory_of_many,
            "MB",
            f"below {GOAL_MEMORY:g}",
            figures.memory_of_many < GOAL_MEMORY,
        ),
        BenchRow("lost, broken or not read", lost, "", "0", lost == 0),
    )


def _half(seconds: list[float]) -> float:
    return 1_000 * sorted(seconds)[len(seconds) // 2]


def _late(seconds: list[float]) -> float:
    return 1_000 * sorted(seconds)[min(len(seconds) - 1, int(0.99 * len(seconds)))]


class _Agent:
    """One conversation: a question, a call of a tool, its result, an answer, and on."""

    def __init__(self, number: int, upstream: int, proxy: int) -> None:
        self._number = number
        self._ports = (upstream, proxy)
        self._random = random.Random(number)  # noqa: S311 - load, not secrets
        self._turn = 0
        self._messages: list[dict[str, Any]] = []

    def _next_body(self) -> bytes:
        self._turn += 1
        last = self._messages[-1]["content"][0] if self._messages else {}
        if last.get("type") == "tool_use":
            result = f"{self._turn} {_TEXT * self._random.randint(5, 60)}"
            block = {"type": "tool_result", "tool_use_id": last["id"], "content": result}
        else:
            block = {"type": "text", "text": f"And row {self._turn} of {self._number}? {_TEXT}"}
        self._messages.append({"role": "user", "content": [block]})
        return encode_body(self._messages)

    async def ask(self, timings: LoadTimings) -> None:
        """Send the next request to both, and take the proxy's answer."""
        body = self._next_body()
        order = (0, 1) if self._random.random() < 0.5 else (1, 0)
        for which in order:
            took, outcome, block = await send_request(
                self._ports[which], body, f"load-{self._number}"
            )
            (timings.proxied if which else timings.bare).append(took)
            if block is None or (which and outcome not in ("changed", "unchanged")):
                timings.lost += 1
            answer = block or {"type": "text", "text": "Lost."}
        if answer["type"] == "tool_use":
            answer["id"] = f"toolu_{self._number}_{self._turn}"
        self._messages.append({"role": "assistant", "content": [answer]})


async def _converse(
    agents: list[_Agent],
    requests: int,
    timings: LoadTimings,
    think_seconds: float,
    stop: asyncio.Event | None = None,
) -> None:
    """Let all agents converse at once, each at times of its own."""

    async def one(agent: _Agent, pauses: random.Random) -> None:
        for _ in range(requests):
            await asyncio.sleep(pauses.uniform(0.0, 2 * think_seconds))
            if stop is not None and stop.is_set():
                return
            await agent.ask(timings)

    async with asyncio.TaskGroup() as tasks:
        for number, agent in enumerate(agents):
            tasks.create_task(one(agent, random.Random(number)))  # noqa: S311 - load


async def _send_large(port: int, number: int, size: int) -> float:
    block = f"{number}: {_TEXT * 30}"
    messages = [
        {"role": "user" if place % 2 == 0 else "assistant", "content": f"{place} {block}"}
        for place in range(size // len(block) // 2 * 2 + 1)
    ]
    body = await asyncio.to_thread(encode_body, messages)
    return (await send_request(port, body, f"large-{number}"))[0]


def encode_body(messages: list[dict[str, Any]]) -> bytes:
    """A request as Claude Code writes it."""
    body = {
        "model": "claude-sonnet-4-5",
        "messages": messages,
        "system": [{"type": "text", "text": _TEXT * 50}],
        "tools": [
            {"name": f"tool_{n}", "description": _TEXT * 3, "input_schema": {"type": "object"}}
            for n in range(12)
        ],
        "max_tokens": 32_000,
        "stream": True,
    }
    return json.dumps(body, separators=(",", ":")).encode()


@asynccontextmanager
async def _connection(
    port: int,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    try:
        yield reader, writer
    finally:
        writer.close()


async def send_request(
    port: int, body: bytes, session: str
) -> tuple[float, str, dict[str, Any] | None]:
    """Send one request: seconds to the last byte, memorist's word of it, and the block that was
    answered; None where the answer is not whole.
    """
    head = (
        f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"x-claude-code-session-id: {session}\r\nanthropic-version: 2023-06-01\r\n"
        f"x-api-key: none\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    began = time.perf_counter()
    async with _connection(port) as (reader, writer):
        writer.writelines((head.encode(), body))
        await writer.drain()
        data = await reader.read()
        while part := await reader.read(2**20):
            data += part
    took = time.perf_counter() - began
    headers = data.partition(b"\r\n\r\n")[0].lower()
    outcome = headers.partition(b"x-memorist: ")[2].partition(b"\r\n")[0].decode()
    if b"message_stop" not in data:
        return took, outcome, None
    if b"tool_use" in data:
        return took, outcome, {"type": "tool_use", "id": "", "name": "tool_1", "input": {"row": 7}}
    return took, outcome, {"type": "text", "text": _answer_text()}


def _answer_text() -> str:
    return "It is checked. " * 40


def read_resident_megabytes(process: int) -> float:
    """Resident megabytes of a process; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii")
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024
