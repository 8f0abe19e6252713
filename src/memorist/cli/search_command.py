"""`memorist search`: memories and past sessions of this project, or of all."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Sequence
from contextlib import closing
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.command_group import words_argument
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.cli.rollouts.rollouts_group import load_rollout_settings
from memorist.cli.sessions_command import take_in_new_sessions
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import replace_surrogates
from memorist.engine.project_search import ProjectSearch, SearchResults, label_team_or_memory
from memorist.engine.rollout_pipeline import RolloutPipeline
from memorist.errors import InputError
from memorist.models.embedder import get_embedder_if_wanted
from memorist.recall.memory_search import EMBEDDING_WAIT_SECONDS, open_memory_search
from memorist.recall.search_query import build_search_query_from_text
from memorist.recall.session_index import SessionIndex
from memorist.recall.session_passages import (
    MatchedPassage,
    Passage,
    cut_excerpt_around_words,
    format_day,
)
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.store.rollout_rows import list_rollouts

# A day on the command line: a date, or how long ago.

_AGO = re.compile(r"(\d{1,4})\s*(d|w|m|y|days?|weeks?|months?|years?)(?: ago)?", re.IGNORECASE)
_WORDS = {"today": 0, "yesterday": 1, "last week": 7, "last month": 30}
"""Days ago."""


class DayParameter(click.ParamType[date]):
    """Converts `2026-11-20`, `7d`, `2 weeks`, `yesterday` to a day of the local calendar."""

    name = "day"

    def convert(
        self, value: str | date, param: click.Parameter | None, ctx: click.Context | None
    ) -> date:
        """The day; fails for anything else."""
        if isinstance(value, date):
            return value
        word, today = value.strip().lower(), datetime.now().astimezone().date()
        try:
            if word in _WORDS:
                return today - timedelta(days=_WORDS[word])
            if found := _AGO.fullmatch(word):
                return _go_back(today, int(found[1]), found[2][0].lower())
            return date.fromisoformat(word)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no day; say 2026-11-20, 7d, 2w, 3m or yesterday", param, ctx)


def _go_back(today: date, count: int, unit: str) -> date:
    if unit in "dw":
        return today - timedelta(days=count * (7 if unit == "w" else 1))
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
    year, month = divmod(months, 12)
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))


EXCERPT_CHARS = 200
NEAR_ALONE = "  (near in meaning; none of the words)"
NOTHING_FOUND = "nothing found"
SEARCH_EVERYWHERE = "in this project; --all searches every one"
MAX_RESULTS_BEFORE_DAYS = 400
"""Best results of each kind of which those of the wanted days are kept. Our choice."""


MAX_EMBEDDING_WAIT_SECONDS = 8.0
"""Longest wait of a search for vectors; the sessions that follow make the rest."""


def open_synced_session_index(*, everywhere: bool = False) -> SessionIndex:
    """Find the sessions of this machine, bring the index up to date, and return it open. Where the
    disk or the database refuses, it is left as it is, which is said.
    """
    settings = load_rollout_settings("structural")
    past = RolloutPipeline(settings)
    index = SessionIndex(past.layout.session_index)
    root = "" if everywhere else find_repository_root_or_folder(str(Path.cwd()))
    take_in_new_sessions(past, lambda: index.sync(list_rollouts(past.state), first=root))
    # Nothing to search is no reason to load the model.
    wanted = settings.recall.embeddings and index.count_passages(root) > 0
    if embedder := get_embedder_if_wanted(wanted=wanted):
        index.enable_embeddings(embedder)
        if root:
            index.embed_missing_passages(root, seconds=MAX_EMBEDDING_WAIT_SECONDS)
    return index


@click.command()
@words_argument("query")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Results to show."
)
@click.option("--all", "everywhere", is_flag=True, help="Search the sessions of every project.")
@click.option(
    "--since", type=DayParameter(), help="Turns and notes of sessions from this day on: 7d, a date."
)
@click.option(
    "--open", "number", type=click.IntRange(1), help="Show one turn whole, by its number."
)
@output.JSON_OPTION
def search_command(
    query: str, limit: int, everywhere: bool, since: date | None, number: int | None, as_json: bool
) -> None:
    """Search what was remembered, and what was said and done in past sessions.

    Finds memories, the team's, turns of past sessions (with the session's file and the line in it
    where the turn begins), the notes of sessions, and the memory of past sessions.

    Example: memorist search "how do we round"
    """
    root = "" if everywhere else find_repository_root_or_folder(str(Path.cwd()))
    with (
        closing(open_synced_session_index(everywhere=everywhere)) as index,
        open_project_memory() as (home, memory),
        closing(
            open_memory_search(memory, home.settings.recall, embedding_wait=EMBEDDING_WAIT_SECONDS)
        ) as memories,
    ):
        found = ProjectSearch(
            home.layout,
            home.database,
            root=root,
            settings=home.settings.auto_memory,
            memories=memories.search,
            sessions=partial(_search_sessions, index, root),
        ).search(query, limit if since is None else MAX_RESULTS_BEFORE_DAYS)
        if since is not None:
            found = _keep_since(found, since, limit)
        if number is not None:
            _print_turn(index, found.passages, number, as_json=as_json)
        elif as_json:
            output.print_json(_render_json(found))
        else:
            _print_results(query, found)
            if not found:
                click.echo(NOTHING_FOUND if everywhere else f"{NOTHING_FOUND} {SEARCH_EVERYWHERE}")


def _search_sessions(
    index: SessionIndex, project: str, query: str, limit: int
) -> tuple[MatchedPassage, ...]:
    """Search the turns; a first question in another language waits for their vectors."""
    found = index.search(query, limit, project=project)
    if project and index.lacks_vectors_for_question(project):
        index.embed_missing_passages(project, seconds=MAX_EMBEDDING_WAIT_SECONDS)
        found = index.search(query, limit, project=project)
    return found


def _keep_since(found: SearchResults, since: date, limit: int) -> SearchResults:
    """What is dated on this day or later. Memories hold until they are changed, and stay."""

    def is_within(at: float) -> bool:
        return bool(at) and datetime.fromtimestamp(at).astimezone().date() >= since

    return SearchResults(
        memories=found.memories[:limit],
        passages=tuple(each for each in found.passages if is_within(each.passage.at))[:limit],
        sections=tuple(each for each in found.sections if is_within(each.document.at))[:limit],
    )


def _print_results(query: str, found: SearchResults) -> None:
    words = build_search_query_from_text(query).words
    for memory in found.memories:
        click.echo(f"{label_team_or_memory(memory):<11} {memory.path}  {memory.why}")
    for number, each in enumerate(found.passages, 1):
        turn = each.passage
        is_near_alone = each.nearness is not None and not each.lexical
        head = f"{format_day(turn.at)}  {output.format_path(each.path)}:{turn.line}"
        click.echo(f"session {number:<3} {head}{NEAR_ALONE if is_near_alone else ''}")
        for who, text in _list_parts(turn):
            _print_excerpt(who, text, words)
    for section in found.sections:
        location = f"{output.format_path(section.document.path)}:{section.line}"
        click.echo(f"{section.document.kind:<11} {location}")
        _print_excerpt("", section.text, words)


def _list_parts(turn: Passage) -> tuple[tuple[str, str], ...]:
    return (
        ("agent", turn.question),
        ("you", turn.said),
        ("agent", turn.answered),
        ("work", turn.work),
    )


def _print_excerpt(who: str, text: str, words: Collection[str]) -> None:
    part = shorten_to_one_line(cut_excerpt_around_words(text, words, EXCERPT_CHARS), EXCERPT_CHARS)
    if part:
        click.echo(f"            {who:<6}{replace_surrogates(part)}")


def _print_turn(
    index: SessionIndex, passages: Sequence[MatchedPassage], number: int, *, as_json: bool
) -> None:
    """Print one found turn and the one after it, whole. Raises InputError."""
    if number > len(passages):
        raise InputError(f"the search found {len(passages)} turns of past sessions")
    match = passages[number - 1]
    _, turns = index.read_passages_from(match.session, match.passage.line, 2)
    if as_json:
        rows = [_turn_row(match.session, match.path, turn) for turn in turns]
        output.print_json({"turns": rows})
        return
    for turn in turns:
        click.echo(f"{format_day(turn.at)}  {output.format_path(match.path)}:{turn.line}")
        for who, text in _list_parts(turn):
            if text:
                click.echo(f"\n{who}:\n{replace_surrogates(text)}")
        click.echo("")


def _render_json(found: SearchResults) -> dict[str, object]:
    return {
        "memories": [
            {
                "kind": label_team_or_memory(each),
                "path": each.path,
                "score": each.score,
                "why": each.why,
            }
            for each in found.memories
        ],
        "passages": [_passage_row(each) for each in found.passages],
        "sections": [
            {
                "kind": each.document.kind,
                "path": each.document.path,
                "line": each.line,
                "session": each.document.session,
                "text": each.text,
                "evidence": each.evidence,
            }
            for each in found.sections
        ],
    }


def _passage_row(each: MatchedPassage) -> dict[str, object]:
    found = {"kind": "session", "score": each.score, "evidence": each.evidence}
    return found | _turn_row(each.session, each.path, each.passage)


def _turn_row(session: str, file: str, turn: Passage) -> dict[str, object]:
    return {
        "session": session,
        "file": file,
        "line": turn.line,
        "at": turn.at,
        "question": turn.question,
        "said": turn.said,
        "answered": turn.answered,
        "work": turn.work,
    }
