"""Plugins on disk: the roots of installed and enabled plugins, and a folder's manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from memorist.skills.folders.run import facts_of, reason, text_of
from memorist.skills.plugins.files import (
    MANIFESTS,
    Manifest,
    active_version,
    parse_codex,
    parse_enabled,
    parse_installed,
    parse_manifest,
)
from memorist.skills.roots import Places, Root
from memorist.skills.skill import Problem

FILE_BYTES = 4_194_304
"""Largest settings file or plugin list that is read; our choice. Codex settings of long use have
some 100,000.
"""

ABOVE = 8
"""Parent folders of a link's target that are searched for a manifest; our choice: the search goes
six levels deep, and a plugin keeps its skills one below.
"""


class Manifests:
    """Manifests of folders, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Manifest] | None] = {}

    def of(self, folder: str) -> tuple[str, Manifest] | None:
        """Return a folder's manifest with its path; None where it has none."""
        if folder not in self._known:
            self._known[folder] = _manifest(folder)
        return self._known[folder]

    def above(self, folder: str) -> str:
        """Return the name of the plugin that contains a folder; empty where none does."""
        for _ in range(ABOVE):
            found = self.of(folder)
            if found is not None:
                return found[1].name
            upper = str(Path(folder).parent)
            if upper == folder:
                break
            folder = upper
        return ""


def _manifest(folder: str) -> tuple[str, Manifest] | None:
    for name in MANIFESTS:
        path = f"{folder.rstrip('/')}/{name}"
        text, problem = _text(path)
        if problem:
            return path, Manifest(problem=problem)
        if text is not None:
            return path, parse_manifest(text, Path(folder).name)
    return None


def plugin_roots(places: Places, manifests: Manifests) -> tuple[tuple[Root, ...], tuple[Problem, ...]]:
    """List the roots of installed and enabled plugins, Claude Code's, then Codex's; and unusable
    files about them.
    """
    found: list[Root] = []
    problems: list[Problem] = []
    for folder, name in (*_claude(places, problems), *_codex(places, problems)):
        manifest = manifests.of(folder)
        if manifest is not None and manifest[1].problem:
            problems.append(Problem(manifest[0], "user", manifest[1].problem))
        own = manifest[1].name if manifest is not None and manifest[1].name else name
        extra: Sequence[str] = manifest[1].folders if manifest is not None else ()
        found += [Root(f"{folder}/{below}", "user", own) for below in dict.fromkeys(("skills", *extra)) if below]
    return tuple(found), tuple(problems)


def _claude(places: Places, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each plugin of Claude Code."""
    if not places.claude_home:
        return
    path = f"{places.claude_home}/plugins/installed_plugins.json"
    settings = [f"{places.claude_home}/settings.json"]
    settings += [f"{places.project}/.claude/{name}" for name in ("settings.json", "settings.local.json")] if places.project else []
    text, problem = _text(path)
    installed, wrong = parse_installed(text, places.project) if text is not None else ({}, problem)
    if wrong:
        problems.append(Problem(path, "user", wrong))
    enabled = parse_enabled([given for each in settings if (given := _text(each)[0]) is not None]) if installed else ()
    for key in enabled:
        if key in installed:
            yield str(Path(installed[key]).expanduser().absolute()), key.rpartition("@")[0] or key


def _codex(places: Places, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each plugin of Codex."""
    cache = Path(places.codex_home) / "plugins" / "cache"
    if not places.codex_home or not cache.is_dir():
        return
    path = f"{places.codex_home}/config.toml"
    text, problem = _text(path)
    enabled, wrong = parse_codex(text) if text is not None else ((), problem)
    if wrong:
        problems.append(Problem(path, "user", wrong))
    for market, name in enabled:
        try:
            version = active_version([each.name for each in (cache / market / name).iterdir()])
        except OSError:
            continue  # enabled but not installed; its own client reports that
        if version:
            yield str(cache / market / name / version), name


def _text(path: str) -> tuple[str | None, str]:
    """Read a file; None where there is none. Also returns why it cannot be read."""
    try:
        facts = facts_of(path)
        if isinstance(facts, str):
            return None, facts
        if facts.size > FILE_BYTES:
            return None, f"it has {facts.size} bytes, {FILE_BYTES} are the most"
        return text_of(facts.path, FILE_BYTES).removeprefix("\ufeff"), ""
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except (OSError, ValueError) as error:
        return None, f"it cannot be read: {reason(error)}"
