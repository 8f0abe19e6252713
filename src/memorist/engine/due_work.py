"""Background work that is due: past sessions to process, and memories to dream over."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_location import locate_memory, read_project_record
from memorist.budget.budget_status import (
    DueWork,
)
from memorist.dream.dream_gates import (
    GateFacts,
    GateOpen,
    HostConditions,
    NeedsScan,
    judge_gates,
    select_new_sessions,
)
from memorist.dream.dream_lock import DreamLock
from memorist.dream.past_evidence import PastSession, list_session_files
from memorist.errors import StoreError
from memorist.rollouts.job_worker import build_claim_terms
from memorist.rollouts.session_eligibility import judge_threads
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.store.job_claim_rules import Job, find_consolidation_refusal
from memorist.store.job_claims import list_exhausted_jobs, list_jobs
from memorist.store.rollout_rows import list_extraction_progress
from memorist.store.session_rows import list_sessions
from memorist.store.state_database import SqliteState, StateDatabase, is_shared, open_state
from memorist.system import SystemClock

MAX_NAMED = 5
"""Most sessions out of retries that are named; the rest is counted."""


class DueContext(Struct, frozen=True, kw_only=True):
    """What the sources of due work may use."""

    layout: Layout
    settings: Settings
    database: sqlite3.Connection
    now: float


def find_due_rollouts(context: DueContext) -> list[DueWork]:
    """Due sessions, the next consolidation, and jobs out of retries.

    Raises StoreError, SettingsError for an invalid `state`.
    """
    if not is_shared(context.settings.state):
        return list(_due_rollouts(context, SqliteState(context.database, lambda: context.now)))
    state = open_state(context.settings.state, context.layout.database)
    try:
        return list(_due_rollouts(context, state))
    finally:
        state.close()


def _due_rollouts(context: DueContext, state: StateDatabase) -> Iterator[DueWork]:
    settings, now = context.settings, int(context.now)
    by_itself = (
        ""
        if settings.uses_rollouts
        else "; `memorist rollouts sync` does it, as long_term does not"
    )
    verdicts = judge_threads(
        list_extraction_progress(state, only_behind=True, limit=settings.rollouts.scan),
        settings.rollouts,
        now=now,
    )
    count = Counter(verdict.reason for verdict in verdicts)
    if count[None]:
        yield DueWork(
            what="rollouts",
            why=f"{count[None]:,} sessions are finished and new to memory{by_itself}",
        )
    if count["too young"]:
        soonest = min(verdict.at for verdict in verdicts if verdict.at is not None)
        yield DueWork(
            what="rollouts",
            why=f"{count['too young']:,} sessions are not finished yet",
            when=float(soonest),
        )
    known = list_jobs(state)
    consolidation = next((job for job in known if job.kind == "consolidate"), None)
    if (
        consolidation is not None
        and (due := _due_consolidation(consolidation, context)) is not None
    ):
        yield due
    given_up = list_exhausted_jobs(state)
    for job in given_up[:MAX_NAMED]:
        why = (
            f"{job.key} is not tried again after {job.attempts} attempts: "
            f"{job.last_error or 'no reason is known'}"
        )
        yield DueWork(what="rollouts", why=f"{why}; `memorist rollouts retry` does")
    if len(given_up) > MAX_NAMED:
        yield DueWork(
            what="rollouts",
            why=f"{len(given_up) - MAX_NAMED:,} more are not tried again; `memorist rollouts "
            f"status` names them",
        )


def _due_consolidation(job: Job, context: DueContext) -> DueWork | None:
    """The consolidation, if something was requested since it last succeeded."""
    if job.last_error is None and (job.last_success or 0) >= job.watermark:
        return None
    refused = find_consolidation_refusal(
        job, build_claim_terms(context.settings.rollouts), int(context.now)
    )
    if refused is None:
        return DueWork(
            what="consolidation", why="sessions were extracted or left out since the last one"
        )
    why = {
        "backoff": f"the last one failed: {refused.reason}",
        "running": "one is running",
        "cooldown": "the last one succeeded a short while ago",
    }[refused.why]
    return DueWork(
        what="consolidation", why=why, when=None if refused.until is None else float(refused.until)
    )


def find_due_dreams(context: DueContext) -> list[DueWork]:
    """Projects whose dream gates are all open.

    Sessions are read only where the last dream is long enough ago.
    """
    settings = context.settings
    if not settings.uses_auto_memory:
        return []
    past: dict[str, list[PastSession]] = {}
    for id, project, folder in list_sessions(context.database):
        past.setdefault(project, []).append(PastSession(id, Path(folder)))
    memories: dict[Path, tuple[MemoryLayout, list[PastSession]]] = {}
    for project, sessions in past.items():
        if project:
            where = locate_memory(context.layout, project, settings.auto_memory)
            memories.setdefault(where.folder, (where, []))[1].extend(sessions)
    found = []
    for where, sessions in memories.values():
        with contextlib.suppress(StoreError):  # `memorist doctor` says what cannot be read
            if (
                where.folder.is_dir()
                and (open_ := _open_gate(context, where, sessions)) is not None
            ):
                known = read_project_record(DiskFiles(), where)
                what = known.root if known is not None else str(where.folder)
                found.append(
                    DueWork(
                        what="dream",
                        why=f"{what}: {open_.why}; the next end of a turn there begins it, or "
                        f"`memorist dream --now` does",
                    )
                )
    return found


def _open_gate(
    context: DueContext, where: MemoryLayout, sessions: Sequence[PastSession]
) -> GateOpen | None:
    known = GateFacts(
        now=context.now,
        host=HostConditions(),
        last=DreamLock(where, SystemClock()).last_dream_time(),
    )
    verdict = judge_gates(known, context.settings.dream)
    if isinstance(verdict, NeedsScan):
        seen = list_session_files(sessions, DiskFiles())
        verdict = judge_gates(
            replace(known, sessions=select_new_sessions(seen, current="", since=verdict.since)),
            context.settings.dream,
        )
    return verdict if isinstance(verdict, GateOpen) else None


DUE_SOURCES: tuple[Callable[[DueContext], Sequence[DueWork]], ...] = (
    find_due_rollouts,
    find_due_dreams,
)
"""Sources of due work, in the order shown. A subsystem that works on its own adds its source."""
