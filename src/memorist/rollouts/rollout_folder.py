"""The memory folder: read whole, refusing every link, and changed in one recorded, crash-safe step
(RO-5, SF-4).

A change is first recorded next to the folder with all its bytes, then applied file by file, each
compared with its expected prior content. After a kill, the next process finishes it. A file that
another writer changed meanwhile stays as they left it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.errors import StoreError, WriteConflict
from memorist.ports import FileSystem
from memorist.rollouts.user_notes import build_note
from memorist.store.disk_files import (
    read_if_exists,
    remove_if_exists,
    replace_content,
)

MAX_FOLDER_FILES = 20_000
"""Upper bound of files below the folder: 256 sessions have a summary each, and skills and notes
come to hundreds.
"""
MAX_FILE_BYTES = 1_000_000
"""Largest file that is read: a fork may read and change no larger one (`forks.hands`)."""


class MemoryFolderTree(Struct, frozen=True):
    """The Markdown files of the folder by path, and the skipped ones with the reason."""

    files: dict[str, bytes]
    skipped: tuple[str, ...] = ()


class FolderSwap(Struct, frozen=True, kw_only=True):
    """A change under way."""

    before: dict[str, bytes | None]
    """None for a file that does not exist."""
    after: dict[str, bytes | None]
    accepted: dict[str, bytes]
    """The whole folder as it is to be accepted."""


def read_memory_folder(files: FileSystem, folder: Path) -> MemoryFolderTree:
    """Read the files of the folder, without hidden ones; empty if it is missing.

    Raises StoreError if it is a link or contains one.
    """
    if not is_real_folder(files, folder):
        return MemoryFolderTree({})
    found = files.scan(folder, limit=MAX_FOLDER_FILES)
    links = [name for name, each in found if each.is_link]
    if links:
        shown = ", ".join(links[:3])
        raise StoreError(
            f"there are links in {folder} ({shown}); remove them: memories are not read or "
            f"written through links"
        )
    kept: dict[str, bytes] = {}
    passed = []
    for name, each in found:
        if not name.endswith(".md") or not each.is_file:
            continue
        if each.size > MAX_FILE_BYTES:
            passed.append(f"{name}: {each.size:,} bytes, more than are read ({MAX_FILE_BYTES:,})")
            continue
        data = read_if_exists(files, folder / name)
        if data is not None:
            kept[name] = data
    return MemoryFolderTree(kept, tuple(passed))


def is_real_folder(files: FileSystem, folder: Path) -> bool:
    """Tell whether the folder exists. Raises StoreError if it is a link or a file."""
    facts = files.facts(folder)
    if facts is not None and (facts.is_link or not facts.is_folder):
        raise StoreError(
            f"{folder} is no folder of its own but a link or a file; move it away, so that "
            f"memories are written nowhere else"
        )
    return facts is not None


def write_note(files: FileSystem, folder: Path, text: str, *, now: str, group_title: str) -> str:
    """Write a note that the user asked for, shown from now on; return its path.

    `now` is RFC 3339. Raises StoreError.
    """
    path, data = build_note(text, now=now, group_title=group_title)
    stem = path.removesuffix(".md")
    number = 1
    while not files.create(folder / path, data):
        number += 1
        path = f"{stem}-{number}.md"
    return path


def begin_swap(files: FileSystem, folder: Path, journal: Path, swap: FolderSwap) -> None:
    """Record the change.

    Raises WriteConflict, and changes nothing, if the folder differs from the change's base;
    StoreError.
    """
    for path, before in swap.before.items():
        if read_if_exists(files, folder / path) != before:
            raise WriteConflict(
                f"{folder / path} was changed by somebody else meanwhile; nothing was written, "
                f"try again later"
            )
    files.write(journal, msgspec.json.encode(swap))


def finish_swap(files: FileSystem, folder: Path, journal: Path) -> Mapping[str, bytes] | None:
    """Apply the recorded change from wherever it was interrupted, and return the state to be
    accepted; None if there is no record.

    A file that is neither in its prior nor in its new state was changed by another writer since: it
    is left, and its prior state is accepted, so that the other's change is seen as one. The record
    stays until `forget_swap`. Raises StoreError.
    """
    data = read_if_exists(files, journal)
    if data is None:
        return None
    try:
        swap = msgspec.json.decode(data, type=FolderSwap)
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
        replace_content(files, path, before, after)
    except WriteConflict:
        return False
    return True


def forget_swap(files: FileSystem, journal: Path) -> None:
    """Remove the record once the change is accepted. Raises StoreError."""
    remove_if_exists(files, journal)
