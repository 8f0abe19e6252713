"""Listings of folders and facts of files, for the search of skills: a folder that is as it was is not listed again."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

SETTLED_NANOSECONDS = 2_000_000_000
"""Age from which a folder's time of change vouches for its names: within the same tick of a file system's clock it may change twice. Ours; the
coarsest clock in use, FAT's, ticks every two seconds."""


_CHUNK = 65_536
"""Bytes asked for at once: more than nearly every skill has."""


class Facts(Struct, frozen=True):
    """A file as it is: where it really is, its size in bytes, and when it changed in nanoseconds."""

    path: str
    size: int
    changed: int


class Folders:
    """The folders that were listed, by their real paths."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, str]]] = {}

    def names(self, folder: str, limit: int) -> dict[str, str]:
        """The names in a folder, at most so many, each with its kind: `folder`, `link`, or nothing. Raises OSError."""
        changed = os.lstat(folder).st_mtime_ns
        known = self._known.get(folder)
        if known is not None and known[0] == changed and len(known[1]) <= limit:
            return known[1]
        found = _listed(folder, limit)
        if len(found) < limit and time.time_ns() - changed > SETTLED_NANOSECONDS:
            self._known[folder] = changed, found
        else:
            self._known.pop(folder, None)
        return found


def _listed(folder: str, limit: int) -> dict[str, str]:
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= limit:
                break
            found[entry.name] = "folder" if entry.is_dir(follow_symlinks=False) else "link" if entry.is_symlink() else ""
    return found


def below(folder: str, names: Mapping[str, str], *, follow: bool) -> list[tuple[str, bool]]:
    """Real paths of the folders in a folder, hidden ones left out, each with whether a link leads to it."""
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


def is_there(path: str) -> bool:
    """Whether something has this name, if only a link that leads nowhere. Most roots are not there, and this is far less than finding real paths."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def facts_of(path: str) -> Facts | str:
    """The facts of a file, through links; or why it is none. Raises OSError."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        path = os.path.realpath(path, strict=True)
        found = os.lstat(path)
    return Facts(path, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else "it is no ordinary file"


def text_of(path: str, limit: int) -> str:
    """The text of a file, at most so many bytes of it. Raises OSError."""
    # What was an ordinary file may have become a pipe by now: opening one does not wait.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        parts, left = [], limit
        while left > 0:
            asked = min(left, _CHUNK)
            part = os.read(file, asked)
            parts.append(part)
            left -= len(part)
            if len(part) < asked:  # an ordinary file gives less only at its end
                break
    finally:
        os.close(file)
    return b"".join(parts).decode("utf-8", "replace")


def printable(path: str) -> str:
    """The path with a sign in place of each byte that is no UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def reason(error: Exception) -> str:
    """What went wrong, in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
