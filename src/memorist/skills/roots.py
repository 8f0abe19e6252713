"""The folders in which skills are searched, for both families, as paths. Pure (SK-1).

Source: codex.md section 4.1 for the rollout family and the shared `.agents/skills`, claude-code.md
section 11.4 for `.claude/skills`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from memorist.skills.skill import Scope

PROJECT_FOLDERS = (".agents/skills", ".codex/skills", ".claude/skills")
"""Relative to each folder from the project's root to the working folder."""


class Root(Struct, frozen=True):
    """A folder to search."""

    path: str
    scope: Scope
    plugin: str = ""
    """The plugin that it belongs to: its skills are named `PLUGIN:NAME`."""


class Places(Struct, frozen=True, kw_only=True):
    """The absolute folders from which roots are derived; an empty one gives no roots."""

    project: str = ""
    """Root of the repository, or the working folder where there is none."""
    cwd: str = ""
    home: str = ""
    codex_home: str = ""
    claude_home: str = ""
    memorist_home: str = ""
    system: tuple[str, ...] = ("/etc/codex/skills",)


def roots(places: Places, extra: Sequence[str] = (), plugins: Sequence[Root] = ()) -> tuple[Root, ...]:
    """Return every root once: the project's, then the user's with those of plugins, then the
    system's.

    They need not exist.
    """
    found = [Root(f"{folder}/{name}", "project") for folder in _between(places.project, places.cwd) for name in PROJECT_FOLDERS]
    user = [
        (places.home, ".agents/skills"),
        (places.codex_home, "skills"),
        (places.claude_home, "skills"),
        (places.memorist_home, "skills"),
    ]
    found += [Root(f"{_plain(folder)}/{name}", "user") for folder, name in user if folder]
    found += [*(Root(_plain(folder), "user") for folder in extra), *plugins]
    if places.codex_home:
        found.append(Root(f"{_plain(places.codex_home)}/skills/.system", "system"))
    found += [Root(_plain(folder), "system") for folder in places.system]
    once: dict[str, Root] = {}
    for root in found:
        once.setdefault(root.path, root)
    return tuple(once.values())


def _plain(path: str) -> str:
    """Normalise a path: no doubled slashes, single dots or trailing slash."""
    return str(PurePosixPath(path))


def _between(top: str, bottom: str) -> Iterable[str]:
    """Return the folders from `top` down to `bottom`; only `bottom` where it is not below `top`."""
    if not top or not bottom:
        return [_plain(folder) for folder in (top, bottom) if folder]
    low, high = _plain(bottom), _plain(top)
    above = high.rstrip("/")
    if low != high and not low.startswith(f"{above}/"):
        return [low]
    names = low[len(above) + 1 :].split("/") if low != high else []
    return ["/".join((above, *names[:count])) or "/" for count in range(len(names) + 1)]
