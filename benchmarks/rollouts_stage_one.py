"""How fast stage one of rollouts is without a model, what a huge session takes of memory, and how
long a search with nothing new takes (RO-1, RO-3).
"""

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

from benchmarks.datasets import all_sessions, claude_sessions, write_long_session
from benchmarks.report import BenchResult, BenchRow
from memorist.rollouts.raw_memory import parse_raw_memory
from memorist.rollouts.session_evidence import (
    UNKNOWN_WINDOW_EVIDENCE_TOKENS,
    convert_tokens_to_bytes,
)
from memorist.rollouts.session_sources import SourceFolder, scan_for_changed_rollouts
from memorist.rollouts.stage_one_session_scan import (
    collect_evidence_rows_per_part,
    read_task_log_and_turn_sizes,
)
from memorist.rollouts.structural_stage_one import StageOneResult, build_structural_result
from memorist.store.rollout_rows import Rollout
from memorist.store.transcript_reader import UnpackedUtf8Lines

HUGE = 1_000_000_000
MANY = 10_000
ROUNDS = 5
SPEED = 10.0
"""MB/s on one core: what a person has recorded in a month is gone through in a minute."""
MEMORY = 200
"""MB of the whole process, as for reading alone (FM-6)."""
FACTOR = 1.2


def measure(data: Path) -> BenchResult:
    """Extract every recorded session by structure, and one of a gigabyte; look twice at ten
    thousand.
    """
    paths = all_sessions(data)
    if not paths:
        return BenchResult("rollouts-stage-one", absent=f"no recorded sessions below {data}")
    threads = [
        *scan_for_changed_rollouts([SourceFolder(path, is_named=True) for path in paths]).threads
    ]
    rounds = [_seconds(threads) for _ in range(ROUNDS)]
    megabytes = sum(thread.size for thread in threads) / 1e6
    stages = [stage(thread) for thread in threads]
    tasks = [task for each in stages for task in each.memory.tasks]
    speed = megabytes / median(rounds)
    rows = [
        BenchRow("recorded sessions", len(threads)),
        BenchRow(
            "of them with something to keep", sum(not each.memory.is_empty for each in stages)
        ),
        BenchRow("tasks", len(tasks)),
        BenchRow(
            "tasks with a proven outcome",
            sum(task.outcome != "uncertain" for task in tasks) / max(1, len(tasks)),
        ),
        BenchRow(
            "raw memory to session",
            sum(len(each.raw_memory.encode()) for each in stages) / 1e6 / megabytes,
        ),
        BenchRow(
            "raw memories that read again as they were written",
            sum(parse_raw_memory(each.raw_memory) == each.memory for each in stages),
        ),
        BenchRow(
            "stage one by structure, one core", speed, "MB/s", f"at least {SPEED:g}", speed >= SPEED
        ),
    ]
    return BenchResult(
        "rollouts-stage-one", (*rows, *_huge(claude_sessions(data)[:8]), *_search(paths))
    )


def stage(thread: Rollout) -> StageOneResult:
    """Stage one of a session by structure."""
    return build_structural_result(
        read_task_log_and_turn_sizes(UnpackedUtf8Lines(Path(thread.path))).task_log, thread
    )


def _seconds(threads: Sequence[Rollout]) -> float:
    """Processor time: other programs on the machine are not counted."""
    began = time.process_time()
    for thread in threads:
        stage(thread)
    return time.process_time() - began


def _huge(sources: Sequence[Path]) -> list[BenchRow]:
    if not sources:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "huge.jsonl"
        size = write_long_session(path, list(sources), HUGE)
        command = [sys.executable, "-m", "benchmarks.rollouts_stage_one", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, seconds, parts = said.stdout.split()
    megabytes = int(peak) / 1024
    return [
        BenchRow(
            f"a session of {size / 1e6:,.0f} MB, by structure and parted for a model, "
            f"processor time",
            float(seconds),
            "s",
        ),
        BenchRow(
            "its peak memory, the whole process",
            megabytes,
            "MB",
            f"under {MEMORY}",
            megabytes < MEMORY,
        ),
        BenchRow("parts that a model would read it in", int(parts)),
    ]


def _search(paths: Sequence[Path]) -> list[BenchRow]:
    """Links share the bytes of a few small sessions; a search sees files of their own."""
    small = sorted(paths, key=lambda path: path.stat().st_size)[:5]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        first = [
            Path(shutil.copy(path, root / f"source-{number}.jsonl"))
            for number, path in enumerate(small)
        ]
        for number in range(MANY - len(first)):
            below = root / f"project-{number % 100}"
            below.mkdir(exist_ok=True)
            os.link(first[number % len(first)], below / f"{number}.jsonl")
        began = time.process_time()
        found = scan_for_changed_rollouts([SourceFolder(root)])
        new = time.process_time() - began
        began = time.process_time()
        again = scan_for_changed_rollouts([SourceFolder(root)], [*found.threads, *found.skipped])
        seconds = time.process_time() - began
    return [
        BenchRow(f"a search over {MANY:,} sessions, all new", new, "s"),
        BenchRow(
            f"a search over {MANY:,} sessions, nothing new",
            seconds,
            "s",
            "under 1",
            seconds < 1 and not again.threads,
        ),
    ]


def _alone(path: Path) -> None:
    began = time.process_time()
    gone = read_task_log_and_turn_sizes(UnpackedUtf8Lines(path))
    thread = Rollout(
        id="huge", path=str(path), format="claude_code", size=1, modified_ns=1, updated=1
    )
    build_structural_result(gone.task_log, thread)
    parts = collect_evidence_rows_per_part(
        UnpackedUtf8Lines(path),
        gone.weights,
        convert_tokens_to_bytes(UNKNOWN_WINDOW_EVIDENCE_TOKENS, FACTOR),
    )
    for rows in parts:
        rows.select_rows_to_fit(UNKNOWN_WINDOW_EVIDENCE_TOKENS, FACTOR)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(f"{peak} {time.process_time() - began:.1f} {len(parts)}\n")


if __name__ == "__main__":
    _alone(Path(sys.argv[1]))
