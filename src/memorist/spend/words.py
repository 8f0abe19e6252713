"""Times as a person reads them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

_LATEST = 253_402_300_799.0
"""The last second of the year 9999, beyond which dates cannot be written."""


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(min(max(at, 0.0), _LATEST), UTC)


def date_of(at: float) -> str:
    """The day, such as 2026-11-22, in UTC."""
    return _moment(at).strftime("%Y-%m-%d")


def clock_time(at: float, now: float) -> str:
    """The time of day, such as 14:05 UTC, with the date where it is not today's."""
    form = "%H:%M UTC" if date_of(at) == date_of(now) else "%Y-%m-%d %H:%M UTC"
    return _moment(at).strftime(form)


def left_until(at: float, now: float) -> str:
    """How long it is until then, such as `in 3 h`; `now` for what is past."""
    seconds = at - now
    if seconds <= 0:
        return "now"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"in {seconds / size:.0f} {unit}"
    return f"in {max(1, round(seconds))} s"
