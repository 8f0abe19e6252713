"""What a look at a memory folder costs: the first, one with nothing changed, one with ten changed;
beside reading every file each time (AM-6).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.report import BenchResult, BenchRow
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_manifest import parse_memory_header
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.recall.initial_memory_scan import InitialMemoryScan
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.system import SystemClock

SIZES = (200, 2_000, 20_000)
CHANGED = 10
ROUNDS = 5
"""Looks of each kind; medians count."""
SHARE = 0.25
"""Goal: a look with nothing changed costs at most this part of reading every file, at every size.
"""


def measure(data: Path) -> BenchResult:
    """Make folders of each size, and look at them. Recorded sessions are not needed."""
    del data
    rows: list[BenchRow] = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as home:
            rows += _rows(Layout(Path(home)).memory_layout("/bench"), size)
        with tempfile.TemporaryDirectory() as home:
            rows += asyncio.run(_requests(Path(home), size))
    return BenchResult("manifest", tuple(rows))


async def _requests(home: Path, size: int) -> list[BenchRow]:
    """What a host waits for: opening a session and its first request while every file is new, and a
    message of the person when all is known.
    """
    async with Memorist(model="structural", home=home) as engine:
        await _asked(
            await engine.open("warm", project="/other"), 0
        )  # the first request of a process loads modules
        folder = engine.memory("/bench").layout.folder
        folder.mkdir(parents=True)
        for number in range(size):
            write_memory(folder / f"part-{number:05}.md", number, "new")
        session = await engine.open("first", project="/bench")
        opening = await _asked(session, 0)
        look = InitialMemoryScan(engine.memory("/bench").folder, engine.settings.recall)
        look.start()
        await look.wait_until_done()
        await session.close()
        session = await engine.open("second", project="/bench")
        messages = [await _asked(session, turn) for turn in range(ROUNDS + 1)][1:]
    named = f"{size:,} files"
    return [
        BenchRow(
            f"{named}: the first request of a session, every file new (elapsed)",
            1000 * opening,
            "ms",
        ),
        BenchRow(
            f"{named}: a request with a message of the person, nothing changed (elapsed)",
            1000 * median(messages),
            "ms",
        ),
    ]


async def _asked(session: Session, turn: int) -> float:
    """Seconds that the request of one turn is held up."""
    messages = [
        {"role": "user", "content": f"What is new about part {each} of the shop?"}
        for each in range(turn + 1)
    ]
    began = time.perf_counter()
    await session.prepare({"model": "m", "max_tokens": 1000, "messages": messages})
    return time.perf_counter() - began


def write_memory(path: Path, number: int, word: str) -> None:
    """One memory file of about six hundred bytes."""
    rule = (
        f"Part {number} is {word}: what is said of it here holds for every build of the "
        f"shop, and for the importer as well. "
    )
    path.write_text(
        f"---\nname: part-{number}\ndescription: what is {word} about part {number}\ntype: "
        f"project\n---\n\n{rule * 4}\n"
    )


def _rows(where: MemoryLayout, size: int) -> list[BenchRow]:
    where.folder.mkdir(parents=True)
    for number in range(size):
        write_memory(where.folder / f"part-{number:05}.md", number, "new")
    folder = _opened(where)
    first = _seconds(folder.headers)
    same, ten, every, fresh = [], [], [], []
    for turn in range(ROUNDS):
        same.append(_seconds(folder.headers))
        for number in range(CHANGED):
            write_memory(where.folder / f"part-{number:05}.md", number, f"changed {turn}")
        ten.append(_seconds(folder.headers))
        every.append(_seconds(lambda: _read_all(where.folder)))
        fresh.append(_seconds(lambda: _opened(where).headers()))
    folder.close()
    share = median(mine / theirs for mine, theirs in zip(same, every, strict=True))
    named = f"{size:,} files"
    return [
        BenchRow(f"{named}: the first look, with history and index", 1000 * first, "ms"),
        BenchRow(f"{named}: nothing changed", 1000 * median(same), "ms"),
        BenchRow(f"{named}: nothing changed, in a new process", 1000 * median(fresh), "ms"),
        BenchRow(f"{named}: {CHANGED} changed", 1000 * median(ten), "ms"),
        BenchRow(f"{named}: reading every file", 1000 * median(every), "ms"),
        BenchRow(
            f"{named}: nothing changed, share of reading all",
            share,
            "",
            f"at most {SHARE}",
            share <= SHARE,
        ),
    ]


def _opened(where: MemoryLayout) -> MemoryFolder:
    return MemoryFolder(
        where, files=DiskFiles(durable=False), clock=SystemClock(), settings=AutoMemorySettings()
    )


def _read_all(folder: Path) -> int:
    """What one would write without a scan that remembers: every file read, and its header taken
    apart.
    """
    count = 0
    for entry in os.scandir(folder):
        if entry.name.endswith(".md"):
            found = entry.stat()
            parse_memory_header(
                entry.name,
                Path(entry.path).read_bytes(),
                lines=30,
                modified=found.st_mtime,
                size=found.st_size,
            )
            count += 1
    return count


def _seconds(work: Callable[[], object]) -> float:
    """Processor time: other programs on the machine are not counted."""
    began = time.process_time()
    work()
    return time.process_time() - began
