"""Codex's settings: where its hooks and its MCP servers stand, whether it runs the plugin, and
memorist's server in its `config.toml`.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memorist.core import toml_edit
from memorist.errors import InputError
from memorist.hooks.hook_entries import locate_own_hook_entries
from memorist.hooks.hook_install import InstallTarget
from memorist.hooks.install_scope import LaunchCommand, SettingsScope
from memorist.hooks.mcp_entries import (
    MCP_SERVER_NAME,
    NAME_IN_USE,
    build_server_entry,
    is_own_mcp_server_entry,
    is_own_plugin,
    update_server_entry,
)
from memorist.platforms.regular_files import read_regular_text_file

_SERVER_TABLE = ("mcp_servers", MCP_SERVER_NAME)
_SERVER_KEYS = ("command", "args", "env")
_NOT_ADDED = (
    "a table for the MCP server cannot be added at its end; write it yourself, or install "
    "with --no-mcp"
)
_OTHER_FORM = (
    f"the MCP server “{MCP_SERVER_NAME}” stands in it in a form that memorist cannot "
    f"change for certain; remove it yourself"
)


def get_codex_folder_for_scope(scope: SettingsScope) -> Path:
    """The folder of the user's settings, or of the project's."""
    if scope.project is not None:
        return scope.project / ".codex"
    named = scope.environment.get("CODEX_HOME", "")
    return Path(named) if named else scope.home / ".codex"


def has_codex_plugin(scope: SettingsScope) -> bool:
    """Whether the user's settings turn memorist's plugin on."""
    user = replace(scope, project=None)
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
        text = read_regular_text_file(get_codex_folder_for_scope(user) / "config.toml")
        plugins = tomllib.loads(text).get("plugins", {})
        return any(
            each.get("enabled") is True for name, each in plugins.items() if is_own_plugin(name)
        )
    return False


def find_codex_server_target(scope: SettingsScope, program: LaunchCommand) -> InstallTarget:
    """The file that holds the MCP servers; removing ours removes what the user trusted of it."""
    folder = get_codex_folder_for_scope(scope)
    return InstallTarget(
        folder / "config.toml",
        "MCP server",
        lambda text: add_codex_mcp_server(text, program),
        partial(_remove_from_codex, trusted=_list_trusted(folder / "hooks.json")),
        "",
    )


def _list_trusted(hooks: Path) -> list[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError, InputError):
        return list_own_hook_trust_keys(hooks, read_regular_text_file(hooks))
    return []


def _remove_from_codex(text: str, kept: Sequence[str], *, trusted: Sequence[str]) -> str:
    return remove_codex_hook_trust(remove_codex_mcp_server(text, kept), trusted)


def add_codex_mcp_server(text: str, program: LaunchCommand) -> str:
    """Add the MCP server to Codex's settings as a table at the end; all else keeps its bytes,
    comments included. Raises InputError.
    """
    said = toml_edit.parse_toml(text)
    there = _server_tables(said).get(MCP_SERVER_NAME)
    entry = {key: value for key, value in build_server_entry(program).items() if key != "type"}
    if there is None:
        edited = toml_edit.append_toml_table(
            text, f"[{'.'.join(_SERVER_TABLE)}]\n{_format_assignments(entry)}"
        )
        return _verify_toml(
            edited,
            [_replace_servers(said, {**_server_tables(said), MCP_SERVER_NAME: entry})],
            _NOT_ADDED,
        )
    if not is_own_mcp_server_entry(there):
        raise InputError(NAME_IN_USE)
    wanted = update_server_entry(there, entry)
    if there == wanted:
        return text
    edited = toml_edit.remove_toml_tables(text, (*_SERVER_TABLE, "env"))
    own = [
        table
        for table in toml_edit.find_toml_tables(toml_edit.split_toml_lines(edited), _SERVER_TABLE)
        if table.path == _SERVER_TABLE
    ]
    env = wanted.get("env", {})
    if (
        len(own) != 1
        or not isinstance(env, dict)
        or not all(isinstance(value, str) for value in env.values())
    ):
        raise InputError(_OTHER_FORM)
    said_of_it = _format_assignments({key: wanted[key] for key in _SERVER_KEYS if key in wanted})
    return _verify_toml(
        toml_edit.replace_toml_assignments(edited, own[0], said_of_it, _SERVER_KEYS),
        [_replace_servers(said, {**_server_tables(said), MCP_SERVER_NAME: wanted})],
        _OTHER_FORM,
    )


def remove_codex_mcp_server(text: str, _: Sequence[str] = ()) -> str:
    """Remove the MCP server and its subtables from Codex's settings if it is memorist's.

    Raises InputError.
    """
    said = toml_edit.parse_toml(text)
    if not is_own_mcp_server_entry(_server_tables(said).get(MCP_SERVER_NAME)):
        return text
    left = {key: value for key, value in _server_tables(said).items() if key != MCP_SERVER_NAME}
    none = {key: value for key, value in said.items() if key != "mcp_servers"}
    return _verify_toml(
        toml_edit.remove_toml_tables(text, _SERVER_TABLE),
        [_replace_servers(said, left), *([] if left else [none])],
        _OTHER_FORM,
    )


def list_own_hook_trust_keys(path: Path, text: str) -> list[str]:
    """The names under which Codex keeps that the user trusts memorist's entries of a hooks file:
    file, event, and the places of group and entry. Raises InputError.
    """
    keys = []
    for event, _, groups, group, position in locate_own_hook_entries(text):
        label = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        number = [each.node for each in groups.members].index(group)
        keys.append(f"{path}:{label}:{number}:{position}")
    return keys


def remove_codex_hook_trust(text: str, keys: Sequence[str]) -> str:
    """Remove what Codex noted of these hooks (`hooks.state`), so that a later installation is asked
    about again. Text that would not be what remains is left as it is. Raises InputError.
    """
    said = toml_edit.parse_toml(text)
    state = said.get("hooks", {}).get("state", {})
    for key in (each for each in keys if each in state):
        left = {name: value for name, value in state.items() if name != key}
        edited = toml_edit.remove_toml_tables(text, ("hooks", "state", key))
        now = toml_edit.parse_toml(edited).get("hooks", {}).get("state", {})
        if now == left:
            text, state = edited, left
    return text


def _server_tables(said: Mapping[str, Any]) -> dict[str, Any]:
    servers = said.get("mcp_servers", {})
    return servers if isinstance(servers, dict) else {}


def _replace_servers(said: Mapping[str, Any], servers: Mapping[str, Any]) -> dict[str, Any]:
    return {**said, "mcp_servers": servers}


def _format_assignments(entry: Mapping[str, Any]) -> str:
    return "".join(toml_edit.format_toml_assignment(key, value) for key, value in entry.items())


def _verify_toml(edited: str, wanted: Sequence[object], otherwise: str) -> str:
    """Return the edited text if it parses to one of the wanted values. Raises InputError."""
    try:
        if toml_edit.parse_toml(edited) in wanted:
            return edited
    except InputError as error:
        raise InputError(otherwise) from error
    raise InputError(otherwise)
