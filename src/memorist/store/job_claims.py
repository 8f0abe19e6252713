"""The jobs of both stages: claimed by one worker at a time, and finished only by it. Runs on either
database (`StateDatabase`).

Every function is one transaction, so that a process killed anywhere leaves either what was before
or what came after.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Literal

import msgspec

from memorist.store.extract_rows import RolloutExtract, remove_extract, save_extract_if_newest
from memorist.store.job_claim_rules import (
    GLOBAL_KEY,
    FailedJobAttempt,
    Job,
    JobClaim,
    JobClaimPolicy,
    JobClaimRefused,
    JobKind,
    count_expired_lease_as_failure,
    find_consolidation_refusal,
    find_extraction_refusal,
    has_valid_lease,
    is_future_within,
)
from memorist.store.state_database import StateDatabase, render_upsert

FinishOutcome = Literal["kept", "nothing", "older", "unwanted", "lost"]
"""What became of a result: kept; empty (nothing worth keeping); outdated by a newer one; unwanted,
since the session may no longer become memory; lost, since the claim was lost and nothing was
written.
"""


_SAVE_JOB = render_upsert("jobs", Job.__struct_fields__, ("kind", "key"))


_UNCLAIMED: dict[str, object] = {"status": "pending", "token": None, "lease_until": None}


_SELECT_REACHED = (
    "select coalesce((select updated from extracts where thread = :thread), -1) as extracted,"
    " coalesce((select last_success from jobs where kind = 'extract' and key = :thread), -1) "
    "as reached"
)


_FINISH_JOB = (
    "update jobs set status = 'done', token = null, lease_until = null, finished = :now, succeeded "
    "= :now, last_success = coalesce(:reached, last_success), last_error = null, retry_at = null "
    "where kind = :kind and key = :key and status = 'running' and token = :token"
)


_REQUEST_CONSOLIDATION = (
    "insert into jobs (kind, key, status, watermark, retries_left) values ('consolidate', :key, "
    "'pending', :watermark, :retries) on conflict (kind, key) do update set status = case when "
    "jobs.status = 'running' then jobs.status else 'pending' end, watermark = case when "
    "excluded.watermark > jobs.watermark then excluded.watermark else jobs.watermark + 1 end, "
    "retries_left = excluded.retries_left"
)


_SELECT_CLAIMED = (
    "select * from jobs where kind = :kind and key = :key and status = 'running' and token = :token"
)


_SELECT_RUNNING = (
    "select lease_until from jobs where kind = 'extract' and status = 'running' and key <> :thread"
)


def claim_extraction(
    state: StateDatabase, thread: str, watermark: int, *, worker: str, terms: JobClaimPolicy
) -> JobClaim | JobClaimRefused:
    """Claim stage one of a rollout, whose newest content is `watermark`. A worker that already
    holds the claim takes over from its dead predecessor.

    Raises StoreError.
    """
    seen = state.query(_SELECT_REACHED, {"thread": thread})[0]
    if max(seen["extracted"], seen["reached"]) >= watermark:
        # Checked without the writer's lock: most of what a scan tries is done already.
        return JobClaimRefused(key=thread, why="up to date")
    with state.transaction():
        now = state.now()
        job = _expire_dead_worker(
            state, _find_job(state, "extract", thread), worker, terms, now
        ) or _new_job("extract", thread, watermark, terms)
        others = _count_other_running(state, thread, terms, now)
        return find_extraction_refusal(
            job, watermark, running=others, terms=terms, now=now
        ) or _write_claim(state, job, watermark, worker, terms)


def claim_consolidation(
    state: StateDatabase, *, worker: str, terms: JobClaimPolicy
) -> JobClaim | JobClaimRefused:
    """Claim stage two, of which there is one. Raises StoreError."""
    with state.transaction():
        now = state.now()
        job = _expire_dead_worker(
            state, _find_job(state, "consolidate", GLOBAL_KEY), worker, terms, now
        ) or _new_job("consolidate", GLOBAL_KEY, 0, terms)
        return find_consolidation_refusal(job, terms, now) or _write_claim(
            state, job, job.watermark, worker, terms
        )


def renew_lease(state: StateDatabase, claim: JobClaim, terms: JobClaimPolicy) -> bool:
    """Heartbeat: restart the lease. False when the claim was lost; its holder must then stop.
    Raises StoreError.
    """
    return _change_claimed_job(state, claim, lease_until=state.now() + terms.lease_seconds)


def finish_extraction(
    state: StateDatabase, claim: JobClaim, extracted: RolloutExtract, terms: JobClaimPolicy
) -> FinishOutcome:
    """Store the result of stage one, and request a consolidation when that changes anything. Raises
    StoreError.
    """
    with state.transaction():
        mode = state.query("select mode from threads where id = :id", {"id": claim.key})
        wanted = not mode or mode[0]["mode"] == "enabled"
        done = max(claim.watermark, extracted.updated)
        # For an unwanted session no watermark is recorded: if it is allowed again, it is due again.
        if not _mark_finished(state, claim, done if wanted else None):
            return "lost"
        if wanted and terms.exclude_polluted and extracted.outside:
            wanted = False
            state.execute("update threads set mode = 'polluted' where id = :id", {"id": claim.key})
            state.execute(
                "update jobs set last_success = null where kind = 'extract' and key = :id",
                {"id": claim.key},
            )
            if remove_extract(state, claim.key):
                request_consolidation(state, done, terms)
        if not wanted:
            return "unwanted"
        if extracted.is_empty:
            if remove_extract(state, claim.key):
                request_consolidation(state, done, terms)
            return "nothing"
        if not save_extract_if_newest(state, extracted):
            return "older"
        request_consolidation(state, done, terms)
        return "kept"


def finish_consolidation(
    state: StateDatabase, claim: JobClaim, used: Sequence[RolloutExtract]
) -> bool:
    """Record a consolidation of these extracts; only those still unchanged count as consolidated.
    False: the claim was lost, nothing was written.

    Raises StoreError.
    """
    with state.transaction():
        if not _mark_finished(
            state, claim, max([claim.watermark, *(each.updated for each in used)])
        ):
            return False
        state.execute(
            "update extracts set selected = 0, selected_updated = null where selected = 1"
        )
        state.execute_many(
            "update extracts set selected = 1, selected_updated = updated where thread = "
            ":thread and updated = :updated",
            [{"thread": each.thread, "updated": each.updated} for each in used],
        )
        return True


def fail_job(state: StateDatabase, claim: JobClaim, reason: str, terms: JobClaimPolicy) -> bool:
    """Record that an attempt failed, and why; the next comes after the retry delay. False when the
    claim was lost. Raises StoreError.
    """
    with state.transaction():
        job = _find_claimed_job(state, claim)
        if job is None:
            return False
        now = state.now()
        _record_failure(state, job, now, reason)
        ended = msgspec.structs.replace(
            job,
            status="error",
            retries_left=max(0, job.retries_left - 1),
            last_error=reason,
            finished=now,
            retry_at=now + terms.retry_seconds,
            token=None,
            lease_until=None,
        )
        _save_job(state, ended)
        return True


def release_job(state: StateDatabase, claim: JobClaim) -> bool:
    """Give a claim back without a result because the worker is stopped. It does not count as an
    attempt. Raises StoreError.
    """
    return _change_claimed_job(state, claim, **_UNCLAIMED, attempts=claim.attempt - 1)


def postpone_job(state: StateDatabase, claim: JobClaim, reason: str, terms: JobClaimPolicy) -> bool:
    """Give a claim back until the retry delay has passed because the job may not run now. It does
    not count as an attempt. Raises StoreError.
    """
    return _change_claimed_job(
        state,
        claim,
        **_UNCLAIMED,
        attempts=claim.attempt - 1,
        retry_at=state.now() + terms.retry_seconds,
        last_error=reason,
    )


def _change_claimed_job(state: StateDatabase, claim: JobClaim, **values: object) -> bool:
    """Change the job of a claim; False when it was lost. Raises StoreError."""
    with state.transaction():
        job = _find_claimed_job(state, claim)
        if job is not None:
            _save_job(state, msgspec.structs.replace(job, **values))
        return job is not None


def retry_jobs(
    state: StateDatabase, terms: JobClaimPolicy, keys: Sequence[str] | None = None
) -> int:
    """Reset the retries of failed or postponed jobs (all, or those of these rollouts), effective at
    once; returns how many. Raises StoreError.
    """
    with state.transaction():
        failed = [
            job
            for job in list_jobs(state)
            if (job.status == "error" or (job.status == "pending" and job.retry_at))
            and (keys is None or job.key in keys)
        ]
        for job in failed:
            _save_job(
                state,
                msgspec.structs.replace(
                    job, status="pending", retries_left=terms.retries, retry_at=None
                ),
            )
        return len(failed)


def is_consolidation_requested(state: StateDatabase) -> bool:
    """Whether something was extracted or is to be forgotten that no consolidation has taken in, as
    after a kill between the two stages. Raises StoreError.
    """
    job = _find_job(state, "consolidate", GLOBAL_KEY)
    return job is not None and (job.last_success is None or job.last_success < job.watermark)


def list_jobs(state: StateDatabase) -> list[Job]:
    """Every job, by kind and key. Raises StoreError."""
    return [Job(**row) for row in state.query("select * from jobs order by kind, key")]


def list_exhausted_jobs(state: StateDatabase) -> list[Job]:
    """The jobs that are not tried again until their session grows or `retry_jobs` is called, each
    with its last error. Raises StoreError.
    """
    exhausted = [
        job
        for job in list_jobs(state)
        if job.kind == "extract" and job.status == "error" and job.retries_left <= 0
    ]
    return sorted(exhausted, key=lambda job: (job.finished or 0, job.key))


def list_failed_attempts(state: StateDatabase, key: str | None = None) -> list[FailedJobAttempt]:
    """Failed attempts, for one key or for all, oldest first. Raises StoreError."""
    rows = state.query(
        "select key, at, attempt, watermark, worker, reason from failures where key = "
        "coalesce(:key, key) order by at, attempt",
        {"key": key},
    )
    return [FailedJobAttempt(**row) for row in rows]


def _find_job(state: StateDatabase, kind: JobKind, key: str) -> Job | None:
    rows = state.query(
        "select * from jobs where kind = :kind and key = :key", {"kind": kind, "key": key}
    )
    return Job(**rows[0]) if rows else None


def _find_claimed_job(state: StateDatabase, claim: JobClaim) -> Job | None:
    rows = state.query(
        _SELECT_CLAIMED, {"kind": claim.kind, "key": claim.key, "token": claim.token}
    )
    return Job(**rows[0]) if rows else None


def _count_other_running(state: StateDatabase, thread: str, terms: JobClaimPolicy, now: int) -> int:
    """Number of other extractions with a valid lease."""
    return sum(
        is_future_within(row["lease_until"], now, terms.lease_seconds)
        for row in state.query(_SELECT_RUNNING, {"thread": thread})
    )


def _new_job(kind: JobKind, key: str, watermark: int, terms: JobClaimPolicy) -> Job:
    return Job(
        kind=kind, key=key, status="pending", watermark=watermark, retries_left=terms.retries
    )


def _expire_dead_worker(
    state: StateDatabase, job: Job | None, worker: str, terms: JobClaimPolicy, now: int
) -> Job | None:
    """The job after expiry of its worker's lease, if that worker is dead."""
    if (
        job is None
        or job.status != "running"
        or (has_valid_lease(job, terms, now) and not _is_same_task(job.worker or "", worker))
    ):
        return job
    left = count_expired_lease_as_failure(job)
    _record_failure(state, left, now, left.last_error or "")
    _save_job(state, left)
    return left


def _is_same_task(owner: str, worker: str) -> bool:
    """Whether a claim is of the same worker, or of the same task of the queue."""
    return owner.partition("@")[0] == worker.partition("@")[0]


def _write_claim(
    state: StateDatabase, job: Job, watermark: int, worker: str, terms: JobClaimPolicy
) -> JobClaim:
    """Store the claim. Work newer than the last gets fresh retries."""
    now = state.now()
    left = terms.retries if watermark > job.watermark else job.retries_left
    claim = JobClaim(
        kind=job.kind,
        key=job.key,
        token=str(uuid.uuid4()),
        worker=worker,
        watermark=watermark,
        lease_until=now + terms.lease_seconds,
        attempt=job.attempts + 1,
        last_attempt=left <= 1,
    )
    claimed = msgspec.structs.replace(
        job,
        status="running",
        watermark=watermark,
        retries_left=left,
        attempts=claim.attempt,
        worker=worker,
        token=claim.token,
        started=now,
        lease_until=claim.lease_until,
        finished=None,
        retry_at=None,
        last_error=None,
    )
    _save_job(state, claimed)
    return claim


def _mark_finished(state: StateDatabase, claim: JobClaim, reached: int | None) -> bool:
    """False when the claim is no longer held."""
    values = {
        "now": state.now(),
        "reached": reached,
        "kind": claim.kind,
        "key": claim.key,
        "token": claim.token,
    }
    return bool(state.execute(_FINISH_JOB, values))


def request_consolidation(state: StateDatabase, watermark: int, terms: JobClaimPolicy) -> None:
    """Ask for a consolidation, within a transaction: something is to be taken in, or forgotten. The
    watermark always grows.

    A delay after a failure stands: new extracts must not make a failing consolidation run without
    pause.
    """
    state.execute(
        _REQUEST_CONSOLIDATION,
        {"key": GLOBAL_KEY, "watermark": watermark, "retries": terms.retries},
    )


def _record_failure(state: StateDatabase, job: Job, now: int, reason: str) -> None:
    state.execute(
        "insert into failures (kind, key, at, attempt, watermark, worker, reason) values "
        "(:kind, :key, :at, :attempt, :watermark, :worker, :reason)",
        {
            "kind": job.kind,
            "key": job.key,
            "at": now,
            "attempt": job.attempts,
            "watermark": job.watermark,
            "worker": job.worker or "",
            "reason": reason,
        },
    )


def _save_job(state: StateDatabase, job: Job) -> None:
    state.execute(_SAVE_JOB, msgspec.structs.asdict(job))
