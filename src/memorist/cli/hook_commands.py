"""`memorist hook` and `memorist daemon`."""

from __future__ import annotations

import gc
import time
from importlib import import_module
from pathlib import Path

import click

from memorist.cli.command_environment import load_user_settings
from memorist.hooks import hook_protocol
from memorist.hooks.daemon_socket import find_daemon_process, open_daemon_socket
from memorist.hooks.hook_client import find_hooks_folder, run_hook
from memorist.platforms import processes

HOME_OPTION = click.option(
    "--home",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder of all data. [default: the setting]",
)


@click.command("hook")
@click.argument("event")
@click.option(
    "--client",
    type=click.Choice(["claude-code", "codex"]),
    default=None,
    help="Which agent calls. [default: by the event]",
)
@HOME_OPTION
def hook_command(event: str, client: str | None, home: Path | None) -> None:
    """Answer an event of a coding agent: what it writes comes on standard input.

    `memorist install` puts it into the agent's settings. It always ends with status 0, within a
    time limit; what went wrong is shown by `memorist doctor`.

    Example: memorist hook SessionStart --client codex < event.json
    """
    run_hook(
        [event, *(["--client", client] if client else []), *(["--home", str(home)] if home else [])]
    )


@click.command("daemon")
@HOME_OPTION
def daemon_command(home: Path | None) -> None:
    """Be the process behind the hooks, until nothing comes any more. A hook starts it when there is
    none.

    Example: memorist daemon
    """
    where = resolve_home(home)
    listening = open_daemon_socket(where)
    if listening is None:
        click.echo("another process already answers the hooks of this home")
        return
    with listening:
        # The engine is loaded after the socket is open, so that waiting hooks can connect. Garbage
        # is not looked for meanwhile: what is loaded stays, and an agent waits for it.
        gc.disable()
        import_module("memorist.hooks.hook_daemon").run_daemon(where, listening)


def resolve_home(home: Path | None) -> Path:
    """The home from the option, else from the settings."""
    if home is not None:
        return home.expanduser().absolute()
    return Path(load_user_settings().home).expanduser().absolute()


MAX_DAEMON_EXIT_WAIT_SECONDS = 5.0
"""Longest wait for the process behind the hooks to end. Our choice."""


def stop_daemon(home: Path) -> bool:
    """End the process behind the hooks of a home; whether there was one.

    It finishes what was asked of it before it ends, and nothing is lost if it takes longer.
    """
    lock = Path(find_hooks_folder(str(home))) / hook_protocol.LOCK
    number = find_daemon_process(lock)
    if not number.isdigit():
        return False
    processes.request_process_termination(int(number))
    until = time.monotonic() + MAX_DAEMON_EXIT_WAIT_SECONDS
    while find_daemon_process(lock) == number and time.monotonic() < until:
        time.sleep(0.02)
    return True
