"""`memorist mcp`. It loads little: a client's start waits for the answer to its first request."""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
from pathlib import Path

import click

from memorist.cli.command_environment import read_environment
from memorist.cli.server_options import (
    PORT_TYPE,
    describe_how_to_install_extra,
    import_module_of_extra,
)
from memorist.errors import UsageError
from memorist.platforms.processes import end_this_process_with_starter
from memorist.system import format_server_address, open_listening_socket

WAITING_HINT = (
    "memorist mcp waits for a client on standard input, which starts it by itself; "
    "docs/plugs/mcp.md has the configuration. Ctrl-C ends it."
)


@click.command("mcp")
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Folder of the project whose memory is served. [default: what the client says, else "
    "the working folder]",
)
@click.option("--http", is_flag=True, help="Serve over HTTP instead of standard input and output.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="With --http: address to listen on; beyond this machine a token is needed.",
)
@click.option(
    "--port",
    type=PORT_TYPE,
    default=8643,
    show_default=True,
    help="With --http: 0 takes a free one.",
)
@click.option(
    "--allow-host",
    multiple=True,
    help="With --http: a name that the server answers to, beside this machine's; more than "
    "once for several.",
)
def mcp_command(
    project: Path | None, http: bool, host: str, port: int, allow_host: tuple[str, ...]
) -> None:
    """Serve memory to an agent that speaks MCP: tools to search, read, write and forget, notes of
    sessions, what was cut, and why. Needs the extra `mcp`.

    A client starts it by itself; docs/plugs/mcp.md has the configuration for Claude Code, Codex and
    others. With --http, the environment variable MEMORIST_MCP_TOKEN holds the token that a client
    must show.

    Example: memorist mcp --project .
    """
    working = Path.cwd()
    if not http:
        if sys.stdin.isatty():
            click.echo(WAITING_HINT, err=True)
        _serve_stdio(project, working)
        return
    server = import_module_of_extra("memorist.mcp_server.http_server", "mcp")
    let_in = server.build_access_policy(
        host, allow_host, read_environment().get(server.AUTH_VARIABLE, "")
    )
    bounds = import_module_of_extra("memorist.uvicorn_server", "mcp")
    listening = open_listening_socket(host, port, bounds.MAX_CONNECTIONS)
    address = format_server_address(listening)
    click.echo(f"memorist mcp at {address}{server.MCP_PATH}", err=True)
    server.serve_http(project, working, listening, let_in)


def _serve_stdio(project: Path | None, working: Path) -> None:
    """Serve one client; the SDK is loaded when the client asks for what needs it."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(describe_how_to_install_extra("mcp"))
    # The reader waits where no KeyboardInterrupt reaches; being killed loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_this_process_with_starter()  # a killed client's pipe may be held open by another process
    handshake = importlib.import_module("memorist.mcp_server.handshake")
    backlog = handshake.answer_first_requests()
    if backlog is not None:
        with handshake.replay_handshake(backlog):
            import_module_of_extra("memorist.mcp_server.stdio_server", "mcp").serve_stdio(
                project, working
            )
