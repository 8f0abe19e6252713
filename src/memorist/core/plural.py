"""Numbers with the word that they count. Pure."""

from __future__ import annotations


def pluralize(number: int, thing: str, things: str = "") -> str:
    """`1 file`, `2 files`, or with the plural given `2 memories`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
