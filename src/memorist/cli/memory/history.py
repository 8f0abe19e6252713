"""`memorist memory log|diff|undo|blame|why`."""

from __future__ import annotations

import click

from memorist.auto_memory.blame import blame
from memorist.auto_memory.history.run import Recorded
from memorist.auto_memory.manifest import INDEX_NAME
from memorist.auto_memory.topic import moment
from memorist.cli import show
from memorist.cli.memory.files import JSON, YES
from memorist.cli.memory.opened import opened, sure
from memorist.errors import InputError
from memorist.store.uses import uses_of


def _when(at: float) -> str:
    return moment(at)[:16].replace("T", " ") or "(no date)"


def _row(each: Recorded) -> dict[str, object]:
    return {
        "id": each.id,
        "at": each.at,
        "actor": each.why.actor,
        "what": each.why.what,
        "session": each.why.session,
        "messages": list(each.why.messages),
        "quote": each.why.quote,
        "undoes": each.undoes,
        "paths": [path for path in each.paths if path != INDEX_NAME],
    }


@click.command("log")
@click.argument("path", default="")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Changes to show.")
@JSON
def log_command(path: str, limit: int, as_json: bool) -> None:
    """Show who changed what in this project's memory, and why, newest first; of one memory when PATH is given."""
    with opened() as (_, memory):
        memory.heads()
        log = memory.folder.history.log(path, limit)
    if as_json:
        show.json({"changes": [_row(each) for each in log]})
        return
    for each in log:
        click.echo(f"{each.id[:8]}  {_when(each.at)}  {each.why.actor:<10}  {each.why.what}")
    if not log:
        click.echo("no change yet")


@click.command("diff")
@click.argument("change", default="")
@JSON
def diff_command(change: str, as_json: bool) -> None:
    """Show what a change did, as a unified diff; the newest one when CHANGE is left out. CHANGE is the start of an id of `memory log`."""
    with opened() as (_, memory):
        memory.heads()
        history = memory.folder.history
        found = history.change(change) if change else next(history.each(), None)
        if found is None:
            raise InputError("there is no change yet")
        text = history.diff(found.id)
    if as_json:
        show.json({"change": _row(found), "diff": text})
        return
    click.echo(text.rstrip("\n"))


@click.command("undo")
@click.argument("change", default="")
@YES
def undo_command(change: str, yes: bool) -> None:
    """Take back the newest change, or the one whose id begins with CHANGE. Twice takes back the two newest."""
    with opened() as (_, memory):
        found = memory.undo(change, dry_run=True)
        paths = ", ".join(path for path in found.paths if path != INDEX_NAME)
        sure(f"Take back “{found.why.what}” of {_when(found.at)} ({paths})?", yes=yes)
        memory.undo(found.id)
    click.echo(f"taken back: {found.why.what} ({paths})")


@click.command("blame")
@click.argument("path")
@JSON
def blame_command(path: str, as_json: bool) -> None:
    """Show where each line of a memory comes from: the change, who made it, and the session, message and words that led to it."""
    with opened() as (_, memory):
        memory.heads()
        history = memory.folder.history
        log = list(reversed(history.log(path)))
        if not log:
            raise InputError(f"the history knows no memory {path}; `memorist memory list` shows all")
        data = [(each.id, history.data(path, each.id) or b"") for each in log]
    lines = blame([(id, show.readable(text.decode("utf-8", "surrogateescape"))) for id, text in data])
    if as_json:
        show.json(
            {"path": path, "changes": [_row(each) for each in log], "lines": [{"text": line.text, "change": line.change} for line in lines]}
        )
        return
    actors = {each.id: each.why.actor for each in log}
    for line in lines:
        click.echo(f"{line.change[:8]} {actors[line.change]:<10} | {line.text}")
    click.echo("")
    for each in log:
        click.echo(f"{each.id[:8]}  {_when(each.at)}  {each.why.actor}: {each.why.what}")
        if each.why.session:
            click.echo(f"          session {each.why.session}, message {', '.join(each.why.messages) or 'unknown'}")
        if each.why.quote:
            click.echo(f"          words: “{each.why.quote}”")


@click.command("why")
@click.argument("path")
@JSON
def why_command(path: str, as_json: bool) -> None:
    """Show when a memory was shown to a model, and why; when it was opened or cited; and when it was withheld."""
    with opened() as (engine, memory):
        uses = uses_of(engine.database(), str(memory.where.folder), path)
    if as_json:
        show.json({"path": path, "uses": uses})
        return
    for use in uses:
        why = f"  {use.why}" if use.why else ""
        click.echo(f"{_when(use.at)}  {use.what:<8}  session {use.session}{why}")
    if not uses:
        click.echo(f"{path} was never shown")
