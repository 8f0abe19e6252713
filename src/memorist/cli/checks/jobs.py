"""The jobs that turn past sessions into memory: leases of workers that died, and jobs that nobody tries any more."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from memorist.cli.checks.database import read_only
from memorist.cli.checks.finding import Finding, Place, counted
from memorist.store.state import SQLITE


def check_jobs(place: Place) -> Iterator[Finding]:
    """What the database of this home says of them; one on a server is its own machines' to look after. The next claim puts a dead lease right."""
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
