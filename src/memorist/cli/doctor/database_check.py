"""Check the database: intact, in step with the sessions on disk, and without reservations of dead
processes.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    repair_or_report_fault,
)
from memorist.core.plural import pluralize
from memorist.errors import MemoristError, StoreError
from memorist.formats import transcript_format
from memorist.formats.transcript_format import SessionHead
from memorist.platforms.file_locks import find_folder_locking_problem
from memorist.platforms.storage_errors import describe_storage_error
from memorist.store.disk_files import raise_os_errors_as_store_errors
from memorist.store.session_rows import record_session
from memorist.store.spend_rows import CLOCK_LENIENCE_SECONDS
from memorist.store.sqlite_database import (
    is_database_damage,
    is_unwritable_error,
    load_migrations,
    move_damaged_database_aside,
    open_database,
    transaction,
)
from memorist.store.transcript_reader import UnpackedUtf8Lines

REBUILD_NOTE = (
    "It is moved aside and rebuilt when memorist next runs; notes and transcripts are files."
)


@contextlib.contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only; where not even SQLite's own files can be made beside it, as the
    file stands. Raises OperationalError, at once where the file system has no locks.
    """
    if refusal := find_folder_locking_problem(path.parent):
        raise sqlite3.OperationalError(describe_storage_error(refusal))
    address = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True)
    try:
        connection.execute("select count(*) from sqlite_master")
    except sqlite3.Error as error:
        connection.close()
        if not is_unwritable_error(error, path):
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
    if find_folder_locking_problem(path.parent):  # what is wrong with the home is said already
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
        if isinstance(error, sqlite3.DatabaseError) and is_database_damage(error):
            return repair_or_report_fault(context, what, REBUILD_NOTE, lambda: _recreate(path))
        return CheckResult("wrong", what, "Close what uses it, or give yourself access to it.")
    if answer != "ok":
        return repair_or_report_fault(
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
    with raise_os_errors_as_store_errors("move", path):
        move_damaged_database_aside(path)
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
        yield repair_or_report_fault(
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
        first = next(iter(transcript_format.read_session(UnpackedUtf8Lines(path))), None)
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
    if expired and context.may_repair:
        yield repair_or_report_fault(
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
