"""A day on the command line: a date, or how long ago."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime, timedelta

import click

_AGO = re.compile(r"(\d{1,4})\s*(d|w|m|y|days?|weeks?|months?|years?)(?: ago)?", re.IGNORECASE)
_WORDS = {"today": 0, "yesterday": 1, "last week": 7, "last month": 30}
"""Days ago."""


class DayParameter(click.ParamType[date]):
    """Converts `2026-11-20`, `7d`, `2 weeks`, `yesterday` to a day of the local calendar."""

    name = "day"

    def convert(
        self, value: str | date, param: click.Parameter | None, ctx: click.Context | None
    ) -> date:
        """The day; fails for anything else."""
        if isinstance(value, date):
            return value
        word, today = value.strip().lower(), datetime.now().astimezone().date()
        try:
            if word in _WORDS:
                return today - timedelta(days=_WORDS[word])
            if found := _AGO.fullmatch(word):
                return _go_back(today, int(found[1]), found[2][0].lower())
            return date.fromisoformat(word)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no day; say 2026-11-20, 7d, 2w, 3m or yesterday", param, ctx)


def _go_back(today: date, count: int, unit: str) -> date:
    if unit in "dw":
        return today - timedelta(days=count * (7 if unit == "w" else 1))
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
    year, month = divmod(months, 12)
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))
