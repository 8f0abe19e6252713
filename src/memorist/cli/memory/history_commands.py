"""`memorist memory log|diff|undo|blame`."""

from __future__ import annotations

import click

from memorist.auto_memory.memory_blame import blame_memory
from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.auto_memory.memory_name_lookup import find_named_memory
from memorist.cli import output
from memorist.cli.memory.project_memory_access import confirm_or_abort, open_project_memory
from memorist.core.utc_time import format_local_minute
from memorist.errors import InputError


def _change_object(each: RecordedChange) -> dict[str, object]:
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
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Changes to show."
)
@output.JSON_OPTION
def memory_log_command(path: str, limit: int, as_json: bool) -> None:
    """Show who changed what in this project's memory, and why, newest first; of one memory when
    PATH is given.

    Example: memorist memory log
    """
    with open_project_memory() as (_, memory):
        owner, path = find_named_memory(memory, path)
        log = owner.folder.history.list_changes(path, limit)
    if as_json:
        output.print_json({"changes": [_change_object(each) for each in log]})
        return
    for each in log:
        click.echo(
            f"{each.id[:8]}  {format_local_minute(each.at)}  {each.why.actor:<10}  {each.why.what}"
        )
    if not log:
        click.echo("no change yet")


@click.command("diff")
@click.argument("change", default="")
@output.JSON_OPTION
def memory_diff_command(change: str, as_json: bool) -> None:
    """Show what a change did, as a unified diff; the newest one when CHANGE is left out. CHANGE is
    the start of an id of `memory log`.

    Example: memorist memory diff
    """
    with open_project_memory() as (_, memory):
        memory.headers()
        newest = next(memory.folder.history.iter_changes(), None)
        owner, found = memory.find_change(change) if change else (memory, newest)
        if found is None:
            raise InputError("there is no change yet")
        text = owner.folder.history.render_change_diff(found.id)
    if as_json:
        output.print_json({"change": _change_object(found), "diff": text})
        return
    click.echo(text.rstrip("\n"))


@click.command("undo")
@click.argument("change", default="")
@output.YES_OPTION
def memory_undo_command(change: str, yes: bool) -> None:
    """Take back the newest change, or the one whose id begins with CHANGE. Twice takes back the two
    newest.

    Example: memorist memory undo --yes
    """
    with open_project_memory() as (_, memory):
        found = memory.undo(change, dry_run=True)
        paths = ", ".join(path for path in found.paths if path != INDEX_NAME)
        confirm_or_abort(
            f"Take back “{found.why.what}” of {format_local_minute(found.at)} ({paths})?", yes=yes
        )
        memory.undo(found.id)
    click.echo(f"taken back: {found.why.what} ({paths})")
    if found.why.actor == "inbox":
        click.echo("what you had accepted waits again: memorist memory inbox")


@click.command("blame")
@click.argument("path")
@output.JSON_OPTION
def memory_blame_command(path: str, as_json: bool) -> None:
    """Show where each line of a memory comes from: the change, who made it, and the session,
    message and words that led to it.

    Example: memorist memory blame use-pnpm.md
    """
    with open_project_memory() as (_, memory):
        owner, path = find_named_memory(memory, path)
        log, lines = blame_memory(owner.folder, path)
    if as_json:
        output.print_json(
            {"path": path, "changes": [_change_object(each) for each in log], "lines": lines}
        )
        return
    actors = {each.id: each.why.actor for each in log}
    for line in lines:
        click.echo(f"{line.change[:8]} {actors[line.change]:<10} | {line.text}")
    click.echo("")
    for each in log:
        click.echo(
            f"{each.id[:8]}  {format_local_minute(each.at)}  {each.why.actor}: {each.why.what}"
        )
        if each.why.session:
            click.echo(
                f"          session {each.why.session}, message "
                f"{', '.join(each.why.messages) or 'unknown'}"
            )
        if each.why.quote:
            click.echo(f"          words: “{each.why.quote}”")
