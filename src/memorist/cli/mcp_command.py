"""`memorist mcp`. It loads little: a client's start waits for the answer to its first request."""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
from pathlib import Path
from types import ModuleType

import click

from memorist.cli.command_environment import read_environment
from memorist.errors import UsageError
from memorist.system import open_listening_socket

MCP_EXTRA_HINT = "an MCP server needs the extra `mcp`: pip install 'memorist[mcp]'"
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
    type=click.IntRange(0, 65_535),
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
    server = _load_server("memorist.mcp_server.http_server")
    access = _load_server("memorist.mcp_server.http_server")
    let_in = access.build_access_policy(
        host, allow_host, read_environment().get(access.AUTH_VARIABLE, "")
    )
    bounds = _load_server("memorist.uvicorn_server")
    listening = open_listening_socket(host, port, bounds.MAX_CONNECTIONS)
    name, number = listening.getsockname()[:2]
    click.echo(
        f"memorist mcp at http://{f'[{name}]' if ':' in name else name}:{number}{server.MCP_PATH}",
        err=True,
    )
    server.serve_http(project, working, listening, let_in)


def _serve_stdio(project: Path | None, working: Path) -> None:
    """Serve one client; the SDK is loaded when the client asks for what needs it."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(MCP_EXTRA_HINT)
    # The reader waits where no KeyboardInterrupt reaches; being killed loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    handshake = importlib.import_module("memorist.mcp_server.handshake")
    backlog = handshake.answer_first_requests()
    if backlog is not None:
        with handshake.replay_handshake(backlog):
            _load_server("memorist.mcp_server.stdio_server").serve_stdio(project, working)


def _load_server(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("memorist"):
            raise
        raise UsageError(MCP_EXTRA_HINT) from error
