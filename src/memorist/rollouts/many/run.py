"""The loop of a worker that shares its jobs with others, on any number of machines."""

from __future__ import annotations

import asyncio

from memorist.rollouts.work.run import Means, consolidate_once, eligible_threads, ended, extract_one, worker_name
from memorist.rollouts.working import Done, Pace
from memorist.store.claims import GLOBAL, Kind, Refused
from memorist.store.jobs import jobs
from memorist.store.rollouts import prune, standing_of
from memorist.store.task_queue import Perform, TaskQueue

FULL_SECONDS = 2.0
"""Delay before retrying a job that found the maximum number already running."""


async def work_together(means: Means, address: str, stop: asyncio.Event, *, pace: Pace, at_once: int, once: bool = False) -> None:
    """Run jobs from the queue at `address`, `at_once` at a time, until `stop` is set; with `once`
    until none can be started.

    However many workers there are, no more sessions are extracted at once than the setting
    `running` allows. Jobs still running at the stop are released. Raises StoreError.
    """
    queue = TaskQueue(address, performing(means, pace), stalled_seconds=pace.stalled, connections=at_once + 3)
    await queue.open()
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await sweep(means, queue)
        working = asyncio.ensure_future(queue.run(name=worker_name(), concurrency=at_once, wait=not once))
        sweeping = asyncio.ensure_future(_sweeps(means, queue, pace))
        await asyncio.wait({working, sweeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        failed = [task.exception() for task in (working, sweeping) if task.done()]
        await ended(working)
        await ended(sweeping)
        if once and not stop.is_set() and not any(failed):
            # The queue's own may wait for extractions that have ended by now, and would come back
            # after this worker is gone.
            await consolidate_once(means, worker=worker_name())
        for error in failed:
            if error is not None:
                raise error
    finally:
        stopping.cancel()
        await queue.close()


async def sweep(means: Means, queue: TaskQueue) -> None:
    """Enqueue what is due and what dead workers left, without duplicates. Raises StoreError."""
    means.look()
    prune(means.state, means.settings.unused_days)
    await queue.recover()
    for thread in eligible_threads(means):
        await queue.offer("extract", thread.id)
    await queue.offer("consolidate", GLOBAL)


async def _sweeps(means: Means, queue: TaskQueue, pace: Pace) -> None:
    while True:
        await means.clock.sleep(pace.sweep)
        await sweep(means, queue)


def performing(means: Means, pace: Pace) -> Perform:
    """Build the callback with which the queue performs each of its jobs."""

    async def perform(kind: Kind, key: str, task: str) -> float | None:
        if kind == "consolidate":
            if _extracting(means, pace):
                # Six hours pass after a consolidation: what is nearly extracted is worth a wait.
                return pace.settle
            return _again(means, await consolidate_once(means, worker=task))
        standing = standing_of(means.state, key)
        if standing is None or standing.up_to_date or standing.thread.mode != "enabled":
            return None
        while isinstance(outcome := await extract_one(means, standing.thread, worker=task), Refused) and outcome.why == "full":
            # Put back in the queue, it and all behind it would go round and round.
            await means.clock.sleep(FULL_SECONDS)
        return _again(means, outcome)

    return perform


def _extracting(means: Means, pace: Pace) -> bool:
    """Tell whether an extraction is running, or was until recently: a dead worker's is restarted
    within two sweeps.
    """
    since = means.state.now() - 2 * (pace.stalled + pace.sweep)
    return any(job.kind == "extract" and job.status == "running" and (job.lease_until or 0) > since for job in jobs(means.state))


def _again(means: Means, outcome: Done | Refused) -> float | None:
    """Return seconds until the job is retried: after a timed wait or a failure.

    Exhausted jobs wait for new messages or the user.
    """
    if isinstance(outcome, Done):
        return float(means.terms.retry_seconds) if outcome.outcome in {"failed", "released"} else None
    return max(1.0, outcome.until - means.state.now()) if outcome.until is not None else None
