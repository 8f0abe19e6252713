"""How fast recorded sessions are read, beside decoding the same lines with msgspec alone; and how
much memory a huge one takes (FM-6).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.datasets import all_sessions, claude_sessions, write_long_session
from benchmarks.report import BenchResult, BenchRow
from memorist.formats.format_detection import read_session
from memorist.store.transcript_reader import UnpackedUtf8Lines

HUGE = 1_000_000_000
ROUNDS = 10
"""Both take turns, so that a slower moment of the machine falls on both; medians count."""


def measure(data: Path) -> BenchResult:
    """Read every recorded session, and one of a gigabyte."""
    if not all_sessions(data):
        return BenchResult("reading", absent=f"no recorded sessions below {data}")
    rows = []
    for family in ("claude-code", "codex"):
        paths = sorted((data / "sessions" / family).glob("*.jsonl"))
        if not paths:
            continue
        rounds = [(_seconds(_decode, paths), _seconds(_read, paths)) for _ in range(ROUNDS)]
        alone, ours = (median(taken) for taken in zip(*rounds, strict=True))
        share = median(first / second for first, second in rounds)
        megabytes = sum(path.stat().st_size for path in paths) / 1e6
        rows.append(BenchRow(f"{family}: msgspec decoding alone", megabytes / alone, "MB/s"))
        rows.append(BenchRow(f"{family}: memorist reading", megabytes / ours, "MB/s"))
        rows.append(
            BenchRow(f"{family}: share of msgspec's speed", share, "", "at least 0.5", share >= 0.5)
        )
    return BenchResult("reading", (*rows, *_huge(claude_sessions(data)[:8])))


def _decode(path: Path) -> int:
    decode = msgspec.json.Decoder().decode
    with path.open("rb") as file:
        return sum(1 for line in file if decode(line))


def _read(path: Path) -> int:
    return sum(1 for _ in read_session(UnpackedUtf8Lines(path)))


def _seconds(work: Callable[[Path], int], paths: list[Path]) -> float:
    """Processor time: other programs on the machine are not counted."""
    began = time.process_time()
    for path in paths:
        work(path)
    return time.process_time() - began


def _huge(sources: list[Path]) -> list[BenchRow]:
    if not sources:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "huge.jsonl"
        size = write_long_session(path, sources, HUGE)
        began = time.perf_counter()
        said = subprocess.run(
            [sys.executable, "-m", "benchmarks.reading", str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - began
    peak, entries = said.stdout.split()
    megabytes = int(peak) / 1024
    return [
        BenchRow(
            f"a session of {size / 1e6:,.0f} MB, {int(entries):,} entries",
            size / 1e6 / seconds,
            "MB/s",
        ),
        BenchRow(
            "its peak memory, the whole process", megabytes, "MB", "under 200", megabytes < 200
        ),
    ]


if __name__ == "__main__":
    count = _read(Path(sys.argv[1]))
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} {count}\n")
