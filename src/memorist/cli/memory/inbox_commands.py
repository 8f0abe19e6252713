"""`memorist memory inbox`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import click
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.memory_file import (
    parse_memory_file,
    with_body,
    with_header_values,
    with_provenance,
)
from memorist.auto_memory.superseded_proposals import find_later_words_against_proposals
from memorist.cli import output
from memorist.cli.agent_shell import find_running_agent, require_person
from memorist.cli.command_group import LazyCommandGroup
from memorist.cli.memory.project_memory_access import (
    confirm_or_abort,
    edit_text,
    open_project_memory,
    print_write_outcome,
    read_given_text,
)
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.core.utc_time import format_utc_minute
from memorist.errors import UsageError


@click.group("inbox", cls=LazyCommandGroup, invoke_without_command=True)
@output.JSON_OPTION
@click.pass_context
def memory_inbox_group(context: click.Context, as_json: bool) -> None:
    """Changes that wait for your word: what looked doubtful, and everything under the policy
    `review`.
    """
    if context.invoked_subcommand is not None:
        return
    with open_project_memory() as (home, memory):
        is_for_user = not find_running_agent(home)
        waiting = memory.list_proposals_for_user() if is_for_user else memory.list_proposals()
        superseded = find_later_words_against_proposals(memory)
    if as_json:
        output.print_json({"waiting": waiting, "superseded": superseded})
        return
    for number, each in enumerate(waiting, 1):
        click.echo(f"{number:>3}  {_verb(each)} [{each.id}]: {_sentence(each)}")
        for line in _list_reasons(each):
            click.echo(f"     {line}")
        if each.id in superseded:
            click.echo(f"     {_say_superseded(superseded[each.id])}")
    click.echo(
        "memorist memory inbox show|accept|edit|reject NUMBER" if waiting else "nothing waits"
    )


def _find_named(memory: AutoMemory, ids: Sequence[str]) -> list[Proposal]:
    """What waits under these numbers and ids, each once. Raises InputError."""
    found = (memory.find_proposal(id)[1] for id in ids)
    return list({each.id: each for each in found}.values())


def _sentence(given: Proposal) -> str:
    """What a proposal would say, or no longer say, in one line."""
    return output.make_terminal_safe_line(shorten_to_one_line(given.one_line_text, 200))


def _list_reasons(given: Proposal) -> Iterator[str]:
    words = _describe_source(given)
    session = f", session {given.why.session[:12]}" if given.why.session else ""
    yield output.make_terminal_safe_line(
        f"{words}, {format_utc_minute(given.at)} UTC{session}; {given.path}"
    )
    yield output.make_terminal_safe_line("why it waits: " + "; ".join(given.reasons))


_ORIGINS = {
    "user": "a command",
    "extraction": "what a model concluded",
    "agent": "an agent's tool",
    "dream": "a dream",
    "inbox": "what you accepted before",
    "team": "the team",
    "other": "another program",
}
"""Who made a change that waits; of an import, what was imported says more."""


def _describe_source(given: Proposal) -> str:
    """Who says it: a quotation is the user's word only where the user made the proposal with it."""
    quote = f"“{given.why.quote}”" if given.why.quote else ""
    if given.is_in_users_words:
        return f"you said {quote}" if quote else "from you"
    if given.why.actor == "said":
        return f"passed on by a program: {quote}"
    origin = _ORIGINS.get(given.why.actor, given.why.what)
    return f"from {origin}" + (f", which quotes you with {quote}" if quote else "")


def _say_superseded(words: str) -> str:
    return output.make_terminal_safe_line(
        f"you said otherwise since: “{shorten_to_one_line(words, 200)}”"
    )


def _verb(given: Proposal) -> str:
    return "add" if given.before is None else "delete" if given.is_removal else "change"


@memory_inbox_group.command("show")
@click.argument("id")
@output.JSON_OPTION
def memory_inbox_show_command(id: str, as_json: bool) -> None:
    """Show a waiting change: why it waits, where it comes from, and what it would do.

    Example: memorist memory inbox show 1
    """
    with open_project_memory() as (_, memory):
        given = memory.with_shown_path(*memory.find_proposal(id))
        newer = find_later_words_against_proposals(memory).get(given.id, "")
    if as_json:
        output.print_json(given)
        return
    click.echo(f"{given.id}: {_verb(given)} {given.path}")
    for reason in given.reasons:
        click.echo(f"  why it waits: {reason}")
    if newer:
        click.echo(f"  {_say_superseded(newer)}")
    if given.why.session:
        click.echo(
            f"  from session {given.why.session}, message "
            f"{', '.join(given.why.messages) or 'unknown'}"
        )
    if given.why.quote:
        click.echo(f"  words: “{given.why.quote}”")
    before, after = (given.before or "").splitlines(), (given.after or "").splitlines()
    click.echo("\n".join(difflib.unified_diff(before, after, "now", "proposed", lineterm="")))


@memory_inbox_group.command("accept")
@click.argument("ids", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask about what you have said otherwise since.")
def memory_inbox_accept_command(ids: tuple[str, ...], yes: bool) -> None:
    """Make waiting changes as they are; each by its number in the list, or by its id. Where you
    have said otherwise since, you are asked first.

    Example: memorist memory inbox accept 1
    """
    with open_project_memory() as (home, memory):
        require_person(home, "accepting a memory")
        superseded = find_later_words_against_proposals(memory)
        for given in _find_named(memory, ids):
            if given.id in superseded:
                click.echo(f"{given.id}: {_say_superseded(superseded[given.id])}")
                confirm_or_abort("accept it all the same?", yes=yes)
            print_write_outcome(memory.accept(given.id), "accepted")


@memory_inbox_group.command("edit")
@click.argument("id")
@click.option(
    "--text",
    default=None,
    help="What the memory is to say, or the file's whole text; `-` reads it from standard "
    "input. [default: your editor]",
)
def memory_inbox_edit_command(id: str, text: str | None) -> None:
    """Change a waiting change in your editor, then make it.

    Example: memorist memory inbox edit 1
    """
    with open_project_memory() as (home, memory):
        require_person(home, "accepting a memory")
        _, given = memory.find_proposal(id)
        words = edit_text(given.after or "") if text is None else read_given_text(text)
        if words is None:
            click.echo("nothing changed; it waits still")
            return
        if text is not None:
            words = _put_under_header(given, words)
        print_write_outcome(memory.accept(given.id, words), "accepted as you changed it")


def _put_under_header(given: Proposal, words: str) -> str:
    """The file's text, where the user gave only what the memory is to say."""
    shown, whole = (
        parse_memory_file(given.path, encode_file_text_as_utf8(text))
        for text in (given.after or given.before or "", words)
    )
    if whole.document.front is not None or shown.document.front is None:
        return words
    topic = with_provenance(shown, replace(shown.provenance, quote=""))
    changed = with_body(topic, f"\n{words.strip()}\n")
    return with_header_values(changed, {"description": shorten_to_one_line(words, 150)}).text()


@memory_inbox_group.command("reject")
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that wait in this project.")
def memory_inbox_reject_command(ids: tuple[str, ...], everything: bool) -> None:
    """Throw waiting changes away; each by its number in the list, or by its id.

    Example: memorist memory inbox reject 1 3
    """
    if bool(ids) == everything:
        raise UsageError("name the waiting changes by their numbers, or say --all")
    with open_project_memory() as (home, memory):
        if everything:
            require_person(home, "throwing away all that waits")
        waiting = memory.list_proposals() if everything else _find_named(memory, ids)
        for given in waiting:
            click.echo(f"rejected: {memory.reject(given.id).path}")
        if not waiting:
            click.echo("nothing waits")
