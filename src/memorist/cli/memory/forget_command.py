"""`memorist memory forget`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_name_lookup import find_named_memory
from memorist.auto_memory.memory_purge import purge_memories
from memorist.cli import output
from memorist.cli.agent_shell import require_person
from memorist.cli.memory.project_memory_access import (
    confirm_or_abort,
    open_project_memory,
    print_write_outcome,
)
from memorist.core.plural import pluralize
from memorist.errors import UsageError
from memorist.store.text_removal import TextRemovalResult


@click.command("forget")
@click.argument("paths", nargs=-1)
@click.option("--about", "words", default="", help="Every memory that says these words.")
@click.option("--all", "every", is_flag=True, help="Every memory of this project.")
@click.option(
    "--hard",
    is_flag=True,
    help="Leave no copy: not in the history, the inbox, the ledger, nor in what is derived. "
    "Cannot be undone.",
)
@output.YES_OPTION
def memory_forget_command(
    paths: tuple[str, ...], words: str, every: bool, hard: bool, yes: bool
) -> None:
    """Take memories out. They stay in the history and `undo` brings them back, unless you say
    --hard.

    Example: memorist memory forget use-pnpm.md
    """
    if bool(paths) + bool(words.strip()) + every != 1:
        raise UsageError("name the memories by their paths, or say --about WORDS, or --all")
    with open_project_memory() as (home, memory):
        if hard:
            require_person(home, "forgetting for good")
        found: dict[AutoMemory, list[str]] = {}
        for owner, path in _find_chosen(memory, paths, words, every=every):
            found.setdefault(owner, []).append(path)
        if (words or every) and found and not hard:
            named = ", ".join(path for owned in found.values() for path in owned)
            confirm_or_abort(f"Forget {named}?", yes=yes)
        for owner, owned in found.items():
            named = ", ".join(owned)
            if hard:
                confirm_or_abort(
                    f"Forget {named} for good, with every copy in the history?", yes=yes
                )
                _print_forgotten(home, owner, owned)
                continue
            print_write_outcome(owner.forget(owned), "forgotten")
        said = "" if every else words.casefold()
        waiting = [
            each
            for each in memory.list_proposals()
            if (every or words) and said in each.one_line_text.casefold()
        ]
    if not found:
        click.echo(f"no memory has the words {words!r}" if words else "there are no memories here")
    if waiting:
        click.echo(
            f"{pluralize(len(waiting), 'change')} of the inbox not touched: memorist memory inbox"
        )
    if words:
        click.echo(
            f"past sessions are kept: memorist search {shlex.quote(words)} shows them, memorist "
            f"rollouts leave-out ID keeps one out of memory"
        )


def _find_chosen(
    memory: AutoMemory, paths: Sequence[str], words: str, *, every: bool
) -> Iterator[tuple[AutoMemory, str]]:
    """The memories that a command names by paths, by words, or as every one of this project."""
    if every:
        yield from ((memory, head.path) for head in memory.headers())
    elif words:
        yield from _find_about(memory, words)
    else:
        yield from [find_named_memory(memory, each) for each in paths]


def _find_about(memory: AutoMemory, words: str) -> Iterator[tuple[AutoMemory, str]]:
    """The memories that hold here which say the words, in any case, one after another: in name,
    description, text or the words they rest on. The keys of a header are in every file.
    """
    spaced = r"\s+".join(re.escape(each) for each in words.split())
    wanted = re.compile(rf"(?<!\w){spaced}(?!\w)", re.IGNORECASE)
    for owner in memory.memories_by_prefix.values():
        for head in owner.headers():
            topic = owner.read_memory_with_suspicions(head.path)[0]
            said = (topic.name, topic.description, topic.body, topic.provenance.quote)
            if any(map(wanted.search, (head.path, *said))):
                yield owner, head.path


def _print_forgotten(home: ProjectMemoryOpener, memory: AutoMemory, paths: Sequence[str]) -> None:
    """Forget these memories for good, and say what became of each copy."""
    changes, removal, sessions = purge_memories(home, memory, paths)
    named = ", ".join(paths)
    click.echo(
        f"forgotten for good: {named} (taken out of {pluralize(changes, 'change')} of the history)"
    )
    _print_removal(removal, home.layout.home)
    if home.layout.machines.exists():
        click.echo(
            "  on your other machines `memorist machines sync` takes it out of memory alone; give "
            "the same command there"
        )
    if sessions:
        click.echo(
            f"  the client's own record of the conversation is not memorist's and stays: "
            f"session {', '.join(sessions)}"
        )


def _print_removal(found: TextRemovalResult, home: Path) -> None:
    """Say which copies were removed, and which still stand."""
    rows = (
        ("taken out of", found.cleaned),
        ("deleted, as derived", found.deleted),
        ("the words still stand in", found.remaining),
    )
    for label, paths in rows:
        if paths:
            named = ", ".join(str(path.relative_to(home)) for path in paths)
            click.echo(f"  {label}: {named}")
