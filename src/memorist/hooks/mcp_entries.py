"""memorist's MCP server in an agent's JSON settings, added to the text and removed from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.errors import InputError
from memorist.hooks.install_scope import HOME_VARIABLE, LaunchCommand
from memorist.hooks.json_edit import (
    add_json_member,
    ensure_json_path,
    parse_json_tree,
    remove_json_path,
    replace_json_value,
)

MCP_SERVER_NAME = "memorist"
SERVERS_KEY, OPENCODE_SERVERS_KEY = SERVER_CONTAINERS = ("mcpServers", "mcp")
"""Keys below which agents keep their MCP servers: most of them, and opencode."""
NAME_IN_USE = (
    f"it names another MCP server “{MCP_SERVER_NAME}” already; rename or remove that, or "
    f"install with --no-mcp"
)


def build_server_entry(program: LaunchCommand) -> dict[str, object]:
    """The entry of the MCP server in Claude Code's settings."""
    words = program.arguments
    entry: dict[str, object] = {"type": "stdio", "command": words[0], "args": [*words[1:], "mcp"]}
    return entry | ({"env": {HOME_VARIABLE: program.home}} if program.home else {})


def update_server_entry(
    there: Mapping[str, object], entry: Mapping[str, object]
) -> dict[str, object]:
    """Update memorist's own entry; keys that the user or the client added stay."""
    env = there.get("env")
    kept = (
        {key: value for key, value in env.items() if key != HOME_VARIABLE}
        if isinstance(env, Mapping)
        else {}
    )
    ours = entry.get("env")
    environment = kept | (dict(ours) if isinstance(ours, Mapping) else {})
    merged = {**there, **entry}
    merged.pop("env", None)
    return merged | ({"env": environment} if environment else {})


def add_json_server(text: str, entry: Mapping[str, object], container: str = SERVERS_KEY) -> str:
    """Add the MCP server below the key `container`.

    Raises InputError, also if another server has its name.
    """
    text, servers = ensure_json_path(text, (container,), dict)
    there = servers.get_member(MCP_SERVER_NAME)
    if there is None:
        return add_json_member(text, servers, MCP_SERVER_NAME, entry)
    if not is_own_mcp_server_entry(there.value):
        raise InputError(NAME_IN_USE)
    wanted = update_server_entry(there.value, entry)
    return text if there.value == wanted else replace_json_value(text, there, wanted)


def remove_json_server(text: str, keep: Sequence[str] = (), container: str = SERVERS_KEY) -> str:
    """Remove the MCP server if it is memorist's. Raises InputError."""
    servers = parse_json_tree(text).get_member(container)
    there = (
        servers.get_member(MCP_SERVER_NAME)
        if servers is not None and isinstance(servers.value, dict)
        else None
    )
    if there is None or not is_own_mcp_server_entry(there.value):
        return text
    return remove_json_path(text, (container, MCP_SERVER_NAME), keep)


def is_own_mcp_server_entry(value: object) -> bool:
    """An entry whose last word is `mcp`; opencode keeps all words under `command`."""
    words = (value.get("args") or value.get("command")) if isinstance(value, dict) else None
    return isinstance(words, list) and words[-1:] == ["mcp"]


def is_own_plugin(name: str) -> bool:
    """Whether a plugin is memorist's; agents call it `NAME@MARKETPLACE`."""
    return name.partition("@")[0] == MCP_SERVER_NAME
