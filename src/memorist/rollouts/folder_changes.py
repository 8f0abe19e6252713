"""Changes of the memory folder: compare two states of it, render the difference for a model
(Codex), and make a change in one recorded, crash-safe step (RO-5, SF-4). Pure but for the given
files.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.errors import WriteConflict
from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists, remove_if_exists, replace_content_if_unchanged

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


# A change of the memory folder in one recorded, crash-safe step (RO-5, SF-4).


class PendingFolderChange(Struct, frozen=True, kw_only=True):
    """A change of the rollout folder that a kill may interrupt: its files before and after."""

    before: dict[str, bytes | None]
    """None for a file that does not exist."""
    after: dict[str, bytes | None]
    accepted: dict[str, bytes]
    """The whole folder as it is to be accepted."""


def record_pending_folder_change(
    files: FileSystem,
    folder: Path,
    journal: Path,
    swap: PendingFolderChange,
    first: Mapping[Path, bytes] | None = None,
) -> None:
    """Record the change, and before it write the files `first`, which hold for this change alone.

    Raises WriteConflict, and changes nothing, if the folder differs from the change's base;
    StoreError.
    """
    for name, before in swap.before.items():
        if read_if_exists(files, folder / name) != before:
            raise WriteConflict(
                f"{folder / name} was changed by somebody else meanwhile; nothing was written, "
                f"try again later"
            )
    for path, data in (first or {}).items():
        files.write(path, data)
    files.write(journal, msgspec.json.encode(swap))


def apply_recorded_folder_change(
    files: FileSystem, folder: Path, journal: Path
) -> Mapping[str, bytes] | None:
    """Apply the recorded change from wherever it was interrupted, and return the state to be
    accepted; None if there is no record.

    A file that is neither in its prior nor in its new state was changed by another writer since: it
    is left, and its prior state is accepted, so that the other's change is seen as one. The record
    stays until it is removed. Raises StoreError.
    """
    data = read_if_exists(files, journal)
    if data is None:
        return None
    try:
        swap = decode_json(data, as_type=PendingFolderChange)
    except msgspec.DecodeError:  # not written by us in whole: the change had not begun
        remove_if_exists(files, journal)
        return None
    accepted = dict(swap.accepted)
    for path, after in swap.after.items():
        before = swap.before.get(path)
        if not _apply_change(files, folder / path, before, after):
            accepted.pop(path, None)
            accepted |= {} if before is None else {path: before}
    return accepted


def _apply_change(files: FileSystem, path: Path, before: bytes | None, after: bytes | None) -> bool:
    """Apply the change if the file is still in its prior state; tell whether it is in its new
    state.
    """
    now = read_if_exists(files, path)
    if now != before or before == after:
        return now == after
    try:
        replace_content_if_unchanged(files, path, before, after)
    except WriteConflict:
        return False
    return True
