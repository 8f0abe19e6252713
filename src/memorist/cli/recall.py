"""`memorist recall`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from memorist.cli import show
from memorist.cli.memory.opened import opened
from memorist.recall.choose import certain
from memorist.recall.search.run import MemorySearch


@click.command()
@click.argument("query")
@click.option(
    "--memory-dir", type=click.Path(path_type=Path, file_okay=False), default=None, help="Memory folder. [default: this project's]"
)
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, help="Memories to show at most.")
@click.option("--why", is_flag=True, help="Say what each was found by, and what was found and is left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def recall(query: str, memory_dir: Path | None, limit: int, why: bool, as_json: bool) -> None:
    """Show what an agent would be reminded of by the message QUERY."""
    with opened(memory_dir) as (engine, memory):
        settings = engine.settings.recall
        heads = {head.path: head for head in memory.heads()}
        search = MemorySearch(memory.folder, settings, wait=True)
        matches = search.search(query, 4 * max(limit, settings.limit))
        search.close()
        picks = {pick.path: pick for pick in certain(matches, heads, type(settings)(limit=limit))}
        doubts = {path: memory.shown(path)[1] for path in picks}
        now = time.time()
    rows = [
        {"path": path, "kind": heads[path].kind, "score": pick.score, "age_days": heads[path].age_days(now), "why": pick.why}
        for path, pick in picks.items()
        if not doubts[path]
    ]
    if as_json:
        show.json({"results": rows})
        return
    for row in rows:
        click.echo(
            f"{row['score']:6.2f}  {row['path']}  [{row['kind'] or '-'}, {row['age_days']} d]  {heads[str(row['path'])].description}"
        )
        if why:
            click.echo(f"        {row['why']}")
    if why:
        for path, reasons in doubts.items():
            for reason in reasons:
                click.echo(f"   not  {path}: {reason}")
        for match in matches:
            if match.path not in picks:
                click.echo(f"   not  {match.path}: too little in common ({', '.join(match.words) or 'no word'})")
    if not rows:
        click.echo("nothing would be recalled")
