"""`memorist memory why`: of a memory, or of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_file import MemoryFile, Trust
from memorist.auto_memory.memory_name_lookup import find_named_memory
from memorist.auto_memory.removed_memories import find_removed_memory_by_name
from memorist.auto_memory.statement_preview import SentenceFate, preview_message
from memorist.auto_memory.statements.sentence_verdicts import NOTHING_LASTING, TASK_BOUND
from memorist.auto_memory.write_evidence import normalize_for_comparison
from memorist.cli import output
from memorist.cli.agent_shell import open_project_sessions
from memorist.cli.command_environment import explain_memory_off
from memorist.cli.memory.client_counterparts import (
    ClientFileComparison,
    compare_memories_with_client_files,
)
from memorist.cli.memory.memory_commands import (
    describe_replaced_memories,
    explain_adopting_externally_written_memory,
)
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_local_day, format_local_minute
from memorist.engine.memory_status import ORIGINS
from memorist.errors import InputError
from memorist.formats.transcript_format import parse_iso_timestamp
from memorist.mcp_server.project_sessions import SaidMessage
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.store.memory_uses import list_uses_of_memory
from memorist.store.rollout_rows import OTHERS_SOURCE, list_rollouts
from memorist.store.state_database import SqliteStateDatabase
from memorist.system import SystemClock

MAX_QUOTE_CHARS = 300
MAX_COMPARED_TURNS = 20
"""Turns of past sessions that are looked through for a sentence, the best by its words."""
KEPT_ON_REQUEST = (NOTHING_LASTING, TASK_BOUND)
"""Reasons against a sentence that its user may overrule by a command."""


@click.command("why")
@click.argument("path", metavar="PATH|SENTENCE")
@output.JSON_OPTION
def memory_why_command(path: str, as_json: bool) -> None:
    """Show where a memory comes from, and what it came in place of; when it stood in the index that
    a session was shown, or was shown by itself, and why; when it was opened or cited; and when it
    was withheld.

    Of a sentence that you said, or may say: whether it is kept, waits or neither, and which rule or
    check decides so. It is looked for in this project's recorded sessions, and stored nowhere.

    Example: memorist memory why "We should use Redis for the queue."
    """
    with open_project_memory() as (home, memory):
        try:
            owner, found = find_named_memory(memory, path)
            former = find_removed_memory_by_name(owner, found)
            topic = former.topic if former is not None else owner.folder.read_memory_file(found)
        except InputError:
            if not _is_sentence(path):
                raise
            _explain_sentence(home, memory, path, as_json=as_json)
            return
        path = topic.path
        shown = memory.get_shown_path(owner, path)
        origin = "" if former is not None else _describe_origin(owner, topic)
        remarks = list(explain_adopting_externally_written_memory(owner, path))
        uses = list_uses_of_memory(home.database(), str(owner.layout.folder), path)
        elsewhere = compare_memories_with_client_files(home.settings, owner).get(
            path, ClientFileComparison()
        )
    if as_json:
        output.print_json(
            {
                "path": shown,
                "origin": origin,
                "uses": uses,
                "also_in": elsewhere.also_in,
                "conflicts": elsewhere.conflicts,
            }
        )
        return
    if origin:
        click.echo(f"{shown} is {origin}")
    for remark in (*remarks, *elsewhere.remarks):
        click.echo(remark)
    for line in describe_replaced_memories(topic, former, memory.get_shown_path(owner, "")):
        click.echo(line)
    for use in uses:
        why = f"  {use.why}" if use.why else ""
        click.echo(f"{format_local_minute(use.at)}  {use.what:<8}  session {use.session}{why}")
    if not uses:
        click.echo("never shown to a model" if origin else f"{shown} was never shown to a model")


def _describe_origin(memory: AutoMemory, topic: MemoryFile) -> str:
    """Who says it, since when, and in which words; empty where that cannot be told."""
    trust = memory.folder.determine_trust(topic)
    if trust is Trust.UNKNOWN:
        return ""
    given = topic.provenance
    session = f" in session {given.session[:8]}" if given.session else ""
    quote = f": “{shorten_to_one_line(given.quote, MAX_QUOTE_CHARS)}”" if given.quote else ""
    day = format_local_day(parse_iso_timestamp(given.created)) or given.created[:10]
    return output.make_terminal_safe_line(
        f"{ORIGINS[trust]}{session} on {day or 'an unknown day'}{quote}"
    )


def _is_sentence(text: str) -> bool:
    """Whether a text that names no memory is one: it has several words, or is in a script that
    writes none apart.
    """
    return len(text.split()) > 1 or not text.isascii()


def _explain_sentence(
    home: ProjectMemoryOpener, memory: AutoMemory, sentence: str, *, as_json: bool
) -> None:
    said = open_project_sessions(home).find_said_message(sentence)
    said = said or _find_in_past_sessions(home, sentence)
    block = (TextBlock(sentence),)
    found = said or SaidMessage(
        "", Message(id="", role="user", blocks=block, origin=Origin.USER, is_typed=True), "", False
    )
    fates = preview_message(
        memory,
        found.message,
        found.reply_before,
        session=found.session,
        is_text_announced=found.is_text_announced,
    )
    fates = _select_fates(fates, sentence)
    off = explain_memory_off(home.settings)
    if as_json:
        output.print_json(
            {"session": found.session, "at": found.message.timestamp, "off": off, "fates": fates}
        )
        return
    click.echo(_describe_place(said))
    for line in off:
        click.echo(line)
    for fate in fates:
        click.echo(f"“{output.format_description(fate.text)}”")
        named = f": {', '.join(fate.paths)}" if fate.paths else ""
        click.echo(replace_surrogates(f"  {fate.fate}: {'; '.join(fate.reasons)}{named}"))
    if any(reason in KEPT_ON_REQUEST for fate in fates for reason in fate.reasons):
        click.echo('To keep it all the same: memorist memory add "…"')


def _find_in_past_sessions(home: ProjectMemoryOpener, sentence: str) -> SaidMessage | None:
    """The user's turn with these words in an indexed session that memorist took no part in."""
    path = home.layout.session_index
    wanted = normalize_for_comparison(sentence)
    if not path.exists() or not wanted:
        return None
    state = SqliteStateDatabase(home.database(), SystemClock().now)
    own = {each.id for each in list_rollouts(state) if each.source != OTHERS_SOURCE}
    project = find_repository_root_or_folder(str(Path.cwd()))
    with closing(SessionIndex(path)) as index:
        found = index.search(sentence, MAX_COMPARED_TURNS, project=project)
    for each in found:
        turn = each.passage
        if each.session in own and wanted in normalize_for_comparison(turn.said):
            message = Message(
                id="",
                role="user",
                blocks=(TextBlock(turn.said),),
                origin=Origin.USER,
                timestamp=turn.at or None,
                is_typed=turn.is_typed,
            )
            return SaidMessage(each.session, message, turn.question, False)
    return None


def _select_fates(fates: Sequence[SentenceFate], sentence: str) -> tuple[SentenceFate, ...]:
    """Those of the sentences that were asked for; all where the message as a whole decides."""
    wanted = normalize_for_comparison(sentence)

    def is_meant(text: str) -> bool:
        read = normalize_for_comparison(text)
        return read in wanted or wanted in read

    return tuple(each for each in fates if is_meant(each.text)) or tuple(fates)


def _describe_place(said: SaidMessage | None) -> str:
    if said is None:
        return "no recorded session of this project has it: read as if you typed it alone, now"
    at = said.message.timestamp
    when = f" on {format_local_minute(at)}" if at is not None else ""
    program = "" if said.message.is_typed else ", by a program (a pipe, print mode)"
    return f"said in session {said.session}{when}{program}"
