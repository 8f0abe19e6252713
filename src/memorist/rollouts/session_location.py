"""Where a claim applies: the folder and repository of its session, its scope there, and the groups
of a handbook. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from memorist.rollouts.handbook import EVERYWHERE, UNKNOWN_GROUP
from memorist.rollouts.raw_memory import UNKNOWN_FOLDER, ClaimScope
from memorist.rollouts.removed_worktrees import (
    extract_codex_repository_name,
    extract_worktree_repository,
)
from memorist.store.extract_rows import RolloutExtract
from memorist.store.rollout_rows import Rollout


class SessionLocation(Struct, frozen=True, kw_only=True):
    """Where a session runs: full paths, empty if unknown."""

    cwd: str = ""
    repository: str = ""
    """Root of the canonical repository, which all its work trees share."""
    former: tuple[str, ...] = ()
    """Where the repository was before it was moved."""


def derive_claim_group_title(row: RolloutExtract, scope: ClaimScope, cwd: str = "") -> str:
    """Return the group title for a claim: everywhere, the session's repository, or a folder.

    A folder that a task names outside the repository is a place of its own. A session that names no
    folder has no place.
    """
    if scope == "global":
        return EVERYWHERE
    folder = cwd if cwd not in ("", UNKNOWN_FOLDER) and _is_absolute(cwd) else row.cwd
    root = row.repository
    if scope == "directory":
        return _heading_path(folder) or UNKNOWN_GROUP
    if root and (not folder or folder == row.cwd or is_path_inside(folder, root)):
        return _heading_path(root) or UNKNOWN_GROUP
    return _heading_path(folder) or UNKNOWN_GROUP


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or path[1:3] in (":\\", ":/")


def _heading_path(path: str) -> str:
    """Return a path that can be in a heading; empty if it is not a full path."""
    line = " ".join(path.replace("`", "").split())
    return (line.rstrip("/\\") or "/") if _is_absolute(line) else ""


def is_path_inside(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or below it, textually.

    Nothing is below the root, which holds every project.
    """
    root = folder.rstrip("/\\")
    return path in (folder, root) or (bool(root) and path.startswith((f"{root}/", f"{root}\\")))


def parse_group_title_folders(title: str) -> tuple[str, ...]:
    """Return the folders that a group's title means; none for "everywhere" and for the unknown
    place.
    """
    return (title,) if _is_absolute(title) else ()


def group_applies_at_location(
    title: str, folders: Sequence[str], location: SessionLocation
) -> bool:
    """Tell whether a group, or a heading, applies to a session at the location.

    What names no place applies nowhere.

    A folder above the session's repository is another project's: what was learned in a home folder
    does not hold for every repository in it.
    """
    if title == EVERYWHERE:
        return True
    if location.repository:
        return any(
            folder == location.repository
            or folder in location.former
            or (
                is_path_inside(folder, location.repository) and is_path_inside(location.cwd, folder)
            )
            for folder in folders
        )
    return bool(location.cwd) and any(is_path_inside(location.cwd, folder) for folder in folders)


# Where the lessons of a session hold (RO-7): in its repository or folder, and everywhere only
# where the user said so.


def get_project_name(thread: Rollout) -> str:
    """Return the project's name: the last part of its root, for a worktree that of its
    repository.
    """
    root = thread.repository or thread.cwd
    path = extract_worktree_repository(root) or root
    return extract_codex_repository_name(path) or re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def choose_repository_or_directory_scope(thread: Rollout) -> ClaimScope:
    """Return the repository scope, or the folder scope for a folder that belongs to none."""
    if thread.cwd and thread.repository in ("", thread.cwd) and not thread.branch:
        return "directory"
    return "repository"
