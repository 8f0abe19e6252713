"""The report of one sync of past sessions. Values only."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from memorist.core.utc_time import format_utc_minute
from memorist.rollouts.job_worker import FinishedJob, JobEvent
from memorist.rollouts.session_sources import SkippedFile
from memorist.store.extract_rows import StoredExtract
from memorist.store.job_claim_rules import JobClaimRefused


class UnextractedSession(Struct, frozen=True):
    """A session that could not be extracted now."""

    thread: str
    why: str


class RolloutSyncReport(Struct, frozen=True, kw_only=True):
    """What one sync did.

    `found` counts sessions, old and new; `claimed` those that were worked on; `consolidated` those
    that the files hold afterwards, 0 if they did not change.
    """

    found: int
    eligible: int
    too_old: int = 0
    """Sessions that are past the setting `rollouts.max_age_days` and were never extracted."""
    claimed: int
    extracted: int
    no_op: int
    failed: tuple[UnextractedSession, ...]
    consolidated: int
    seconds: float
    skipped_files: tuple[SkippedFile, ...] = field(default=(), name="passed")
    """Files that do not become memory, and why."""
    waits: tuple[UnextractedSession, ...] = ()
    """Sessions, or the consolidation (`global`), that could not be claimed, and why."""
    way: str = ""
    """How the files were made: by `model` or `structural`."""
    remarks: tuple[str, ...] = ()


def split_finished_and_deferred_jobs(
    events: Sequence[JobEvent],
) -> tuple[list[FinishedJob], tuple[UnextractedSession, ...]]:
    """Split events into finished jobs, and deferred ones with the reason: not claimable, or
    released.
    """
    done = [each for each in events if isinstance(each, FinishedJob) and each.outcome != "released"]
    waits = [
        UnextractedSession(each.key, each.reason)
        if isinstance(each, FinishedJob)
        else UnextractedSession(each.refused.key, _deferral_reason(each.refused))
        for each in events
        if not isinstance(each, FinishedJob) or each.outcome == "released"
    ]
    return done, tuple(waits)


def _deferral_reason(refused: JobClaimRefused) -> str:
    """Return the reason for the user.

    A wait after a failure says so, lest the old reason be taken for a new one.
    """
    if refused.why != "backoff" or refused.until is None:
        return refused.reason or refused.why
    until = f"{format_utc_minute(refused.until)[11:]} UTC"
    return (
        f"waits until {until}, or for `memorist rollouts retry`, since it could not be done "
        f"before: {refused.reason}"
    )


def build_structural_fallback_remarks(
    extracts: Sequence[StoredExtract], extracted_threads: Collection[str]
) -> list[str]:
    """Return a remark if the structural fallback was used for some of these sessions although there
    is a model.
    """
    problems = [
        each.extracted.problem
        for each in extracts
        if each.extracted.thread in extracted_threads and each.extracted.problem
    ]
    if problems:
        return [f"{len(problems):,} extracted without the model; the first because {problems[0]}"]
    return []
