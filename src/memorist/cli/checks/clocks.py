"""Check the clock against recorded times: gates, spending caps and ages depend on it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime

from memorist.cli.checks.database import read_only
from memorist.cli.checks.finding import Finding, Place

EARLIEST = 1_735_689_600.0
"""2025-01-01 UTC: memorist did not exist before."""
LENIENCE_SECONDS = 300.0
"""Acceptable difference between the clocks of machines that share a home. Our choice."""

_NEWEST = "select max(at) as at from (select max(updated) as at from sessions union all select max(started) as at from receipts)"


def check_clocks(place: Place) -> Iterator[Finding]:
    """Check that the clock is past memorist's beginning and the newest record."""
    says = datetime.fromtimestamp(place.now, UTC).isoformat(sep=" ", timespec="minutes")[:16]
    if place.now < EARLIEST:
        yield Finding("wrong", f"the clock of this machine says {says} UTC", "Set it; what is recorded under it would count as old.")
        return
    newest = None
    if place.layout.database.exists():
        with contextlib.suppress(sqlite3.Error), read_only(place.layout.database) as database:
            newest = database.execute(_NEWEST).fetchone()["at"]
    if newest is not None and newest > place.now + LENIENCE_SECONDS:
        ahead = datetime.fromtimestamp(newest, UTC).isoformat(sep=" ", timespec="minutes")[:16]
        what = f"work was recorded at {ahead} UTC, and the clock says {says}: it was set back, or was ahead then"
        yield Finding("wrong", what, "Set the clock. Caps and gates are right again when it has passed that time.")
        return
    yield Finding("good", "the clock agrees with what was recorded")
