"""What a dream would write, as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

from memorist.auto_memory.memory_changes import MemoryChange


def render_changes_diff(changes: Sequence[MemoryChange]) -> str:
    """Render the changes as a unified diff, in order."""
    return "".join(part for change in changes for part in _render_change(change))


def _render_change(change: MemoryChange) -> list[str]:
    old, new = (_decode_lines(data) for data in (change.before, change.after))
    was, will = (
        f"{side}/{change.path}" if data is not None else "/dev/null"
        for side, data in (("a", change.before), ("b", change.after))
    )
    return [
        line if line.endswith("\n") else line + "\n" for line in unified_diff(old, new, was, will)
    ]


def _decode_lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
