"""The repository of a worktree that is no longer there: agents make one for a session and remove it
afterwards, and what was learned in it belongs to the repository. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from memorist.core.lazy import lazy_pattern
from memorist.store.rollout_rows import Rollout

_INSIDE = lazy_pattern(r"(?P<root>.*?[^\\/])[\\/]\.(?:claude[\\/])?worktrees[\\/][^\\/]", re.DOTALL)
"""Claude Code's worktrees, and those that people keep in `.worktrees`, are in their repository."""
_ELSEWHERE = lazy_pattern(
    r".*[\\/]\.codex[\\/]worktrees[\\/][^\\/]+[\\/](?P<name>[^\\/]+)", re.DOTALL
)
"""Codex keeps its worktrees in a folder of its own, each below an id and under the repository's
name.
"""


def extract_worktree_repository(folder: str) -> str:
    """Return the repository that a worktree's path lies in; empty for any other path."""
    found = _INSIDE.match(folder)
    return found["root"] if found and not _ELSEWHERE.match(folder) else ""


def extract_codex_repository_name(folder: str) -> str:
    """Return the name of the repository that Codex made the worktree of; empty for any other
    path.
    """
    found = _ELSEWHERE.match(folder)
    return found["name"] if found else ""


def assign_repositories_by_remote(
    threads: Iterable[Rollout], remotes: Mapping[str, str], roots: Mapping[str, str]
) -> list[Rollout]:
    """Give each session the one repository that has the same remote; those stay as they are that
    name no remote, or one of no repository or of several.

    `remotes` are the addresses that session files name, by the files' paths; `roots` those of the
    repositories, separated by spaces, by their roots.
    """
    known: dict[str, set[str]] = {}
    for root, addresses in roots.items():
        for address in addresses.split():
            known.setdefault(_normalise_address(address), set()).add(root)
    return [
        replace(each, repository=next(iter(same)))
        if len(same := known.get(_normalise_address(remotes.get(each.path, "")), set())) == 1
        else each
        for each in threads
    ]


def assign_repositories_seen_before(
    threads: Iterable[Rollout], known: Iterable[Rollout], removed: Collection[str]
) -> list[Rollout]:
    """Give each session in one of the `removed` folders the repository that the folder led to when
    a session in it was first seen: a worktree that was kept anywhere names its repository only as
    long as it is there.
    """
    seen = {each.cwd: each.repository for each in known if each.repository not in ("", each.cwd)}
    return [
        replace(each, repository=seen[each.cwd])
        if each.repository == each.cwd and each.cwd in seen and each.cwd in removed
        else each
        for each in threads
    ]


def _normalise_address(address: str) -> str:
    """Return host and path of a remote, the same for SSH and HTTPS."""
    bare = address.rpartition("://")[2].rpartition("@")[2].replace(":", "/")
    return bare.rstrip("/").removesuffix(".git").lower()
