"""Render what a dream would write. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

from memorist.auto_memory.changes import Change


def diff(changes: Sequence[Change]) -> str:
    """Render the changes as a unified diff, in order."""
    return "".join(part for change in changes for part in _one(change))


def _one(change: Change) -> list[str]:
    old, new = (_lines(data) for data in (change.before, change.after))
    was, will = (f"{side}/{change.path}" if data is not None else "/dev/null" for side, data in (("a", change.before), ("b", change.after)))
    return [line if line.endswith("\n") else line + "\n" for line in unified_diff(old, new, was, will)]


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
