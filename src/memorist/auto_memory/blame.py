"""Which change each line of a memory comes from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct


class Line(Struct, frozen=True):
    """One line as it stands now, and the id of the change that brought it."""

    text: str
    change: str


def blame(versions: Sequence[tuple[str, str]]) -> tuple[Line, ...]:
    """The lines of the newest version; `versions` are (id of the change, text), oldest first."""
    lines: list[Line] = []
    for change, text in versions:
        new = text.splitlines()
        matcher = SequenceMatcher(None, [line.text for line in lines], new, autojunk=False)
        merged: list[Line] = []
        for tag, start, end, first, last in matcher.get_opcodes():
            merged += lines[start:end] if tag == "equal" else [Line(each, change) for each in new[first:last]]
        lines = merged
    return tuple(lines)
