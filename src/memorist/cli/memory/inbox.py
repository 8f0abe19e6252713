"""`memorist memory inbox`."""

from __future__ import annotations

import difflib

import click

from memorist.auto_memory.inbox.run import Proposal
from memorist.cli import show
from memorist.cli.memory.files import JSON
from memorist.cli.memory.opened import opened, told


@click.group("inbox", invoke_without_command=True)
@JSON
@click.pass_context
def inbox_group(context: click.Context, as_json: bool) -> None:
    """Changes that wait for your word: what looked doubtful, and everything under the policy `review`."""
    if context.invoked_subcommand is not None:
        return
    with opened() as (_, memory):
        waiting = memory.inbox.waiting()
    if as_json:
        show.json({"waiting": waiting})
        return
    for each in waiting:
        click.echo(f"{each.id}  {_verb(each)} {each.path} ({each.trust}): {'; '.join(each.reasons)}")
    click.echo("memorist memory inbox show|accept|edit|reject ID" if waiting else "nothing waits")


def _verb(given: Proposal) -> str:
    return "add" if given.before is None else "delete" if given.after is None else "change"


@inbox_group.command("show")
@click.argument("id")
@JSON
def show_proposal(id: str, as_json: bool) -> None:
    """Show a waiting change: why it waits, where it comes from, and what it would do."""
    with opened() as (_, memory):
        given = memory.inbox.find(id)
    if as_json:
        show.json(given)
        return
    click.echo(f"{given.id}: {_verb(given)} {given.path}, {given.trust}")
    for reason in given.reasons:
        click.echo(f"  why it waits: {reason}")
    if given.why.session:
        click.echo(f"  from session {given.why.session}, message {', '.join(given.why.messages) or 'unknown'}")
    if given.why.quote:
        click.echo(f"  words: “{given.why.quote}”")
    before, after = (given.before or "").splitlines(), (given.after or "").splitlines()
    click.echo("\n".join(difflib.unified_diff(before, after, "now", "proposed", lineterm="")))


@inbox_group.command("accept")
@click.argument("ids", nargs=-1, required=True)
def accept_proposal(ids: tuple[str, ...]) -> None:
    """Make waiting changes as they are."""
    with opened() as (_, memory):
        for id in ids:
            told(memory.accept(id), "accepted")


@inbox_group.command("edit")
@click.argument("id")
@click.option("--text", default=None, help="The file's text to write instead. [default: your editor]")
def edit_proposal(id: str, text: str | None) -> None:
    """Change a waiting change in your editor, then make it."""
    with opened() as (_, memory):
        given = memory.inbox.find(id)
        words = text if text is not None else click.edit(given.after or "", extension=".md")
        if words is None:
            click.echo("nothing changed; it waits still")
            return
        told(memory.accept(id, words), "accepted")


@inbox_group.command("reject")
@click.argument("ids", nargs=-1, required=True)
def reject_proposal(ids: tuple[str, ...]) -> None:
    """Throw waiting changes away."""
    with opened() as (_, memory):
        for id in ids:
            click.echo(f"rejected: {memory.reject(id).path}")
