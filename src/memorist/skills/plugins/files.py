"""Parse the files about plugins: manifests, Claude Code's installed and enabled plugins, Codex's
settings.

Pure (SK-1). Source: codex.md section 4.1 (plugin roots, namespace); the formats are those of Claude
Code's plugin reference (`installed_plugins.json` versions 1 and 2, `enabledPlugins`) and of Codex
(`plugins/cache/MARKETPLACE/PLUGIN/VERSION`, `[plugins."PLUGIN@MARKETPLACE"]`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable

from msgspec import Struct

from memorist.safety.hidden import visible

MANIFESTS = (".codex-plugin/plugin.json", ".claude-plugin/plugin.json")
"""Relative to a plugin's folder; the first that exists counts."""

NAME_LIMIT = 64
"""Characters of a plugin's name (codex.md section 4.1: a qualified name has twice as many as a
plain one).
"""

NEWEST = "local"
"""The version that is preferred to any other."""

_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._+-]{1,128}")
_FOLDERS_LIMIT = 32


class Manifest(Struct, frozen=True):
    """A plugin's manifest. `problem` says why it is unusable; the name is then empty."""

    name: str = ""
    folders: tuple[str, ...] = ()
    """Folders of skills besides `skills`, relative to the plugin's."""
    problem: str = ""


def parse_manifest(text: str, folder_name: str) -> Manifest:
    """Parse a `plugin.json`. The name defaults to that of its folder. Never raises."""
    found, problem = _mapping(text)
    if problem:
        return Manifest(problem=problem)
    given = found.get("name")
    name = "".join(visible(given).split()) if isinstance(given, str) else ""
    name = name or visible(folder_name)
    if not name or ":" in name or len(name) > NAME_LIMIT or not name.isprintable():
        return Manifest(problem=f"its name is no plain one of at most {NAME_LIMIT} characters")
    listed = found.get("skills")
    paths = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    inside = [
        path for path in paths if isinstance(path, str) and path.startswith("./") and ".." not in path.split("/") and "\0" not in path
    ]
    return Manifest(name, tuple(dict.fromkeys(path[2:].strip("/") for path in inside[:_FOLDERS_LIMIT])))


def parse_installed(text: str, project: str) -> tuple[dict[str, str], str]:
    """Parse Claude Code's `installed_plugins.json`.

    Returns the folder of each plugin of this project by `PLUGIN@MARKETPLACE`, and the file's
    problem. Plugins installed for other projects are left out; an installation for this project
    precedes a global one.
    """
    found, problem = _mapping(text)
    plugins = found.get("plugins")
    places = {}
    for key, given in plugins.items() if isinstance(plugins, dict) else ():
        entries = [entry for entry in (given if isinstance(given, list) else [given]) if isinstance(entry, dict)]
        own = [entry for entry in entries if entry.get("projectPath") == project]
        common = [entry for entry in entries if not entry.get("projectPath")]
        path = next((path for entry in (*own, *common) if isinstance(path := entry.get("installPath"), str) and path), "")
        if path:
            places[key] = path
    return places, problem


def parse_enabled(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the plugins enabled by `enabledPlugins` in these Claude Code settings; the last file
    wins.
    """
    state: dict[str, bool] = {}
    for text in texts:
        given = _mapping(text)[0].get("enabledPlugins")
        state |= {key: each not in (False, None) for key, each in given.items()} if isinstance(given, dict) else {}
    return tuple(key for key, on in state.items() if on)


def parse_codex(text: str) -> tuple[tuple[tuple[str, str], ...], str]:
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
        if isinstance(entry, dict) and entry.get("enabled", True) is True and _SEGMENT.fullmatch(name) and _SEGMENT.fullmatch(market):
            found.append((market, name))
    return tuple(found), ""


def active_version(names: Iterable[str]) -> str:
    """Select a plugin's active version: `local`, else the last by name; empty where there is none.
    """
    found = sorted(name for name in names if _SEGMENT.fullmatch(name))
    return NEWEST if NEWEST in found else found[-1] if found else ""


def _mapping(text: str) -> tuple[dict[str, object], str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"it is no valid JSON: {str(error)[:160]}"
    return (found, "") if isinstance(found, dict) else ({}, "it is no JSON object")
