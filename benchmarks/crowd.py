"""Two hundred users of one proxy, driven by Locust: an hour's traffic in twelve minutes, streamed,
with tools, conversations that outgrow the model's window, and answers that their users stop.

The model's server refuses what is over its window or does not pair calls with results. Locust runs
in an environment of its own (`build/locust`); users, proxy and server are three processes.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct, field

from benchmarks.load import read_resident_megabytes
from benchmarks.proxy import proxy_before
from benchmarks.report import BenchResult, BenchRow
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, Step
from support.chat_users import ProviderCheck, repeat_signs

USERS, MINUTES = 200, 12
THINK_SECONDS = 6.0
"""A fifth of half a minute, for an hour in twelve minutes."""
REQUESTS = 24
WINDOW = 12_000
"""Tokens; a conversation of 24 requests is about twice as long."""
LOCUST = Path("build/locust/bin/python")
USERS_FILE = Path(__file__).with_name("crowd_users.py")
SAMPLE_SECONDS = 5.0
CACHE_METRIC = "memorist_proxy_cached_body_bytes "
MAX_GROWTH = 0.1
"""Share by which memory may grow from the middle of the run to its end and still be called flat."""


class CrowdSizes(Struct, frozen=True):
    """How many users, for how long."""

    users: int = USERS
    minutes: float = MINUTES
    think_seconds: float = THINK_SECONDS
    requests: int = REQUESTS


class CrowdFigures(Struct):
    """What was seen from the three sides."""

    answered: int = 0
    stopped: int = 0
    failed: int = 0
    half_seconds: float = 0.0
    late_seconds: float = 0.0
    refusals: list[str] = field(default_factory=list)
    check: ProviderCheck = field(default_factory=ProviderCheck)
    memory: list[float] = field(default_factory=list)
    """Resident megabytes of the proxy, every few seconds."""
    cached: list[float] = field(default_factory=list)
    """Megabytes of the request bodies that it caches, at the same times."""
    complaints: str = ""
    """What Locust says of failures."""


def measure(data: Path) -> BenchResult:
    """Needs no data; takes a quarter of an hour."""
    del data
    if not LOCUST.exists():
        return BenchResult("crowd", absent="Locust is not here: make bench NAME=crowd installs it")
    figures = measure_crowd(CrowdSizes())
    if figures is None:
        return BenchResult("crowd", absent="the proxy did not start; it needs the extra `proxy`")
    sys.stderr.write(figures.complaints)
    return BenchResult("crowd", crowd_rows(figures))


def call_and_answer(request: Request) -> Step:
    """The model: it calls a tool, and answers the result by the signs of whom it was shown."""
    newest = msgspec.json.encode(request.body["messages"][-1])
    return repeat_signs(request) if b'"tool_result"' in newest else CallTool(name="tool_1")


def measure_crowd(sizes: CrowdSizes, python: Path = LOCUST) -> CrowdFigures | None:
    """Run it; None where the proxy does not start."""
    figures = CrowdFigures()
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer(call_and_answer, window=WINDOW, max_calls=1_000_000) as model,
    ):
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        settings = f'[models.prices."claude-sonnet-4-5"]\nwindow = {WINDOW}\n'
        (home / "config.toml").write_text(settings, "utf-8")
        port = int(model.url.rpartition(":")[2])
        with proxy_before(port, home) as (proxy, process):
            if not proxy:
                return None

            def sample() -> None:
                figures.check.read(model)
                figures.memory.append(read_resident_megabytes(process))
                figures.cached.append(_read_cached_megabytes(proxy))

            with _every(SAMPLE_SECONDS, sample):
                _run_locust(python, sizes, proxy, Path(folder), figures)
            figures.check.read(model)
            figures.refusals = list(model.refusals)
    return figures


def _read_cached_megabytes(port: int) -> float:
    """Megabytes of request bodies that the proxy caches, as its metrics say."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    found = (line.split()[1] for line in lines if line.startswith(CACHE_METRIC))
    return int(next(found, "0")) / 1_048_576


def _run_locust(
    python: Path, sizes: CrowdSizes, proxy: int, folder: Path, figures: CrowdFigures
) -> None:
    done = subprocess.run(
        [
            *(str(python), "-m", "locust", "-f", str(USERS_FILE), "--headless", "--only-summary"),
            *("-u", str(sizes.users), "-r", str(max(1, sizes.users // 20))),
            *("-t", f"{round(60 * sizes.minutes)}s", "--stop-timeout", "30"),
            *("--host", f"http://127.0.0.1:{proxy}", "--csv", str(folder / "crowd")),
        ],
        env=os.environ
        | {
            "CROWD_REQUESTS": str(sizes.requests),
            "CROWD_THINK_SECONDS": str(sizes.think_seconds),
            "NO_PROXY": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    with (folder / "crowd_stats.csv").open(newline="") as file:
        rows = {row["Name"]: row for row in csv.DictReader(file)}
    answered = rows.get("answered", {})
    figures.answered = int(answered.get("Request Count", 0))
    figures.stopped = int(rows.get("stopped by its user", {}).get("Request Count", 0))
    figures.failed = int(rows["Aggregated"]["Failure Count"])
    figures.half_seconds = float(answered.get("50%", 0)) / 1_000
    figures.late_seconds = float(answered.get("99%", 0)) / 1_000
    if figures.failed or done.returncode:
        figures.complaints = done.stderr[-2_000:]


@contextmanager
def _every(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Do something again and again in a thread of its own."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(seconds):
            action()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def crowd_rows(figures: CrowdFigures) -> tuple[BenchRow, ...]:
    """The table."""
    memory, cached = figures.memory or [0.0], figures.cached or [0.0]
    middle, end = memory[len(memory) // 2], memory[-1]
    growth = end - middle - max(0.0, cached[-1] - cached[len(cached) // 2])
    refused, leaks = len(figures.refusals), figures.check.leaks
    return (
        BenchRow("answers", figures.answered),
        BenchRow("answers that their users stopped", figures.stopped),
        BenchRow("requests that the model got", figures.check.requests),
        BenchRow("lost, broken or not read", figures.failed, "", "0", figures.failed == 0),
        BenchRow("refused by the model", refused, "", "0", refused == 0),
        BenchRow("with words of another user", leaks, "", "0", leaks == 0),
        BenchRow("to the answer's first bytes, half", 1_000 * figures.half_seconds, "ms"),
        BenchRow("the same, 99 of 100", 1_000 * figures.late_seconds, "ms"),
        BenchRow("memory of the proxy in the middle", middle, "MB"),
        BenchRow("memory at the end", end, "MB"),
        BenchRow("bodies that it caches in the middle", cached[len(cached) // 2], "MB"),
        BenchRow("bodies that it caches at the end", cached[-1], "MB", "64", cached[-1] <= 64),
        BenchRow("growth beside them", growth, "MB", "flat", growth <= middle * MAX_GROWTH),
    )
