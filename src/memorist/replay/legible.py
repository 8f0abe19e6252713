"""Numbers, dates and other people's text as a person can read them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
"""Terminal sequences (ECMA-48: CSI, and OSC up to its end): they colour a terminal and mean nothing on a page."""

_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks that turn the direction of text (Unicode UAX 9), and halves of surrogate pairs, which UTF-8 cannot hold."""


def legible(text: str) -> str:
    """The text without terminal colours, and with every character that hides or turns text written as its number, such as ‹U+202E›."""
    if text.isprintable():  # most texts of a page: short, and without any of these
        return text
    plain = _COLOUR.sub("", text.replace("\r\n", "\n"))
    return _HIDDEN.sub(lambda found: f"‹U+{ord(found.group()):04X}›", plain)


def short(text: str, limit: int) -> str:
    """At most `limit` characters of the text, and how many are gone."""
    gone = len(text) - limit
    return text if gone <= 0 else f"{text[:limit].rstrip()} … ({gone:,} more characters)"


def whole(number: int) -> str:
    """A number with separators: 12,345."""
    return f"{number:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun: `1 update`, `12,345 updates`. `many` where an `s` is not enough."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def compact(number: float) -> str:
    """A number for an axis: 950, 2.5k, 20k, 1.2M."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + sign
    return f"{number:g}"


def day(seconds: float | None) -> str:
    """The date and minute in UTC, or nothing where there is no time or it lies outside the calendar."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return ""


def last_part(path: str) -> str:
    """The last part of a path, of either kind of system."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def dollars(cost: float | None) -> str:
    """US dollars; four digits below ten cents, where two would say nothing."""
    if cost is None:
        return "cost not known"
    return f"${cost:.4f}" if 0 < cost < 0.1 else f"${cost:,.2f}"


def percent(part: int, total: int) -> str:
    """A share, in whole percents; `<1%` for what is there but small."""
    share = 100 * part / total if total else 0.0
    return "<1%" if 0 < share < 0.5 else f"{share:.0f}%"
