"""The loop of a worker that shares its jobs with others, on any number of machines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from msgspec.structs import replace

from memorist.errors import StoreError
from memorist.platforms.processes import build_unique_process_name
from memorist.rollouts.job_worker import (
    FinishedJob,
    JobEvent,
    JobNotClaimed,
    MultiMachineWorkerIntervals,
    WorkerDependencies,
    cancel_task_and_wait,
    find_eligible_rollouts,
    run_consolidation_job,
    run_extraction_job,
)
from memorist.store.dead_workers import release_leases_of_dead_workers
from memorist.store.extract_rows import prune_unused_unconsolidated_extracts
from memorist.store.job_claim_rules import GLOBAL_KEY, JobClaimRefused, JobKind
from memorist.store.job_claims import list_jobs
from memorist.store.rollout_rows import find_extraction_progress
from memorist.store.task_queue import JobQueue, PerformJob

_log = logging.getLogger("memorist")
MAX_RUNNING_RETRY_SECONDS = 2.0
"""Delay before retrying a job that found the maximum number already running."""


async def run_multi_machine_worker(
    dependencies: WorkerDependencies,
    address: str,
    stop: asyncio.Event,
    *,
    pace: MultiMachineWorkerIntervals,
    at_once: int,
    once: bool = False,
) -> None:
    """Run jobs from the queue at `address`, `at_once` at a time, until `stop` is set; with `once`
    until none can be started.

    However many workers there are, no more sessions are extracted at once than the setting
    `running` allows. Jobs still running at the stop are released. Raises StoreError.
    """
    worker = build_unique_process_name()
    if once:
        dependencies = replace(dependencies, on_event=_tell_deferred_once(dependencies.on_event))
    dependencies.state.register_worker(worker)
    queue = JobQueue(
        address,
        build_job_performer(dependencies, pace, worker),
        stalled_seconds=pace.stalled,
        connections=at_once + 3,
    )
    await queue.open()
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await scan_prune_and_enqueue_jobs(dependencies, queue)
        working = asyncio.ensure_future(queue.run(name=worker, concurrency=at_once, wait=not once))
        sweeping = asyncio.ensure_future(_enqueue_periodically(dependencies, queue, pace))
        await asyncio.wait({working, sweeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done():
            queue.cancel_running_jobs()
        failed = [task.exception() for task in (working, sweeping) if task.done()]
        await cancel_task_and_wait(working)
        await cancel_task_and_wait(sweeping)
        if once and not stop.is_set() and not any(failed):
            # The queue's own may wait for extractions that have ended by now, and would come back
            # after this worker is gone.
            await run_consolidation_job(dependencies, worker=worker)
        for error in failed:
            if error is not None:
                raise error
    finally:
        stopping.cancel()
        await queue.close()


def _tell_deferred_once(on_event: Callable[[JobEvent], None]) -> Callable[[JobEvent], None]:
    """A listener that is told once of a job that has to wait, however often a run asks for it."""
    seen = set[JobEvent]()

    def tell(event: JobEvent) -> None:
        if isinstance(event, JobNotClaimed):
            if event in seen:
                return
            seen.add(event)
        on_event(event)

    return tell


async def scan_prune_and_enqueue_jobs(dependencies: WorkerDependencies, queue: JobQueue) -> None:
    """Enqueue what is due and what dead workers left, without duplicates. Raises StoreError."""
    dependencies.find_sessions()
    prune_unused_unconsolidated_extracts(dependencies.state, dependencies.settings.unused_days)
    await queue.requeue_jobs_of_dead_worker(release_leases_of_dead_workers(dependencies.state))
    await queue.requeue_stalled()
    for thread in find_eligible_rollouts(dependencies):
        await queue.enqueue("extract", thread.id)
    await queue.enqueue("consolidate", GLOBAL_KEY)


async def _enqueue_periodically(
    dependencies: WorkerDependencies, queue: JobQueue, pace: MultiMachineWorkerIntervals
) -> None:
    """Enqueue at each sweep; one that the server refuses, as at its restart, is left out."""
    while True:
        await dependencies.clock.sleep(pace.sweep)
        try:
            await scan_prune_and_enqueue_jobs(dependencies, queue)
        except StoreError as error:
            _log.warning("%s; the worker goes on, and looks again", error)


def build_job_performer(
    dependencies: WorkerDependencies, pace: MultiMachineWorkerIntervals, worker: str
) -> PerformJob:
    """Build the callback with which the queue performs each of its jobs, for the worker of this
    name: the same task in another process takes over what it claimed.
    """

    async def perform(kind: JobKind, key: str, task: str) -> float | None:
        if kind == "consolidate":
            if _is_extraction_running(dependencies, pace):
                # Six hours pass after a consolidation: what is nearly extracted is worth a wait.
                return pace.settle
            return _retry_delay(
                dependencies, await run_consolidation_job(dependencies, worker=f"{task}@{worker}")
            )
        standing = find_extraction_progress(dependencies.state, key)
        if standing is None or standing.is_up_to_date or standing.rollout.mode != "enabled":
            return None
        while (
            isinstance(
                outcome := await run_extraction_job(
                    dependencies, standing.rollout, worker=f"{task}@{worker}"
                ),
                JobClaimRefused,
            )
            and outcome.why == "full"
        ):
            # Put back in the queue, it and all behind it would go round and round.
            await dependencies.clock.sleep(MAX_RUNNING_RETRY_SECONDS)
        return _retry_delay(dependencies, outcome)

    return perform


def _is_extraction_running(
    dependencies: WorkerDependencies, pace: MultiMachineWorkerIntervals
) -> bool:
    """Tell whether an extraction is running, or was until recently: a dead worker's is restarted
    within two sweeps.
    """
    since = dependencies.state.now() - 2 * (pace.stalled + pace.sweep)
    return any(
        job.kind == "extract" and job.status == "running" and (job.lease_until or 0) > since
        for job in list_jobs(dependencies.state)
    )


def _retry_delay(
    dependencies: WorkerDependencies, outcome: FinishedJob | JobClaimRefused
) -> float | None:
    """Return seconds until the job is retried: after a timed wait or a failure.

    Exhausted jobs wait for new messages or the user.
    """
    if isinstance(outcome, FinishedJob):
        if outcome.outcome in {"failed", "released"}:
            return float(dependencies.claim_policy.retry_seconds)
        return None
    return max(1.0, outcome.until - dependencies.state.now()) if outcome.until is not None else None
