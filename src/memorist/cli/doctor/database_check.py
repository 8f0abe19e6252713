"""Check the database: intact, in step with the sessions on disk, and without reservations of dead
processes.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    as_store_error,
    pluralize,
    repair_or_report,
    set_aside,
)
from memorist.errors import MemoristError, StoreError
from memorist.formats import transcript_format
from memorist.formats.transcript_format import SessionHead
from memorist.rollouts.rollout_folder import read_memory_folder
from memorist.rollouts.rollout_summaries import parse_artifacts
from memorist.rollouts.summary_composition import restore_extracts_from_summaries
from memorist.store.database import (
    is_damage,
    is_unwritable,
    load_migrations,
    move_aside,
    open_database,
    transaction,
)
from memorist.store.disk_files import DiskFiles
from memorist.store.rollout_rows import reinsert_extracts
from memorist.store.session_rows import record_session
from memorist.store.spend_rows import CLOCK_LENIENCE_SECONDS
from memorist.store.state_database import SQLITE, open_sqlite_state
from memorist.store.transcript_writer import LineFile

REBUILD_NOTE = (
    "It is moved aside and rebuilt when memorist next runs; notes and transcripts are files."
)


@contextlib.contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only; where not even SQLite's own files can be made beside it, as the
    file stands.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True)
    try:
        connection.execute("select count(*) from sqlite_master")
    except sqlite3.Error as error:
        connection.close()
        if not is_unwritable(error, path):
            raise
        connection = sqlite3.connect(f"{address}&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    finally:
        connection.close()


def check_database(context: DoctorContext) -> Iterator[CheckResult]:
    """Check whether the database is usable, then its sessions and reservations."""
    path = context.layout.database
    if not path.exists():
        yield CheckResult("good", "there is no database yet; it is made when it is needed")
        yield from _check_sessions(context, set())
        return
    found = _check_soundness(context, path)
    yield found
    if found.state == "wrong":
        return
    known, expired = set[str](), list[int]()
    with contextlib.suppress(sqlite3.Error), open_read_only(path) as database:
        known = {
            os.path.realpath(str(row["folder"]))
            for row in database.execute("select folder from sessions")
        }
        expired = _find_expired(database, context.now)
    yield from _check_sessions(context, known)
    yield from _check_reservations(context, expired)


def _check_soundness(context: DoctorContext, path: Path) -> CheckResult:
    try:
        with open_read_only(path) as connection:
            answer = connection.execute("pragma quick_check").fetchone()[0]
            version = connection.execute("pragma user_version").fetchone()[0]
    except sqlite3.Error as error:
        what = f"the database cannot be read ({error})"
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            return repair_or_report(context, what, REBUILD_NOTE, lambda: _recreate(path))
        return CheckResult("wrong", what, "Close what uses it, or give yourself access to it.")
    if answer != "ok":
        return repair_or_report(
            context,
            f"the database is damaged ({answer})",
            f"Move {path} away; it is rebuilt.",
            lambda: _move_and_recreate(path),
        )
    if version > load_migrations()[-1][0]:
        return CheckResult(
            "note", "the database was written by a newer memorist", "Update memorist when you can."
        )
    return CheckResult("good", f"the database is sound (version {version})")


def _recreate(path: Path) -> str:
    open_database(path).close()
    return f"it was moved aside next to {path}, and a new one created"


def _move_and_recreate(path: Path) -> str:
    with as_store_error("move", path):
        move_aside(path)
    return _recreate(path)


def _check_sessions(context: DoctorContext, known: set[str]) -> Iterator[CheckResult]:
    """Report sessions on disk that the database does not know: they cannot be named by their id.

    Those gone from the disk are only counted.
    """
    found = sorted(context.layout.projects.glob("*/*/transcript.jsonl"))
    lost = [path for path in found if os.path.realpath(path.parent) not in known]
    if lost:
        what = (
            f"the database does not know {pluralize(len(lost), 'session')} that the disk "
            f"has, such as {lost[0].parent.name}"
        )
        yield repair_or_report(
            context, what, FIX_COMMAND, lambda: _register_sessions(context, lost)
        )
    missing = [folder for folder in known if not Path(folder).exists()]
    if missing:
        yield CheckResult(
            "note",
            f"the folders of {pluralize(len(missing), 'session')} are gone from the disk; what "
            f"they cost stays in the books",
        )
    if found and not lost:
        yield CheckResult(
            "good", f"the database knows {pluralize(len(found), 'session')} as the disk does"
        )


def _register_sessions(context: DoctorContext, transcripts: list[Path]) -> str:
    database = open_database(context.layout.database)
    registered = 0
    try:
        for path in transcripts:
            head = _read_head(path)
            if head is None:
                continue
            record_session(
                database,
                head.session,
                project=head.cwd,
                folder=str(path.parent),
                format="anthropic",
                now=path.stat().st_mtime,
            )
            registered += 1
    finally:
        database.close()
    return f"{pluralize(registered, 'session')} taken in" + (
        f", {len(transcripts) - registered} without a readable beginning left"
        if registered < len(transcripts)
        else ""
    )


def _read_head(path: Path) -> SessionHead | None:
    try:
        first = next(iter(transcript_format.read_session(LineFile(path))), None)
    except (MemoristError, OSError):
        return None  # an unreadable transcript must not keep the others out
    return first if isinstance(first, SessionHead) else None


def _find_expired(database: sqlite3.Connection, now: float) -> list[int]:
    try:
        rows = database.execute(
            "select number from reservations where expires <= ? or made > ?",
            (now, now + CLOCK_LENIENCE_SECONDS),
        ).fetchall()
    except sqlite3.Error:
        return []  # a database of before there were any
    return [int(row["number"]) for row in rows]


def _check_reservations(context: DoctorContext, expired: list[int]) -> Iterator[CheckResult]:
    """Report reservations that a process never released.

    They no longer count, and the next reservation removes them.
    """
    if expired and context.fix:
        yield repair_or_report(
            context,
            f"dead processes left {pluralize(len(expired), 'reservation')}",
            FIX_COMMAND,
            lambda: _release_reservations(context, expired),
        )
    elif expired:
        yield CheckResult(
            "note",
            f"dead processes left {pluralize(len(expired), 'reservation')}; they expired and "
            f"count no more",
            f"Nothing, or {FIX_COMMAND}",
        )


def _release_reservations(context: DoctorContext, numbers: list[int]) -> str:
    database = open_database(context.layout.database)
    try:
        with transaction(database):
            database.executemany(
                "delete from reservations where number = ?", [(number,) for number in numbers]
            )
    except sqlite3.Error as error:
        raise StoreError(f"the reservations cannot be released ({error})") from error
    finally:
        database.close()
    return "released"


# Check past sessions: leases of dead workers, jobs out of retries, and whether the database
# knows the sessions that the files remember.


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


def check_rollouts(context: DoctorContext) -> Iterator[CheckResult]:
    """Check that the database knows the remembered sessions.

    The files are the source of truth: a database that knows no session was lost and is refilled
    from them. One that knows some was reset by the user.
    """
    lock = context.layout.rollouts_state / "lock"
    if lock.is_symlink() or (lock.exists() and not lock.is_file()):
        yield repair_or_report(
            context,
            f"{lock} is no file, so that nobody can take the lock",
            FIX_COMMAND,
            partial(set_aside, context.layout, lock),
        )
    if context.settings.state != SQLITE or not context.layout.rollouts.is_dir():
        return
    remembered = restore_extracts_from_summaries(
        parse_artifacts(read_memory_folder(DiskFiles(), context.layout.rollouts).files)
    ).rows
    if not remembered:
        return
    known = 0
    if context.layout.database.exists():
        with (
            contextlib.suppress(sqlite3.Error),
            open_read_only(context.layout.database) as database,
        ):
            known = int(
                database.execute(
                    "select (select count(*) from threads) + (select count(*) from extracts)"
                ).fetchone()[0]
            )
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
            return f"{pluralize(reinsert_extracts(state, remembered), 'session')} put back"
        finally:
            state.close()

    yield repair_or_report(
        context,
        f"the database knows nothing of {pluralize(len(remembered), 'past session')} that the "
        f"files remember",
        FIX_COMMAND,
        act,
    )


# Check the clock against recorded times: gates, spending caps and ages depend on it.


EARLIEST_TIME = 1_735_689_600.0
"""2025-01-01 UTC: memorist did not exist before."""
MAX_CLOCK_SKEW_SECONDS = 300.0
"""Acceptable difference between the clocks of machines that share a home. Our choice."""

_NEWEST_QUERY = (
    "select max(at) as at from (select max(updated) as at from sessions union all select "
    "max(started) as at from receipts)"
)


def check_clocks(context: DoctorContext) -> Iterator[CheckResult]:
    """Check that the clock is past memorist's beginning and the newest record."""
    says = datetime.fromtimestamp(context.now, UTC).isoformat(sep=" ", timespec="minutes")[:16]
    if context.now < EARLIEST_TIME:
        yield CheckResult(
            "wrong",
            f"the clock of this machine says {says} UTC",
            "Set it; what is recorded under it would count as old.",
        )
        return
    newest = None
    if context.layout.database.exists():
        with (
            contextlib.suppress(sqlite3.Error),
            open_read_only(context.layout.database) as database,
        ):
            newest = database.execute(_NEWEST_QUERY).fetchone()["at"]
    if newest is not None and newest > context.now + MAX_CLOCK_SKEW_SECONDS:
        ahead = datetime.fromtimestamp(newest, UTC).isoformat(sep=" ", timespec="minutes")[:16]
        what = (
            f"work was recorded at {ahead} UTC, and the clock says {says}: it was set back, "
            f"or was ahead then"
        )
        yield CheckResult(
            "wrong",
            what,
            "Set the clock. Caps and gates are right again when it has passed that time.",
        )
        return
    yield CheckResult("good", "the clock agrees with what was recorded")
