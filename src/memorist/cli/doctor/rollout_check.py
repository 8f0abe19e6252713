"""Check past sessions: leases of dead workers, jobs out of retries, and whether the database knows
the sessions that the files remember.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    put_file_aside,
    repair_or_report_fault,
)
from memorist.cli.doctor.database_check import open_read_only
from memorist.core.plural import pluralize
from memorist.rollouts.rollout_folder import read_memory_folder
from memorist.rollouts.rollout_summaries import parse_extract_files, select_recoverable_extracts
from memorist.rollouts.session_sources import load_skipped_files
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import insert_missing_extracts
from memorist.store.sqlite_database import is_database_damage
from memorist.store.state_database import SQLITE, open_sqlite_state

_MAX_NAMED = 3
"""Damaged sessions that are named. Our choice."""


def check_jobs(context: DoctorContext) -> Iterator[CheckResult]:
    """Check the jobs in this home's database; a shared server is left to its own machines.

    The next claim releases a dead lease.
    """
    path = context.layout.database
    if context.settings.state != SQLITE or not path.exists():
        return
    dead, spent = 0, 0
    with contextlib.suppress(sqlite3.Error), open_read_only(path) as database:
        row = database.execute(
            "select coalesce(sum(status = 'running' and coalesce(lease_until, 0) <= ?), 0) as dead,"
            " coalesce(sum(status = 'error' and retries_left <= 0), 0) as spent from jobs",
            (context.now,),
        ).fetchone()
        dead, spent = int(row["dead"]), int(row["spent"])
    if dead:
        yield CheckResult(
            "note",
            f"workers that died left {pluralize(dead, 'lease')}",
            "Nothing: who claims next takes the job over.",
        )
    if spent:
        yield CheckResult(
            "note",
            f"{pluralize(spent, 'job')} failed as often as may be tried",
            "See memorist rollouts status, then memorist rollouts retry.",
        )


def check_database_knows_sessions(context: DoctorContext) -> Iterator[CheckResult]:
    """Check that the database knows the remembered sessions.

    The files are the source of truth: a database that knows no session was lost and is refilled
    from them. One that knows some was reset by the user.
    """
    lock = context.layout.rollouts_state / "lock"
    if lock.is_symlink() or (lock.exists() and not lock.is_file()):
        yield repair_or_report_fault(
            context,
            f"{lock} is no file, so that nobody can take the lock",
            FIX_COMMAND,
            partial(put_file_aside, context.layout, lock),
        )
    if context.settings.state != SQLITE or not context.layout.rollouts.is_dir():
        return
    remembered = select_recoverable_extracts(
        parse_extract_files(read_memory_folder(DiskFiles(), context.layout.rollouts).files)
    )
    if not remembered:
        return
    try:
        known = _count_known_sessions(context.layout.database)
    except sqlite3.DatabaseError as error:
        if not (is_database_damage(error) or "no such table" in str(error)):
            return  # locked, or none can be, which says nothing of what it knows
        known = 0
    if known:
        yield CheckResult(
            "good",
            f"the database knows past sessions as the files do, which remember "
            f"{pluralize(len(remembered), 'session')}",
        )
        return

    def act() -> str:
        state = open_sqlite_state(context.layout.database)
        try:
            return f"{pluralize(insert_missing_extracts(state, remembered), 'session')} put back"
        finally:
            state.close()

    yield repair_or_report_fault(
        context,
        f"the database knows nothing of {pluralize(len(remembered), 'past session')} that the "
        f"files remember",
        FIX_COMMAND,
        act,
    )


def check_session_files(context: DoctorContext) -> Iterator[CheckResult]:
    """Name the session files of agents that the newest search found damaged."""
    damaged = [
        each
        for each in load_skipped_files(context.layout.rollouts_state / "passed.json")
        if each.is_damaged and Path(each.path).exists()
    ]
    for each in damaged[:_MAX_NAMED]:
        yield CheckResult(
            "note",
            f"the session {each.path} is damaged, so that memory and search do without it: "
            f"{each.why.partition(';')[0].rstrip('.')}",
            "Put it back from a backup, or delete it if you do not need it.",
        )
    if len(damaged) > _MAX_NAMED:
        yield CheckResult(
            "note",
            f"{pluralize(len(damaged) - _MAX_NAMED, 'other session')} are damaged as well",
            "See memorist import PATH, which says of each file why it is left out.",
        )


def _count_known_sessions(path: Path) -> int:
    """How many past sessions the database knows; 0 where there is none. Raises sqlite3.Error."""
    if not path.exists():
        return 0
    with open_read_only(path) as database:
        row = database.execute(
            "select (select count(*) from threads) + (select count(*) from extracts)"
        ).fetchone()
    return int(row[0])
