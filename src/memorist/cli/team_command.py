"""`memorist team`: the memories of this project that a team shares."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_name_lookup import find_named_memory
from memorist.auto_memory.team_memory import TEAM_PREFIX
from memorist.cli import output
from memorist.cli.command_environment import read_environment
from memorist.cli.command_group import LazyCommandGroup
from memorist.cli.memory.project_memory_access import (
    ask_to_accept_unreviewed_memory,
    open_project_memory,
    print_write_outcome,
)
from memorist.cli.team_server_commands import team_serve_command, team_token_command
from memorist.core.plural import pluralize
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_utc_timestamp
from memorist.errors import InputError, NothingToDo
from memorist.store.disk_files import DiskFiles
from memorist.team.remote_location import (
    RemoteLocation,
    open_remote,
    prefix_git_only_address,
    resolve_remote_location,
    save_remote_location,
)
from memorist.team.shared_names import find_shared_name_problem
from memorist.team.sync_report import TeamSyncReport
from memorist.team.team_remote import LastSeenRemoteState
from memorist.team.team_sharing import move_memories_to_team
from memorist.team.team_status import TeamStatus, read_team_status
from memorist.team.team_sync import TeamSync

DELETIONS_OPTION = click.option(
    "--delete",
    "deletions",
    is_flag=True,
    help="Carry out deletions also where they are many at once.",
)


@click.group("team", cls=LazyCommandGroup)
def team_group() -> None:
    """The memories that a team shares: the folder `team/` of this project's memory, and the remote
    that keeps it alike for everybody.
    """


@contextmanager
def _open_sync() -> Iterator[tuple[ProjectMemoryOpener, AutoMemory, TeamSync]]:
    with open_project_memory() as (home, memory):
        location = resolve_remote_location(
            DiskFiles(), memory.layout.team_layout, home.settings.team
        )
        if location is None:
            raise NothingToDo(
                "this project has no location for its team's memories; choose one: memorist team "
                "init git:origin"
            )
        remote = open_remote(
            memory.layout.team_layout, location, Path.cwd(), home.settings.team, read_environment()
        )
        try:
            yield (
                home,
                memory,
                TeamSync(memory, remote, files=DiskFiles(), settings=home.settings.team),
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
    with open_project_memory() as (home, memory):
        location = RemoteLocation(
            remote=prefix_git_only_address(remote), branch=branch, folder=folder, space=space
        )
        found = open_remote(
            memory.layout.team_layout, location, Path.cwd(), home.settings.team, read_environment()
        )
        found.close()
        save_remote_location(DiskFiles(), memory.layout.team_layout, location)
        click.echo(f"the team's memories of this project are kept at {found.name}")
        click.echo(
            "bring them here with `memorist team pull`; share one with `memorist team share PATH`"
        )
        if not home.settings.team.enabled:
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
@output.YES_OPTION
def team_share_command(paths: tuple[str, ...], convention: bool, yes: bool) -> None:
    """Move memories of yours to the team's folder. They are sent with the next push. One that you
    neither said nor accepted is shown, and you are asked first.

    Example: memorist team share release.md
    """
    with open_project_memory() as (home, memory):
        limit = home.settings.team.entry_bytes
        paths = tuple(_find_own_memory(memory, each) for each in paths)
        for path in paths:
            ask_to_accept_unreviewed_memory(home, memory, path, f"Share {path}?", yes=yes)
        print_write_outcome(
            move_memories_to_team(memory, paths, convention=convention, limit=limit), "shared"
        )


def _find_own_memory(memory: AutoMemory, name: str) -> str:
    """The path of this project's memory of that name. Raises InputError."""
    owner, path = find_named_memory(memory, name)
    if owner is not memory:
        raise InputError(
            f"{path} holds everywhere; first: memorist memory move {shlex.quote(path)} --here"
        )
    return path


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
        f"{found.remote}: {pluralize(found.memories, 'memory', 'memories')}"
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
    key += "" if not key or key.endswith(".md") else ".md"
    if path and (problem := find_shared_name_problem(key)):
        raise InputError(f"{replace_surrogates(path)} is no name of a team memory: {problem}")
    with _open_sync() as (_, _memory, sync):
        sync.remote.fetch_listing(LastSeenRemoteState())
        changes = sync.remote.list_revisions(key)
    rows = [
        {
            "path": output.make_terminal_safe_line(TEAM_PREFIX + each.key),
            "by": output.make_terminal_safe_line(each.by.name),
            "at": format_utc_timestamp(each.by.at),
            "deleted": each.deleted,
            "version": output.make_terminal_safe_line(each.version),
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
        _print_report(sync.pull_and_push(deletions=deletions), sync, as_json=as_json)


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
        click.echo(replace_surrogates(f"waits in the inbox: {key} ({why})"))
    for key, why in report.refused:
        click.echo(replace_surrogates(f"memorist: not taken: {key!r}: {why}"), err=True)
    for each in report.staying:
        click.echo(replace_surrogates(f"memorist: not sent: {each.key!r}: {each.why}"), err=True)
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
    return {
        "remote": sync.remote.name,
        "taken": report.received,
        **{
            name: getattr(report, name)
            for name in ("merged", "dropped", "sent", "removed", "deletions", "remarks")
        },
        "beside": dict(report.conflict_copies),
        **{name: dict(getattr(report, name)) for name in ("waiting", "refused")},
        "staying": {each.key: each.why for each in report.staying},
    }


team_group.add_command(team_serve_command)
team_group.add_command(team_token_command)
