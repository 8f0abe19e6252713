"""The coding agents that memorist can join: how each is recognised, and which settings files hold
its hooks and its MCP servers. Claude Code and Codex have modules of their own for that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from memorist.errors import InputError
from memorist.hooks.claude_code_settings import (
    find_claude_hook_file,
    find_claude_server_file,
    find_user_claude_folder,
    has_claude_plugin,
)
from memorist.hooks.codex_settings import (
    find_codex_server_target,
    get_codex_folder_for_scope,
    has_codex_plugin,
)
from memorist.hooks.hook_entries import add_hook_entries, remove_own_hook_entries
from memorist.hooks.hook_event import Client
from memorist.hooks.hook_install import InstallTarget
from memorist.hooks.install_scope import HOME_VARIABLE, LaunchCommand, SettingsScope
from memorist.hooks.json_edit import edit_json_with_comments
from memorist.hooks.mcp_entries import (
    OPENCODE_SERVERS_KEY,
    SERVERS_KEY,
    add_json_server,
    build_server_entry,
    remove_json_server,
)
from memorist.platforms.regular_files import path_or_link_exists, read_regular_text_file

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
    `find_settings_targets` knows better.
    """
    reads_comments: bool = False
    """Whether it takes comments in that file."""


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
            reads_comments=True,
        ),
        AgentProgram(
            name="qwen-code",
            title="Qwen Code",
            program="qwen",
            folder=".qwen",
            servers=".qwen/settings.json",
            reads_comments=True,
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
            reads_comments=True,
        ),
    )
}
AGENT_NAMES: tuple[AgentName, ...] = get_args(AgentName)


def find_agents_on_machine(
    scope: SettingsScope, find_program: Callable[[str], str | None]
) -> list[AgentProgram]:
    """The agents of this machine, by their program (as `shutil.which` finds it) or their folder of
    settings.
    """
    return [
        agent
        for agent in AGENTS.values()
        if find_program(agent.program) or path_or_link_exists(find_user_folder(agent, scope))
    ]


def find_connected_agents(scope: SettingsScope) -> list[AgentProgram]:
    """The agents whose settings hold something of memorist's; a file that cannot be read counts as
    one that holds nothing.
    """
    program = LaunchCommand(arguments=("memorist",))
    return [
        agent
        for agent in AGENTS.values()
        if has_memorist_plugin(agent, scope)
        or any(map(_holds_own, find_settings_targets(agent.name, scope, program, {}, mcp=True)))
    ]


def _holds_own(target: InstallTarget) -> bool:
    with contextlib.suppress(OSError, UnicodeDecodeError, InputError):
        text = read_regular_text_file(target.path)
        return target.remove(text, ()) != text
    return False


def has_memorist_plugin(agent: AgentProgram, scope: SettingsScope) -> bool:
    """Whether the agent runs memorist as a plugin of its own, which brings hooks and server."""
    match agent.name:
        case "claude-code":
            return has_claude_plugin(scope)
        case "codex":
            return has_codex_plugin(scope)
        case _:
            return False


def find_user_folder(agent: AgentProgram, scope: SettingsScope) -> Path:
    """The agent's folder of the user's own settings; a variable of the agent's moves it."""
    user = replace(scope, project=None)
    match agent.name:
        case "claude-code":
            return find_user_claude_folder(user)
        case "codex":
            return get_codex_folder_for_scope(user)
        case _:
            return _find_below_home(agent, scope, agent.folder)


def _find_below_home(agent: AgentProgram, scope: SettingsScope, name: str) -> Path:
    """A path below the user's home, where the agent looks for it; a relative folder in
    `XDG_CONFIG_HOME` counts as none.
    """
    config = Path(scope.environment.get("XDG_CONFIG_HOME", ""))
    if agent.name == "opencode" and config.is_absolute():
        return config / name.removeprefix(".config/")
    if agent.name == "gemini-cli" and (own := scope.environment.get("GEMINI_CLI_HOME")):
        return Path(own) / name
    return scope.home / name


def find_settings_targets(
    name: AgentName,
    scope: SettingsScope,
    program: LaunchCommand,
    hooks: Mapping[str, object],
    *,
    mcp: bool,
) -> list[InstallTarget]:
    """The settings files to change; none for an agent without hooks where `mcp` is not wanted."""
    agent = AGENTS[name]
    server = (
        find_codex_server_target(scope, program)
        if name == "codex"
        else _json_server_file(agent, scope, program)
    )
    if agent.client is None:
        return [server] if mcp else []
    path = (
        find_claude_hook_file(scope)
        if name == "claude-code"
        else get_codex_folder_for_scope(scope) / "hooks.json"
    )
    first = InstallTarget(
        path, "hooks", lambda text: add_hook_entries(text, hooks), remove_own_hook_entries, "{}\n"
    )
    return [first, server] if mcp else [first]


def _json_server_file(
    agent: AgentProgram, scope: SettingsScope, program: LaunchCommand
) -> InstallTarget:
    container = OPENCODE_SERVERS_KEY if agent.name == "opencode" else SERVERS_KEY
    entry = _server_entry(agent.name, program)

    def edit(text: str, change: Callable[[str], str]) -> str:
        return edit_json_with_comments(text, change) if agent.reads_comments else change(text)

    return InstallTarget(
        _json_server_path(agent, scope),
        "MCP server",
        lambda text: edit(text, lambda plain: add_json_server(plain, entry, container)),
        lambda text, keep: edit(text, lambda plain: remove_json_server(plain, keep, container)),
        "{}\n",
    )


def _json_server_path(agent: AgentProgram, scope: SettingsScope) -> Path:
    """Claude Code has a rule of its own; opencode reads a project's settings from its root."""
    if agent.name == "claude-code":
        return find_claude_server_file(scope)
    if scope.project is None:
        return _find_below_home(agent, scope, agent.servers)
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
