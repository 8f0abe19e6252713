"""How fast stage one of rollouts is without a model, what a huge session takes of memory, and how long a search with nothing new takes (RO-1, RO-3)."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from memorist.bench.result import Result, Row
from memorist.bench.synthesis import all_sessions, claude_sessions, write_long_session
from memorist.rollouts.evidence import UNKNOWN_WINDOW, limit_bytes
from memorist.rollouts.extraction.reading import evidence, gather
from memorist.rollouts.raw_memory import parse
from memorist.rollouts.sources.run import Place, find
from memorist.rollouts.structural import Stage, structural
from memorist.store.lines import LineFile
from memorist.store.thread import Thread

HUGE = 1_000_000_000
MANY = 10_000
ROUNDS = 5
SPEED = 10.0
"""MB/s on one core: what a person has recorded in a month is gone through in a minute."""
MEMORY = 200
"""MB of the whole process, as for reading alone (FM-6)."""
FACTOR = 1.2


def measure(data: Path) -> Result:
    """Extract every recorded session by structure, and one of a gigabyte; look twice at ten thousand."""
    paths = all_sessions(data)
    if not paths:
        return Result("rollouts-stage-one", absent=f"no recorded sessions below {data}")
    threads = [*find([Place(path, named=True) for path in paths]).threads]
    rounds = [_seconds(threads) for _ in range(ROUNDS)]
    megabytes = sum(thread.size for thread in threads) / 1e6
    stages = [stage(thread) for thread in threads]
    tasks = [task for each in stages for task in each.memory.tasks]
    speed = megabytes / median(rounds)
    rows = [
        Row("recorded sessions", len(threads)),
        Row("of them with something to keep", sum(not each.memory.empty for each in stages)),
        Row("tasks", len(tasks)),
        Row("tasks with a proven outcome", sum(task.outcome != "uncertain" for task in tasks) / max(1, len(tasks))),
        Row("raw memory to session", sum(len(each.raw_memory.encode()) for each in stages) / 1e6 / megabytes),
        Row("raw memories that read again as they were written", sum(parse(each.raw_memory) == each.memory for each in stages)),
        Row("stage one by structure, one core", speed, "MB/s", f"at least {SPEED:g}", speed >= SPEED),
    ]
    return Result("rollouts-stage-one", (*rows, *_huge(claude_sessions(data)[:8]), *_search(paths)))


def stage(thread: Thread) -> Stage:
    """Stage one of a session by structure."""
    return structural(gather(LineFile(Path(thread.path))).deeds, thread)


def _seconds(threads: Sequence[Thread]) -> float:
    """Processor time: other programs on the machine are not counted."""
    began = time.process_time()
    for thread in threads:
        stage(thread)
    return time.process_time() - began


def _huge(sources: Sequence[Path]) -> list[Row]:
    if not sources:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "huge.jsonl"
        size = write_long_session(path, list(sources), HUGE)
        command = [sys.executable, "-m", "memorist.bench.rollouts_stage_one", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, seconds, parts = said.stdout.split()
    megabytes = int(peak) / 1024
    return [
        Row(f"a session of {size / 1e6:,.0f} MB, by structure and parted for a model, processor time", float(seconds), "s"),
        Row("its peak memory, the whole process", megabytes, "MB", f"under {MEMORY}", megabytes < MEMORY),
        Row("parts that a model would read it in", int(parts)),
    ]


def _search(paths: Sequence[Path]) -> list[Row]:
    """Links share the bytes of a few small sessions; a search sees files of their own."""
    small = sorted(paths, key=lambda path: path.stat().st_size)[:5]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        first = [Path(shutil.copy(path, root / f"source-{number}.jsonl")) for number, path in enumerate(small)]
        for number in range(MANY - len(first)):
            below = root / f"project-{number % 100}"
            below.mkdir(exist_ok=True)
            os.link(first[number % len(first)], below / f"{number}.jsonl")
        began = time.process_time()
        found = find([Place(root)])
        new = time.process_time() - began
        began = time.process_time()
        again = find([Place(root)], [*found.threads, *found.passed])
        seconds = time.process_time() - began
    return [
        Row(f"a search over {MANY:,} sessions, all new", new, "s"),
        Row(f"a search over {MANY:,} sessions, nothing new", seconds, "s", "under 1", seconds < 1 and again.unchanged == MANY),
    ]


def _alone(path: Path) -> None:
    began = time.process_time()
    gone = gather(LineFile(path))
    thread = Thread(id="huge", path=str(path), format="claude_code", size=1, modified_ns=1, updated=1)
    structural(gone.deeds, thread)
    parts = evidence(LineFile(path), gone.weights, limit_bytes(UNKNOWN_WINDOW, FACTOR))
    for rows in parts:
        rows.select(UNKNOWN_WINDOW, FACTOR)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(f"{peak} {time.process_time() - began:.1f} {len(parts)}\n")


if __name__ == "__main__":
    _alone(Path(sys.argv[1]))
