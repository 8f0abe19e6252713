"""`memorist recall`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

import click
from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.cli import output
from memorist.cli.memory.memory_commands import (
    open_project_memory,
)
from memorist.engine.engine import Memorist
from memorist.engine.past_session_recall import find_bearing_passages
from memorist.recall.memory_search import open_memory_search
from memorist.recall.memory_selection import (
    MemoryMatch,
    MemorySelection,
    explain_omission,
    is_searchable,
    select_relevant,
)
from memorist.recall.passages import PassageMatch, describe_outcome, quote_passage
from memorist.recall.reachable_memory import ReachableMemory
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.session_sources import find_repository_root
from memorist.settings import RecallSettings

MAX_NEAREST = 2
"""Memories named where none would be shown: whoever types the command asks on purpose."""


class RecallJudgement(Struct, frozen=True, kw_only=True):
    """What a message would have shown, and what was found for it and is left out."""

    heads: Mapping[str, MemoryHeader]
    """Every memory, by path."""
    shown: tuple[MemorySelection, ...]
    left_out: tuple[tuple[str, str], ...]
    """Path and reason, nearest first."""


def judge_recall(
    memory: AutoMemory, settings: RecallSettings, query: str, limit: int
) -> RecallJudgement:
    """Find what an agent would be reminded of by the message `query`, `limit` memories at most."""
    reachable = ReachableMemory(memory)
    heads = reachable.headers()
    search = open_memory_search(memory, settings, wait_for_embeddings=True)
    matches = search.search(query, 4 * max(limit, settings.limit))
    search.close()
    picks = select_relevant(query, matches, heads, type(settings)(limit=limit))
    doubts = {pick.path: reachable.read(pick.path)[1] for pick in picks}
    return RecallJudgement(
        heads=heads,
        shown=tuple(pick for pick in picks if not doubts[pick.path]),
        left_out=(
            *((path, "; ".join(reasons)) for path, reasons in doubts.items() if reasons),
            *(
                (match.path, _explain_left_out(query, match, heads))
                for match in matches
                if match.path not in doubts
            ),
        ),
    )


def _explain_left_out(query: str, match: MemoryMatch, heads: Mapping[str, MemoryHeader]) -> str:
    head = heads.get(match.path)
    if head is not None and head.status != "active":
        return f"it is {head.status}"
    return explain_omission(query, match, len(heads))


def find_past_words(engine: Memorist, project: str, query: str) -> tuple[PassageMatch, ...]:
    """What was said in past sessions of a project that a message like this brings back, as far as
    they are indexed. Raises StoreError.
    """
    path, root = engine.layout.session_index, find_repository_root(project)
    if not root or not path.exists() or not is_searchable(query):
        return ()
    with contextlib.closing(SessionIndex(path)) as index:
        return find_bearing_passages(index, query, project=root)


@click.command()
@click.argument("query")
@click.option(
    "--memory-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Memory folder. [default: this project's]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Memories to show at most.",
)
@click.option(
    "--why", is_flag=True, help="Say what each was found by, and what was found and is left out."
)
@output.JSON_OPTION
def recall_command(
    query: str, memory_dir: Path | None, limit: int, why: bool, as_json: bool
) -> None:
    """Show what an agent would be reminded of by the message QUERY.

    Example: memorist recall "run npm install" --why
    """
    with open_project_memory(memory_dir) as (engine, memory):
        found = judge_recall(memory, engine.settings.recall, query, limit)
        past = () if memory_dir else find_past_words(engine, str(Path.cwd()), query)
    heads = found.heads
    now = time.time()
    rows = [
        {
            "path": pick.path,
            "kind": heads[pick.path].kind,
            "score": pick.score,
            "age_days": heads[pick.path].age_days(now),
            "why": pick.why,
        }
        for pick in found.shown
    ]
    if as_json:
        said = [
            {
                "session": each.session,
                "path": each.path,
                "line": each.passage.line,
                "at": each.passage.at,
                "said": each.passage.said,
                "outcome": describe_outcome(query, each.passage),
            }
            for each in past
        ]
        output.print_json({"results": rows} | ({"past": said} if said else {}))
        return
    for row in rows:
        click.echo(
            f"{row['score']:6.2f}  {row['path']}  [{row['kind'] or '-'}, {row['age_days']} d]  "
            f"{heads[str(row['path'])].description}"
        )
        if why:
            click.echo(f"        {row['why']}")
    for each in past:
        click.echo(f"  said  {quote_passage(query, each)}")
        if outcome := describe_outcome(query, each.passage):
            click.echo(f"        {outcome}")
    if why:
        for path, reason in found.left_out:
            click.echo(f"   not  {path}: {reason}")
    if not rows and not past:
        click.echo("nothing would be recalled")
        if not why:
            _print_nearest(found, searchable=memory_dir is None)


def _print_nearest(found: RecallJudgement, *, searchable: bool) -> None:
    """Print what came nearest to being shown, and the command that searches without a threshold."""
    nearest = found.left_out[:MAX_NEAREST]
    if nearest:
        click.echo("nearest, but not shown unasked:")
    for path, reason in nearest:
        head = found.heads.get(path)
        click.echo(f"  {path}  {head.description if head else ''}".rstrip())
        click.echo(f"        {reason}")
    if searchable:
        click.echo("`memorist search` also finds what is further away, and past sessions")
