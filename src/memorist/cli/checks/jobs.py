"""Check past sessions: leases of dead workers, jobs out of retries, and whether the database knows
the sessions that the files remember.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import partial

from memorist.cli.checks.database import read_only
from memorist.cli.checks.finding import FIX, Finding, Place, counted, mended_or, put_aside
from memorist.rollouts.artefacts import read_back
from memorist.rollouts.folder.run import read_folder
from memorist.rollouts.rebuild import rebuild
from memorist.store.files import DiskFiles
from memorist.store.rollouts import restore
from memorist.store.state import SQLITE, open_sqlite_state


def check_jobs(place: Place) -> Iterator[Finding]:
    """Check the jobs in this home's database; a shared server is left to its own machines.

    The next claim releases a dead lease.
    """
    path = place.layout.database
    if place.settings.state != SQLITE or not path.exists():
        return
    dead, spent = 0, 0
    with contextlib.suppress(sqlite3.Error), read_only(path) as database:
        row = database.execute(
            "select coalesce(sum(status = 'running' and coalesce(lease_until, 0) <= ?), 0) as dead,"
            " coalesce(sum(status = 'error' and retries_left <= 0), 0) as spent from jobs",
            (place.now,),
        ).fetchone()
        dead, spent = int(row["dead"]), int(row["spent"])
    if dead:
        yield Finding("note", f"workers that died left {counted(dead, 'lease')}", "Nothing: who claims next takes the job over.")
    if spent:
        yield Finding(
            "note",
            f"{counted(spent, 'job')} failed as often as may be tried",
            "See memorist rollouts status, then memorist rollouts retry.",
        )


def check_rollouts(place: Place) -> Iterator[Finding]:
    """Check that the database knows the remembered sessions.

    The files are the source of truth: a database that knows no session was lost and is refilled
    from them. One that knows some was reset by the user.
    """
    lock = place.layout.rollouts_state / "lock"
    if lock.is_symlink() or (lock.exists() and not lock.is_file()):
        yield mended_or(place, f"{lock} is no file, so that nobody can take the lock", FIX, partial(put_aside, place.layout, lock))
    if place.settings.state != SQLITE or not place.layout.rollouts.is_dir():
        return
    remembered = rebuild(read_back(read_folder(DiskFiles(), place.layout.rollouts).files)).kept
    if not remembered:
        return
    known = 0
    if place.layout.database.exists():
        with contextlib.suppress(sqlite3.Error), read_only(place.layout.database) as database:
            known = int(database.execute("select (select count(*) from threads) + (select count(*) from extracts)").fetchone()[0])
    if known:
        yield Finding("good", f"the database knows past sessions as the files do, which remember {counted(len(remembered), 'session')}")
        return

    def act() -> str:
        state = open_sqlite_state(place.layout.database)
        try:
            return f"{counted(restore(state, remembered), 'session')} put back"
        finally:
            state.close()

    yield mended_or(place, f"the database knows nothing of {counted(len(remembered), 'past session')} that the files remember", FIX, act)
