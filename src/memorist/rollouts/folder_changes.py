"""Compare two states of the folder, and render the difference for a model (RO-5; Codex).
Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from msgspec import Struct

MAX_DIFF_BYTES = 4 * 1024 * 1024
"""Upper bound of the text in bytes (Codex)."""
_MAX_COMPARED_LINES = 20_000
"""Lines of a file that are compared one by one; for more only their number is given.

Our choice: comparing takes quadratic time.
"""


class FolderDifference(Struct, frozen=True, kw_only=True):
    """Added, changed and removed paths, each sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    @property
    def paths(self) -> frozenset[str]:
        """All paths."""
        return frozenset((*self.added, *self.changed, *self.removed))


def compare_folders(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> FolderDifference:
    """Return what is different in `after`."""
    both = before.keys() & after.keys()
    return FolderDifference(
        added=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(sorted(path for path in both if before[path] != after[path])),
        removed=tuple(sorted(before.keys() - after.keys())),
    )


def render_difference(
    before: Mapping[str, bytes], after: Mapping[str, bytes], *, max_bytes: int = MAX_DIFF_BYTES
) -> str:
    """Render the difference as a list of paths and a unified diff, in at most `max_bytes` of UTF-8;
    a last line marks truncation.
    """
    found = compare_folders(before, after)
    rows = [
        *(("A", path) for path in found.added),
        *(("M", path) for path in found.changed),
        *(("D", path) for path in found.removed),
    ]
    listed = [f"- {mark} {path}" for mark, path in sorted(rows, key=lambda row: row[1])] or [
        "- none"
    ]
    parts = ["## Status", "", *listed, "", "## Diff", "", "```diff"]
    size = sum(len(part.encode("utf-8", "replace")) + 1 for part in parts)
    note = "… cut here: the rest is too long …"
    room = max_bytes - len(note.encode()) - len("\n```\n")
    for line in _diff_lines(before, after, found):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > room:
            parts.append(note)
            break
        parts.append(line)
    text = "\n".join([*parts, "```"]) + "\n"
    if len(text.encode("utf-8", "replace")) <= max_bytes:
        return text
    return text.encode("utf-8", "replace")[: max(0, max_bytes)].decode("utf-8", "ignore")


def _diff_lines(
    before: Mapping[str, bytes], after: Mapping[str, bytes], found: FolderDifference
) -> Iterator[str]:
    for path in sorted(found.paths):
        old, new = (_split_lines(files.get(path)) for files in (before, after))
        names = (
            f"a/{path}" if path in before else "/dev/null",
            f"b/{path}" if path in after else "/dev/null",
        )
        if max(len(old), len(new)) > _MAX_COMPARED_LINES:
            yield f"--- {names[0]}"
            yield f"+++ {names[1]}"
            yield f"({len(old)} lines became {len(new)}; too many to show)"
        else:
            yield from difflib.unified_diff(old, new, *names, lineterm="")


def _split_lines(data: bytes | None) -> list[str]:
    return data.decode("utf-8", "replace").split("\n") if data else []
