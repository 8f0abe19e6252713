"""`memorist team`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from memorist.auto_memory.changes import Change, Why, headline
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.shared import TEAM, is_shared, not_for_a_team, scope_of
from memorist.auto_memory.topic import encode, moment
from memorist.cli import show
from memorist.cli.memory.opened import opened, told
from memorist.engine.memorist import Memorist
from memorist.errors import InputError, NothingToDo, UsageError
from memorist.safety.doors import LOOPBACK
from memorist.store.files import DiskFiles
from memorist.store.team import TeamStore, open_team_store
from memorist.team.keys import key_problem
from memorist.team.place.run import Place, keep_place, open_remote, read_place
from memorist.team.protocol import SPACE
from memorist.team.remote import MOST_KEYS, Seen
from memorist.team.report import Report
from memorist.team.run import TeamSync
from memorist.team.wire import unshareable

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
DELETIONS = click.option("--delete", "deletions", is_flag=True, help="Carry out deletions also where they are many at once.")
STORE = click.option(
    "--store",
    default="",
    help="The server's file, or postgresql://HOST/NAME. [default: team-server/team.sqlite in the home folder]",
)


@click.group("team")
def team_group() -> None:
    """The memories that a team shares: the folder `team/` of this project's memory, and the remote that keeps it alike for everybody."""


@contextmanager
def _syncing() -> Iterator[tuple[Memorist, AutoMemory, TeamSync]]:
    with opened() as (engine, memory):
        place = read_place(DiskFiles(), memory.where.team, engine.settings.team)
        if place is None:
            raise NothingToDo("this project has no place for its team's memories; choose one: memorist team init git:origin")
        remote = open_remote(memory.where.team, place, Path.cwd(), engine.settings.team, os.environ)
        try:
            yield engine, memory, TeamSync(memory, remote, files=DiskFiles(), settings=engine.settings.team)
        finally:
            remote.close()


@team_group.command("init")
@click.argument("remote")
@click.option("--branch", default="", help="Branch of a Git remote. [default: the setting team.branch]")
@click.option("--folder", default=None, help="Folder on that branch. [default: the setting team.folder]")
@click.option("--space", default="", help="Name of the team on a server. [default: by the address of the project's Git remote]")
def init_command(remote: str, branch: str, folder: str | None, space: str) -> None:
    """Choose where this project's team keeps its memories: https://HOST (a team server), or git:URL, git:origin for the project's own remote."""
    with opened() as (engine, memory):
        place = Place(remote=remote, branch=branch, folder=folder, space=space)
        found = open_remote(memory.where.team, place, Path.cwd(), engine.settings.team, os.environ)
        found.close()
        keep_place(DiskFiles(), memory.where.team, place)
        click.echo(f"the team's memories of this project are kept at {found.name}")
        click.echo("bring them here with `memorist team pull`; share one with `memorist team share PATH`")
        if not engine.settings.team.enabled:
            click.echo("sessions keep them alike by themselves with the setting team.enabled = true")


@team_group.command("share")
@click.argument("paths", nargs=-1, required=True)
@click.option("--convention", is_flag=True, help="A memory of kind feedback is a convention of the project, not a wish of yours.")
def share_command(paths: tuple[str, ...], convention: bool) -> None:
    """Move memories of yours to the team's folder. They are sent with the next push."""
    with opened() as (engine, memory):
        changes = []
        for path in paths:
            topic = memory.folder.read(path)
            data = encode(topic.text())
            problem = _unsharable(path, topic.kind, convention=convention) or unshareable(data, limit=engine.settings.team.entry_bytes)
            if problem:
                raise InputError(f"{path} is not shared: {problem}")
            changes += [Change(path=TEAM + path, before=None, after=data), Change(path=path, before=data, after=None)]
        told(memory.write(changes, Why(actor="user", what=headline("share", ", ".join(paths)))), "shared")


def _unsharable(path: str, kind: Kind | None, *, convention: bool) -> str:
    if is_shared(path):
        return "it is the team's already"
    if kind is None:
        return "it does not say what kind it is; add a `type` to its header with `memorist memory edit`"
    if scope_of(kind) == "either" and not convention:
        return "feedback is yours alone; say --convention where it holds for everybody in the project"
    return not_for_a_team(kind)


@team_group.command("status")
@JSON
def status_command(as_json: bool) -> None:
    """What would be sent, what stays here and why, what waits, and what could be shared. Asks no remote."""
    with _syncing() as (_, memory, sync):
        state, steps = sync.state(), sync.pending()
        staying = sync.staying()
        waiting = [each for each in memory.inbox.waiting() if is_shared(each.path)]
        private = [head.path for head in memory.heads() if not is_shared(head.path) and scope_of(head.kind) == "team"]
        name = sync.remote.name
    found: dict[str, Any] = {
        "remote": name,
        "version": state.seen.version,
        "memories": len(state.keys),
        "to_send": [*steps.send],
        "to_delete": [*steps.remove],
        "staying": {show.readable(each.key): each.why for each in staying},
        "waiting": {each.id: show.readable(each.path) for each in waiting},
        "beside": state.beside,
        "could_be_shared": private,
    }
    if as_json:
        show.json(found)
        return
    click.echo(f"{name}: {len(state.keys)} memories" + ("" if state.seen.version else ", never synchronised"))
    for key in steps.send:
        click.echo(f"  to send    {key}")
    for key in steps.remove:
        click.echo(f"  to delete  {key}")
    for each in staying:
        click.echo(show.readable(f"  stays      {each.key}: {each.why}"))
    for proposal in waiting:
        click.echo(show.readable(f"  waits      {proposal.path} (memorist memory inbox show {proposal.id})"))
    for other, key in state.beside.items():
        click.echo(f"  beside     {other} says otherwise than {key}: bring them together and delete one")
    if private:
        click.echo(f"{len(private)} of your own could be shared: {', '.join(private[:5])}{' …' if len(private) > 5 else ''}")


@team_group.command("log")
@click.argument("path", default="")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Changes to show.")
@JSON
def log_command(path: str, limit: int, as_json: bool) -> None:
    """Who changed which of the team's memories and when, newest first, deletions too; of all, or of the one at PATH. Asks the remote."""
    key = path.removeprefix(TEAM)
    if path and (problem := key_problem(key)):
        raise InputError(f"{show.readable(path)} is no name of a team memory: {problem}")
    with _syncing() as (_, _memory, sync):
        sync.remote.look(Seen())
        changes = sync.remote.log(key)
    rows = [
        {
            "path": show.visible(TEAM + each.key),
            "by": show.visible(each.by.name),
            "at": moment(each.by.at),
            "deleted": each.deleted,
            "version": show.visible(each.version),
        }
        for each in changes[:limit]
    ]
    if as_json:
        show.json({"changes": rows})
        return
    for row in rows:
        click.echo(f"{str(row['at'])[:16]}  {row['by']}  {row['path']}{'  (deleted)' if row['deleted'] else ''}")
    if not rows:
        click.echo("the remote tells of no change")


@team_group.command("pull")
@DELETIONS
@click.option(
    "--anew", is_flag=True, help="Go by what the remote shows, though it is older than before. Nothing is deleted or overwritten."
)
@JSON
def pull_command(deletions: bool, anew: bool, as_json: bool) -> None:
    """Take what others changed. Two changes of one memory are brought together, or kept beside each other."""
    with _syncing() as (_, _memory, sync):
        _told(sync.pull(deletions=deletions, anew=anew), sync, as_json=as_json)


@team_group.command("push")
@DELETIONS
@JSON
def push_command(deletions: bool, as_json: bool) -> None:
    """Take what others changed, then send what was changed here."""
    with _syncing() as (_, _memory, sync):
        _told(sync.push(deletions=deletions), sync, as_json=as_json)


def _told(report: Report, sync: TeamSync, *, as_json: bool) -> None:
    if as_json:
        show.json(_object(report, sync))
        return
    for verb in ("taken", "merged", "dropped", "sent", "removed"):
        for key in getattr(report, verb):
            click.echo(f"{_VERBS[verb]}: {key}")
    _told_apart(report)
    for remark in report.remarks:
        click.echo(f"  {remark}")
    if not report.changed:
        click.echo(f"nothing to bring in line with {sync.remote.name}")


def _told_apart(report: Report) -> None:
    for key, other in report.beside:
        click.echo(f"two texts of {key} could not be brought together: yours is kept as {other}")
    for key, why in report.waiting:
        click.echo(show.readable(f"waits in the inbox: {key} ({why})"))
    for key, why in report.refused:
        click.echo(show.readable(f"memorist: not taken: {key!r}: {why}"), err=True)
    for each in report.staying:
        click.echo(show.readable(f"memorist: not sent: {each.key!r}: {each.why}"), err=True)
    if report.deletions:
        click.echo(f"memorist: {len(report.deletions)} deletions at once wait; where they are meant, say --delete", err=True)


_VERBS = {"taken": "taken", "merged": "brought together", "dropped": "deleted here", "sent": "sent", "removed": "deleted there"}


def _object(report: Report, sync: TeamSync) -> dict[str, Any]:
    def pairs(given: tuple[tuple[str, str], ...]) -> dict[str, str]:
        return {show.readable(key): show.readable(other) for key, other in given}

    return {
        "remote": sync.remote.name,
        **{name: list(getattr(report, name)) for name in ("taken", "merged", "dropped", "sent", "removed", "deletions", "remarks")},
        **{name: pairs(getattr(report, name)) for name in ("beside", "waiting", "refused")},
        "staying": pairs(tuple((each.key, each.why) for each in report.staying)),
    }


@contextmanager
def _store(place: str, most: int = MOST_KEYS) -> Iterator[TeamStore]:
    with opened() as (engine, _):
        own = place or str(engine.layout.home / "team-server" / "team.sqlite")
    store = open_team_store(own if "://" in own else str(Path(own).expanduser().absolute()), most=most)
    try:
        yield store
    finally:
        store.close()


@team_group.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; beyond this machine a token is needed.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8642, show_default=True, help="0 takes a free one.")
@click.option("--allow-host", multiple=True, help="A name that the server answers to, beside this machine's; more than once for several.")
@click.option("--most", type=click.IntRange(1, MOST_KEYS), default=MOST_KEYS, show_default=True, help="Memories of one team.")
@STORE
def serve_command(host: str, port: int, allow_host: tuple[str, ...], most: int, store: str) -> None:
    """Keep teams' memories for others, over HTTP. TLS is the work of a reverse proxy before it. Needs the extra `team`."""
    try:
        server = importlib.import_module("memorist.team.server.run")
    except ModuleNotFoundError as error:
        raise UsageError("a team server needs the extra `team`: pip install 'memorist[team]'") from error
    with _store(store, most) as kept:
        limits = server.Limits(hosts=LOOPBACK | {each.lower() for each in allow_host})
        listening = server.listen(host, port, kept, limits)
        name, number = listening.getsockname()[:2]
        click.echo(f"memorist team server at http://{f'[{name}]' if ':' in name else name}:{number}")
        server.serve(kept, listening, limits)


@team_group.command("token")
@click.argument("name", default="")
@click.option("--space", default="", help="Only for the team of this name. [default: all teams of the server]")
@click.option("--read-only", is_flag=True, help="It may not write.")
@click.option("--revoke", is_flag=True, help="Take back the tokens of that name instead.")
@click.option("--list", "listing", is_flag=True, help="Show who has tokens, and what for, instead. The tokens themselves are not known.")
@STORE
def token_command(name: str, space: str, read_only: bool, revoke: bool, listing: bool, store: str) -> None:
    """Make a token for NAME, for the server on this machine. It is shown once; only its hash is kept."""
    if not listing and (not name.strip() or not name.isprintable()):
        raise UsageError("say whom the token is for: memorist team token NAME")
    if space and not SPACE.match(space):
        raise UsageError(f"{show.readable(space)} is no name of a team: letters, digits, dots, dashes and underscores")
    with _store(store) as kept:
        if listing:
            for each in kept.tokens():
                click.echo(f"{show.visible(each.name)}  {each.space or 'all teams'}{'' if each.writes else ', read only'}")
        elif not revoke:
            click.echo(kept.add_token(name, space=space, writes=not read_only))
        elif dropped := kept.drop_token(name):
            click.echo(f"{dropped} taken back")
        else:
            raise InputError(f"no token has the name {show.readable(name)}; see memorist team token --list")
