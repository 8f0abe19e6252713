"""`memorist install` and `memorist uninstall`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from memorist.auto_memory.memory_location import check_utf8_folder_name
from memorist.cli.command_environment import read_environment
from memorist.cli.hook_commands import HOME_OPTION, resolve_home, stop_daemon
from memorist.config import load_settings
from memorist.errors import InputError, NothingToDo, SettingsError, UsageError
from memorist.hooks.agent_programs import (
    AGENT_NAMES,
    AGENTS,
    AgentName,
    find_connected_agents,
    find_settings_targets,
    find_user_folder,
)
from memorist.hooks.hook_entries import INSTALLED_EVENTS, TOOL_EVENT, build_hook_entries
from memorist.hooks.hook_install import HookInstaller, InstallTarget, SettingsChange
from memorist.hooks.hook_time_limits import resolve_event_time_limit
from memorist.hooks.install_scope import LaunchCommand, SettingsScope
from memorist.hooks.slash_commands import (
    find_retired_slash_command_targets,
    find_slash_command_targets,
)
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.platforms.user_home import expand_user, explain_unknown_home
from memorist.store.disk_files import DiskFiles, check_folder_readable_or_missing

TRUST_HINTS: dict[AgentName, str] = {
    "codex": "Codex runs a hook only after you trusted it: start codex, which asks about hooks "
    "that are new or changed.",
    "gemini-cli": "Gemini CLI starts an MCP server only in a folder that you trust: start gemini "
    "in it, which asks.",
}
"""What the user has to do in an agent before it runs what was installed."""
SHARED_HINT = (
    "Keep {} out of what others get, such as commits: a program of this machine is named there."
)
PRIVATE_SETTINGS = "settings.local.json"
"""Claude Code's settings file that is not shared."""


def describe_missing_mcp_extra() -> str:
    """Why there is no MCP server, and what installs it."""
    return f"the MCP server needs the extra `mcp`: {build_extra_install_command('mcp')}"


def _common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that both commands take."""
    for option in (
        click.option(
            "--user/--project",
            "user",
            default=True,
            help="For all your projects, or for the one in this folder. [default: --user]",
        ),
        click.option("--dry-run", is_flag=True, help="Show the change and make none."),
        click.option(
            "--mcp/--no-mcp",
            default=None,
            help="Also the MCP server, or hooks alone. [default: with it, where its extra is "
            "there]",
        ),
        HOME_OPTION,
    ):
        command = option(command)
    return command


@click.command("install")
@click.argument("client", metavar="AGENT", type=click.Choice(AGENT_NAMES))
@_common_options
@click.option(
    "--each-tool",
    is_flag=True,
    help="Also call memorist after each tool call; notes of long turns come earlier.",
)
def install_command(
    client: AgentName,
    user: bool,
    dry_run: bool,
    mcp: bool | None,
    home: Path | None,
    each_tool: bool,
) -> None:
    """Put memorist into the settings of a coding agent: claude-code, codex, cursor, gemini-cli,
    opencode or qwen-code.

    Shows the change. Your own settings stay as they are, and `memorist uninstall` takes it back.
    `memorist setup` does it for all agents of this machine.

    Example: memorist install claude-code --dry-run
    """
    where = resolve_home(home)
    there = find_spec("mcp") is not None
    if not there and (mcp or AGENTS[client].client is None):
        raise UsageError(describe_missing_mcp_extra())
    installer = HookInstaller(where, DiskFiles())
    changes = plan_agent_join(
        installer,
        client,
        AgentInstallRequest(where, there if mcp is None else mcp, user, each_tool),
    )
    _apply_changes(changes, installer.install, dry_run=dry_run)
    shared = [target.path.name for target, _ in changes if target.path.name != PRIVATE_SETTINGS]
    if shared and not user and not dry_run:
        click.echo(SHARED_HINT.format(" and ".join(shared)))
    if mcp is None and not there:
        click.echo(f"Hooks alone: {describe_missing_mcp_extra()}")
    if client in TRUST_HINTS and not dry_run:
        click.echo(TRUST_HINTS[client])


class AgentInstallRequest(Struct, frozen=True):
    """How an agent is to be joined: for which home, with the MCP server or without, for the user or
    the project in the working folder, and whether also after each tool call.
    """

    home: Path
    mcp: bool
    user: bool = True
    each_tool: bool = False


def plan_agent_join(
    installer: HookInstaller, name: AgentName, request: AgentInstallRequest
) -> list[tuple[InstallTarget, SettingsChange]]:
    """Plan the changes of an agent's settings files. Raises InputError, StoreError."""
    program = find_launch_command(request.home)
    events = (*INSTALLED_EVENTS, TOOL_EVENT) if request.each_tool else INSTALLED_EVENTS
    settings = load_settings(read_environment(), home=request.home).settings
    limits = settings.hooks.list_time_limits()
    client = AGENTS[name].client
    hooks = (
        {}
        if client is None
        else build_hook_entries(
            program,
            client,
            {each: resolve_event_time_limit(each, limits) for each in events},
            events,
        )
    )
    scope = build_settings_scope(user=request.user)
    if request.user:
        check_folder_readable_or_missing(find_user_folder(AGENTS[name], scope))
    targets = find_settings_targets(name, scope, program, hooks, mcp=request.mcp)
    targets += find_slash_command_targets(name, scope, program) if request.mcp else []
    return [
        *((target, installer.plan_install(target)) for target in targets),
        *(
            (each, installer.plan_uninstall(each))
            for each in find_retired_slash_command_targets(name, scope)
        ),
    ]


@click.command("uninstall")
@click.argument("clients", metavar="[AGENT]...", nargs=-1, type=click.Choice(AGENT_NAMES))
@_common_options
def uninstall_command(
    clients: Sequence[AgentName], user: bool, dry_run: bool, mcp: bool | None, home: Path | None
) -> None:
    """Take memorist out of the settings of coding agents; without AGENT of all that are joined.

    Where nobody changed a file since, it is as it was before, byte for byte; else only what
    memorist put there goes. A file that cannot be understood is left alone and named at the end.
    Memories stay. The process behind the hooks is ended; it starts again with the next hook of
    another agent.

    Example: memorist uninstall codex
    """
    where = _home_for_uninstall(home)
    plugging = HookInstaller(where, DiskFiles())
    scope, program = build_settings_scope(user=user), find_launch_command(where)
    named = clients or [each.name for each in find_connected_agents(scope)]
    if not named:
        raise NothingToDo("no coding agent is joined here")
    found: list[InstallTarget] = []
    for client in dict.fromkeys(named):
        found += find_settings_targets(client, scope, program, {}, mcp=mcp is not False)
        found += [
            *find_slash_command_targets(client, scope, program),
            *find_retired_slash_command_targets(client, scope),
        ]
    changes, refused = [], []
    for target in found:
        try:
            changes.append((target, plugging.plan_uninstall(target)))
        except InputError as error:
            refused.append(str(error))
    _apply_changes(changes, plugging.uninstall, dry_run=dry_run)
    if not dry_run:
        stop_daemon(where)
    if refused:
        raise InputError("\n".join(refused))


def _apply_changes(
    changes: list[tuple[InstallTarget, SettingsChange]],
    act: Callable[[SettingsChange], None],
    *,
    dry_run: bool,
) -> None:
    """Show all planned changes, then make them. A file that comes or goes as a whole is shown line
    by line only where nothing is written.
    """
    for target, change in changes:
        if change.before == change.after:
            click.echo(f"{change.path}: nothing to change ({target.purpose})")
        elif dry_run or None not in (change.before, change.after):
            click.echo(change.render_diff(), nl=False)
        else:
            did = "created" if change.before is None else "removed"
            click.echo(f"{change.path}: {did} ({target.purpose})")
    if dry_run:
        click.echo("Nothing was written.")
        return
    for _, change in changes:
        act(change)


def _home_for_uninstall(home: Path | None) -> Path:
    """The home; the default one if memorist's settings are invalid, which must not prevent
    uninstalling.
    """
    try:
        return resolve_home(home)
    except SettingsError as error:
        click.echo(f"{error}; the home folder that the environment names is taken", err=True)
        return (
            Path(read_environment().get("MEMORIST_HOME") or "~/.memorist").expanduser().absolute()
        )


def build_settings_scope(*, user: bool) -> SettingsScope:
    """The user's settings, or those of the project in the working folder. Raises InputError for a
    folder of which no record can be kept.
    """
    if not user:
        check_utf8_folder_name(Path.cwd())
    if why := explain_unknown_home():
        raise SettingsError(why)
    return SettingsScope(
        home=Path.home(), environment=read_environment(), project=None if user else Path.cwd()
    )


def find_launch_command(home: Path) -> LaunchCommand:
    """How to start memorist from anywhere: by the full path of its program, or of its Python.

    The default home is not named.
    """
    usual = home == Path(expand_user()) / ".memorist"
    called = Path(sys.argv[0])
    sibling = Path(sys.executable).parent / "memorist"
    for path in (called.absolute(), sibling):
        if path.name == "memorist" and os.access(path, os.X_OK) and path.is_file():
            return LaunchCommand(arguments=(str(path),), home="" if usual else str(home))
    return LaunchCommand(
        arguments=(sys.executable, "-P", "-m", "memorist"), home="" if usual else str(home)
    )
