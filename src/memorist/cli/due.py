"""Find due work for `memorist status`: past sessions to process, and memories to dream over."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.place.run import memory_layout, read_project
from memorist.clock import SystemClock
from memorist.dream.gates import Host, Known, Look, Open, judge, others
from memorist.dream.lock.run import DreamLock
from memorist.dream.look.run import Past, seen_sessions
from memorist.errors import StoreError
from memorist.rollouts.eligible import judge_all
from memorist.rollouts.working import terms_of
from memorist.settings import Settings
from memorist.spend.status import Due
from memorist.store.claims import Job, refuse_consolidation
from memorist.store.files import DiskFiles
from memorist.store.jobs import exhausted, jobs
from memorist.store.layout import Layout, MemoryLayout
from memorist.store.opening import open_state, shared
from memorist.store.rollouts import standings
from memorist.store.sessions import sessions_by_project
from memorist.store.state import SqliteState, State

NAMED = 5
"""Most sessions out of retries that are named; the rest is counted."""


class Place(Struct, frozen=True, kw_only=True):
    """What the sources of due work may use."""

    layout: Layout
    settings: Settings
    database: sqlite3.Connection
    now: float


def rollouts_due(place: Place) -> list[Due]:
    """Due sessions, the next consolidation, and jobs out of retries.

    Raises StoreError, SettingsError for an invalid `state`.
    """
    if not shared(place.settings.state):
        return list(_due(place, SqliteState(place.database, lambda: place.now)))
    state = open_state(place.settings.state, place.layout.database)
    try:
        return list(_due(place, state))
    finally:
        state.close()


def _due(place: Place, state: State) -> Iterator[Due]:
    settings, now = place.settings, int(place.now)
    by_itself = "" if settings.learns_from_rollouts else "; `memorist rollouts sync` does it, as long_term does not"
    verdicts = judge_all(standings(state, behind=True, limit=settings.rollouts.scan), settings.rollouts, now=now)
    count = Counter(verdict.reason for verdict in verdicts)
    if count[None]:
        yield Due(what="rollouts", why=f"{count[None]:,} sessions are finished and new to memory{by_itself}")
    if count["too young"]:
        soonest = min(verdict.at for verdict in verdicts if verdict.at is not None)
        yield Due(what="rollouts", why=f"{count['too young']:,} sessions are not finished yet", when=float(soonest))
    known = jobs(state)
    consolidation = next((job for job in known if job.kind == "consolidate"), None)
    if consolidation is not None and (due := _consolidation(consolidation, place)) is not None:
        yield due
    given_up = exhausted(state)
    for job in given_up[:NAMED]:
        why = f"{job.key} is not tried again after {job.attempts} attempts: {job.last_error or 'no reason is known'}"
        yield Due(what="rollouts", why=f"{why}; `memorist rollouts retry` does")
    if len(given_up) > NAMED:
        yield Due(what="rollouts", why=f"{len(given_up) - NAMED:,} more are not tried again; `memorist rollouts status` names them")


def _consolidation(job: Job, place: Place) -> Due | None:
    """The consolidation, if something was requested since it last succeeded."""
    if job.last_error is None and (job.last_success or 0) >= job.watermark:
        return None
    refused = refuse_consolidation(job, terms_of(place.settings.rollouts), int(place.now))
    if refused is None:
        return Due(what="consolidation", why="sessions were extracted or left out since the last one")
    why = {
        "backoff": f"the last one failed: {refused.reason}",
        "running": "one is running",
        "cooldown": "the last one succeeded a short while ago",
    }[refused.why]
    return Due(what="consolidation", why=why, when=None if refused.until is None else float(refused.until))


def dreams_due(place: Place) -> list[Due]:
    """Projects whose dream gates are all open.

    Sessions are read only where the last dream is long enough ago.
    """
    settings = place.settings
    if not settings.remembers:
        return []
    past: dict[str, list[Past]] = {}
    for id, project, folder in sessions_by_project(place.database):
        past.setdefault(project, []).append(Past(id, Path(folder)))
    memories: dict[Path, tuple[MemoryLayout, list[Past]]] = {}
    for project, sessions in past.items():
        if project:
            where = memory_layout(place.layout, project, settings.auto_memory)
            memories.setdefault(where.folder, (where, []))[1].extend(sessions)
    found = []
    for where, sessions in memories.values():
        with contextlib.suppress(StoreError):  # `memorist doctor` says what cannot be read
            if where.folder.is_dir() and (open_ := _open(place, where, sessions)) is not None:
                known = read_project(DiskFiles(), where)
                what = known.root if known is not None else str(where.folder)
                found.append(
                    Due(what="dream", why=f"{what}: {open_.why}; the next end of a turn there begins it, or `memorist dream --now` does")
                )
    return found


def _open(place: Place, where: MemoryLayout, sessions: Sequence[Past]) -> Open | None:
    known = Known(now=place.now, host=Host(), last=DreamLock(where, SystemClock()).last())
    verdict = judge(known, place.settings.dream)
    if isinstance(verdict, Look):
        seen = seen_sessions(sessions, DiskFiles())
        verdict = judge(replace(known, sessions=others(seen, current="", since=verdict.since)), place.settings.dream)
    return verdict if isinstance(verdict, Open) else None
