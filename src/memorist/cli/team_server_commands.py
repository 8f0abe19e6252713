"""`memorist team serve` and `memorist team token`: a server for the memories of teams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.cli.server_options import PORT_TYPE, import_module_of_extra
from memorist.core.text_encoding import replace_surrogates
from memorist.errors import InputError, UsageError
from memorist.safety.server_access import LOOPBACK_NAMES
from memorist.system import format_server_address
from memorist.team.team_protocol import SPACE_PATTERN
from memorist.team.team_store import TeamStore, open_team_store

STORE_OPTION = click.option(
    "--store",
    default="",
    help="The server's file, or postgresql://HOST/NAME. [default: team-server/team.sqlite in "
    "the home folder]",
)


@contextmanager
def _open_store(location: str) -> Iterator[TeamStore]:
    with open_project_memory() as (home, _):
        own = location or str(home.layout.home / "team-server" / "team.sqlite")
    store = open_team_store(own if "://" in own else str(Path(own).expanduser().absolute()))
    try:
        yield store
    finally:
        store.close()


@click.command("serve")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; beyond this machine a token is needed.",
)
@click.option("--port", type=PORT_TYPE, default=8642, show_default=True, help="0 takes a free one.")
@click.option(
    "--allow-host",
    multiple=True,
    help="A name that the server answers to, beside this machine's; more than once for several.",
)
@STORE_OPTION
def team_serve_command(host: str, port: int, allow_host: tuple[str, ...], store: str) -> None:
    """Keep teams' memories for others, over HTTP. TLS is the work of a reverse proxy before it.
    Needs the extra `team`.

    Example: memorist team serve --port 8642
    """
    server = import_module_of_extra("memorist.team.team_server", "team")
    with _open_store(store) as kept:
        limits = server.TeamServerLimits(
            hosts=LOOPBACK_NAMES | {each.lower() for each in allow_host}
        )
        listening = server.bind_socket_refusing_open_access(host, port, kept, limits)
        click.echo(f"memorist team server at {format_server_address(listening)}")
        server.serve_team(kept, listening, limits)


@click.command("token")
@click.argument("name", default="")
@click.option(
    "--space", default="", help="Only for the team of this name. [default: all teams of the server]"
)
@click.option("--read-only", is_flag=True, help="It may not write.")
@click.option("--revoke", is_flag=True, help="Take back the tokens of that name instead.")
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="Show who has tokens, and what for, instead. The tokens themselves are not known.",
)
@STORE_OPTION
def team_token_command(
    name: str, space: str, read_only: bool, revoke: bool, listing: bool, store: str
) -> None:
    """Make a token for NAME, for the server on this machine. It is shown once; only its hash is
    kept.

    Example: memorist team token jo
    """
    if not listing and (not name.strip() or not name.isprintable()):
        raise UsageError("say whom the token is for: memorist team token NAME")
    if space and not SPACE_PATTERN.match(space):
        raise UsageError(
            f"{replace_surrogates(space)} is no name of a team: letters, digits, dots, "
            f"dashes and underscores"
        )
    with _open_store(store) as kept:
        if listing:
            for each in kept.list_tokens():
                click.echo(
                    f"{output.make_terminal_safe_line(each.name)}  "
                    f"{each.space or 'all teams'}{'' if each.writes else ', read only'}"
                )
        elif not revoke:
            click.echo(kept.add_token(name, space=space, writes=not read_only))
        elif dropped := kept.revoke_tokens(name):
            click.echo(f"{dropped} taken back")
        else:
            raise InputError(
                f"no token has the name {replace_surrogates(name)}; see memorist team token --list"
            )
