"""Parse the files about plugins: manifests, Claude Code's installed and enabled plugins, Codex's
settings.

Pure.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable

from msgspec import Struct

from memorist.safety.hidden_characters import strip_hidden_characters

MANIFEST_PATHS = (".codex-plugin/plugin.json", ".claude-plugin/plugin.json")
"""Relative to a plugin's folder; the first that exists counts."""


MAX_PLUGIN_NAME_CHARS = 64
"""Characters of a plugin's name (Codex: a qualified name has twice as many as a
plain one).
"""


LOCAL_VERSION = "local"
"""The version that is preferred to any other."""


PATH_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._+-]{1,128}")


_MAX_MANIFEST_FOLDERS = 32


class PluginManifest(Struct, frozen=True):
    """A plugin's manifest. `problem` says why it is unusable; the name is then empty."""

    name: str = ""
    folders: tuple[str, ...] = ()
    """Folders of skills besides `skills`, relative to the plugin's."""
    problem: str = ""


def parse_plugin_manifest(text: str, folder_name: str) -> PluginManifest:
    """Parse a `plugin.json`. The name defaults to that of its folder. Never raises."""
    found, problem = _parse_json_object(text)
    if problem:
        return PluginManifest(problem=problem)
    given = found.get("name")
    name = "".join(strip_hidden_characters(given).split()) if isinstance(given, str) else ""
    name = name or strip_hidden_characters(folder_name)
    if not name or ":" in name or len(name) > MAX_PLUGIN_NAME_CHARS or not name.isprintable():
        return PluginManifest(
            problem=f"its name is no plain one of at most {MAX_PLUGIN_NAME_CHARS} characters"
        )
    listed = found.get("skills")
    paths = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    inside = [
        path
        for path in paths
        if isinstance(path, str)
        and path.startswith("./")
        and ".." not in path.split("/")
        and "\0" not in path
    ]
    return PluginManifest(
        name, tuple(dict.fromkeys(path[2:].strip("/") for path in inside[:_MAX_MANIFEST_FOLDERS]))
    )


def parse_plugins_installed_for_project(text: str, project: str) -> tuple[dict[str, str], str]:
    """Parse Claude Code's `installed_plugins.json`.

    Returns the folder of each plugin of this project by `PLUGIN@MARKETPLACE`, and the file's
    problem. Plugins installed for other projects are left out; an installation for this project
    precedes a global one.
    """
    found, problem = _parse_json_object(text)
    plugins = found.get("plugins")
    installed = {}
    for key, given in plugins.items() if isinstance(plugins, dict) else ():
        entries = [
            entry
            for entry in (given if isinstance(given, list) else [given])
            if isinstance(entry, dict)
        ]
        own = [entry for entry in entries if entry.get("projectPath") == project]
        common = [entry for entry in entries if not entry.get("projectPath")]
        path = next(
            (
                path
                for entry in (*own, *common)
                if isinstance(path := entry.get("installPath"), str) and path
            ),
            "",
        )
        if path:
            installed[key] = path
    return installed, problem


def parse_enabled_plugins(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the plugins enabled by `enabledPlugins` in these Claude Code settings; the last file
    wins.
    """
    state: dict[str, bool] = {}
    for text in texts:
        given = _parse_json_object(text)[0].get("enabledPlugins")
        state |= (
            {key: each not in (False, None) for key, each in given.items()}
            if isinstance(given, dict)
            else {}
        )
    return tuple(key for key, on in state.items() if on)


def parse_enabled_codex_plugins(text: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """Return the plugins enabled in Codex's `config.toml`, as (marketplace, name), and the file's
    problem.
    """
    try:
        given = tomllib.loads(text).get("plugins")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return (), f"it is no valid TOML: {str(error)[:160]}"
    found = []
    for key, entry in given.items() if isinstance(given, dict) else ():
        name, _, market = key.rpartition("@")
        if (
            isinstance(entry, dict)
            and entry.get("enabled", True) is True
            and PATH_SEGMENT.fullmatch(name)
            and PATH_SEGMENT.fullmatch(market)
        ):
            found.append((market, name))
    return tuple(found), ""


def select_active_version(names: Iterable[str]) -> str:
    """Select a plugin's active version: `local`, else the last by name; empty where there is
    none.
    """
    found = sorted(name for name in names if PATH_SEGMENT.fullmatch(name))
    return LOCAL_VERSION if LOCAL_VERSION in found else found[-1] if found else ""


def _parse_json_object(text: str) -> tuple[dict[str, object], str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"it is no valid JSON: {str(error)[:160]}"
    return (found, "") if isinstance(found, dict) else ({}, "it is no JSON object")
