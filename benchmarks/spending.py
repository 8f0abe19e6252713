"""What the spend governor costs: a decision, and a look at the books, with few and with a hundred
thousand receipts (SG-1).
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.report import BenchResult, BenchRow
from memorist.budget.budget_governor import BudgetGovernor, read_budget_usage
from memorist.core.messages import Usage
from memorist.errors import UsageError
from memorist.forks.fork_spec import (
    ForkLimits,
    ForkOutcome,
    ForkRunDenial,
    ForkSpec,
    NoToolsPermission,
    Receipt,
)
from memorist.settings import SpendSettings
from memorist.store.spend_rows import DAY_SECONDS, add_receipt_to_daily_and_session_totals
from memorist.store.sqlite_database import open_database, transaction
from memorist.testing.frozen_clock import FrozenClock

FEW, MANY = 100, 100_000
SESSIONS = 2_000
DAYS = 200
ASKED = 200
GOAL = 1.0
"""Milliseconds of a reading of the books."""
LABELS = ("session_memory", "extraction", "recall", "compact")
WIDE = SpendSettings(
    session_requests=10**9,
    day_requests=10**9,
    session_seconds=1e12,
    day_seconds=1e12,
    session_tokens=10**12,
    day_tokens=10**12,
)


def measure(_: Path) -> BenchResult:
    """Median time on this machine; the growth is the ratio of the two sizes in one run."""
    with tempfile.TemporaryDirectory() as folder:
        few = _timed(Path(folder) / "few.sqlite", FEW)
        many = _timed(Path(folder) / "many.sqlite", MANY)
    rows = []
    for what, small, large in zip(
        ("reading the books", "asking, with its reservation, and the receipt"),
        few,
        many,
        strict=True,
    ):
        rows.append(
            BenchRow(
                f"{what}, {MANY:,} receipts",
                round(large, 3),
                "ms",
                f"< {GOAL:g}" if what.startswith("reading") else "",
                large < GOAL,
            )
        )
        rows.append(
            BenchRow(f"{what}, {MANY:,} over {FEW:,} receipts", round(large / small, 2), "times")
        )
    return BenchResult("spend", tuple(rows))


def _timed(path: Path, count: int) -> tuple[float, float]:
    database = open_database(path)
    try:
        clock = FrozenClock()
        _fill(database, count, clock.now())
        books = BudgetGovernor(database, "s1", clock=clock, settings=WIDE)
        spec = ForkSpec(
            label="session_memory",
            why="",
            instruction="",
            permission=NoToolsPermission(),
            limits=ForkLimits(cost_usd=0.01),
        )

        def ask() -> None:
            if isinstance(books.request_admission(spec, "m"), ForkRunDenial):
                raise UsageError("the measure needs caps that it does not reach")
            books.record_receipt(_receipt(1, clock.now()))

        return _median(
            lambda: read_budget_usage(database, clock.now(), session="s1", model="m")
        ), _median(ask)
    finally:
        database.close()


def _median(work: Callable[[], object]) -> float:
    """Milliseconds."""
    times = []
    for _ in range(ASKED):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1_000 * median(times)


def _receipt(number: int, started: float) -> Receipt:
    usage = Usage(input=1_000, cache_read=90_000, cache_write=2_000, output=900)
    label = LABELS[number % len(LABELS)]
    return Receipt(
        label=label,
        why="w",
        model="m",
        started=started,
        seconds=9.0,
        requests=2,
        usage=usage,
        cost_usd=0.001,
        outcome=ForkOutcome.CHANGED,
    )


def _fill(database: sqlite3.Connection, count: int, now: float) -> None:
    """Receipts of many sessions over many days, in one transaction, which is what makes it
    quick.
    """
    with transaction(database):
        for number in range(count):
            session = f"s{number % SESSIONS}"
            receipt = _receipt(number // SESSIONS, now - (number % DAYS) * DAY_SECONDS)
            database.execute(
                "insert into receipts (session, label, why, model, started, seconds, requests, "
                "turns, input, cache_read, cache_write, output,"
                " cost_usd, files, denied, outcome, said) values (?, ?, 'w', 'm', ?, 9, 2, 1, "
                "1000, 90000, 2000, 900, 0.001, '[]', '[]', 'changed', '')",
                (session, receipt.label, receipt.started),
            )
            add_receipt_to_daily_and_session_totals(database, session, receipt)
