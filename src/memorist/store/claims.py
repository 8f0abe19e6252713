"""Who may work on what: the rules of a claim, as values. Pure.

A claim lasts for a lease and is known by its token; only who holds the token may renew or finish it. Times are seconds since the epoch. A clock
that was set back must not keep what the dead held: a time further ahead than any that could be given now is no longer believed.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

Kind = Literal["extract", "consolidate"]
Status = Literal["pending", "running", "done", "error"]
Why = Literal["up to date", "running", "full", "backoff", "exhausted", "cooldown"]
"""`full`: as many as may run at once are running. `cooldown`: the last consolidation succeeded a short while ago."""

GLOBAL = "global"
"""Key of the one consolidation job."""

SKEW = 300
"""Seconds by which the clocks of two machines may differ before a time in the future counts as wrong. Ours: clocks that are kept differ by less
than a second, and five minutes are what Kerberos allows those that are not."""


class Terms(Struct, frozen=True, kw_only=True):
    """What claims are given on. Source of each default: codex.md sections 1.3, 1.6 and 1.8."""

    lease_seconds: int = 3_600
    retries: int = 3
    retry_seconds: int = 3_600
    running: int = 2
    cooldown_seconds: int = 6 * 3_600
    pollutes: bool = False
    """True: a session that took in content from outside does not become memory (RO-9)."""


class Job(Struct, frozen=True, kw_only=True):
    """One job as it is stored."""

    kind: Kind
    key: str
    """Id of the thread, or `global`."""
    status: Status
    watermark: int
    """How new the work is that was claimed or asked for last."""
    retries_left: int
    attempts: int = 0
    """Claims since the job was made."""
    worker: str | None = None
    token: str | None = None
    started: int | None = None
    lease_until: int | None = None
    finished: int | None = None
    succeeded: int | None = None
    last_success: int | None = None
    """Watermark of the last success."""
    retry_at: int | None = None
    last_error: str | None = None


class Failure(Struct, frozen=True, kw_only=True):
    """One attempt that failed."""

    key: str
    at: int
    attempt: int
    watermark: int
    worker: str
    reason: str


class Claimed(Struct, frozen=True, kw_only=True):
    """The right to do a job until the lease ends."""

    kind: Kind
    key: str
    token: str
    worker: str
    watermark: int
    lease_until: int
    attempt: int
    last: bool = False
    """No attempt follows if this one fails."""


class Refused(Struct, frozen=True, kw_only=True):
    """Why a job cannot be claimed now, and from when it can; `until` None: not by waiting alone."""

    key: str
    why: Why
    until: int | None = None
    reason: str = ""
    """For a person: what went wrong before, or who is at work."""


def ahead(moment: int | None, now: int, span: int) -> bool:
    """Whether `moment` lies in the future, and no further than `span` seconds could have put it."""
    return moment is not None and now < moment <= now + span + SKEW


def alive(job: Job, terms: Terms, now: int) -> bool:
    """Whether somebody holds the job."""
    return job.status == "running" and ahead(job.lease_until, now, terms.lease_seconds)


def buried(job: Job) -> Job:
    """The job of a worker that gave no sign of life for a lease. It counts as a failed attempt: what kills its worker must not run for ever."""
    return msgspec.structs.replace(
        job,
        status="error",
        retries_left=max(0, job.retries_left - 1),
        last_error=f"the worker {job.worker or 'unknown'} gave no sign of life and is taken for dead",
        token=None,
        lease_until=None,
        retry_at=None,
    )


def refuse_extraction(job: Job, watermark: int, *, running: int, terms: Terms, now: int) -> Refused | None:
    """Why a thread's job, its dead worker buried, cannot be claimed for work as new as `watermark`; None when it can.

    `running` counts the other jobs of the kind that are held by the living. Work that is newer than what failed starts with new retries.
    """
    newer = watermark > job.watermark
    if job.last_success is not None and job.last_success >= watermark:
        return Refused(key=job.key, why="up to date")
    if alive(job, terms, now):
        return Refused(key=job.key, why="running", until=job.lease_until, reason=f"{job.worker} is at it")
    if not newer and job.retries_left <= 0:
        return Refused(key=job.key, why="exhausted", reason=job.last_error or "")
    if not newer and ahead(job.retry_at, now, terms.retry_seconds):
        return Refused(key=job.key, why="backoff", until=job.retry_at, reason=job.last_error or "")
    if running >= terms.running:
        return Refused(key=job.key, why="full", reason=f"{running} of {terms.running} are running")
    return None


def refuse_consolidation(job: Job, terms: Terms, now: int) -> Refused | None:
    """Why the consolidation cannot be claimed; None when it can. Retries never block it: it waits after a failure, and after a success."""
    if ahead(job.retry_at, now, terms.retry_seconds):
        return Refused(key=job.key, why="backoff", until=job.retry_at, reason=job.last_error or "")
    if alive(job, terms, now):
        return Refused(key=job.key, why="running", until=job.lease_until, reason=f"{job.worker} is at it")
    ready = job.succeeded + terms.cooldown_seconds if job.succeeded is not None and job.last_error is None else None
    if ahead(ready, now, terms.cooldown_seconds):
        return Refused(key=job.key, why="cooldown", until=ready)
    return None
