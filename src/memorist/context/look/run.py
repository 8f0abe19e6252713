"""Detect what a folder, a machine and a repository report. A failed lookup leaves its value empty.
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from memorist.context.environment import GitState, Place, Surroundings
from memorist.ports import Clock

_SECONDS = 2.0
"""Timeout of one git command; on a slow disk the snapshot is lost, not the session."""
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
"""Takes no lock that the user's own git would wait for, and starts no program that the repository
names.
"""
_ASKED: Mapping[str, Sequence[str]] = {
    "branch": ("rev-parse", "--abbrev-ref", "HEAD"),
    "main": ("rev-parse", "--abbrev-ref", "origin/HEAD"),
    "status": ("status", "--short"),
    "commits": ("log", "--oneline", "-n", "5"),
    "user": ("config", "user.name"),
}
"""The five questions of claude-code.md section 1.2."""
_ZONES = "zoneinfo/"


def surroundings(folder: Path, clock: Clock, *, git: bool = True, environment: Mapping[str, str] | None = None) -> Surroundings:
    """Detect the environment of a session that begins now in the folder."""
    known = os.environ if environment is None else environment
    now = datetime.fromtimestamp(clock.now()).astimezone()
    inside = any((above / ".git").exists() for above in (folder, *folder.parents))
    return Surroundings(
        places=(Place(folder=str(folder), shell=Path(known.get("SHELL", "")).name),),
        date=now.date().isoformat(),
        zone=_zone(known, now),
        platform=sys.platform,
        system=f"{platform.system()} {platform.release()}",
        repository=inside,
        git=git_state(folder, known) if inside and git else None,
    )


def _zone(environment: Mapping[str, str], now: datetime) -> str:
    named = environment.get("TZ", "").removeprefix(":")
    if not named:
        with contextlib.suppress(OSError):
            _, mark, named = os.path.realpath("/etc/localtime").rpartition(_ZONES)
            named = named if mark else ""
    return named or now.tzname() or ""


def git_state(folder: Path, environment: Mapping[str, str] | None = None) -> GitState | None:
    """Read a snapshot of the repository with these environment variables; None if git is missing or
    reports no status.

    The five commands run in parallel.
    """
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, words in _ASKED.items():
            running[name] = subprocess.Popen(
                [*_GIT, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        said = {name: _said(process) for name, process in running.items()}
    except OSError:
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


def _said(process: subprocess.Popen[bytes]) -> str | None:
    """Return what a command printed; None if it failed or took too long."""
    try:
        out, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return out.decode("utf-8", "replace").rstrip() if process.returncode == 0 else None
