"""`memorist memory list|show|add|move|edit|mute`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from memorist.auto_memory.anchors import read_memory_anchors, render_anchor_changes
from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.git_objects import compute_memory_version
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind
from memorist.auto_memory.memory_location import list_projects_with_memory
from memorist.auto_memory.memory_manifest import MemoryHeader, sort_newest_first
from memorist.auto_memory.memory_move import change_memory_scope
from memorist.auto_memory.memory_name_lookup import find_named_memory
from memorist.auto_memory.moved_projects import describe_memory_found_elsewhere
from memorist.auto_memory.removed_memories import RemovedMemory, find_removed_memory_by_name
from memorist.auto_memory.team_memory import TEAM_PREFIX, is_team_path
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.cli import output
from memorist.cli.agent_shell import find_author, require_person
from memorist.cli.command_group import words_argument
from memorist.cli.memory.client_counterparts import (
    ClientFileComparison,
    compare_memories_with_client_files,
)
from memorist.cli.memory.project_memory_access import (
    KIND_CHOICE,
    ask_to_accept_unreviewed_memory,
    check_encoding,
    confirm_or_abort,
    edit_text,
    open_project_memory,
    print_write_outcome,
    read_given_text,
)
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_local_day, format_utc_timestamp
from memorist.errors import NothingToDo
from memorist.store.disk_files import DiskFiles
from memorist.team.team_remote import TeamMemoryAuthorsFile

MAX_EARLIER_TEAM_CHANGES = 4
"""Earlier changes of a team memory that are listed with its text. Our choice."""


@click.command("list")
@click.option("--all", "all_projects", is_flag=True, help="Of every project of this home.")
@output.JSON_OPTION
def memory_list_command(all_projects: bool, as_json: bool) -> None:
    """List the memories of this project, newest first, then those that hold in every project of
    yours (`everywhere/`).

    Example: memorist memory list --all --json > memories.json
    """
    if all_projects:
        _list_every_project(as_json=as_json)
        return
    with open_project_memory() as (home, memory):
        heads = [("", head) for head in sort_newest_first(memory.headers())]
        elsewhere = compare_memories_with_client_files(home.settings, memory)
        if memory.everywhere is not None:
            mine = sort_newest_first(memory.everywhere.headers())
            heads += [(EVERYWHERE_PREFIX, head) for head in mine]
            found = compare_memories_with_client_files(home.settings, memory.everywhere)
            elsewhere |= {EVERYWHERE_PREFIX + path: each for path, each in found.items()}
        waiting = len(memory.list_proposals())
        is_new = not memory.headers()
        links = memory.folder.list_links()
        moved = (
            describe_memory_found_elsewhere(DiskFiles(), home.layout, str(Path.cwd()))
            if is_new
            else ()
        )
        now = time.time()
    rows: list[dict[str, Any]] = [
        _describe_head(prefix, head, now)
        | {
            "also_in": elsewhere.get(prefix + head.path, ClientFileComparison()).also_in,
            "conflicts": elsewhere.get(prefix + head.path, ClientFileComparison()).conflicts,
        }
        for prefix, head in heads
    ]
    if as_json:
        output.print_json({"memories": rows, "links": links})
        return
    for row in rows:
        click.echo(_render_row(row))
        for remark in elsewhere.get(row["path"], ClientFileComparison()).remarks:
            click.echo(f"  {remark}")
    if not rows:
        click.echo(f"no memories yet in {memory.layout.folder}")
    for each in moved:
        click.echo(each)
    if links:
        shown = output.make_terminal_safe_line(", ".join(links))
        click.echo(
            f"not read, since links are not followed: {shown}; put the files themselves there"
        )
    if waiting:
        click.echo(f"{waiting} wait in the inbox: memorist memory inbox")


def _describe_head(prefix: str, head: MemoryHeader, now: float) -> dict[str, Any]:
    return {
        "path": prefix + head.path,
        "kind": head.kind,
        "name": head.name,
        "description": head.description,
        "age_days": head.age_days(now),
        "trust": head.trust,
        "status": head.status,
    }


def _render_row(row: Mapping[str, Any]) -> str:
    marks = [row["kind"] or "-", row["trust"], f"{row['age_days']} d"]
    marks += ["muted"] if row["status"] == "muted" else []
    description = output.format_description(row["description"])
    return f"{row['path']}  [{', '.join(marks)}]  {description}"


def _list_every_project(*, as_json: bool) -> None:
    """The memories of all projects, then those that hold in every one, as JSON with each file's
    text: all that is kept of a user in memories.
    """
    now = time.time()
    rows: list[dict[str, Any]] = []
    with open_project_memory() as (home, here):
        projects = list_projects_with_memory(DiskFiles(), home.layout)
        kept = [(each.root, "", home.memory(each.root)) for each in projects]
        if here.everywhere is not None:
            kept.append(("", EVERYWHERE_PREFIX, here.everywhere))
        for root, prefix, memory in kept:
            for head in sort_newest_first(memory.headers()):
                text = memory.read_memory_with_suspicions(head.path)[0].text()
                rows.append({"project": root} | _describe_head(prefix, head, now) | {"text": text})
    if as_json:
        output.print_json({"memories": rows})
        return
    for root, _, _ in kept:
        found = [row for row in rows if row["project"] == root]
        if found and root:
            click.echo(output.make_terminal_safe_line(root))
        for row in found:
            click.echo(f"  {_render_row(row)}" if root else _render_row(row))
    if not rows:
        click.echo("no memories yet in any project")


@click.command("show")
@click.argument("path")
@output.JSON_OPTION
def memory_show_command(path: str, as_json: bool) -> None:
    """Show one memory as it stands in its file, by its path or the name that any list prints.

    A part of the name is enough where one memory alone has it, here as in the other commands.

    Example: memorist memory show use-pnpm
    """
    with open_project_memory() as (_, memory):
        owner, path = find_named_memory(memory, path)
        former = find_removed_memory_by_name(owner, path)
        topic, doubts = (
            (former.topic, ()) if former is not None else owner.read_memory_with_suspicions(path)
        )
        remarks = [
            *describe_replaced_memories(topic, former, memory.get_shown_path(owner, "")),
            *explain_adopting_externally_written_memory(owner, path),
        ]
        changes = owner.project_files.compare(read_memory_anchors(topic))
        moved = render_anchor_changes(changes, topic.verified_day)
        by = (
            TeamMemoryAuthorsFile(owner.layout.team_layout, DiskFiles())
            .load()
            .get(path.removeprefix(TEAM_PREFIX), [])
            if is_team_path(path)
            else []
        )
    authors = [
        {"name": output.make_terminal_safe_line(each.name), "at": format_utc_timestamp(each.at)}
        for each in by
    ]
    if as_json:
        output.print_json(
            {
                "path": topic.path,
                "kind": topic.kind,
                "name": topic.name,
                "text": topic.text(),
                "version": compute_memory_version(topic.text()),
                "withheld": list(doubts),
                "by": authors[0] if authors else None,
                "authors": authors,
                "replaces": list(topic.provenance.replaces),
                "superseded_by": former.successor if former is not None else "",
                "gone": former is not None,
                "anchors": [each.name for each in read_memory_anchors(topic)],
                "stale": {"changed": changes.changed, "gone": changes.missing},
            }
        )
        return
    click.echo(replace_surrogates(topic.text()).rstrip("\n"))
    for line in remarks:
        click.echo(f"memorist: {line}", err=True)
    if authors:
        last, *before = (f"{each['name']}, {each['at'][:16]} UTC" for each in authors)
        click.echo(f"memorist: last changed by {last}", err=True)
        for each in before[:MAX_EARLIER_TEAM_CHANGES]:
            click.echo(f"memorist:      before by {each}", err=True)
        if len(before) > MAX_EARLIER_TEAM_CHANGES:
            click.echo(f"memorist: and more: memorist team log {shlex.quote(path)}", err=True)
    if moved:
        accept = f"memorist memory check --accept {shlex.quote(path)}"
        click.echo(f"memorist: {moved}; still so? {accept}", err=True)
    for doubt in doubts:
        click.echo(f"memorist: it is not shown to a model: {doubt}", err=True)


def describe_replaced_memories(
    topic: MemoryFile, former: RemovedMemory | None, prefix: str
) -> Iterator[str]:
    """Say what a memory came in place of, and what came in its place. `prefix` is that of the paths
    of its folder.
    """
    for path in (f"{prefix}{each}" for each in topic.provenance.replaces):
        yield f"it replaces {path}: memorist memory show {shlex.quote(path)}"
    if former is None:
        return
    when = format_local_day(former.change.at)
    if former.successor:
        yield f"superseded by {prefix}{former.successor} on {when}: {former.change.why.what}"
    else:
        yield f"it was taken out on {when}: {former.change.why.what}"
    yield f"memorist memory undo {former.change.id[:8]} brings it back"


@click.command("add")
@words_argument("text")
@click.option(
    "--kind", type=KIND_CHOICE, default=None, help="What the memory is about. [default: guessed]"
)
@click.option(
    "--name", default="", help="Short name, from which the file is named. [default: from the text]"
)
@click.option(
    "--description",
    default="",
    help="One line by which it is chosen later. [default: the start of the text]",
)
@click.option("--everywhere", is_flag=True, help="For every project of yours, not this one alone.")
def memory_add_command(
    text: str, kind: str | None, name: str, description: str, everywhere: bool
) -> None:
    """Remember TEXT for this project; `-` reads it from standard input. What an agent
    runs waits in the inbox, unless you typed it.

    Example: memorist memory add "Use pnpm, never npm"
    """
    words = read_given_text(text).strip()
    for given in (name, description):
        check_encoding(given)
    with open_project_memory() as (home, memory):
        if everywhere and memory.everywhere is None:
            raise NothingToDo("auto_memory.everywhere is off: nothing reaches beyond its project")
        target = memory.everywhere if everywhere and memory.everywhere is not None else memory
        written = target.add(
            words,
            kind=MemoryKind(kind) if kind else None,
            name=name,
            description=description,
            agent=find_author(home, words),
        )
        print_write_outcome(written, "remembered for every project" if everywhere else "remembered")
        if written.paths and not everywhere and memory.everywhere is not None:
            search = memory.everywhere.known_memories.get_search()
            if other := search.find_contradicted_user_memory(words):
                other = memory.get_shown_path(memory.everywhere, other)
                click.echo(
                    f"  {other} says otherwise for your other projects; here this one counts"
                )


@click.command("move")
@click.argument("name")
@click.option("--everywhere", "there", flag_value="everywhere", help="To every project of yours.")
@click.option("--here", "there", flag_value="here", help="To this project alone.")
@output.YES_OPTION
def memory_move_command(name: str, there: str | None, yes: bool) -> None:
    """Have a memory hold in every project of yours, or in this one alone. One that you neither said
    nor accepted is shown, and you are asked first.

    Example: memorist memory move answer-in-german --everywhere
    """
    if there is None:
        raise click.UsageError("say where to: --everywhere or --here")
    with open_project_memory() as (home, memory):
        owner, path = find_named_memory(memory, name)
        ask_to_accept_unreviewed_memory(home, owner, path, "Move it?", yes=yes)
        name = path if owner is memory else EVERYWHERE_PREFIX + path
        written = change_memory_scope(memory, name, everywhere=there == "everywhere")
    done = "holds in every project now" if there == "everywhere" else "holds here alone now"
    print_write_outcome(written, done)


@click.command("edit")
@click.argument("path")
@click.option(
    "--text",
    default=None,
    help="The file's new text, header included; `-` reads it from standard input. [default: "
    "your editor]",
)
@click.option(
    "--version",
    default=None,
    help="With --text: the `version` that `memory show --json` gave; where the memory is another "
    "one by now, the change waits in the inbox.",
)
def memory_edit_command(path: str, text: str | None, version: str | None) -> None:
    """Change a memory in your editor ($EDITOR). What you save counts as reviewed by you, also where
    you saved it as it was.

    Example: memorist memory edit use-pnpm.md
    """
    with open_project_memory() as (home, memory):
        require_person(home, "editing a memory")
        owner, path = find_named_memory(memory, path)
        before = owner.folder.read_memory_file(path).text()
        given = edit_text(before) if text is None else read_given_text(text)
        withheld = owner.read_memory_with_suspicions(path)[1]
        is_users_own = get_shown_trust(owner, path) in USER_TRUST
        if given is None or (given == before and is_users_own and not withheld):
            click.echo("nothing changed")
            return
        seen = compute_memory_version(before) if text is version is None else version
        written = owner.edit(path, given, version=seen)
        if given == before:
            click.echo(f"reviewed: {path}; it is shown to models as yours from now on")
        else:
            print_write_outcome(written, "changed")


def get_shown_trust(memory: AutoMemory, path: str) -> str:
    """The trust that a memory is shown with; empty for none of the folder."""
    return next((head.trust for head in memory.headers() if head.path == path), "")


def explain_adopting_externally_written_memory(memory: AutoMemory, path: str) -> Iterator[str]:
    """Say how a memory that others wrote or changed becomes the user's."""
    if get_shown_trust(memory, path) == "unknown":
        yield (
            f"{path} is shown as of unknown origin: an editor or another program wrote or changed "
            f"it; to make it yours, save it: memorist memory edit {shlex.quote(path)}"
        )


@click.command("mute")
@click.argument("path")
@click.option("--undo", is_flag=True, help="Let it be shown again.")
@output.YES_OPTION
def memory_mute_command(path: str, undo: bool, yes: bool) -> None:
    """Keep a memory and leave it out of all that models are shown.

    Example: memorist memory mute use-pnpm --yes
    """
    with open_project_memory() as (_, memory):
        owner, path = find_named_memory(memory, path)
        topic = owner.folder.read_memory_file(path)
        if not undo:
            confirm_or_abort(
                f"Show {output.make_terminal_safe_line(topic.name)} to no model any more?", yes=yes
            )
        owner.set_muted(path, muted=not undo)
    click.echo(f"shown again: {path}" if undo else f"muted: {path}; --undo lets it be shown again")
