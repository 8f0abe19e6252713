"""Doing jobs: claim, work with signs of life, finish. And the loop of a worker on one machine."""

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
"""Time between two looks for work. A session becomes eligible by hours, so a minute is soon."""

DAY = 86_400

BEATS = 4
"""Signs of life in one lease. Codex gives one every 90 s of an hour's lease; three may be missed here."""

LAST_DAYS = 2
"""A session that has no more days than that before it is too old is not put off where the budget is spent: the attempts run out within hours, and the
last one takes structure, so that it is not lost. Ours.
"""

T = TypeVar("T")


def _nowhere() -> None:
    """No sessions are looked for: others put them into the database."""


class Means(Struct, frozen=True, kw_only=True):
    """What a worker works with."""

    state: State
    settings: RolloutsSettings
    terms: Terms
    stages: Stages
    clock: Clock
    told: Callable[[Told], None]
    """Hears of everything that ends or has to wait."""
    current: str = ""
    """Id of the session that is running, which is left alone."""
    look: Callable[[], object] = _nowhere
    """Looks for sessions that came or changed; called before each round. May raise StoreError."""
    only: frozenset[str] | None = None
    """Ids of the sessions that may be extracted; None: all."""


def worker_name() -> str:
    """A name that no other worker has: machine, process, and a few digits of chance."""
    return f"{platform.node() or 'host'}:{os.getpid()}:{secrets.token_hex(3)}"


def is_dead(worker: str) -> bool:
    """Whether this names a process of this machine that is no more. Of one elsewhere, or whose number another has by now, that is not known."""
    machine, _, rest = worker.rpartition(":")[0].rpartition(":")
    if machine != (platform.node() or "host") or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        # Somebody else's process, or no number that a process can have.
        return False
    return False


def eligible_threads(means: Means) -> list[Thread]:
    """The sessions that may be extracted now, newest first. Raises StoreError."""
    found = standings(means.state, behind=True, limit=means.settings.scan)
    verdicts = judge_all(found, means.settings, now=means.state.now(), current=means.current)
    return [verdict.thread for verdict in verdicts if verdict.eligible and (means.only is None or verdict.thread.id in means.only)]


async def work(means: Means, stop: asyncio.Event, *, at_once: int | None = None, once: bool = False) -> None:
    """Do jobs, `at_once` at a time (None: as many as may run), until `stop` is set, or with `once` until nothing can be claimed.

    What is at work then is given back. Raises StoreError.
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
    """Extract what is eligible, as many at a time as may run, and then consolidate. Raises StoreError."""
    means.look()
    if isinstance(means.state, SqliteState):
        # A file is one machine's. Machines that share a database may share a name too, and would end each other's leases for ever.
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
    """Stage one of a session, if it can be claimed. A failure is recorded and told, not raised. Raises StoreError."""
    claim = claim_extraction(means.state, thread.id, thread.updated, worker=worker, terms=means.terms)
    if isinstance(claim, Refused):
        return _waits(means, "extract", claim)

    async def job() -> Outcome:
        extract = (means.stages.last_extract or means.stages.extract) if claim.last else means.stages.extract
        return finish_extraction(means.state, claim, await extract(thread), means.terms)

    left = means.settings.max_age_days * DAY - (means.state.now() - thread.updated)
    return await _done(means, claim, job, put_off=left > LAST_DAYS * DAY or left < 0)


async def consolidate_once(means: Means, *, worker: str) -> Done | Refused:
    """Stage two, if it can be claimed. A failure is recorded and told, not raised. Raises StoreError."""
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
    """`put_off`: what may not be spent now counts as no attempt."""
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
    # A stage is handed in: whatever is wrong with it must not take the worker and its other jobs down, and is on record with its name.
    reason = str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}"
    return _tell(means, claim, start, "failed" if fail(means.state, claim, reason, means.terms) else "lost", reason)


def _tell(means: Means, claim: Claimed, start: float, outcome: Outcome, reason: str) -> Done:
    done = Done(kind=claim.kind, key=claim.key, outcome=outcome, seconds=means.clock.monotonic() - start, reason=reason)
    means.told(done)
    return done


async def _alive(means: Means, claim: Claimed, job: Awaitable[T]) -> asyncio.Future[T] | None:
    """Work and give signs of life. Gives the work when it is over, however that went, or None when the job is another's by then."""
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
    """Ends when the claim is lost."""
    while True:
        await means.clock.sleep(means.terms.lease_seconds / BEATS)
        if not renew(means.state, claim, means.terms):
            return


async def ended(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it is over, however it ends."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task
