"""`memorist search`: memories and past sessions of this project, or of all."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.memory.topics import open_project_memory
from memorist.cli.rollouts.group import load_rollout_settings
from memorist.core.text import shorten
from memorist.engine.rollout_pipeline import RolloutPipeline
from memorist.recall.passages import PassageMatch, excerpt_around, format_day
from memorist.recall.ranking import parse_query
from memorist.recall.relevance import MemoryMatch
from memorist.recall.search import FolderSearch
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.sources import find_repository_root
from memorist.store.rollouts import list_rollouts

EXCERPT_CHARS = 200


def sync_session_index(*, everywhere: bool = False) -> SessionIndex:
    """Find the sessions of this machine, bring the index up to date, and return it open."""
    settings = load_rollout_settings("structural")
    past = RolloutPipeline(settings)
    past.find_sessions()
    index = SessionIndex(past.layout.session_index)
    root = "" if everywhere else find_repository_root(str(Path.cwd()))
    index.sync(list_rollouts(past.state), first=root)
    past.state.close()
    return index


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--all", "everywhere", is_flag=True, help="Search the sessions of every project.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def search_command(query: str, limit: int, everywhere: bool, as_json: bool) -> None:
    """Search what was remembered, and what was said and done in past sessions.

    Each passage names the session's file and the line in it where the turn begins.
    """
    with open_project_memory() as (engine, memory):
        found = FolderSearch(memory.folder, engine.settings.recall, wait_for_embeddings=True)
        with closing(found):
            memories = found.search(query, limit)
    root = "" if everywhere else find_repository_root(str(Path.cwd()))
    with closing(sync_session_index(everywhere=everywhere)) as index:
        passages = index.search(query, limit, project=root)
    if as_json:
        output.print_json(
            {
                "memories": [
                    {"path": each.path, "score": each.score, "why": each.why} for each in memories
                ],
                "passages": [_passage_row(each) for each in passages],
            }
        )
        return
    _print_results(query, memories, passages)


def _print_results(
    query: str, memories: tuple[MemoryMatch, ...], passages: tuple[PassageMatch, ...]
) -> None:
    words = parse_query(query).words
    for memory in memories:
        click.echo(f"memory      {memory.path}  {memory.why}")
    for each in passages:
        turn = each.passage
        click.echo(f"{format_day(turn.at)}  {output.make_readable(each.path)}:{turn.line}")
        for who, text in (("you", turn.said), ("agent", turn.answered), ("work", turn.work)):
            part = shorten(excerpt_around(text, words, EXCERPT_CHARS), EXCERPT_CHARS)
            if part:
                click.echo(f"            {who:<6}{output.make_readable(part)}")
    if not memories and not passages:
        click.echo("nothing found")


def _passage_row(each: PassageMatch) -> dict[str, object]:
    turn = each.passage
    return {
        "session": each.session,
        "file": each.path,
        "line": turn.line,
        "at": turn.at,
        "score": each.score,
        "evidence": each.evidence,
        "said": turn.said,
        "answered": turn.answered,
        "work": turn.work,
    }
