"""Times in UTC as text, and days in the machine's time zone, from seconds since the epoch. A time
outside the calendar, as a clock gives that is off by ages, is never an error. Pure.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import lru_cache

_DAY_SECONDS = 86_400
LATEST_SECOND = 253_402_300_799
"""The last second of the year 9999, the end of Python's calendar."""


def convert_epoch_to_utc_datetime(seconds: float) -> datetime:
    """The time as a value; before the epoch its beginning, after the calendar its end."""
    return datetime.fromtimestamp(min(max(seconds, 0), LATEST_SECOND), UTC)


def format_utc_timestamp(seconds: float) -> str:
    """Format as `2026-11-05T10:15:00Z`, whole seconds; empty outside the calendar."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def format_utc_minute(seconds: float) -> str:
    """Format as `2026-11-05 10:15`; empty outside the calendar."""
    return format_utc_timestamp(seconds)[:16].replace("T", " ")


def format_utc_day(seconds: float | None) -> str:
    """Format as `2026-11-05`; empty outside the calendar, and for no time."""
    try:
        return "" if seconds is None else _format_day(int(seconds) // _DAY_SECONDS)
    except (OverflowError, ValueError):
        return ""


def _find_local_time(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return None


def find_local_day(seconds: float | None) -> date | None:
    """The day in the machine's time zone, as the user counts it; None outside the calendar, and for
    no time.
    """
    found = _find_local_time(seconds)
    return None if found is None else found.date()


def format_local_minute(seconds: float) -> str:
    """Format as `2026-11-05 10:15` by the user's clock; empty outside the calendar."""
    found = _find_local_time(seconds)
    return "" if found is None else f"{found:%Y-%m-%d %H:%M}"


def format_local_day(seconds: float | None) -> str:
    """Format that day as `2026-11-05`; empty for none."""
    day = find_local_day(seconds)
    return "" if day is None else day.isoformat()


@lru_cache(maxsize=1_024)
def _format_day(number: int) -> str:
    """Format a day, counted from the epoch: an index has two hundred lines of a few days."""
    return format_utc_timestamp(number * _DAY_SECONDS)[:10]
