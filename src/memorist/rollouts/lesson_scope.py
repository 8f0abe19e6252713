"""Where the lessons of a session hold (RO-7): in its repository or folder, and everywhere only
where the user said so. Pure.
"""

from __future__ import annotations

import re

from memorist.rollouts.raw_memory import ClaimScope
from memorist.rollouts.removed_worktrees import (
    extract_codex_repository_name,
    extract_worktree_repository,
)
from memorist.store.rollout_rows import Rollout


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
