"""`memorist memory search`."""

from __future__ import annotations

import click

from memorist.cli import output
from memorist.cli.command_group import words_argument
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.recall.memory_search import EMBEDDING_WAIT_SECONDS, open_memory_search
from memorist.recall.reachable_memory import ReachableMemory


@click.command("search")
@words_argument("query")
@click.option(
    "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Memories to show."
)
@output.JSON_OPTION
def memory_search_command(query: str, limit: int, as_json: bool) -> None:
    """Search the memories that hold in this project, by words and, with the extra `embed`, by
    meaning.

    Example: memorist memory search "package manager"
    """
    with open_project_memory() as (home, memory):
        search = open_memory_search(
            memory, home.settings.recall, embedding_wait=EMBEDDING_WAIT_SECONDS
        )
        found = search.search(query, limit)
        search.close()
        heads = ReachableMemory(memory).headers()
    if as_json:
        output.print_json(
            {
                "results": [
                    {"path": each.path, "score": each.score, "words": list(each.words)}
                    for each in found
                ]
            }
        )
        return
    for each in found:
        description = output.format_description(heads[each.path].description)
        click.echo(f"{each.score:6.2f}  {each.path}  {description}")
    if not found:
        click.echo("nothing found")
