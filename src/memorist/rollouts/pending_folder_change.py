"""A change of the memory folder in one recorded, crash-safe step (RO-5, SF-4).

It is first recorded next to the folder with all its bytes, then applied file by file, each compared
with its expected prior content. After a kill, the next process finishes it. A file that another
writer changed meanwhile stays as they left it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.errors import WriteConflict
from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists, remove_if_exists, replace_content_if_unchanged


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
