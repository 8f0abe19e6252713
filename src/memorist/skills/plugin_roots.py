"""Plugins on disk: the roots of those that are installed and enabled, and a folder's manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from memorist.platforms.user_home import expand_user
from memorist.skills.cached_folder_listings import (
    describe_os_error,
    read_file_facts,
    read_text_up_to_limit,
)
from memorist.skills.plugin_manifests import (
    MANIFEST_PATHS,
    PluginManifest,
    parse_enabled_codex_plugins,
    parse_enabled_plugins,
    parse_plugin_manifest,
    parse_plugins_installed_for_project,
    select_active_version,
)
from memorist.skills.skill_file import UnusableSkillFile
from memorist.skills.skill_roots import SkillBaseFolders, SkillRoot

MAX_PLUGIN_FILE_BYTES = 4_194_304
"""Largest settings file or plugin list that is read; our choice. Codex settings of long use have
some 100,000.
"""

MAX_PARENT_FOLDERS = 8
"""Parent folders of a link's target that are searched for a manifest; our choice: the search goes
six levels deep, and a plugin keeps its skills one below.
"""


class PluginManifests:
    """Manifests of folders, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, PluginManifest] | None] = {}

    def find_manifest(self, folder: str) -> tuple[str, PluginManifest] | None:
        """Return a folder's manifest with its path; None where it has none."""
        if folder not in self._known:
            self._known[folder] = _read_manifest(folder)
        return self._known[folder]

    def find_enclosing_plugin_name(self, folder: str) -> str:
        """Return the name of the plugin that contains a folder; empty where none does."""
        for _ in range(MAX_PARENT_FOLDERS):
            found = self.find_manifest(folder)
            if found is not None:
                return found[1].name
            upper = str(Path(folder).parent)
            if upper == folder:
                break
            folder = upper
        return ""


def _read_manifest(folder: str) -> tuple[str, PluginManifest] | None:
    for name in MANIFEST_PATHS:
        path = f"{folder.rstrip('/')}/{name}"
        text, problem = _read_plugin_text(path)
        if problem:
            return path, PluginManifest(problem=problem)
        if text is not None:
            return path, parse_plugin_manifest(text, Path(folder).name)
    return None


def list_plugin_skill_roots(
    locations: SkillBaseFolders, manifests: PluginManifests
) -> tuple[tuple[SkillRoot, ...], tuple[UnusableSkillFile, ...]]:
    """List the roots of installed and enabled plugins, Claude Code's, then Codex's; and unusable
    files about them.
    """
    found: list[SkillRoot] = []
    problems: list[UnusableSkillFile] = []
    for folder, name in (
        *_list_claude_plugins(locations, problems),
        *_list_codex_plugins(locations, problems),
    ):
        manifest = manifests.find_manifest(folder)
        if manifest is not None and manifest[1].problem:
            problems.append(UnusableSkillFile(manifest[0], "user", manifest[1].problem))
        own = manifest[1].name if manifest is not None and manifest[1].name else name
        extra: Sequence[str] = manifest[1].folders if manifest is not None else ()
        found += [
            SkillRoot(f"{folder}/{below}", "user", own)
            for below in dict.fromkeys(("skills", *extra))
            if below
        ]
    return tuple(found), tuple(problems)


def _list_claude_plugins(
    locations: SkillBaseFolders, problems: list[UnusableSkillFile]
) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each plugin of Claude Code."""
    if not locations.claude_home:
        return
    path = f"{locations.claude_home}/plugins/installed_plugins.json"
    settings = [f"{locations.claude_home}/settings.json"]
    settings += (
        [f"{locations.project}/.claude/{name}" for name in ("settings.json", "settings.local.json")]
        if locations.project
        else []
    )
    text, problem = _read_plugin_text(path)
    installed, wrong = (
        parse_plugins_installed_for_project(text, locations.project)
        if text is not None
        else ({}, problem)
    )
    if wrong:
        problems.append(UnusableSkillFile(path, "user", wrong))
    enabled = (
        parse_enabled_plugins(
            [given for each in settings if (given := _read_plugin_text(each)[0]) is not None]
        )
        if installed
        else ()
    )
    for key in enabled:
        if key in installed:
            yield str(Path(expand_user(installed[key])).absolute()), key.rpartition("@")[0] or key


def _list_codex_plugins(
    locations: SkillBaseFolders, problems: list[UnusableSkillFile]
) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each plugin of Codex."""
    cache = Path(locations.codex_home) / "plugins" / "cache"
    if not locations.codex_home or not cache.is_dir():
        return
    path = f"{locations.codex_home}/config.toml"
    text, problem = _read_plugin_text(path)
    enabled, wrong = parse_enabled_codex_plugins(text) if text is not None else ((), problem)
    if wrong:
        problems.append(UnusableSkillFile(path, "user", wrong))
    for market, name in enabled:
        try:
            version = select_active_version(
                [each.name for each in (cache / market / name).iterdir()]
            )
        except OSError:
            continue  # enabled but not installed; its own client reports that
        if version:
            yield str(cache / market / name / version), name


def _read_plugin_text(path: str) -> tuple[str | None, str]:
    """Read a file; None where there is none. Also returns why it cannot be read."""
    try:
        facts = read_file_facts(path)
        if isinstance(facts, str):
            return None, facts
        if facts.size > MAX_PLUGIN_FILE_BYTES:
            return None, f"it has {facts.size} bytes, {MAX_PLUGIN_FILE_BYTES} are the most"
        return read_text_up_to_limit(facts.path, MAX_PLUGIN_FILE_BYTES).removeprefix("\ufeff"), ""
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except (OSError, ValueError) as error:
        return None, f"it cannot be read: {describe_os_error(error)}"
