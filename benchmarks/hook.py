"""What a hook costs an agent: its whole call with the start of the program, beside starting a shell
and a bare Python in the same run (IN-2).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles

from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.hooks import hook_protocol

ROUNDS = 30
GOAL = 100.0
"""Milliseconds of a call, with its start."""
BEGIN_SECONDS = 60.0
INSTALLED = Path(sys.executable).parent / "memorist"
SCRIPT = (
    *((str(INSTALLED),) if INSTALLED.exists() else (sys.executable, "-m", "memorist")),
    "hook",
)
"""The program as `memorist install` names it."""
EVENTS = ("UserPromptSubmit", "Stop", "SessionStart")


class HookCost(Struct, frozen=True):
    """One start of a program, in milliseconds."""

    wall: float
    processor: float


def measure(_: Path) -> BenchResult:
    """Wall time, and processor time of the program itself; each round starts all of them once, so
    that a busy machine is busy for all.
    """
    if sys.platform == "win32":
        return BenchResult("hook", absent="hooks need Unix sockets")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        environment = {**os.environ, "MEMORIST_HOME": str(home)}
        try:
            cold = _begin(home, environment)
            seen = _rounds(_programs(Path(folder)), environment)
        finally:
            _end(home)
    return BenchResult("hook", tuple(_rows(seen, cold)))


def _programs(folder: Path) -> dict[str, tuple[Sequence[str], bytes]]:
    """What is started, and what it reads."""
    programs: dict[str, tuple[Sequence[str], bytes]] = {
        "shell": (("sh", "-c", "true"), b""),
        "python": ((sys.executable, "-c", "pass"), b""),
    }
    for event in EVENTS:
        fields = {
            "session_id": "s1",
            "cwd": str(folder),
            "hook_event_name": event,
            "prompt": "How are invoices sorted?",
            "source": "resume",
        }
        programs[event] = ((*SCRIPT, event), json.dumps(fields).encode())
    return programs


def _begin(home: Path, environment: dict[str, str]) -> float:
    """Milliseconds of the first call, which starts the process behind the hooks."""
    folder = home / hook_protocol.FOLDER
    folder.mkdir(mode=0o700)
    (folder / hook_protocol.LIMITS).write_text(
        f"SessionStart {BEGIN_SECONDS:g}\n", encoding="utf-8"
    )
    event = json.dumps(
        {
            "session_id": "s1",
            "cwd": str(home.parent),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
    ).encode()
    return _timed((*SCRIPT, "SessionStart"), event, environment).wall


def _rounds(
    programs: dict[str, tuple[Sequence[str], bytes]], environment: dict[str, str]
) -> dict[str, list[HookCost]]:
    seen: dict[str, list[HookCost]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, (words, data) in programs.items():
            seen[name].append(_timed(words, data, environment))
    return seen


def _timed(words: Sequence[str], data: bytes, environment: dict[str, str]) -> HookCost:
    before, began = os.times(), time.perf_counter()
    subprocess.run(
        words, input=data, capture_output=True, env=environment, check=True, timeout=BEGIN_SECONDS
    )
    after = os.times()
    processor = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return HookCost(1_000 * (time.perf_counter() - began), 1_000 * processor)


def _rows(seen: dict[str, list[HookCost]], cold: float) -> list[BenchRow]:
    python = median(cost.wall for cost in seen["python"])
    rows = [
        BenchRow("a shell's `true`", median(cost.wall for cost in seen["shell"]), "ms"),
        BenchRow("`python -c pass`", python, "ms"),
    ]
    for event in EVENTS:
        walls = [cost.wall for cost in seen[event]]
        rows.append(
            BenchRow(f"{event}, median", median(walls), "ms", f"< {GOAL:g}", median(walls) < GOAL)
        )
        rows.append(BenchRow(f"{event}, 9 of 10 are below", quantiles(walls, n=10)[-1], "ms"))
    prompt = seen["UserPromptSubmit"]
    rows.append(
        BenchRow(
            "UserPromptSubmit over `python -c pass`",
            median(cost.wall for cost in prompt) / python,
            "times",
        )
    )
    rows.append(
        BenchRow("processor time of it", sum(cost.processor for cost in prompt) / len(prompt), "ms")
    )
    rows.append(
        BenchRow(
            "processor time of `python -c pass`",
            sum(cost.processor for cost in seen["python"]) / ROUNDS,
            "ms",
        )
    )
    rows.append(BenchRow("the first call, which starts the process behind it", cold, "ms"))
    return rows


def _end(home: Path) -> None:
    """End the process that was started."""
    with suppress(OSError, ValueError):
        os.kill(
            int((home / hook_protocol.FOLDER / hook_protocol.LOCK).read_text("utf-8")),
            signal.SIGTERM,
        )
