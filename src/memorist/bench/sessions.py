"""Many users in one process: memory, files and processor time of 200 sessions at once, beside one session alone; and what a start costs.

Each figure is of a process of its own, so that its peak is its own. The sessions hold notes, memories, recall and a compaction; their histories are
held by the host in the same process, and count.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.bench.result import Result, Row
from memorist.bench.sessions_play import Agent, Size, guests, play
from memorist.engine.tenants import Tenants
from memorist.settings import Settings

MANY = 200
ONE_BY_ONE = 20
SIZE = Size(turns=12, page=16_000)
"""About 200,000 characters a session, as after half an hour of a coding agent."""
TENANTS, PROJECTS = 10, 4
MOST_MEGABYTES = 1_024
STARTS = 5
_CHILD = "from memorist.bench.sessions import child; child({count}, at_once={at_once})"
_STATUS = Path("/proc/self/smaps_rollup")


class Used(Struct, frozen=True, kw_only=True):
    """What a process had used when all its sessions were open."""

    rss: float
    """Peak, in megabytes."""
    pss: float
    """At the end, in megabytes: pages that processes share are counted in parts. 0 where the system does not tell."""
    files: int
    cpu: float
    """Seconds of the sessions' turns, after one session to warm up."""
    history: float
    """Megabytes of what the host sends for one session."""


def measure(data: Path) -> Result:
    """Run the sessions, all at once and one by one, each in a process of its own. Needs no data."""
    del data
    many, alone = _run(MANY, at_once=True), _run(ONE_BY_ONE, at_once=False)
    turn, alone_turn = many.cpu / MANY / SIZE.turns, alone.cpu / ONE_BY_ONE / SIZE.turns
    engine, plain = _start("import memorist.engine.memorist"), _start("import msgspec")
    return Result(
        "sessions",
        (
            Row(
                f"peak memory of a process with {MANY} sessions at once",
                many.rss,
                "MB",
                f"under {MOST_MEGABYTES:,}",
                many.rss < MOST_MEGABYTES,
            ),
            Row("the same, shared pages in parts (PSS)", many.pss, "MB"),
            Row("memory for each further session", (many.rss - alone.rss) / (MANY - ONE_BY_ONE), "MB"),
            Row("what the host sends of it", many.history, "MB"),
            Row("open files of a session", many.files / MANY, ""),
            Row("turns (two requests each) in a second of processor time", 1 / turn, "/s"),
            Row("processor time of a turn, beside sessions one by one", turn / alone_turn, "", "at most 1.5", turn / alone_turn <= 1.5),
            Row("processor time of `import memorist.engine.memorist`", 1_000 * engine, "ms"),
            Row("the same, beside `import msgspec`", engine / plain, ""),
        ),
    )


def _run(count: int, *, at_once: bool) -> Used:
    command = [sys.executable, "-c", _CHILD.format(count=count, at_once=at_once)]
    return msgspec.json.decode(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout, type=Used)


def child(count: int, *, at_once: bool) -> None:
    """In the process that is measured: prints what it used, as JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_used(count, at_once=at_once))))


async def _used(count: int, *, at_once: bool) -> Used:
    with tempfile.TemporaryDirectory() as root:
        async with Tenants(root, settings=Settings(), most_open=MANY + 1) as tenants:
            first, *agents = [Agent(guest, SIZE) for guest in guests(count + 1, tenants=TENANTS, projects=PROJECTS)]
            await first.work(tenants)
            before = _cpu()
            if at_once:
                await play(tenants, agents)
            else:
                for agent in agents:
                    await agent.work(tenants)
            return Used(
                rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024),
                pss=_pss(),
                files=_files(),
                cpu=_cpu() - before,
                history=sum(agent.history for agent in agents) / len(agents) / 1e6,
            )


def _cpu() -> float:
    return time.process_time()


def _files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def _pss() -> float:
    if not _STATUS.exists():
        return 0.0
    lines = (line.split() for line in _STATUS.read_text("utf-8").splitlines())
    return sum(int(line[1]) / 1024 for line in lines if line[0] == "Pss:")


def _start(statement: str) -> float:
    """Processor time of a new interpreter that runs the statement, without that of an empty one; the best of a few, from compiled files."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def taken(words: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", words], check=True, env=environment)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(taken(statement) for _ in range(STARTS)) - min(taken("pass") for _ in range(STARTS))
