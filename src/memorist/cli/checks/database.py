"""Check the database: intact, in step with the sessions on disk, and without reservations of dead
processes.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memorist.cli.checks.finding import FIX, Finding, Place, counted, mended_or, refusals
from memorist.errors import MemoristError, StoreError
from memorist.formats import memorist_jsonl
from memorist.formats.recorded import Head
from memorist.store.database import is_damage, migrations, move_aside, open_database, transaction
from memorist.store.lines import LineFile
from memorist.store.sessions import keep_session
from memorist.store.spend import LENIENCE_SECONDS

REBUILT = "It is moved aside and rebuilt when memorist next runs; notes and transcripts are files."


@contextlib.contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    finally:
        connection.close()


def check_database(place: Place) -> Iterator[Finding]:
    """Check whether the database is usable, then its sessions and reservations."""
    path = place.layout.database
    if not path.exists():
        yield Finding("good", "there is no database yet; it is made when it is needed")
        yield from _sessions(place, set())
        return
    found = _sound(place, path)
    yield found
    if found.state == "wrong":
        return
    known, expired = set[str](), list[int]()
    with contextlib.suppress(sqlite3.Error), read_only(path) as database:
        known = {os.path.realpath(str(row["folder"])) for row in database.execute("select folder from sessions")}
        expired = _expired(database, place.now)
    yield from _sessions(place, known)
    yield from _leases(place, expired)


def _sound(place: Place, path: Path) -> Finding:
    try:
        with read_only(path) as connection:
            answer = connection.execute("pragma quick_check").fetchone()[0]
            version = connection.execute("pragma user_version").fetchone()[0]
    except sqlite3.Error as error:
        what = f"the database cannot be read ({error})"
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            return mended_or(place, what, REBUILT, lambda: _anew(path))
        return Finding("wrong", what, "Close what uses it, or give yourself access to it.")
    if answer != "ok":
        return mended_or(place, f"the database is damaged ({answer})", f"Move {path} away; it is rebuilt.", lambda: _aside(path))
    if version > migrations()[-1][0]:
        return Finding("note", "the database was written by a newer memorist", "Update memorist when you can.")
    return Finding("good", f"the database is sound (version {version})")


def _anew(path: Path) -> str:
    open_database(path).close()
    return f"it was moved aside next to {path}, and a new one created"


def _aside(path: Path) -> str:
    with refusals("move", path):
        move_aside(path)
    return _anew(path)


def _sessions(place: Place, known: set[str]) -> Iterator[Finding]:
    """Report sessions on disk that the database does not know: they cannot be named by their id.

    Those gone from the disk are only counted.
    """
    found = sorted(place.layout.projects.glob("*/*/transcript.jsonl"))
    lost = [path for path in found if os.path.realpath(path.parent) not in known]
    if lost:
        what = f"the database does not know {counted(len(lost), 'session')} that the disk has, such as {lost[0].parent.name}"
        yield mended_or(place, what, FIX, lambda: _taken_in(place, lost))
    gone = [folder for folder in known if not Path(folder).exists()]
    if gone:
        yield Finding("note", f"the folders of {counted(len(gone), 'session')} are gone from the disk; what they cost stays in the books")
    if found and not lost:
        yield Finding("good", f"the database knows {counted(len(found), 'session')} as the disk does")


def _taken_in(place: Place, transcripts: list[Path]) -> str:
    database = open_database(place.layout.database)
    taken = 0
    try:
        for path in transcripts:
            head = _head(path)
            if head is None:
                continue
            keep_session(database, head.session, project=head.cwd, folder=str(path.parent), format="anthropic", now=path.stat().st_mtime)
            taken += 1
    finally:
        database.close()
    return f"{counted(taken, 'session')} taken in" + (
        f", {len(transcripts) - taken} without a readable beginning left" if taken < len(transcripts) else ""
    )


def _head(path: Path) -> Head | None:
    try:
        first = next(iter(memorist_jsonl.read(LineFile(path))), None)
    except (MemoristError, OSError):
        return None  # an unreadable transcript must not keep the others out
    return first if isinstance(first, Head) else None


def _expired(database: sqlite3.Connection, now: float) -> list[int]:
    try:
        rows = database.execute("select number from reservations where expires <= ? or made > ?", (now, now + LENIENCE_SECONDS)).fetchall()
    except sqlite3.Error:
        return []  # a database of before there were any
    return [int(row["number"]) for row in rows]


def _leases(place: Place, expired: list[int]) -> Iterator[Finding]:
    """Report reservations that a process never released.

    They no longer count, and the next reservation removes them.
    """
    if expired and place.fix:
        yield mended_or(place, f"dead processes left {counted(len(expired), 'reservation')}", FIX, lambda: _released(place, expired))
    elif expired:
        yield Finding(
            "note", f"dead processes left {counted(len(expired), 'reservation')}; they expired and count no more", f"Nothing, or {FIX}"
        )


def _released(place: Place, numbers: list[int]) -> str:
    database = open_database(place.layout.database)
    try:
        with transaction(database):
            database.executemany("delete from reservations where number = ?", [(number,) for number in numbers])
    except sqlite3.Error as error:
        raise StoreError(f"the reservations cannot be released ({error})") from error
    finally:
        database.close()
    return "released"
