"""Attribute each line of a memory to the change that introduced it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct


class Line(Struct, frozen=True):
    """One current line, and the id of the change that introduced it."""

    text: str
    change: str


def blame(versions: Sequence[tuple[str, str]]) -> tuple[Line, ...]:
    """Attribute the lines of the newest version.

    `versions` holds (change id, text) pairs, oldest first.
    """
    lines: list[Line] = []
    for change, text in versions:
        new = text.splitlines()
        matcher = SequenceMatcher(None, [line.text for line in lines], new, autojunk=False)
        merged: list[Line] = []
        for tag, start, end, first, last in matcher.get_opcodes():
            merged += lines[start:end] if tag == "equal" else [Line(each, change) for each in new[first:last]]
        lines = merged
    return tuple(lines)
