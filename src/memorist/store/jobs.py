"""The jobs of both stages: claimed by one worker at a time, and finished only by it. Runs on either database (`State`).

Every function is one transaction, so that a process killed anywhere leaves either what was before or what came after.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from memorist.store.claims import (
    GLOBAL,
    Claimed,
    Failure,
    Job,
    Kind,
    Refused,
    Terms,
    ahead,
    alive,
    buried,
    refuse_consolidation,
    refuse_extraction,
)
from memorist.store.rollouts import put, take_out
from memorist.store.state import State
from memorist.store.thread import Extracted

Finish = Literal["kept", "nothing", "older", "unwanted", "lost"]
"""What became of a result: kept; it was a no-op; a newer one stands already; the session may not become memory any more; the claim was lost and nothing
was written."""

_KEEP = (
    "insert into jobs (kind, key, status, watermark, retries_left, attempts, worker, token, started, lease_until, finished, succeeded,"
    " last_success, retry_at, last_error) values (:kind, :key, :status, :watermark, :retries_left, :attempts, :worker, :token, :started,"
    " :lease_until, :finished, :succeeded, :last_success, :retry_at, :last_error) on conflict (kind, key) do update set"
    " status = excluded.status, watermark = excluded.watermark, retries_left = excluded.retries_left, attempts = excluded.attempts,"
    " worker = excluded.worker, token = excluded.token, started = excluded.started, lease_until = excluded.lease_until,"
    " finished = excluded.finished, succeeded = excluded.succeeded, last_success = excluded.last_success, retry_at = excluded.retry_at,"
    " last_error = excluded.last_error"
)
_REACHED = (
    "select coalesce((select updated from extracts where thread = :thread), -1) as extracted,"
    " coalesce((select last_success from jobs where kind = 'extract' and key = :thread), -1) as reached"
)
_FINISH = (
    "update jobs set status = 'done', token = null, lease_until = null, finished = :now, succeeded = :now,"
    " last_success = coalesce(:reached, last_success), last_error = null, retry_at = null"
    " where kind = :kind and key = :key and status = 'running' and token = :token"
)
_ASK = (
    "insert into jobs (kind, key, status, watermark, retries_left) values ('consolidate', :key, 'pending', :watermark, :retries)"
    " on conflict (kind, key) do update set status = case when jobs.status = 'running' then jobs.status else 'pending' end,"
    " watermark = case when excluded.watermark > jobs.watermark then excluded.watermark else jobs.watermark + 1 end,"
    " retries_left = excluded.retries_left"
)
_HELD = "select * from jobs where kind = :kind and key = :key and status = 'running' and token = :token"
_RUNNING = "select lease_until from jobs where kind = 'extract' and status = 'running' and key <> :thread"


def claim_extraction(state: State, thread: str, watermark: int, *, worker: str, terms: Terms) -> Claimed | Refused:
    """Claim stage one of a thread, whose newest content is `watermark`. A worker that claims what it holds already takes over from its dead self.

    Raises StoreError.
    """
    seen = state.read(_REACHED, {"thread": thread})[0]
    if max(seen["extracted"], seen["reached"]) >= watermark:
        # Without the writer's lock: most of what a scan tries is done already.
        return Refused(key=thread, why="up to date")
    with state.transaction():
        now = state.now()
        job = _unheld(state, _job(state, "extract", thread), worker, terms, now) or _new("extract", thread, watermark, terms)
        others = _others(state, thread, terms, now)
        return refuse_extraction(job, watermark, running=others, terms=terms, now=now) or _take(state, job, watermark, worker, terms)


def claim_consolidation(state: State, *, worker: str, terms: Terms) -> Claimed | Refused:
    """Claim stage two, of which there is one. Raises StoreError."""
    with state.transaction():
        now = state.now()
        job = _unheld(state, _job(state, "consolidate", GLOBAL), worker, terms, now) or _new("consolidate", GLOBAL, 0, terms)
        return refuse_consolidation(job, terms, now) or _take(state, job, job.watermark, worker, terms)


def renew(state: State, claim: Claimed, terms: Terms) -> bool:
    """Give a sign of life: the lease begins anew. False when the claim was lost; its holder then stops. Raises StoreError."""
    with state.transaction():
        job = _held(state, claim)
        if job is not None:
            _keep(state, msgspec.structs.replace(job, lease_until=state.now() + terms.lease_seconds))
        return job is not None


def finish_extraction(state: State, claim: Claimed, extracted: Extracted, terms: Terms) -> Finish:
    """Keep what stage one made of a thread, and ask for a consolidation when that changes anything. Raises StoreError."""
    with state.transaction():
        mode = state.read("select mode from threads where id = :id", {"id": claim.key})
        wanted = not mode or mode[0]["mode"] == "enabled"
        done = max(claim.watermark, extracted.updated)
        # The watermark of what is not wanted is not recorded: a session that is allowed again is due again.
        if not _finish(state, claim, done if wanted else None):
            return "lost"
        if wanted and terms.pollutes and extracted.outside:
            wanted = False
            state.change("update threads set mode = 'polluted' where id = :id", {"id": claim.key})
            state.change("update jobs set last_success = null where kind = 'extract' and key = :id", {"id": claim.key})
            if take_out(state, claim.key):
                ask(state, done, terms)
        if not wanted:
            return "unwanted"
        if extracted.empty:
            if take_out(state, claim.key):
                ask(state, done, terms)
            return "nothing"
        if not put(state, extracted):
            return "older"
        ask(state, done, terms)
        return "kept"


def finish_consolidation(state: State, claim: Claimed, used: Sequence[Extracted]) -> bool:
    """Record a consolidation of these extracts. Only those that are still the same count as consolidated. False: the claim was lost, nothing was written.

    Raises StoreError.
    """
    with state.transaction():
        if not _finish(state, claim, max([claim.watermark, *(each.updated for each in used)])):
            return False
        state.change("update extracts set selected = 0, selected_updated = null where selected = 1")
        state.change_each(
            "update extracts set selected = 1, selected_updated = updated where thread = :thread and updated = :updated",
            [{"thread": each.thread, "updated": each.updated} for each in used],
        )
        return True


def fail(state: State, claim: Claimed, reason: str, terms: Terms) -> bool:
    """Record that an attempt failed, and why; the next comes after the retry delay. False when the claim was lost. Raises StoreError."""
    with state.transaction():
        job = _held(state, claim)
        if job is None:
            return False
        now = state.now()
        _record(state, job, now, reason)
        left = max(0, job.retries_left - 1)
        ended = msgspec.structs.replace(
            job, status="error", retries_left=left, last_error=reason, finished=now, token=None, lease_until=None
        )
        _keep(state, msgspec.structs.replace(ended, retry_at=now + terms.retry_seconds))
        return True


def release(state: State, claim: Claimed) -> bool:
    """Give a claim back without a result: the worker is stopped, or may not spend more. It counts as no attempt. Raises StoreError."""
    with state.transaction():
        job = _held(state, claim)
        if job is not None:
            back = msgspec.structs.replace(job, status="pending", attempts=job.attempts - 1, token=None, lease_until=None)
            _keep(state, back)
        return job is not None


def retry(state: State, terms: Terms, keys: Sequence[str] | None = None) -> int:
    """Give failed jobs (all, or those of these threads) their retries back, at once; says how many. Raises StoreError."""
    with state.transaction():
        failed = [job for job in jobs(state) if job.status == "error" and (keys is None or job.key in keys)]
        for job in failed:
            _keep(state, msgspec.structs.replace(job, status="pending", retries_left=terms.retries, retry_at=None))
        return len(failed)


def jobs(state: State) -> list[Job]:
    """Every job, by kind and key. Raises StoreError."""
    return [_as_job(row) for row in state.read("select * from jobs order by kind, key")]


def exhausted(state: State) -> list[Job]:
    """The jobs that are not tried again until their session grows or somebody says so (`retry`), each with its last error. Raises StoreError."""
    rows = state.read("select * from jobs where kind = 'extract' and status = 'error' and retries_left <= 0 order by finished, key")
    return [_as_job(row) for row in rows]


def failures(state: State, key: str | None = None) -> list[Failure]:
    """What went wrong, for one key or for all, oldest first. Raises StoreError."""
    rows = state.read(
        "select key, at, attempt, watermark, worker, reason from failures where key = coalesce(:key, key) order by at, attempt",
        {"key": key},
    )
    return [Failure(**row) for row in rows]


def _job(state: State, kind: Kind, key: str) -> Job | None:
    rows = state.read("select * from jobs where kind = :kind and key = :key", {"kind": kind, "key": key})
    return _as_job(rows[0]) if rows else None


def _held(state: State, claim: Claimed) -> Job | None:
    rows = state.read(_HELD, {"kind": claim.kind, "key": claim.key, "token": claim.token})
    return _as_job(rows[0]) if rows else None


def _others(state: State, thread: str, terms: Terms, now: int) -> int:
    """How many other extractions the living are at."""
    return sum(ahead(row["lease_until"], now, terms.lease_seconds) for row in state.read(_RUNNING, {"thread": thread}))


def _as_job(row: Mapping[str, Any]) -> Job:
    return Job(**row)


def _new(kind: Kind, key: str, watermark: int, terms: Terms) -> Job:
    return Job(kind=kind, key=key, status="pending", watermark=watermark, retries_left=terms.retries)


def _unheld(state: State, job: Job | None, worker: str, terms: Terms, now: int) -> Job | None:
    """The job as it is once its worker, if that is dead, has been buried."""
    if job is None or job.status != "running" or (alive(job, terms, now) and job.worker != worker):
        return job
    left = buried(job)
    _record(state, left, now, left.last_error or "")
    _keep(state, left)
    return left


def _take(state: State, job: Job, watermark: int, worker: str, terms: Terms) -> Claimed:
    """Write the claim down. Work newer than the last gets its retries anew."""
    now = state.now()
    left = terms.retries if watermark > job.watermark else job.retries_left
    claim = Claimed(
        kind=job.kind,
        key=job.key,
        token=str(uuid.uuid4()),
        worker=worker,
        watermark=watermark,
        lease_until=now + terms.lease_seconds,
        attempt=job.attempts + 1,
        last=left <= 1,
    )
    taken = msgspec.structs.replace(
        job,
        status="running",
        watermark=watermark,
        retries_left=left,
        attempts=claim.attempt,
        worker=worker,
        token=claim.token,
        started=now,
    )
    _keep(state, msgspec.structs.replace(taken, lease_until=claim.lease_until, finished=None, retry_at=None, last_error=None))
    return claim


def _finish(state: State, claim: Claimed, reached: int | None) -> bool:
    """False when the claim is not held any more."""
    values = {"now": state.now(), "reached": reached, "kind": claim.kind, "key": claim.key, "token": claim.token}
    return bool(state.change(_FINISH, values))


def ask(state: State, watermark: int, terms: Terms) -> None:
    """Ask for a consolidation, within a transaction: something is to be taken in, or forgotten. The watermark always grows.

    A delay after a failure stands: new extracts must not make a failing consolidation run without pause.
    """
    state.change(_ASK, {"key": GLOBAL, "watermark": watermark, "retries": terms.retries})


def _record(state: State, job: Job, now: int, reason: str) -> None:
    state.change(
        "insert into failures (kind, key, at, attempt, watermark, worker, reason) values (:kind, :key, :at, :attempt, :watermark, :worker, :reason)",
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


def _keep(state: State, job: Job) -> None:
    state.change(_KEEP, msgspec.structs.asdict(job))
