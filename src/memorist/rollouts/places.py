"""Where a claim holds, and whether a session is there (RO-7). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from memorist.rollouts.handbook import EVERYWHERE, SOMEWHERE
from memorist.rollouts.raw_memory import UNKNOWN, Scope
from memorist.store.thread import Extracted


class Here(Struct, frozen=True, kw_only=True):
    """Where a session runs: full paths, empty if unknown."""

    cwd: str = ""
    repository: str = ""
    """Root of the canonical repository, which all its work trees share."""


def place(row: Extracted, scope: Scope, cwd: str = "") -> str:
    """Return the group title for a claim: everywhere, the session's repository, or a folder.

    A folder that a task names outside the repository is a place of its own. A session that names no
    folder has no place.
    """
    if scope == "global":
        return EVERYWHERE
    folder = cwd if cwd not in ("", UNKNOWN) and _absolute(cwd) else row.cwd
    root = row.repository
    if scope == "directory":
        return _plain(folder) or SOMEWHERE
    if root and (not folder or folder == row.cwd or inside(folder, root)):
        return _plain(root) or SOMEWHERE
    return _plain(folder) or SOMEWHERE


def _absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or path[1:3] in (":\\", ":/")


def _plain(path: str) -> str:
    """Return a path that can stand in a heading; empty if it is not a full path."""
    line = " ".join(path.replace("`", "").split())
    return (line.rstrip("/\\") or "/") if _absolute(line) else ""


def inside(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or below it, textually.

    Nothing is below the root, which holds every project.
    """
    root = folder.rstrip("/\\")
    return path in (folder, root) or (bool(root) and path.startswith((f"{root}/", f"{root}\\")))


def folders_of(title: str) -> tuple[str, ...]:
    """Return the folders that a group's title means; none for "everywhere" and for the unknown
    place.
    """
    return (title,) if _absolute(title) else ()


def holds(title: str, folders: Sequence[str], here: Here) -> bool:
    """Tell whether a group, or a heading, applies to a session at the location.

    What names no place applies nowhere.

    A folder above the session's repository is another project's: what was learned in a home folder
    does not hold for every repository in it.
    """
    if title == EVERYWHERE:
        return True
    if here.repository:
        return any(folder == here.repository or (inside(folder, here.repository) and inside(here.cwd, folder)) for folder in folders)
    return bool(here.cwd) and any(inside(here.cwd, folder) for folder in folders)
