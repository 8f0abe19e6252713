"""The folders in which skills are searched, for both families, as paths. Pure (SK-1).

Source: codex.md section 4.1 for the rollout family and the shared `.agents/skills`, claude-code.md
section 11.4 for `.claude/skills`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from memorist.platforms.file_descriptors import PRIVATE
from memorist.skills.skill import SkillScope

PROJECT_FOLDERS = (".agents/skills", ".codex/skills", ".claude/skills")
"""Relative to each folder from the project's root to the working folder."""


class SkillRoot(Struct, frozen=True):
    """A folder to search."""

    path: str
    scope: SkillScope
    plugin: str = ""
    """The plugin that it belongs to: its skills are named `PLUGIN:NAME`."""


class SkillLocations(Struct, frozen=True, kw_only=True):
    """The absolute folders from which roots are derived; an empty one gives no roots."""

    project: str = ""
    """Root of the repository, or the working folder where there is none."""
    cwd: str = ""
    home: str = ""
    codex_home: str = ""
    claude_home: str = ""
    memorist_home: str = ""
    system: tuple[str, ...] = ("/etc/codex/skills",)


def list_skill_roots(
    locations: SkillLocations,
    extra_folders: Sequence[str] = (),
    plugin_roots: Sequence[SkillRoot] = (),
) -> tuple[SkillRoot, ...]:
    """Return every root once: the project's, then the user's with those of plugins, then the
    system's.

    They need not exist.
    """
    found = [
        SkillRoot(f"{folder}/{name}", "project")
        for folder in _list_folders_between(locations.project, locations.cwd)
        for name in PROJECT_FOLDERS
    ]
    user = [
        (locations.home, ".agents/skills"),
        (locations.codex_home, "skills"),
        (locations.claude_home, "skills"),
        (locations.memorist_home, "skills"),
    ]
    found += [
        SkillRoot(f"{_normalize_path(folder)}/{name}", "user") for folder, name in user if folder
    ]
    found += [
        *(SkillRoot(_normalize_path(folder), "user") for folder in extra_folders),
        *plugin_roots,
    ]
    if locations.codex_home:
        found.append(SkillRoot(f"{_normalize_path(locations.codex_home)}/skills/.system", "system"))
    found += [SkillRoot(_normalize_path(folder), "system") for folder in locations.system]
    once: dict[str, SkillRoot] = {}
    for root in found:
        once.setdefault(root.path, root)
    return tuple(once.values())


def _normalize_path(path: str) -> str:
    """Normalise a path: no doubled slashes, single dots or trailing slash."""
    return str(PurePosixPath(path))


def _list_folders_between(top: str, bottom: str) -> Iterable[str]:
    """Return the folders from `top` down to `bottom`; only `bottom` where it is not below `top`."""
    if not top or not bottom:
        return [_normalize_path(folder) for folder in (top, bottom) if folder]
    low, high = _normalize_path(bottom), _normalize_path(top)
    above = high.rstrip("/")
    if low != high and not low.startswith(f"{above}/"):
        return [low]
    names = low[len(above) + 1 :].split("/") if low != high else []
    return ["/".join((above, *names[:count])) or "/" for count in range(len(names) + 1)]


# Folder listings and file facts for skill discovery, with a cache of unchanged folders.


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


class FolderListings:
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


def list_subfolders(
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


def path_exists(path: str) -> bool:
    """Whether something has this name, even a dangling link.

    Most roots do not exist, and this is far cheaper than resolving real paths.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def read_file_facts(path: str) -> SkillFileFacts | str:
    """Return the facts of a file, following links; or why it is no regular file. Raises OSError."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        path = os.path.realpath(path, strict=True)
        found = os.lstat(path)
    return (
        SkillFileFacts(path, found.st_size, found.st_mtime_ns)
        if stat.S_ISREG(found.st_mode)
        else "it is no ordinary file"
    )


def read_limited_text(path: str, limit: int) -> str:
    """Read at most `limit` bytes of a file as text. Raises OSError."""
    # O_NONBLOCK: the file may have become a pipe meanwhile, on which open would block.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | PRIVATE)
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


def printable_path(path: str) -> str:
    """Return the path with a replacement character for each byte that is not UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def describe_error(error: Exception) -> str:
    """Describe an error in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
