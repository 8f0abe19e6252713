"""Format numbers, dates and untrusted text for readers. Pure."""

from __future__ import annotations

import re

from memorist.core.utc_time import format_utc_minute

_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
"""Terminal escape sequences (ECMA-48: CSI, and OSC up to its end), which mean nothing on a page."""

_HIDDEN_CHARACTER = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, bidi marks (Unicode UAX 9), and lone surrogates, which UTF-8 cannot
encode.
"""


def reveal_invisible_characters(text: str) -> str:
    """Remove terminal colours, and write each invisible or direction-changing character as its code
    point, such as ‹U+202E›.
    """
    if text.isprintable():  # most texts of a page: short, and without any of these
        return text
    plain = _TERMINAL_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    return _HIDDEN_CHARACTER.sub(lambda found: f"‹U+{ord(found.group()):04X}›", plain)


def cut_text_and_count_missing(text: str, limit: int) -> str:
    """Cut a text to `limit` characters and say how many are missing."""
    left_out = len(text) - limit
    return text if left_out <= 0 else f"{text[:limit].rstrip()} … ({left_out:,} more characters)"


def format_number(number: int) -> str:
    """A number with thousands separators: 12,345."""
    return f"{number:,}"


def format_count_with_noun(number: int, noun: str) -> str:
    """A number with its noun: `1 update`, `12,345 updates`."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def format_compact(number: float) -> str:
    """A number for an axis label: 950, 2.5k, 20k, 1.2M."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if number >= size * 0.99995:  # 999,950 is 1M, not 1000k
            return f"{number / size:.1f}".removesuffix(".0") + sign
    return f"{number:g}"


def format_utc_time(seconds: float | None) -> str:
    """Date and minute in UTC; empty for None and for times outside the calendar."""
    minute = "" if seconds is None else format_utc_minute(seconds)
    return f"{minute} UTC" if minute else ""


def get_last_path_part(path: str) -> str:
    """The last part of a POSIX or Windows path."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def format_dollars(cost: float | None) -> str:
    """US dollars, with four digits below ten cents."""
    if cost is None:
        return "cost not known"
    return f"${cost:.4f}" if 0 < cost < 0.1 else f"${cost:,.2f}"


def format_part_as_percent(part: int, total: int) -> str:
    """A share in whole percent; `<1%` for a small one above zero."""
    share = 100 * part / total if total else 0.0
    return "<1%" if 0 < share < 0.5 else f"{share:.0f}%"
