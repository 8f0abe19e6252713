"""The rules for claiming jobs, as values. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from memorist.platforms.processes import render_process_name_for_user
from memorist.settings import RolloutsSettings

JobKind = Literal["extract", "consolidate"]


JobStatus = Literal["pending", "running", "done", "error"]


ClaimRefusalReason = Literal["up to date", "running", "full", "backoff", "exhausted", "cooldown"]
"""`full`: as many jobs as allowed are running. `cooldown`: the last consolidation succeeded a short
while ago.
"""


GLOBAL_KEY = "global"
"""Key of the one consolidation job."""


CLOCK_SKEW_SECONDS = 300
"""Seconds by which the clocks of two machines may differ before a time in the future counts as
wrong. Ours: synchronized clocks differ by less than a second, and five minutes are what Kerberos
allows for the others.
"""


class JobClaimPolicy(Struct, frozen=True, kw_only=True):
    """Policy for granting claims. Source of each default: Codex."""

    lease_seconds: int = 3_600
    retries: int = 3
    retry_seconds: int = 3_600
    max_running: int = 2
    cooldown_seconds: int = 6 * 3_600
    exclude_polluted: bool = False
    """True: a session that took in external content does not become memory (RO-9)."""


def build_lease_policy(settings: RolloutsSettings, *, lease: int | None = None) -> JobClaimPolicy:
    """Build the terms of claims from the settings; `lease` (seconds) bounds theirs."""
    return JobClaimPolicy(
        lease_seconds=settings.lease_seconds
        if lease is None
        else min(lease, settings.lease_seconds),
        retries=settings.retries,
        retry_seconds=settings.retry_seconds,
        max_running=settings.running,
        cooldown_seconds=settings.cooldown_hours * 3_600,
        exclude_polluted=settings.pollutes,
    )


class Job(Struct, frozen=True, kw_only=True):
    """One job as stored."""

    kind: JobKind
    key: str
    """Id of the rollout, or `global`."""
    status: JobStatus
    watermark: int
    """Newest content that was claimed or requested last."""
    retries_left: int
    attempts: int = 0
    """Claims since the job was created."""
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


class FailedJobAttempt(Struct, frozen=True, kw_only=True):
    """One failed attempt."""

    key: str
    at: int
    attempt: int
    watermark: int
    worker: str
    reason: str


class JobClaim(Struct, frozen=True, kw_only=True):
    """The right to do a job until the lease ends."""

    kind: JobKind
    key: str
    token: str
    worker: str
    watermark: int
    lease_until: int
    attempt: int
    last_attempt: bool = False
    """No attempt follows if this one fails."""


class JobClaimRefused(Struct, frozen=True, kw_only=True):
    """Why a job cannot be claimed now, and from when it can; `until` None means not by waiting
    alone.
    """

    key: str
    why: ClaimRefusalReason
    until: int | None = None
    reason: str = ""
    """For the user: the previous error, or who is running the job."""


def is_future_within(moment: int | None, now: int, span: int) -> bool:
    """Whether `moment` lies in the future, but no further than `span` seconds (plus clock skew)
    allow.
    """
    return moment is not None and now < moment <= now + span + CLOCK_SKEW_SECONDS


def has_valid_lease(job: Job, terms: JobClaimPolicy, now: int) -> bool:
    """Whether a worker holds a valid lease on the job."""
    return job.status == "running" and is_future_within(job.lease_until, now, terms.lease_seconds)


def count_expired_lease_as_failure(job: Job) -> Job:
    """The job after its worker's lease expired. This counts as a failed attempt: work that kills
    its worker must not run forever.
    """
    return msgspec.structs.replace(
        job,
        status="error",
        retries_left=max(0, job.retries_left - 1),
        last_error=f"the worker {job.worker or 'unknown'} gave no sign of life and counts as dead",
        token=None,
        lease_until=None,
        retry_at=None,
    )


def find_extraction_refusal(
    job: Job, watermark: int, *, running: int, terms: JobClaimPolicy, now: int
) -> JobClaimRefused | None:
    """Why a thread's job, its dead worker buried, cannot be claimed for work as new as `watermark`;
    None when it can.

    `running` counts the other jobs of the kind that are held by the living. Work that is newer than
    what failed starts with new retries.
    """
    newer = watermark > job.watermark
    if job.last_success is not None and job.last_success >= watermark:
        return JobClaimRefused(key=job.key, why="up to date")
    if has_valid_lease(job, terms, now):
        return JobClaimRefused(
            key=job.key,
            why="running",
            until=job.lease_until,
            reason=f"{render_process_name_for_user(job.worker or '')} is at it",
        )
    if not newer and job.retries_left <= 0:
        return JobClaimRefused(key=job.key, why="exhausted", reason=job.last_error or "")
    if not newer and is_future_within(job.retry_at, now, terms.retry_seconds):
        return JobClaimRefused(
            key=job.key, why="backoff", until=job.retry_at, reason=job.last_error or ""
        )
    if running >= terms.max_running:
        return JobClaimRefused(
            key=job.key, why="full", reason=f"{running} of {terms.max_running} are running"
        )
    return None


def find_consolidation_refusal(job: Job, terms: JobClaimPolicy, now: int) -> JobClaimRefused | None:
    """Why the consolidation cannot be claimed; None when it can. Exhausted retries never block it;
    it waits after a failure and after a success.
    """
    if is_future_within(job.retry_at, now, terms.retry_seconds):
        return JobClaimRefused(
            key=job.key, why="backoff", until=job.retry_at, reason=job.last_error or ""
        )
    if has_valid_lease(job, terms, now):
        return JobClaimRefused(
            key=job.key, why="running", until=job.lease_until, reason=f"{job.worker} is running it"
        )
    ready = (
        job.succeeded + terms.cooldown_seconds
        if job.succeeded is not None and job.last_error is None
        else None
    )
    if is_future_within(ready, now, terms.cooldown_seconds):
        return JobClaimRefused(key=job.key, why="cooldown", until=ready)
    return None
