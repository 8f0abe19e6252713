"""What is known of past sessions as memory: what waits and why, what failed, and what stage one
made of each (RO-1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.core.utc_time import format_utc_timestamp
from memorist.engine.rollout_store import RolloutStore
from memorist.errors import NothingToDo
from memorist.rollouts.session_eligibility import (
    judge_rollout_eligibility,
    judge_rollouts_eligibility,
)
from memorist.rollouts.summary_composition import SUMMARY_FILE
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.extract_rows import StoredExtract, find_extract, list_enabled_extracts
from memorist.store.job_claim_rules import Job, is_future_within
from memorist.store.job_claims import list_exhausted_jobs, list_failed_attempts, list_jobs
from memorist.store.rollout_rows import (
    Rollout,
    find_extraction_progress,
    list_extraction_progress,
    list_rollouts,
)
from memorist.store.state_database import StateDatabase, list_recorded_damage

MAX_LISTED_FAILURES = 20
"""Newest failures of a status. Our choice."""


class JobProblem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job that failed, waits after a failure, or was done without the model it was meant for."""

    thread: str
    """Id of the session; `global` for the consolidation."""
    why: str
    attempts: int = 0
    """How often it was tried, where it is not tried again."""
    until: str = ""
    """When it is tried again, in UTC, where it waits."""
    at: str = ""
    """When it failed, in UTC."""


class RolloutStatus(Struct, frozen=True, kw_only=True):
    """The state of all past sessions that are known."""

    sessions: int
    due: int
    """How many may be extracted now."""
    waiting: dict[str, int]
    """How many others may not, by the reason (`session_eligibility.IneligibilityReason`)."""
    extracts: int
    """How many gave something to memory."""
    no_op: int
    """How many held nothing for it."""
    consolidated: int
    """How many of the extracts the handbook rests on."""
    last_consolidation: str | None
    """When it succeeded last, in UTC."""
    consolidation_failed: str | None
    """Why the last consolidation failed, if it did."""
    not_tried_again: tuple[JobProblem, ...]
    put_off: tuple[JobProblem, ...]
    failures: tuple[JobProblem, ...]
    """The newest ones, the oldest of them first."""
    without_model: tuple[JobProblem, ...]
    """Sessions of which structure alone made the extract, although a model was set up."""
    remarks: list[str]
    """What was found damaged in the database."""


def read_rollout_status(store: RolloutStore) -> RolloutStatus:
    """Read what is known of past sessions. Raises StoreError."""
    state = store.state
    verdicts = judge_rollouts_eligibility(
        list_extraction_progress(state), store.settings.rollouts, now=state.now()
    )
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.reason is not None)
    extracts = list_enabled_extracts(state)
    consolidation = next((job for job in list_jobs(state) if job.kind == "consolidate"), None)
    return RolloutStatus(
        sessions=len(verdicts),
        due=sum(verdict.is_eligible for verdict in verdicts),
        waiting=dict(sorted(reasons.items())),
        extracts=len(extracts),
        no_op=_count_sessions_without_extract(state, extracts),
        consolidated=sum(each.selected for each in extracts),
        last_consolidation=None
        if consolidation is None or consolidation.succeeded is None
        else format_utc_timestamp(consolidation.succeeded),
        consolidation_failed=None if consolidation is None else consolidation.last_error,
        not_tried_again=tuple(
            JobProblem(thread=job.key, why=job.last_error or "", attempts=job.attempts)
            for job in list_exhausted_jobs(state)
        ),
        put_off=tuple(
            JobProblem(
                thread=job.key,
                why=job.last_error or "",
                until=format_utc_timestamp(job.retry_at or 0),
            )
            for job in _list_deferred_jobs(store)
        ),
        failures=tuple(
            JobProblem(thread=each.key, why=each.reason, at=format_utc_timestamp(each.at))
            for each in list_failed_attempts(state)[-MAX_LISTED_FAILURES:]
        ),
        without_model=tuple(
            JobProblem(thread=each.extracted.thread, why=each.extracted.problem)
            for each in extracts
            if each.extracted.problem
        ),
        remarks=list_recorded_damage(state),
    )


def _count_sessions_without_extract(state: StateDatabase, extracts: Sequence[StoredExtract]) -> int:
    """How many sessions were read and held nothing: of those no extract is stored."""
    read = {
        job.key for job in list_jobs(state) if job.kind == "extract" and job.succeeded is not None
    }
    allowed = {each.id for each in list_rollouts(state) if each.mode == "enabled"}
    return len(read & allowed - {each.extracted.thread for each in extracts})


def _list_deferred_jobs(store: RolloutStore) -> list[Job]:
    """Jobs that neither succeeded nor failed and wait for a retry."""
    now = store.state.now()
    return [
        job
        for job in list_jobs(store.state)
        if job.status == "pending"
        and is_future_within(job.retry_at, now, store.claim_terms.retry_seconds)
    ]


class PastSessionOutcome(Struct, frozen=True, kw_only=True):
    """What became of one past session."""

    thread: str
    path: str
    mode: str
    way: Literal["model", "structural"] | None
    """How stage one made its extract; None where it made none."""
    uses: int
    """How often a session was shown what rests on it and used it."""
    why_not: str
    """Why it may not be extracted now; empty where it may."""
    text: str
    """Its summary and its raw memory, or that nothing was extracted."""


def find_rollout(store: RolloutStore, id_prefix: str) -> Rollout:
    """The past session with this id, or the only one whose id starts with it.

    Raises NothingToDo, StoreError.
    """
    found = [each for each in list_rollouts(store.state) if each.id.startswith(id_prefix)]
    exact = [each for each in found if each.id == id_prefix] or found
    if len(exact) != 1:
        raise NothingToDo(
            f"{len(found):,} sessions begin with {id_prefix!r}; the names of files in "
            f"memories/rollout_summaries and `--json` tell ids"
        )
    return exact[0]


def report_session_extract(store: RolloutStore, id_prefix: str) -> PastSessionOutcome:
    """Describe the past session whose id starts so. Raises NothingToDo, StoreError."""
    thread = find_rollout(store, id_prefix)
    row = find_extract(store.state, thread.id)
    standing = find_extraction_progress(store.state, thread.id)
    why_not = (
        ""
        if standing is None
        else judge_rollout_eligibility(
            standing, store.settings.rollouts, now=store.state.now()
        ).text
    )
    text = (
        ""
        if row is None
        else f"{row.extracted.rollout_summary.rstrip()}\n\n{row.extracted.raw_memory}"
    )
    return PastSessionOutcome(
        thread=thread.id,
        path=thread.path,
        mode=thread.mode,
        way=None if row is None else row.extracted.way,
        uses=0 if row is None else row.uses,
        why_not=why_not,
        text=text.strip() or f"Nothing was extracted of it{f': {why_not}' if why_not else ''}.",
    )


class MemorySummaryText(Struct, frozen=True, kw_only=True):
    """The summary of all past sessions that a new session is shown."""

    path: str
    text: str


def read_past_sessions_summary(store: RolloutStore) -> MemorySummaryText:
    """Read the summary that the last consolidation wrote. Raises NothingToDo, StoreError."""
    path = store.layout.rollouts / SUMMARY_FILE
    data = read_if_exists(DiskFiles(), path)
    if data is None:
        raise NothingToDo("nothing was consolidated yet; `memorist rollouts sync` does it")
    return MemorySummaryText(path=str(path), text=data.decode("utf-8", "replace"))
