"""Attributes each line of a memory to the change that introduced it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct


class BlamedLine(Struct, frozen=True):
    """One current line, and the id of the change that introduced it."""

    text: str
    change: str


def blame_lines(versions: Sequence[tuple[str, str]]) -> tuple[BlamedLine, ...]:
    """Attribute the lines of the newest version.

    `versions` holds (change id, text) pairs, oldest first.
    """
    lines: list[BlamedLine] = []
    for change, text in versions:
        new = text.splitlines()
        matcher = SequenceMatcher(None, [line.text for line in lines], new, autojunk=False)
        merged: list[BlamedLine] = []
        for tag, start, end, first, last in matcher.get_opcodes():
            merged += (
                lines[start:end]
                if tag == "equal"
                else [BlamedLine(each, change) for each in new[first:last]]
            )
        lines = merged
    return tuple(lines)
