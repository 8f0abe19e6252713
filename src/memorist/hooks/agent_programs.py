"""The coding agents that memorist can join: how each is recognised, and which settings files hold
its hooks and its MCP servers.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from memorist.errors import InputError
from memorist.hooks.hook_event import Client
from memorist.hooks.hook_install import (
    HOME_VARIABLE,
    MCP_SERVER_NAME,
    OPENCODE_SERVERS_KEY,
    SERVERS_KEY,
    LaunchCommand,
    SettingsFile,
    add_hooks,
    add_json_server,
    add_toml_server,
    build_server_entry,
    list_trust_keys,
    remove_hooks,
    remove_json_server,
    remove_toml_server,
    remove_toml_trust,
)
from memorist.platforms.regular_files import read_regular_text

AgentName = Literal["claude-code", "codex", "cursor", "gemini-cli", "opencode", "qwen-code"]


class AgentProgram(Struct, frozen=True, kw_only=True):
    """One coding agent."""

    name: AgentName
    title: str
    program: str
    """Name of its program on the search path."""
    folder: str
    """Its folder of settings below the user's home."""
    client: Client | None = None
    """Its name in hook events; None for an agent that is joined by the MCP server alone."""
    servers: str = ""
    """Its file of MCP servers below the user's home, and with `.` for `~` in a project; empty where
    `find_settings_files` knows better.
    """


AGENTS: Mapping[AgentName, AgentProgram] = {
    each.name: each
    for each in (
        AgentProgram(
            name="claude-code",
            title="Claude Code",
            program="claude",
            folder=".claude",
            client="claude-code",
        ),
        AgentProgram(name="codex", title="Codex", program="codex", folder=".codex", client="codex"),
        AgentProgram(
            name="gemini-cli",
            title="Gemini CLI",
            program="gemini",
            folder=".gemini",
            servers=".gemini/settings.json",
        ),
        AgentProgram(
            name="qwen-code",
            title="Qwen Code",
            program="qwen",
            folder=".qwen",
            servers=".qwen/settings.json",
        ),
        AgentProgram(
            name="cursor",
            title="Cursor",
            program="cursor-agent",
            folder=".cursor",
            servers=".cursor/mcp.json",
        ),
        AgentProgram(
            name="opencode",
            title="opencode",
            program="opencode",
            folder=".config/opencode",
            servers=".config/opencode/opencode.json",
        ),
    )
}
AGENT_NAMES: tuple[AgentName, ...] = get_args(AgentName)


class SettingsScope(Struct, frozen=True, kw_only=True):
    """Whose settings: the user's, or those of one project."""

    home: Path
    """The user's home folder."""
    environment: Mapping[str, str]
    project: Path | None = None


def find_present_agents(
    scope: SettingsScope, find_program: Callable[[str], str | None]
) -> list[AgentProgram]:
    """The agents of this machine, by their program (as `shutil.which` finds it) or their folder of
    settings.
    """
    return [
        agent
        for agent in AGENTS.values()
        if find_program(agent.program) or find_user_folder(agent, scope).is_dir()
    ]


def find_joined_agents(scope: SettingsScope) -> list[AgentProgram]:
    """The agents whose settings hold something of memorist's; a file that cannot be read counts as
    one that holds nothing.
    """
    program = LaunchCommand(arguments=("memorist",))
    return [
        agent
        for agent in AGENTS.values()
        if has_plugin(agent, scope)
        or any(map(_holds_own, find_settings_files(agent.name, scope, program, {}, mcp=True)))
    ]


def has_plugin(agent: AgentProgram, scope: SettingsScope) -> bool:
    """Whether the agent runs memorist as a plugin of its own, which brings hooks and server."""
    folder = find_user_folder(agent, scope)
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
        if agent.name == "claude-code":
            text = read_regular_text(folder / "settings.json")
            plugins = json.loads(text).get("enabledPlugins", {})
            return any(on is True for name, on in plugins.items() if _is_own_plugin(name))
        if agent.name == "codex":
            plugins = tomllib.loads(read_regular_text(folder / "config.toml")).get("plugins", {})
            return any(
                each.get("enabled") is True
                for name, each in plugins.items()
                if _is_own_plugin(name)
            )
    return False


def _is_own_plugin(name: str) -> bool:
    """Agents call a plugin `NAME@MARKETPLACE`."""
    return name.partition("@")[0] == MCP_SERVER_NAME


def _holds_own(target: SettingsFile) -> bool:
    with contextlib.suppress(OSError, UnicodeDecodeError, InputError):
        text = read_regular_text(target.path)
        return target.remove(text, ()) != text
    return False


def find_user_folder(agent: AgentProgram, scope: SettingsScope) -> Path:
    """The agent's folder of the user's own settings; a variable of the agent's moves it."""
    variable = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(agent.name, "")
    named = scope.environment.get(variable, "")
    return Path(named) if named else scope.home / agent.folder


def find_settings_files(
    name: AgentName,
    scope: SettingsScope,
    program: LaunchCommand,
    hooks: Mapping[str, object],
    *,
    mcp: bool,
) -> list[SettingsFile]:
    """The settings files to change; none for an agent without hooks where `mcp` is not wanted.

    Hooks name a program of this machine, so in a project they go into the file that is not shared.
    """
    agent = AGENTS[name]
    server = _server_file(agent, scope, program)
    if agent.client is None:
        return [server] if mcp else []
    folder = (
        find_user_folder(agent, scope)
        if scope.project is None
        else scope.project / Path(agent.folder).name
    )
    file = "hooks.json"
    if name == "claude-code":
        file = "settings.json" if scope.project is None else "settings.local.json"
    first = SettingsFile(
        folder / file, "hooks", lambda text: add_hooks(text, hooks), remove_hooks, "{}\n"
    )
    return [first, server] if mcp else [first]


def _server_file(agent: AgentProgram, scope: SettingsScope, program: LaunchCommand) -> SettingsFile:
    """The file that holds the agent's MCP servers."""
    if agent.name == "codex":
        folder = (
            find_user_folder(agent, scope)
            if scope.project is None
            else scope.project / agent.folder
        )
        return SettingsFile(
            folder / "config.toml",
            "MCP server",
            lambda text: add_toml_server(text, program),
            partial(_remove_from_codex, trusted=_list_trusted(folder / "hooks.json")),
            "",
        )
    container = OPENCODE_SERVERS_KEY if agent.name == "opencode" else SERVERS_KEY
    entry = _server_entry(agent.name, program)
    return SettingsFile(
        _json_server_path(agent, scope),
        "MCP server",
        lambda text: add_json_server(text, entry, container),
        partial(remove_json_server, container=container),
        "{}\n",
    )


def _list_trusted(hooks: Path) -> list[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError, InputError):
        return list_trust_keys(hooks, read_regular_text(hooks))
    return []


def _remove_from_codex(text: str, kept: Sequence[str], *, trusted: Sequence[str]) -> str:
    return remove_toml_trust(remove_toml_server(text, kept), trusted)


def _json_server_path(agent: AgentProgram, scope: SettingsScope) -> Path:
    """Claude Code keeps its servers beside its folder, and a project's in a file to be shared;
    opencode reads a project's settings from the project's root.
    """
    if agent.name == "claude-code":
        if scope.project is not None:
            return scope.project / ".mcp.json"
        named = scope.environment.get("CLAUDE_CONFIG_DIR", "")
        return (Path(named) if named else scope.home) / ".claude.json"
    if scope.project is None:
        return scope.home / agent.servers
    return scope.project / ("opencode.json" if agent.name == "opencode" else agent.servers)


def _server_entry(name: AgentName, program: LaunchCommand) -> dict[str, object]:
    """The entry of the MCP server in the form of the agent."""
    entry = build_server_entry(program)
    match name:
        case "opencode":
            server: dict[str, object] = {
                "type": "local",
                "command": [*program.arguments, "mcp"],
                "enabled": True,
            }
            home = {HOME_VARIABLE: program.home}
            return server | ({"environment": home} if program.home else {})
        case "claude-code":
            return entry
        case _:
            return {key: value for key, value in entry.items() if key != "type"}
