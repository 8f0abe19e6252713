"""Check the clock against recorded times: gates, spending caps and ages depend on it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.cli.doctor.database_check import open_read_only
from memorist.core.utc_time import format_utc_minute

EARLIEST_TIME = 1_735_689_600.0
"""2025-01-01 UTC: memorist did not exist before."""
MAX_CLOCK_SKEW_SECONDS = 300.0
"""Acceptable difference between the clocks of machines that share a home. Our choice."""

_NEWEST_QUERY = (
    "select max(at) as at from (select max(updated) as at from sessions union all select "
    "max(started) as at from receipts)"
)


def check_system_clock(context: DoctorContext) -> Iterator[CheckResult]:
    """Check that the clock is past memorist's beginning and the newest record."""
    says = format_utc_minute(context.now)
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
        ahead = format_utc_minute(newest)
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
