"""Where a session's lessons hold (RO-7): its repository or folder, and everywhere only if the
user's own words say so. Pure.
"""

from __future__ import annotations

import re

from memorist.auto_memory.said_kinds import kind_of
from memorist.rollouts.raw_memory import Scope
from memorist.store.thread import Thread

_EVERYWHERE = re.compile(
    r"\b(?:in|for|across|with) (?:all|every|any|each)(?: of)? (?:my |our )?(?:projects?|repos(?:itor(?:y|ies))?|repositor(?:y|ies)|sessions?|code ?bases?)"
    r"|\bwherever (?:we|you|i) work|\bin general\b|所有(?:的)?(?:项目|仓库)",
    re.IGNORECASE,
)

_WORKTREE = re.compile(r"[\\/]\.(?:claude[\\/]|codex[\\/])?worktrees[\\/].*")


def holds_everywhere(words: str) -> bool:
    """Tell whether the user's words are about the user, or about all projects."""
    return kind_of(words) == "user" or _EVERYWHERE.search(words) is not None


def project_of(thread: Thread) -> str:
    """Return the project's name: the last part of its root, for a worktree that of its
    repository.
    """
    return re.split(r"[\\/]", _WORKTREE.sub("", thread.repository or thread.cwd).rstrip("\\/"))[-1]


def own_scope(thread: Thread) -> Scope:
    """Return the repository scope, or the folder scope for a folder that belongs to none."""
    return "directory" if thread.cwd and thread.repository in ("", thread.cwd) and not thread.branch else "repository"
