"""Numbers with the word that they count, and lists of which the first are named. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def pluralize(number: int, thing: str, things: str = "") -> str:
    """`1 file`, `2 files`, or with the plural given `2 memories`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def join_first(names: Sequence[str], limit: int) -> str:
    """The first names and how many there are besides: `a, b and 3 more`."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more:,} more" if more > 0 else "")
