"""Where a project's memory is stored, decided from facts that were read before (AM-4). Pure.

A project is its repository, not its folder: all worktrees and subfolders of a repository share one
memory.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

from msgspec import Struct

from memorist.errors import SettingsError


class GitPlace(Struct, frozen=True):
    """The `.git` entry of a folder: a folder (`text` is None) or a file, and the `commondir` it
    leads to.
    """

    folder: Path
    text: str | None = None
    common: str | None = None


def chosen_folder(given: str) -> Path | None:
    """Parse the memory folder given by a setting or variable; None for an empty one.

    Raises SettingsError for an unsafe one: not absolute (or from `~/`), the root, the home folder,
    with a null character or `..`, or a network path.
    """
    if not given.strip():
        return None
    text = unicodedata.normalize("NFC", given.strip())
    problem = _problem(text)
    if problem:
        raise SettingsError(f"auto_memory.directory is {given!r}, which {problem}; name a folder of its own, such as ~/notes/memory")
    return Path(text).expanduser()


def _problem(text: str) -> str:
    plain = text.rstrip("/")
    checks = (
        ("\0" in text, "holds a null character"),
        (text.startswith(("//", "\\\\")), "is a network path"),
        (plain in ("~", "~/.", "~/..", ""), "is a whole home folder or the root"),
        (not text.startswith(("/", "~/")), "is not absolute"),
        (".." in text.split("/"), "leads upwards (`..`)"),
        (len(plain) < 3, "is too short to be a folder of its own"),
    )
    return next((why for wrong, why in checks if wrong), "")


def repository_root(place: GitPlace) -> Path:
    """Return the root that all worktrees of a repository share.

    In a worktree `.git` is a file `gitdir: <main>/.git/worktrees/<name>`, and `commondir` there
    leads to the main repository. A submodule's file leads into `.git/modules`, which has no
    `commondir`: a submodule is a project of its own.
    """
    if place.text is None:
        return place.folder
    named = git_folder(place)
    if named is None or place.common is None:
        return place.folder
    common = Path(place.common.strip())
    shared = common if common.is_absolute() else named / common
    parts = [part for part in shared.parts if part != "."]
    real = _without_dots(parts)
    # A bare repository's worktrees are beside or around it: its own path is the root.
    return real.parent if real.name == ".git" else real


def git_folder(place: GitPlace) -> Path | None:
    """Return the folder that a `.git` file names; None when it is no such file."""
    line = (place.text or "").strip().splitlines()[:1]
    if not line or not line[0].startswith("gitdir:"):
        return None
    named = Path(line[0].removeprefix("gitdir:").strip())
    return named if named.is_absolute() else _without_dots([*place.folder.parts, *named.parts])


def _without_dots(parts: list[str]) -> Path:
    found: list[str] = []
    for part in parts:
        if part == ".." and len(found) > 1:
            found.pop()
        elif part not in (".", ".."):
            found.append(part)
    return Path(*found) if found else Path("/")
