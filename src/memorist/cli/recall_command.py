"""`memorist recall`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.command_group import words_argument
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.engine.past_session_passages import find_past_session_passages
from memorist.models.embedder import is_embedder_installed
from memorist.recall.recall_explanation import RecallExplanation, explain_recall
from memorist.recall.session_passages import describe_passage_outcome, render_user_quote

MAX_NEAREST_MEMORIES = 2
"""Memories named where none would be shown: whoever types the command asks on purpose."""
WORDS_ALONE = (
    "this went by words alone; with the extra `embed` what other words say is found as well"
)


@click.command()
@words_argument("query")
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
def recall_command(query: str, limit: int, why: bool, as_json: bool) -> None:
    """Show what an agent would be reminded of by the message QUERY.

    Example: memorist recall "run npm install" --why
    """
    with open_project_memory() as (home, memory):
        found = explain_recall(memory, home.settings.recall, query, limit)
        past = find_past_session_passages(
            home.layout,
            str(Path.cwd()),
            query,
            memory=memory,
            embeddings=home.settings.recall.embeddings,
        )
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
                "outcome": describe_passage_outcome(query, each.passage),
            }
            for each in past
        ]
        output.print_json({"results": rows} | ({"past": said} if said else {}))
        return
    for row in rows:
        click.echo(
            f"{row['score']:6.2f}  {row['path']}  [{row['kind'] or '-'}, {row['age_days']} d]  "
            f"{output.format_description(heads[str(row['path'])].description)}"
        )
        if why:
            click.echo(f"        {row['why']}")
    for each in past:
        click.echo(f"  said  {render_user_quote(query, each)}")
        if outcome := describe_passage_outcome(query, each.passage):
            click.echo(f"        {outcome}")
    if why:
        for path, reason in found.left_out:
            click.echo(f"   not  {path}: {reason}")
    if not rows and not past:
        _print_nothing_found(found, why=why)


def _print_nothing_found(found: RecallExplanation, *, why: bool) -> None:
    click.echo("nothing would be recalled")
    if not why:
        _print_nearest(found)
    if not is_embedder_installed():
        click.echo(WORDS_ALONE)


def _print_nearest(found: RecallExplanation) -> None:
    """Print what came nearest to being shown, and the command that searches without a threshold."""
    nearest = found.left_out[:MAX_NEAREST_MEMORIES]
    if nearest:
        click.echo("nearest, but not shown unasked:")
    for path, reason in nearest:
        head = found.heads.get(path)
        click.echo(
            f"  {path}  {output.format_description(head.description if head else '')}".rstrip()
        )
        click.echo(f"        {reason}")
    click.echo("`memorist search` also finds what is further away, and past sessions")
