"""How fast sessions are replayed without a model, and whether a message costs the same in a long
session as in a short one.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.datasets import all_sessions, claude_sessions, write_long_session
from benchmarks.report import BenchResult, BenchRow
from memorist.replay.replay import ReplayOptions, ReplayResult, replay_files_to_report
from memorist.settings import Settings

SIZES = (1_000_000, 20_000_000, 200_000_000)


def measure(data: Path) -> BenchResult:
    """Replay every recorded session, and made-up ones of 1, 20 and 200 MB."""
    paths = all_sessions(data)
    if not paths:
        return BenchResult("replaying", absent=f"no recorded sessions below {data}")
    rows = [_all(paths)]
    sources = claude_sessions(data)[:8]
    if sources:
        costs = {size: _long(sources, size) for size in SIZES}
        for size, (speed, cost) in costs.items():
            rows.append(
                BenchRow(
                    f"a session of {size // 1_000_000} MB",
                    speed,
                    "MB/s of one core",
                    "at least 20",
                    speed >= 20,
                )
            )
            rows.append(
                BenchRow(f"a session of {size // 1_000_000} MB, a message", cost * 1e6, "µs")
            )
        flat = costs[SIZES[-1]][1] / costs[SIZES[0]][1]
        rows.append(
            BenchRow("cost of a message, 200 MB over 1 MB", flat, "", "at most 1.2", flat <= 1.2)
        )
    return BenchResult("replaying", tuple(rows))


def _all(paths: list[Path]) -> BenchRow:
    _, seconds = _replay(paths)
    speed = sum(path.stat().st_size for path in paths) / 1e6 / seconds
    return BenchRow(
        f"{len(paths)} recorded sessions with their reports",
        speed,
        "MB/s of one core",
        "at least 20",
        speed >= 20,
    )


def _long(sources: list[Path], size: int) -> tuple[float, float]:
    """Megabytes a second of one core, and seconds a message."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        written = write_long_session(path, sources, size)
        result, seconds = _replay([path])
        messages = result.record.sessions[0].messages
        return written / 1e6 / seconds, seconds / max(1, messages)


def _replay(paths: list[Path]) -> tuple[ReplayResult, float]:
    """The replay and its seconds of one core, without the removal of what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        options = ReplayOptions(out=Path(folder), settings=Settings())
        began = time.process_time()
        result = asyncio.run(replay_files_to_report(paths, options))
        return result, time.process_time() - began
