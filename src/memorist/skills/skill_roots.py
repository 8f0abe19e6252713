"""The folders in which skills are searched, for both families, as paths. Pure (SK-1).

Source: Codex for the rollout family and the shared `.agents/skills`, Claude Code
for `.claude/skills`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from memorist.skills.skill_file import SkillScope

PROJECT_FOLDERS = (".agents/skills", ".codex/skills", ".claude/skills")
"""Relative to each folder from the project's root to the working folder."""


class SkillRoot(Struct, frozen=True):
    """A folder to search."""

    path: str
    scope: SkillScope
    plugin: str = ""
    """The plugin that it belongs to: its skills are named `PLUGIN:NAME`."""


class SkillBaseFolders(Struct, frozen=True, kw_only=True):
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
    locations: SkillBaseFolders,
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
