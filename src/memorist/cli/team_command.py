"""`memorist team`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.team_memory import (
    TEAM_PREFIX,
)
from memorist.cli import output
from memorist.cli.command_environment import read_environment
from memorist.cli.memory.memory_commands import open_project_memory, print_write_outcome
from memorist.cli.server_options import PORT_TYPE, load_extra_module
from memorist.core.utc_time import format_utc_timestamp
from memorist.engine.engine import Memorist
from memorist.errors import InputError, NothingToDo, UsageError
from memorist.safety.server_access import LOOPBACK_NAMES
from memorist.store.disk_files import DiskFiles
from memorist.system import format_server_address
from memorist.team.remote_location import (
    RemoteLocation,
    open_remote,
    read_remote_location,
    recognize_remote,
    save_remote_location,
)
from memorist.team.shared_names import find_key_problem
from memorist.team.sync_report import TeamSyncReport
from memorist.team.team_protocol import SPACE_PATTERN
from memorist.team.team_remote import MAX_KEYS, RemoteState
from memorist.team.team_sharing import share_memories
from memorist.team.team_status import TeamStatus, read_team_status
from memorist.team.team_store import TeamStore, open_team_store
from memorist.team.team_sync import TeamSync

DELETIONS_OPTION = click.option(
    "--delete",
    "deletions",
    is_flag=True,
    help="Carry out deletions also where they are many at once.",
)
STORE_OPTION = click.option(
    "--store",
    default="",
    help="The server's file, or postgresql://HOST/NAME. [default: team-server/team.sqlite in "
    "the home folder]",
)


@click.group("team")
def team_group() -> None:
    """The memories that a team shares: the folder `team/` of this project's memory, and the remote
    that keeps it alike for everybody.
    """


@contextmanager
def _open_sync() -> Iterator[tuple[Memorist, AutoMemory, TeamSync]]:
    with open_project_memory() as (engine, memory):
        location = read_remote_location(DiskFiles(), memory.layout.team, engine.settings.team)
        if location is None:
            raise NothingToDo(
                "this project has no place for its team's memories; choose one: memorist team "
                "init git:origin"
            )
        remote = open_remote(
            memory.layout.team, location, Path.cwd(), engine.settings.team, read_environment()
        )
        try:
            yield (
                engine,
                memory,
                TeamSync(memory, remote, files=DiskFiles(), settings=engine.settings.team),
            )
        finally:
            remote.close()


@team_group.command("init")
@click.argument("remote")
@click.option(
    "--branch", default="", help="Branch of a Git remote. [default: the setting team.branch]"
)
@click.option(
    "--folder", default=None, help="Folder on that branch. [default: the setting team.folder]"
)
@click.option(
    "--space",
    default="",
    help="Name of the team on a server. [default: by the address of the project's Git remote]",
)
def team_init_command(remote: str, branch: str, folder: str | None, space: str) -> None:
    """Choose where this project's team keeps its memories: https://HOST (a team server), origin
    (the project's own Git remote), or a Git repository (its address or folder; with git: in front
    where the address alone could be a server's).

    Example: memorist team init git:origin
    """
    with open_project_memory() as (engine, memory):
        location = RemoteLocation(
            remote=recognize_remote(remote), branch=branch, folder=folder, space=space
        )
        found = open_remote(
            memory.layout.team, location, Path.cwd(), engine.settings.team, read_environment()
        )
        found.close()
        save_remote_location(DiskFiles(), memory.layout.team, location)
        click.echo(f"the team's memories of this project are kept at {found.name}")
        click.echo(
            "bring them here with `memorist team pull`; share one with `memorist team share PATH`"
        )
        if not engine.settings.team.enabled:
            click.echo(
                "sessions keep them alike by themselves with the setting team.enabled = true"
            )


@team_group.command("share")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--convention",
    is_flag=True,
    help="A memory of kind feedback is a convention of the project, not a wish of yours.",
)
def team_share_command(paths: tuple[str, ...], convention: bool) -> None:
    """Move memories of yours to the team's folder. They are sent with the next push.

    Example: memorist team share release.md
    """
    with open_project_memory() as (engine, memory):
        limit = engine.settings.team.entry_bytes
        print_write_outcome(
            share_memories(memory, paths, convention=convention, limit=limit),
            "shared",
        )


def load_team_status() -> TeamStatus:
    """How the team's memories of this folder's project stand. Raises NothingToDo where no team is
    joined.
    """
    with _open_sync() as (_, memory, sync):
        return read_team_status(memory, sync)


@team_group.command("status")
@output.JSON_OPTION
def team_status_command(as_json: bool) -> None:
    """What would be sent, what stays here and why, what waits, and what could be shared. Asks no
    remote.

    Example: memorist team status
    """
    found = load_team_status()
    if as_json:
        output.print_json(msgspec.to_builtins(found))
        return
    click.echo(
        f"{found.remote}: {found.memories} memories"
        + ("" if found.version else ", never synchronised")
    )
    for key in found.to_send:
        click.echo(f"  to send    {key}")
    for key in found.to_delete:
        click.echo(f"  to delete  {key}")
    for key, why in found.staying.items():
        click.echo(f"  stays      {key}: {why}")
    for id, path in found.waiting.items():
        click.echo(f"  waits      {path} (memorist memory inbox show {id})")
    private = found.could_be_shared
    for other, key in found.conflict_copies.items():
        click.echo(
            f"  beside     {other} says otherwise than {key}: bring them together and delete one"
        )
    if private:
        click.echo(
            f"{len(private)} of your own could be shared: "
            f"{', '.join(private[:5])}{' …' if len(private) > 5 else ''}"
        )


@team_group.command("log")
@click.argument("path", default="")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Changes to show."
)
@output.JSON_OPTION
def team_log_command(path: str, limit: int, as_json: bool) -> None:
    """Who changed which of the team's memories and when, newest first, deletions too; of all, or of
    the one at PATH. Asks the remote.

    Example: memorist team log
    """
    key = path.removeprefix(TEAM_PREFIX)
    if path and (problem := find_key_problem(key)):
        raise InputError(f"{output.make_readable(path)} is no name of a team memory: {problem}")
    with _open_sync() as (_, _memory, sync):
        sync.remote.fetch_listing(RemoteState())
        changes = sync.remote.list_revisions(key)
    rows = [
        {
            "path": output.make_one_line(TEAM_PREFIX + each.key),
            "by": output.make_one_line(each.by.name),
            "at": format_utc_timestamp(each.by.at),
            "deleted": each.deleted,
            "version": output.make_one_line(each.version),
        }
        for each in changes[:limit]
    ]
    if as_json:
        output.print_json({"changes": rows})
        return
    for row in rows:
        click.echo(
            f"{str(row['at'])[:16]}  {row['by']}  "
            f"{row['path']}{'  (deleted)' if row['deleted'] else ''}"
        )
    if not rows:
        click.echo("the remote tells of no change")


@team_group.command("pull")
@DELETIONS_OPTION
@click.option(
    "--from-scratch",
    "--anew",
    "from_scratch",
    is_flag=True,
    help="Go by what the remote shows, though it is older than before. Nothing is deleted or "
    "overwritten.",
)
@output.JSON_OPTION
def team_pull_command(deletions: bool, from_scratch: bool, as_json: bool) -> None:
    """Take what others changed. Two changes of one memory are brought together, or kept beside each
    other.

    Example: memorist team pull
    """
    with _open_sync() as (_, _memory, sync):
        _print_report(
            sync.pull(deletions=deletions, from_scratch=from_scratch), sync, as_json=as_json
        )


@team_group.command("push")
@DELETIONS_OPTION
@output.JSON_OPTION
def team_push_command(deletions: bool, as_json: bool) -> None:
    """Take what others changed, then send what was changed here.

    Example: memorist team push
    """
    with _open_sync() as (_, _memory, sync):
        _print_report(sync.push(deletions=deletions), sync, as_json=as_json)


def _print_report(report: TeamSyncReport, sync: TeamSync, *, as_json: bool) -> None:
    if as_json:
        output.print_json(_report_object(report, sync))
        return
    for field, verb in _VERBS.items():
        for key in getattr(report, field):
            click.echo(f"{verb}: {key}")
    _print_conflicts(report)
    for remark in report.remarks:
        click.echo(f"  {remark}")
    if not report.changed:
        click.echo(f"nothing to bring in line with {sync.remote.name}")


def _print_conflicts(report: TeamSyncReport) -> None:
    for key, other in report.conflict_copies:
        click.echo(f"two texts of {key} could not be brought together: yours is kept as {other}")
    for key, why in report.waiting:
        click.echo(output.make_readable(f"waits in the inbox: {key} ({why})"))
    for key, why in report.refused:
        click.echo(output.make_readable(f"memorist: not taken: {key!r}: {why}"), err=True)
    for each in report.staying:
        click.echo(output.make_readable(f"memorist: not sent: {each.key!r}: {each.why}"), err=True)
    if report.deletions:
        click.echo(
            f"memorist: {len(report.deletions)} deletions at once wait; where they are meant, "
            f"say --delete",
            err=True,
        )


_VERBS = {
    "received": "taken",
    "merged": "brought together",
    "dropped": "deleted here",
    "sent": "sent",
    "removed": "deleted there",
}


def _report_object(report: TeamSyncReport, sync: TeamSync) -> dict[str, Any]:
    def pairs(given: tuple[tuple[str, str], ...]) -> dict[str, str]:
        return {output.make_readable(key): output.make_readable(other) for key, other in given}

    return {
        "remote": sync.remote.name,
        "taken": list(report.received),
        **{
            name: list(getattr(report, name))
            for name in ("merged", "dropped", "sent", "removed", "deletions", "remarks")
        },
        "beside": pairs(report.conflict_copies),
        **{name: pairs(getattr(report, name)) for name in ("waiting", "refused")},
        "staying": pairs(tuple((each.key, each.why) for each in report.staying)),
    }


@contextmanager
def _open_store(location: str, most: int = MAX_KEYS) -> Iterator[TeamStore]:
    with open_project_memory() as (engine, _):
        own = location or str(engine.layout.home / "team-server" / "team.sqlite")
    store = open_team_store(
        own if "://" in own else str(Path(own).expanduser().absolute()), most=most
    )
    try:
        yield store
    finally:
        store.close()


@team_group.command("serve")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; beyond this machine a token is needed.",
)
@click.option(
    "--port",
    type=PORT_TYPE,
    default=8642,
    show_default=True,
    help="0 takes a free one.",
)
@click.option(
    "--allow-host",
    multiple=True,
    help="A name that the server answers to, beside this machine's; more than once for several.",
)
@click.option(
    "--most",
    type=click.IntRange(1, MAX_KEYS),
    default=MAX_KEYS,
    show_default=True,
    help="Memories of one team.",
)
@STORE_OPTION
def team_serve_command(
    host: str, port: int, allow_host: tuple[str, ...], most: int, store: str
) -> None:
    """Keep teams' memories for others, over HTTP. TLS is the work of a reverse proxy before it.
    Needs the extra `team`.

    Example: memorist team serve --port 8642
    """
    server = load_extra_module("memorist.team.team_server", "team")
    with _open_store(store, most) as kept:
        limits = server.TeamServerLimits(
            hosts=LOOPBACK_NAMES | {each.lower() for each in allow_host}
        )
        listening = server.bind_server_socket(host, port, kept, limits)
        click.echo(f"memorist team server at {format_server_address(listening)}")
        server.serve_team(kept, listening, limits)


@team_group.command("token")
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
            f"{output.make_readable(space)} is no name of a team: letters, digits, dots, "
            f"dashes and underscores"
        )
    with _open_store(store) as kept:
        if listing:
            for each in kept.list_tokens():
                click.echo(
                    f"{output.make_one_line(each.name)}  "
                    f"{each.space or 'all teams'}{'' if each.writes else ', read only'}"
                )
        elif not revoke:
            click.echo(kept.add_token(name, space=space, writes=not read_only))
        elif dropped := kept.revoke_token(name):
            click.echo(f"{dropped} taken back")
        else:
            raise InputError(
                f"no token has the name {output.make_readable(name)}; see memorist team token "
                f"--list"
            )
