"""Run jobs: claim, work with heartbeats, finish. And the worker loop of one machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from memorist.errors import BudgetSpent, MemoristError, StoreError
from memorist.platforms.processes import build_unique_process_name
from memorist.ports import Clock
from memorist.rollouts.session_eligibility import EligibilityVerdict, judge_rollouts_eligibility
from memorist.settings import RolloutsSettings
from memorist.store.dead_workers import release_leases_of_dead_workers
from memorist.store.extract_rows import RolloutExtract, prune_unused_unconsolidated_extracts
from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy, JobClaimRefused, JobKind
from memorist.store.job_claims import (
    FinishOutcome,
    claim_consolidation,
    claim_extraction,
    fail_job,
    finish_consolidation,
    finish_extraction,
    postpone_job,
    release_job,
    renew_lease,
)
from memorist.store.rollout_rows import Rollout, list_extraction_progress
from memorist.store.sqlite_database import is_database_or_disk_error
from memorist.store.state_database import StateDatabase

# The values a worker is configured with and emits. Values only.


ExtractStage = Callable[[Rollout], Awaitable[RolloutExtract]]
"""Stage one. Raises MemoristError with the reason if it cannot; the job is then retried later."""

ConsolidateStage = Callable[[Callable[[], bool]], Awaitable[Sequence[RolloutExtract]]]
"""Stage two; returns the extracts that it consolidated.

Its argument is to be called before any lasting change: it tells whether the job is still this
worker's, and renews the lease.
"""

JobOutcome = FinishOutcome | Literal["consolidated", "failed", "released"]


class FinishedJob(Struct, frozen=True, kw_only=True, tag="done"):
    """A job that ended in any way."""

    kind: JobKind
    key: str
    outcome: JobOutcome
    seconds: float
    reason: str = ""
    """Why it failed, was lost or was released."""


class JobNotClaimed(Struct, frozen=True, kw_only=True, tag="waits"):
    """A job that could not be claimed."""

    kind: JobKind
    refused: JobClaimRefused


JobEvent = FinishedJob | JobNotClaimed


class WorkerStages(Struct, frozen=True):
    """The two stages of work."""

    extract: ExtractStage
    consolidate: ConsolidateStage
    last_extract: ExtractStage | None = None
    """Stage one for the last attempt, so that the session is not lost; None uses `extract`."""


class MultiMachineWorkerIntervals(Struct, frozen=True, kw_only=True):
    """Intervals of workers that share jobs over several machines, in seconds.

    Our choice: a dead worker's job continues within `stalled` + `sweep`.
    """

    stalled: float = 60.0
    """A worker without a heartbeat for that long is dead.

    Stages that compute for longer without awaiting must do it in a thread.
    """
    sweep: float = 60.0
    """Time between two scans for new sessions and for dead workers' jobs."""
    lease: int = 180
    """Longest lease; a shorter setting takes precedence."""
    settle: float = 10.0
    """Delay before consolidation checks again whether running extractions have ended."""


POLL_SECONDS = 60.0
"""Seconds between two polls. A session becomes eligible by hours, so a minute is soon."""

SECONDS_PER_DAY = 86_400

HEARTBEATS_PER_LEASE = 4
"""Heartbeats per lease. Codex sends one every 90 s of an hour's lease; three may be missed here."""

MIN_DAYS_LEFT_TO_DEFER = 2
"""A session with no more days left before it is too old is not deferred for a spent budget: its
attempts run out within hours, and the last one uses structure, so that it is not lost. Our choice.
"""

STORE_RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Delays before a result is stored again, together half a minute: a server that is restarted, or
replaced by another, is back by then. Our choice.
"""

T = TypeVar("T")


def _find_nothing() -> None:
    """Look for no sessions: others write them to the database."""


class WorkerDependencies(Struct, frozen=True, kw_only=True):
    """Dependencies of a worker."""

    state: StateDatabase
    settings: RolloutsSettings
    claim_policy: JobClaimPolicy
    stages: WorkerStages
    clock: Clock
    on_event: Callable[[JobEvent], None]
    """Called for every job that ends or is deferred."""
    current_session: str = ""
    """Id of the running session, which is left alone."""
    find_sessions: Callable[[], object] = _find_nothing
    """Finds new and changed sessions; called before each round. May raise StoreError."""
    only_threads: frozenset[str] | None = None
    """Ids of the sessions that may be extracted; None means all."""


def judge_eligibility_of_unextracted_rollouts(
    dependencies: WorkerDependencies,
) -> list[EligibilityVerdict]:
    """Judge each session that is not extracted as it is now, newest first. Raises StoreError."""
    found = list_extraction_progress(
        dependencies.state, only_behind=True, limit=dependencies.settings.scan
    )
    only = dependencies.only_threads
    return [
        verdict
        for verdict in judge_rollouts_eligibility(
            found,
            dependencies.settings,
            now=dependencies.state.now(),
            current=dependencies.current_session,
        )
        if only is None or verdict.thread.id in only
    ]


def find_eligible_rollouts(dependencies: WorkerDependencies) -> list[Rollout]:
    """Return the sessions that may be extracted now, newest first. Raises StoreError."""
    return [
        each.thread
        for each in judge_eligibility_of_unextracted_rollouts(dependencies)
        if each.is_eligible
    ]


async def run_worker_loop(
    dependencies: WorkerDependencies,
    stop: asyncio.Event,
    *,
    at_once: int | None = None,
    once: bool = False,
) -> None:
    """Run jobs, `at_once` at a time (None: the configured maximum), until `stop` is set, or with
    `once` until nothing can be claimed.

    Jobs still running then are released. Raises StoreError.
    """
    stopping, worker = asyncio.ensure_future(stop.wait()), build_unique_process_name()
    dependencies.state.register_worker(worker)
    try:
        while not stop.is_set():
            turn = asyncio.ensure_future(
                run_extraction_and_consolidation(dependencies, worker, at_once=at_once)
            )
            await asyncio.wait({turn, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                await cancel_task_and_wait(turn)
                return
            turn.result()
            if once:
                return
            await asyncio.wait({stopping}, timeout=POLL_SECONDS)
    finally:
        stopping.cancel()


async def run_extraction_and_consolidation(
    dependencies: WorkerDependencies, worker: str, *, at_once: int | None = None
) -> None:
    """Extract what is eligible, as many at a time as allowed, and then consolidate.

    Raises StoreError.
    """
    dependencies.find_sessions()
    release_leases_of_dead_workers(dependencies.state)
    prune_unused_unconsolidated_extracts(dependencies.state, dependencies.settings.unused_days)
    waiting = deque(find_eligible_rollouts(dependencies))

    async def runner(number: int) -> None:
        while waiting:
            outcome = await run_extraction_job(
                dependencies, waiting.popleft(), worker=f"{worker}#{number}"
            )
            if isinstance(outcome, JobClaimRefused) and outcome.why == "full":
                # Others are at their work; what is left is theirs, or the next round's.
                return

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(min(at_once or dependencies.settings.running, len(waiting))):
                group.create_task(runner(number))
    except* MemoristError as errors:
        raise errors.exceptions[0] from None
    await run_consolidation_job(dependencies, worker=worker)


async def run_extraction_job(
    dependencies: WorkerDependencies, thread: Rollout, *, worker: str
) -> FinishedJob | JobClaimRefused:
    """Run stage one of a session if it can be claimed.

    A failure is recorded and reported, not raised. Raises StoreError.
    """
    claim = claim_extraction(
        dependencies.state,
        thread.id,
        thread.updated,
        worker=worker,
        terms=dependencies.claim_policy,
    )
    if isinstance(claim, JobClaimRefused):
        return _defer(dependencies, "extract", claim)

    async def job() -> JobOutcome:
        extract = (
            (dependencies.stages.last_extract or dependencies.stages.extract)
            if claim.last_attempt
            else dependencies.stages.extract
        )
        extracted = await extract(thread)
        return await retry_while_server_is_away(
            dependencies.clock,
            lambda: finish_extraction(
                dependencies.state, claim, extracted, dependencies.claim_policy
            ),
        )

    left = dependencies.settings.max_age_days * SECONDS_PER_DAY - (
        dependencies.state.now() - thread.updated
    )
    return await _run_job(
        dependencies,
        claim,
        job,
        put_off=left > MIN_DAYS_LEFT_TO_DEFER * SECONDS_PER_DAY or left < 0,
    )


async def run_consolidation_job(
    dependencies: WorkerDependencies, *, worker: str
) -> FinishedJob | JobClaimRefused:
    """Run stage two if it can be claimed.

    A failure is recorded and reported, not raised. Raises StoreError.
    """
    claim = claim_consolidation(dependencies.state, worker=worker, terms=dependencies.claim_policy)
    if isinstance(claim, JobClaimRefused):
        return _defer(dependencies, "consolidate", claim)

    async def job() -> JobOutcome:
        used = await dependencies.stages.consolidate(
            lambda: renew_lease(dependencies.state, claim, dependencies.claim_policy)
        )
        is_held = await retry_while_server_is_away(
            dependencies.clock, lambda: finish_consolidation(dependencies.state, claim, used)
        )
        return "consolidated" if is_held else "lost"

    return await _run_job(dependencies, claim, job)


def _defer(
    dependencies: WorkerDependencies, kind: JobKind, refused: JobClaimRefused
) -> JobClaimRefused:
    if refused.why != "up to date":
        dependencies.on_event(JobNotClaimed(kind=kind, refused=refused))
    return refused


async def _run_job(
    dependencies: WorkerDependencies,
    claim: JobClaim,
    job: Callable[[], Awaitable[JobOutcome]],
    *,
    put_off: bool = True,
) -> FinishedJob:
    """Run a claimed job. With `put_off`, a spent budget does not count as an attempt."""
    start = dependencies.clock.monotonic()

    def report(outcome: JobOutcome, reason: str = "") -> FinishedJob:
        seconds = dependencies.clock.monotonic() - start
        done = FinishedJob(
            kind=claim.kind, key=claim.key, outcome=outcome, seconds=seconds, reason=reason
        )
        dependencies.on_event(done)
        return done

    try:
        task = await _run_with_heartbeat(dependencies, claim, job())
        error = task.exception() if task else None
    except asyncio.CancelledError:
        release_job(dependencies.state, claim)
        report("released", "the worker was stopped")
        raise
    if task is None:
        return report("lost", "its lease ran out, and another worker has taken it over")
    if error is None:
        return report(task.result())
    if put_off and isinstance(error, BudgetSpent):
        postponed = postpone_job(dependencies.state, claim, str(error), dependencies.claim_policy)
        return report("released" if postponed else "lost", str(error))
    # A stage is handed in: whatever is wrong with it must not take the worker and its other jobs
    # down, and is on record with its name.
    reason = str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}"
    failed = fail_job(dependencies.state, claim, reason, dependencies.claim_policy)
    return report("failed" if failed else "lost", reason)


async def retry_while_server_is_away(clock: Clock, store: Callable[[], T]) -> T:
    """What `store` returns, once a server that refuses has had time to come back, as after a
    restart: a model was paid for the result. Raises StoreError.
    """
    for seconds in STORE_RETRY_SECONDS:
        try:
            return store()
        except StoreError as error:
            if is_database_or_disk_error(error):  # this machine's own disk, which is full or broken
                raise
        await clock.sleep(seconds)
    return store()


async def _run_with_heartbeat(
    dependencies: WorkerDependencies, claim: JobClaim, job: Awaitable[T]
) -> asyncio.Future[T] | None:
    """Run the job with heartbeats.

    Return its task once it is over in any way, or None if the lease was lost.
    """
    task = asyncio.ensure_future(job)
    beat = asyncio.ensure_future(_heartbeat(dependencies, claim))
    try:
        await asyncio.wait({task, beat}, return_when=asyncio.FIRST_COMPLETED)
        return task if task.done() else None
    finally:
        await cancel_task_and_wait(task)
        await cancel_task_and_wait(beat)


async def _heartbeat(dependencies: WorkerDependencies, claim: JobClaim) -> None:
    """Renew the lease; return once it is lost. A beat that the database refuses is missed."""
    while True:
        await dependencies.clock.sleep(
            dependencies.claim_policy.lease_seconds / HEARTBEATS_PER_LEASE
        )
        with contextlib.suppress(StoreError):
            if not renew_lease(dependencies.state, claim, dependencies.claim_policy):
                return


async def cancel_task_and_wait(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it is over in any way."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task
