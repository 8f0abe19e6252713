"""Folder listings and file facts for skill discovery, with a cache of unchanged folders."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memorist.platforms.file_descriptors import NON_INHERITED_BINARY_FLAGS

SETTLED_NANOSECONDS = 2_000_000_000
"""Age from which a folder's modification time vouches for its names: within one tick of the file
system's clock it may change twice. Our choice; the coarsest clock in use, FAT's, ticks every two
seconds.
"""


_READ_CHUNK = 65_536
"""Bytes per read: more than nearly every skill has."""


class SkillFileFacts(Struct, frozen=True):
    """A file's real path, size in bytes, and modification time in nanoseconds."""

    path: str
    size: int
    changed: int


class CachedFolderListings:
    """Cached listings of folders, by real path."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, str]]] = {}

    def list_names(self, folder: str, limit: int) -> dict[str, str]:
        """Return at most `limit` names in a folder, each with its kind: `folder`, `link`, or empty.

        Raises OSError.
        """
        changed = os.lstat(folder).st_mtime_ns
        known = self._known.get(folder)
        if known is not None and known[0] == changed and len(known[1]) <= limit:
            return known[1]
        found = _scan_folder(folder, limit)
        if len(found) < limit and time.time_ns() - changed > SETTLED_NANOSECONDS:
            self._known[folder] = changed, found
        else:
            self._known.pop(folder, None)
        return found


def _scan_folder(folder: str, limit: int) -> dict[str, str]:
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= limit:
                break
            found[entry.name] = (
                "folder"
                if entry.is_dir(follow_symlinks=False)
                else "link"
                if entry.is_symlink()
                else ""
            )
    return found


def list_visible_subfolders(
    folder: str, names: Mapping[str, str], *, follow: bool
) -> list[tuple[str, bool]]:
    """List the real paths of a folder's visible subfolders, each with whether a link leads to
    it.
    """
    found = []
    top = folder.rstrip("/")
    for name, kind in sorted(names.items()):
        if not kind or name.startswith("."):
            continue
        path = f"{top}/{name}"
        if kind == "folder":
            found.append((path, False))
        elif follow and Path(path).is_dir():
            found.append((os.path.realpath(path), True))
    return found


def read_file_facts(path: str) -> SkillFileFacts | str:
    """Return the facts of a file, following links; or why it is no regular file. Raises OSError."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        path = os.path.realpath(path, strict=True)
        found = os.lstat(path)
    if stat.S_ISREG(found.st_mode):
        return SkillFileFacts(path, found.st_size, found.st_mtime_ns)
    return "it is no ordinary file"


def read_text_up_to_limit(path: str, limit: int) -> str:
    """Read at most `limit` bytes of a file as text. Raises OSError."""
    # O_NONBLOCK: the file may have become a pipe meanwhile, on which open would block.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | NON_INHERITED_BINARY_FLAGS)
    try:
        parts, left = [], limit
        while left > 0:
            asked = min(left, _READ_CHUNK)
            part = os.read(file, asked)
            parts.append(part)
            left -= len(part)
            if len(part) < asked:  # short read: end of a regular file
                break
    finally:
        os.close(file)
    return b"".join(parts).decode("utf-8", "replace")


def replace_undecodable_path_bytes(path: str) -> str:
    """Return the path with a replacement character for each byte that is not UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def describe_os_error(error: Exception) -> str:
    """Describe an error in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
