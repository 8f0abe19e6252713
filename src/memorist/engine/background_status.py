"""Background work of a home: what it did, what it may still do, and what is due (past sessions to
process, memories to dream over).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_location import read_project_record, resolve_project_memory_layout
from memorist.budget.budget_caps import BudgetUsage
from memorist.budget.budget_governor import read_budget_usage
from memorist.budget.budget_status import BudgetHistory, BudgetStatus, DueWork, build_budget_status
from memorist.core.plural import pluralize
from memorist.dream.dream_gates import (
    DreamGateFacts,
    DreamGateNeedsFact,
    DreamGatesOpen,
    DreamTriggerSessionProperties,
    judge_dream_gates,
    select_changed_session_ids,
)
from memorist.dream.dream_lock import DreamLock
from memorist.dream.past_session_evidence import (
    PastSessionLocation,
    list_session_modification_times,
)
from memorist.errors import StoreError
from memorist.rollouts.session_eligibility import judge_rollouts_eligibility
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.store.job_claim_rules import Job, build_lease_policy, find_consolidation_refusal
from memorist.store.job_claims import list_exhausted_jobs, list_jobs
from memorist.store.rollout_rows import list_extraction_progress
from memorist.store.session_rows import list_sessions
from memorist.store.spend_rows import (
    DAY_SECONDS,
    compute_epoch_day,
    count_failed_runs_by_reason,
    list_blocked_work_since,
    list_usage_by_kind,
)
from memorist.store.sqlite_database import convert_sqlite_errors
from memorist.store.state_database import (
    SqliteStateDatabase,
    StateDatabase,
    is_server_database_setting,
    open_state_database,
)
from memorist.system import SystemClock

MAX_NAMED_SESSIONS = 5
"""Most sessions out of retries that are named; the rest is counted."""


class DueWorkContext(Struct, frozen=True, kw_only=True):
    """What the sources of due work may use."""

    layout: Layout
    settings: Settings
    database: sqlite3.Connection
    now: float


def find_due_rollout_work(context: DueWorkContext) -> list[DueWork]:
    """Due sessions, the next consolidation, and jobs out of retries.

    Raises StoreError, SettingsError for an invalid `state`.
    """
    if not is_server_database_setting(context.settings.state):
        return list(
            _due_rollouts(context, SqliteStateDatabase(context.database, lambda: context.now))
        )
    state = open_state_database(context.settings.state, context.layout.database)
    try:
        return list(_due_rollouts(context, state))
    finally:
        state.close()


def _due_rollouts(context: DueWorkContext, state: StateDatabase) -> Iterator[DueWork]:
    settings, now = context.settings, int(context.now)
    by_itself = (
        ""
        if settings.uses_rollouts
        else "; `memorist rollouts sync` does it, as long_term does not"
    )
    verdicts = judge_rollouts_eligibility(
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
            why=f"not finished yet: {pluralize(count['too young'], 'session')}",
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
    for job in given_up[:MAX_NAMED_SESSIONS]:
        why = (
            f"{job.key} is not tried again after {job.attempts} attempts: "
            f"{job.last_error or 'no reason is known'}"
        )
        yield DueWork(what="rollouts", why=f"{why}; `memorist rollouts retry` does")
    if len(given_up) > MAX_NAMED_SESSIONS:
        yield DueWork(
            what="rollouts",
            why=f"{len(given_up) - MAX_NAMED_SESSIONS:,} more are not tried again; "
            f"`memorist rollouts status` names them",
        )


def _due_consolidation(job: Job, context: DueWorkContext) -> DueWork | None:
    """The consolidation, if something was requested since it last succeeded."""
    if job.last_error is None and (job.last_success or 0) >= job.watermark:
        return None
    refused = find_consolidation_refusal(
        job, build_lease_policy(context.settings.rollouts), int(context.now)
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


def find_due_dreams(context: DueWorkContext) -> list[DueWork]:
    """Projects whose dream gates are all open.

    Sessions are read only where the last dream is long enough ago.
    """
    settings = context.settings
    if not settings.uses_auto_memory:
        return []
    past: dict[str, list[PastSessionLocation]] = {}
    for id, project, folder in list_sessions(context.database):
        past.setdefault(project, []).append(PastSessionLocation(id, Path(folder)))
    memories: dict[Path, tuple[MemoryLayout, list[PastSessionLocation]]] = {}
    for project, sessions in past.items():
        if project:
            where = resolve_project_memory_layout(context.layout, project, settings.auto_memory)
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
    context: DueWorkContext, where: MemoryLayout, sessions: Sequence[PastSessionLocation]
) -> DreamGatesOpen | None:
    known = DreamGateFacts(
        now=context.now,
        host=DreamTriggerSessionProperties(),
        last=DreamLock(where, SystemClock()).last_dream_time(),
    )
    verdict = judge_dream_gates(known, context.settings.dream)
    if isinstance(verdict, DreamGateNeedsFact):
        seen = list_session_modification_times(sessions, DiskFiles())
        verdict = judge_dream_gates(
            replace(
                known, sessions=select_changed_session_ids(seen, current="", since=verdict.since)
            ),
            context.settings.dream,
        )
    return verdict if isinstance(verdict, DreamGatesOpen) else None


DUE_SOURCES: tuple[Callable[[DueWorkContext], Sequence[DueWork]], ...] = (
    find_due_rollout_work,
    find_due_dreams,
)
"""Sources of due work, in the order shown. A subsystem that works on its own adds its source."""


def read_background_budget_status(
    database: sqlite3.Connection | None, settings: Settings, now: float, days: int = 1
) -> BudgetStatus:
    """What background work of a home used in the last days, what is left, due and on hold;
    `database` is None for a home that has none yet. Raises StoreError.
    """
    span = range(compute_epoch_day(now) - days + 1, compute_epoch_day(now) + 1)
    model = "" if settings.model == "structural" else settings.model
    if database is None:
        return build_budget_status(
            BudgetUsage(now=now), BudgetHistory(), settings.spend, days=span, model=model
        )
    with convert_sqlite_errors("the database cannot be read", "memorist doctor says more"):
        usage = read_budget_usage(database, now)
        history = BudgetHistory(
            kinds=tuple(list_usage_by_kind(database, span)),
            blocked=tuple(list_blocked_work_since(database, span.start)),
            failures=tuple(count_failed_runs_by_reason(database, float(span.start * DAY_SECONDS))),
        )
        context = DueWorkContext(
            layout=Layout.from_setting(settings.home), settings=settings, database=database, now=now
        )
        due = [each for source in DUE_SOURCES for each in source(context)]
    return build_budget_status(usage, history, settings.spend, days=span, model=model, due=due)
