"""`memorist memory list|show|search|add|edit|forget|check|rebind`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from memorist.auto_memory.changes import Why, headline
from memorist.auto_memory.check import check as check_folder
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.manifest import newest
from memorist.auto_memory.place.run import orphans, rebind
from memorist.auto_memory.shared import TEAM, is_shared
from memorist.auto_memory.topic import Topic, moment
from memorist.cli import show
from memorist.cli.memory.opened import opened, sure, told
from memorist.errors import InputError, NothingToDo
from memorist.recall.search.run import MemorySearch
from memorist.store.files import DiskFiles
from memorist.store.uses import forget_uses
from memorist.team.common.authors.run import Authors

KINDS = click.Choice([kind.value for kind in Kind])
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
SHOWN_AUTHORS = 4
"""Earlier changes of a team memory that are listed with its text. Our choice."""
YES = click.option("--yes", is_flag=True, help="Do it without asking.")


@click.command("list")
@JSON
def list_command(as_json: bool) -> None:
    """List the memories of this project, newest first."""
    with opened() as (_, memory):
        heads = newest(memory.heads())
        waiting = len(memory.inbox.waiting())
        now = time.time()
    rows: list[dict[str, Any]] = [
        {
            "path": head.path,
            "kind": head.kind,
            "name": head.name,
            "description": head.description,
            "age_days": head.age_days(now),
            "trust": head.trust,
        }
        for head in heads
    ]
    if as_json:
        show.json({"memories": rows})
        return
    for row in rows:
        click.echo(f"{row['path']}  [{row['kind'] or '-'}, {row['trust']}, {row['age_days']} d]  {row['description']}")
    if not rows:
        click.echo(f"no memories yet in {memory.where.folder}")
    if waiting:
        click.echo(f"{waiting} wait in the inbox: memorist memory inbox")


@click.command("show")
@click.argument("path")
@JSON
def show_command(path: str, as_json: bool) -> None:
    """Show one memory as it stands in its file."""
    with opened() as (_, memory):
        topic, doubts = memory.shown(path)
        by = Authors(memory.where.team, DiskFiles()).known().get(path.removeprefix(TEAM), []) if is_shared(path) else []
    authors = [{"name": show.visible(each.name), "at": moment(each.at)} for each in by]
    if as_json:
        show.json(
            {
                "path": topic.path,
                "kind": topic.kind,
                "name": show.readable(topic.name),
                "text": show.readable(topic.text()),
                "withheld": list(doubts),
                "by": authors[0] if authors else None,
                "authors": authors,
            }
        )
        return
    click.echo(show.readable(topic.text()).rstrip("\n"))
    if authors:
        last, *before = (f"{each['name']}, {each['at'][:16]} UTC" for each in authors)
        click.echo(f"memorist: last changed by {last}", err=True)
        for each in before[:SHOWN_AUTHORS]:
            click.echo(f"memorist:      before by {each}", err=True)
        if len(before) > SHOWN_AUTHORS:
            click.echo(f"memorist: and more: memorist team log {path}", err=True)
    for doubt in doubts:
        click.echo(f"memorist: it is not shown to a model: {doubt}", err=True)


@click.command("search")
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Memories to show.")
@JSON
def search_command(query: str, limit: int, as_json: bool) -> None:
    """Search the memories of this project by words and, with the extra `embed`, by meaning."""
    with opened() as (engine, memory):
        search = MemorySearch(memory.folder, engine.settings.recall, wait=True)
        found = search.search(query, limit)
        search.close()
        heads = {head.path: head for head in memory.heads()}
    if as_json:
        show.json({"results": [{"path": each.path, "score": each.score, "words": list(each.words)} for each in found]})
        return
    for each in found:
        click.echo(f"{each.score:6.2f}  {each.path}  {heads[each.path].description}")
    if not found:
        click.echo("nothing found")


@click.command("add")
@click.argument("text")
@click.option("--kind", type=KINDS, required=True, help="What the memory is about.")
@click.option("--name", default="", help="Short name, from which the file is named. [default: from the text]")
@click.option("--description", default="", help="One line by which it is chosen later. [default: the start of the text]")
def add_command(text: str, kind: str, name: str, description: str) -> None:
    """Remember TEXT for this project; `-` reads it from standard input."""
    words = (sys.stdin.read() if text == "-" else text).strip()
    if not words:
        raise InputError("there is no text to remember")
    first = " ".join(words.split())
    with opened() as (_, memory):
        told(memory.add(words, kind=Kind(kind), name=name or first[:60], description=description or first[:150]), "remembered")


@click.command("edit")
@click.argument("path")
@click.option("--text", default=None, help="The file's new text, header included; `-` reads it from standard input. [default: your editor]")
def edit_command(path: str, text: str | None) -> None:
    """Change a memory in your editor ($EDITOR). What you save counts as reviewed by you, also where you saved it as it was."""
    with opened() as (_, memory):
        before = memory.folder.read(path).text()
        given = sys.stdin.read() if text == "-" else text if text is not None else click.edit(before, extension=".md")
        withheld = memory.shown(path)[1]
        if given is None or (given == before and not withheld):
            click.echo("nothing changed")
            return
        written = memory.edit(path, given)
        if given == before:
            click.echo(f"reviewed: {path}; it is shown to models from now on")
        else:
            told(written, "changed")


@click.command("forget")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--hard", is_flag=True, help="Leave no copy: not in the history, the inbox, the ledger, nor in what is derived. Cannot be undone."
)
@YES
def forget_command(paths: tuple[str, ...], hard: bool, yes: bool) -> None:
    """Take memories out. They stay in the history and `undo` brings them back, unless you say --hard."""
    with opened() as (engine, memory):
        named = ", ".join(paths)
        if hard:
            sure(f"Forget {named} for good, with every copy in the history?", yes=yes)
            sessions = _sessions(memory.folder.read(path) for path in paths if path in {head.path for head in memory.heads()})
            changes = memory.forget_for_good(paths)
            forget_uses(engine.database(), str(memory.where.folder), paths)
            click.echo(f"forgotten for good: {named} (taken out of {changes} changes of the history)")
            if sessions:
                click.echo(f"  the conversation itself is still in the transcript of: {', '.join(sessions)}")
            return
        told(memory.forget(paths, Why(actor="user", what=headline("forget", named))), "forgotten")


def _sessions(topics: Iterable[Topic]) -> list[str]:
    return sorted({topic.provenance.session for topic in topics if topic.provenance.session})


@click.command("check")
@JSON
def check_command(as_json: bool) -> None:
    """Look for what is wrong: broken headers, dead pointers, repeats, secrets, planted orders, unread files. Exit status 1 when there is any."""
    with opened() as (engine, memory):
        topics: list[Topic] = []
        for head in memory.heads():
            with contextlib.suppress(InputError):
                topics.append(memory.folder.read(head.path))
        problems = check_folder(
            topics, memory.folder.present(), index=memory.folder.index_text(), built=memory.folder.index(), reviewed=memory.reviewed()
        )
        moved = orphans(DiskFiles(), engine.layout, str(Path.cwd())) if not topics else []
    if as_json:
        show.json(
            {"folder": str(memory.where.folder), "memories": len(topics), "problems": problems, "moved": [each.root for each in moved]}
        )
    else:
        for problem in problems:
            click.echo(f"{problem.path or memory.where.folder}: {problem.what}\n  {problem.cure}")
        for each in moved:
            click.echo(f"the memory of {each.root} may belong here; take it over with: memorist memory rebind {each.root}")
        if not problems:
            click.echo(f"{len(topics)} memories in {memory.where.folder}: nothing is wrong")
    if problems:
        sys.exit(1)


@click.command("rebind")
@click.argument("old")
@YES
def rebind_command(old: str, yes: bool) -> None:
    """Give the memory of a repository that was at OLD to the one in this folder, after it was moved or renamed."""
    with opened() as (engine, memory):
        if memory.where.chosen:
            raise NothingToDo("the memory folder is set by auto_memory.directory, and does not depend on where the repository is")
        sure(f"Take over the memory of {old} for {Path.cwd()}?", yes=yes)
        target = rebind(DiskFiles(), engine.layout, old, str(Path.cwd()))
    click.echo(f"the memory is now at {target.folder}")
