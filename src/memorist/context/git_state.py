"""The state of the Git repository that a session runs in: read from git, and rendered as text."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup

_GIT_TIMEOUT_SECONDS = 2.0
"""Timeout of one git command; on a slow disk the snapshot is lost, not the session."""


_GIT_COMMAND = (
    "git",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
)
"""Takes no lock that the user's own git would wait for, and starts neither the monitor nor the
signature program that the repository names.
"""
_FILTER_PROGRAMS = ("config", "--show-scope", "-z", "--name-only", "--get-regexp", r"^filter\.")
"""Lists the programs that convert files, with where each is set."""


_GIT_QUESTIONS: Mapping[str, Sequence[str]] = {
    "branch": ("rev-parse", "--abbrev-ref", "HEAD"),
    "main": ("rev-parse", "--abbrev-ref", "origin/HEAD"),
    "status": ("status", "--short", "--ignore-submodules=dirty"),
    "commits": ("log", "--oneline", "-n", "5"),
    "user": ("config", "user.name"),
}
"""The five questions of Claude Code. Git is not run within submodules, which have
settings of their own.
"""


def read_git_state(folder: Path, environment: Mapping[str, str] | None = None) -> GitState | None:
    """Read a snapshot of the repository with these environment variables; None if git is missing or
    reports no status.

    The five commands run in parallel, with the filters of files switched off that the repository
    itself names.
    """
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        known = os.environ if environment is None else environment
        environment = _without_own_filters(folder, known)
        for name, words in _GIT_QUESTIONS.items():
            running[name] = subprocess.Popen(
                [*_GIT_COMMAND, *words],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        said = {name: _read_output(process) for name, process in running.items()}
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    finally:
        for process in running.values():
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
    # Without an answer on the status, an empty one would be taken for a clean tree.
    status = said["status"]
    if status is None:
        return None
    return GitState(
        branch=said["branch"] or "",
        main=(said["main"] or "").removeprefix("origin/"),
        status=status,
        commits=tuple((said["commits"] or "").splitlines()),
        user=said["user"] or "",
    )


def _without_own_filters(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which git takes each filter that this repository's own settings name for
    empty: `status` would run its program. Those of the user's settings (Git LFS) stay.
    """
    listed = subprocess.run(
        [*_GIT_COMMAND, *_FILTER_PROGRAMS],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_GIT_TIMEOUT_SECONDS,
        check=False,
    )
    words = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
    scopes, names = words[::2], words[1::2]
    own = sorted(
        {name for scope, name in zip(scopes, names, strict=False) if scope in {"local", "worktree"}}
    )
    changed = dict(environment)
    first = int(environment.get("GIT_CONFIG_COUNT") or 0)
    changed["GIT_CONFIG_COUNT"] = str(first + len(own))
    for number, key in enumerate(own, first):
        changed[f"GIT_CONFIG_KEY_{number}"] = key
        changed[f"GIT_CONFIG_VALUE_{number}"] = ""
    return changed


def _read_output(process: subprocess.Popen[bytes]) -> str | None:
    """Return what a command printed; None if it failed or took too long."""
    try:
        out, _ = process.communicate(timeout=_GIT_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return out.decode("utf-8", "replace").rstrip() if process.returncode == 0 else None


class GitState(Struct, frozen=True, kw_only=True):
    """The state of a repository when the session began."""

    branch: str = ""
    main: str = ""
    status: str = ""
    """`git status --short`; empty for a clean tree."""
    commits: tuple[str, ...] = ()
    """The newest commits, one line each."""
    user: str = ""


def render_git_state(git: GitState, limit: int = 2_000) -> str:
    """Render the snapshot of a repository.

    `limit` is in characters of the status (Claude Code).
    """
    status = git.status.rstrip()
    if len(status) > limit:
        cut = status[:limit].rpartition("\n")[0] or status[:limit]
        status = f"{cut}\n[{len(status) - len(cut):,} characters more; `git status` shows all]"
    lines = ["[memorist] The repository when this session began; it is not brought up to date."]
    lines += [
        f"{name}: {value}"
        for name, value in (("Branch", git.branch), ("Main branch", git.main), ("User", git.user))
        if value
    ]
    lines += ["Status:", status or "(clean)"]
    if git.commits:
        lines += ["Newest commits:", *git.commits]
    return neutralize_markup(strip_hidden_characters("\n".join(lines))).removeprefix("(data) ")
