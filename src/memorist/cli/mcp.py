"""`memorist mcp`."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import click

from memorist.errors import UsageError
from memorist.listening import listen

WAITS = (
    "memorist mcp waits for a client on standard input, which starts it by itself; docs/plugs/mcp.md has the configuration. Ctrl-C ends it."
)


@click.command("mcp")
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Folder of the project whose memory is served. [default: what the client says, else the working folder]",
)
@click.option("--http", is_flag=True, help="Serve over HTTP instead of standard input and output.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="With --http: address to listen on; beyond this machine a token is needed."
)
@click.option("--port", type=click.IntRange(0, 65_535), default=8643, show_default=True, help="With --http: 0 takes a free one.")
@click.option(
    "--allow-host", multiple=True, help="With --http: a name that the server answers to, beside this machine's; more than once for several."
)
def mcp_command(project: Path | None, http: bool, host: str, port: int, allow_host: tuple[str, ...]) -> None:
    """Serve memory to an agent that speaks MCP: tools to search, read, write and forget, notes of sessions, what was cut, and why. Needs the extra `mcp`.

    A client starts it by itself; docs/plugs/mcp.md has the configuration for Claude Code, Codex and others. With --http, the environment variable
    MEMORIST_MCP_TOKEN holds the token that a client must show.
    """
    working = Path.cwd()
    if not http:
        if sys.stdin.isatty():
            click.echo(WAITS, err=True)
        _loaded("memorist.mcp_server.serve.run").serve_stdio(project, working)
        return
    server = _loaded("memorist.mcp_server.http.run")
    let_in = server.doors(host, allow_host, os.environ.get(server.VARIABLE, ""))
    listening = listen(host, port, server.MOST_AT_ONCE)
    name, number = listening.getsockname()[:2]
    click.echo(f"memorist mcp at http://{f'[{name}]' if ':' in name else name}:{number}{server.PATH}", err=True)
    server.serve_http(project, working, listening, let_in)


def _loaded(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("memorist"):
            raise
        raise UsageError("an MCP server needs the extra `mcp`: pip install 'memorist[mcp]'") from error
