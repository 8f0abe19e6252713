"""Run jobs: claim, work with heartbeats, finish. And the worker loop of one machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from memorist.errors import BudgetSpent, MemoristError
from memorist.ports import Clock
from memorist.rollouts.eligible import judge_all
from memorist.rollouts.settings import RolloutsSettings
from memorist.rollouts.working import Done, Outcome, Stages, Told, Waits
from memorist.store.claims import Claimed, Kind, Refused, Terms
from memorist.store.dead import end_leases
from memorist.store.jobs import (
    claim_consolidation,
    claim_extraction,
    fail,
    finish_consolidation,
    finish_extraction,
    postpone,
    release,
    renew,
)
from memorist.store.rollouts import prune, standings
from memorist.store.state import SqliteState, State
from memorist.store.thread import Thread

POLL_SECONDS = 60.0
"""Seconds between two polls. A session becomes eligible by hours, so a minute is soon."""

DAY = 86_400

BEATS = 4
"""Heartbeats per lease. Codex sends one every 90 s of an hour's lease; three may be missed here."""

LAST_DAYS = 2
"""A session with no more days left before it is too old is not deferred for a spent budget: its
attempts run out within hours, and the last one uses structure, so that it is not lost. Our choice.
"""

T = TypeVar("T")


def _nowhere() -> None:
    """Look for no sessions: others write them to the database."""


class Means(Struct, frozen=True, kw_only=True):
    """Dependencies of a worker."""

    state: State
    settings: RolloutsSettings
    terms: Terms
    stages: Stages
    clock: Clock
    told: Callable[[Told], None]
    """Called for every job that ends or is deferred."""
    current: str = ""
    """Id of the running session, which is left alone."""
    look: Callable[[], object] = _nowhere
    """Finds new and changed sessions; called before each round. May raise StoreError."""
    only: frozenset[str] | None = None
    """Ids of the sessions that may be extracted; None means all."""


def worker_name() -> str:
    """Return a unique worker name: machine, process id, and a few random digits."""
    return f"{platform.node() or 'host'}:{os.getpid()}:{secrets.token_hex(3)}"


def is_dead(worker: str) -> bool:
    """Tell whether this names a dead process of this machine.

    Unknown (False) for other machines and reused process ids.
    """
    machine, _, rest = worker.rpartition(":")[0].rpartition(":")
    if machine != (platform.node() or "host") or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        # Someone else's process, or no number that a process can have.
        return False
    return False


def eligible_threads(means: Means) -> list[Thread]:
    """Return the sessions that may be extracted now, newest first. Raises StoreError."""
    found = standings(means.state, behind=True, limit=means.settings.scan)
    verdicts = judge_all(found, means.settings, now=means.state.now(), current=means.current)
    return [verdict.thread for verdict in verdicts if verdict.eligible and (means.only is None or verdict.thread.id in means.only)]


async def work(means: Means, stop: asyncio.Event, *, at_once: int | None = None, once: bool = False) -> None:
    """Run jobs, `at_once` at a time (None: the configured maximum), until `stop` is set, or with
    `once` until nothing can be claimed.

    Jobs still running then are released. Raises StoreError.
    """
    stopping = asyncio.ensure_future(stop.wait())
    try:
        while not stop.is_set():
            turn = asyncio.ensure_future(one_round(means, worker_name(), at_once=at_once))
            await asyncio.wait({turn, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                await ended(turn)
                return
            turn.result()
            if once:
                return
            await asyncio.wait({stopping}, timeout=POLL_SECONDS)
    finally:
        stopping.cancel()


async def one_round(means: Means, worker: str, *, at_once: int | None = None) -> None:
    """Extract what is eligible, as many at a time as allowed, and then consolidate.

    Raises StoreError.
    """
    means.look()
    if isinstance(means.state, SqliteState):
        # A file is one machine's. Machines that share a database may share a name too, and would
        # end each other's leases for ever.
        end_leases(means.state, is_dead)
    prune(means.state, means.settings.unused_days)
    waiting = deque(eligible_threads(means))

    async def runner(number: int) -> None:
        while waiting:
            outcome = await extract_one(means, waiting.popleft(), worker=f"{worker}.{number}")
            if isinstance(outcome, Refused) and outcome.why == "full":
                # Others are at their work; what is left is theirs, or the next round's.
                return

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(min(at_once or means.settings.running, len(waiting))):
                group.create_task(runner(number))
    except* MemoristError as errors:
        raise errors.exceptions[0] from None
    await consolidate_once(means, worker=worker)


async def extract_one(means: Means, thread: Thread, *, worker: str) -> Done | Refused:
    """Run stage one of a session if it can be claimed.

    A failure is recorded and reported, not raised. Raises StoreError.
    """
    claim = claim_extraction(means.state, thread.id, thread.updated, worker=worker, terms=means.terms)
    if isinstance(claim, Refused):
        return _waits(means, "extract", claim)

    async def job() -> Outcome:
        extract = (means.stages.last_extract or means.stages.extract) if claim.last else means.stages.extract
        return finish_extraction(means.state, claim, await extract(thread), means.terms)

    left = means.settings.max_age_days * DAY - (means.state.now() - thread.updated)
    return await _done(means, claim, job, put_off=left > LAST_DAYS * DAY or left < 0)


async def consolidate_once(means: Means, *, worker: str) -> Done | Refused:
    """Run stage two if it can be claimed.

    A failure is recorded and reported, not raised. Raises StoreError.
    """
    claim = claim_consolidation(means.state, worker=worker, terms=means.terms)
    if isinstance(claim, Refused):
        return _waits(means, "consolidate", claim)

    async def job() -> Outcome:
        used = await means.stages.consolidate(lambda: renew(means.state, claim, means.terms))
        return "consolidated" if finish_consolidation(means.state, claim, used) else "lost"

    return await _done(means, claim, job)


def _waits(means: Means, kind: Kind, refused: Refused) -> Refused:
    if refused.why != "up to date":
        means.told(Waits(kind=kind, refused=refused))
    return refused


async def _done(means: Means, claim: Claimed, job: Callable[[], Awaitable[Outcome]], *, put_off: bool = True) -> Done:
    """Run a claimed job. With `put_off`, a spent budget does not count as an attempt."""
    start = means.clock.monotonic()
    try:
        task = await _alive(means, claim, job())
        error = task.exception() if task else None
    except asyncio.CancelledError:
        release(means.state, claim)
        _tell(means, claim, start, "released", "the worker was stopped")
        raise
    if task is None:
        return _tell(means, claim, start, "lost", "its lease ran out, and another worker has taken it over")
    if error is None:
        return _tell(means, claim, start, task.result(), "")
    if put_off and isinstance(error, BudgetSpent):
        return _tell(means, claim, start, "released" if postpone(means.state, claim, str(error), means.terms) else "lost", str(error))
    # A stage is handed in: whatever is wrong with it must not take the worker and its other jobs
    # down, and is on record with its name.
    reason = str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}"
    return _tell(means, claim, start, "failed" if fail(means.state, claim, reason, means.terms) else "lost", reason)


def _tell(means: Means, claim: Claimed, start: float, outcome: Outcome, reason: str) -> Done:
    done = Done(kind=claim.kind, key=claim.key, outcome=outcome, seconds=means.clock.monotonic() - start, reason=reason)
    means.told(done)
    return done


async def _alive(means: Means, claim: Claimed, job: Awaitable[T]) -> asyncio.Future[T] | None:
    """Run the job with heartbeats.

    Return its task once it is over in any way, or None if the lease was lost.
    """
    task = asyncio.ensure_future(job)
    beat = asyncio.ensure_future(_beat(means, claim))
    try:
        await asyncio.wait({task, beat}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task
        beat.result()
        return None
    finally:
        await ended(task)
        await ended(beat)


async def _beat(means: Means, claim: Claimed) -> None:
    """Renew the lease; return once it is lost."""
    while True:
        await means.clock.sleep(means.terms.lease_seconds / BEATS)
        if not renew(means.state, claim, means.terms):
            return


async def ended(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it is over in any way."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task
