"""Conflicts that other programs leave: two versions in one text between marks of Git, of which
neither holds until somebody chose, and a second version beside a file, by its name. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.core.lazy import lazy_pattern

_OPENING, _BASE, _MIDDLE, _CLOSING = "<" * 7, "|" * 7, "=" * 7, ">" * 7


class MergeConflictLines(Struct, frozen=True):
    """The lines of a text that one conflict takes up, by their position."""

    marks: tuple[int, ...]
    """Its marks, in order: the first and the last enclose all of it."""

    @property
    def all_lines(self) -> range:
        """All its lines, marks included."""
        return range(self.marks[0], self.marks[-1] + 1)

    @property
    def version_lines(self) -> tuple[int, ...]:
        """The lines of both versions."""
        return tuple(line for line in self.all_lines if line not in self.marks)


def parse_merge_conflicts(lines: Sequence[str]) -> tuple[MergeConflictLines, ...]:
    """Find the conflicts that have all their marks, in order."""
    found: list[MergeConflictLines] = []
    marks: list[int] = []
    for number, line in enumerate(lines):
        mark = _parse_mark(line)
        if mark == _OPENING:
            marks = [number]
        elif marks and mark in (_BASE, _MIDDLE):
            marks.append(number)
        elif mark == _CLOSING and any(_parse_mark(lines[each]) == _MIDDLE for each in marks):
            found.append(MergeConflictLines((*marks, number)))
            marks = []
    return tuple(found)


_SYNC_COPY = lazy_pattern(
    r".(?: ?\([^()]*\bconflict(?:ed)?(?: copy)?\b[^()]*\)|\.sync-conflict-\d{8}-\d{6}(?:-\w+)?"
    r"|_conflict-\d{8}-\d{6})(?:\.[\w-]+)?$",
    re.IGNORECASE,
)
"""Ends of the names that Dropbox, Nextcloud, ownCloud and Syncthing give to a second version."""


def is_conflicted_copy(path: str) -> bool:
    """Whether a file is a second version of another, which a program that keeps folders in step
    left beside it.
    """
    return _SYNC_COPY.search(path) is not None


def _parse_mark(line: str) -> str:
    """The mark of a conflict that a line is: alone, or before the name of a version."""
    mark = line[:7]
    is_mark = mark in (_OPENING, _BASE, _MIDDLE, _CLOSING) and line[7:8] in ("", " ", "\r", "\n")
    return mark if is_mark else ""


def has_merge_conflict(text: str) -> bool:
    """Whether a text holds a conflict."""
    return _OPENING in text and bool(parse_merge_conflicts(text.splitlines()))
