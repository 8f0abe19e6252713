"""`memorist sessions`: the sessions of a project, or of all, newest first, each with its title."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.moved_projects import describe_memory_found_elsewhere
from memorist.cli import output
from memorist.cli.command_environment import load_home_layout
from memorist.core.sentences import shorten_to_one_line
from memorist.engine.session_list import list_known_sessions
from memorist.store.disk_files import DiskFiles

TITLE_CHARACTERS = 90
"""Characters of a title on one line of a terminal. Our choice."""


@click.command("sessions")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not of this one alone.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Sessions to show."
)
@output.JSON_OPTION
def sessions_command(everywhere: bool, limit: int, as_json: bool) -> None:
    """List the sessions of this project, newest first, with what each was about.

    Example: memorist sessions --all --limit 5
    """
    home = load_home_layout()
    found = list_known_sessions(home, None if everywhere else locate_project_root(Path.cwd()))
    if as_json:
        output.print_json({"sessions": found[:limit]})
        return
    for each in found[:limit]:
        day = datetime.fromtimestamp(each.updated).astimezone().strftime("%Y-%m-%d %H:%M")
        prefix = f"{Path(each.project).name}: " if everywhere else ""
        title = output.make_terminal_safe_line(prefix + (each.title or "(nothing was asked)"))
        click.echo(
            f"{day}  {each.id[:13]:<13}  {each.agent:<11}  {'notes' if each.notes else '     '}  "
            f"{shorten_to_one_line(title, TITLE_CHARACTERS)}"
        )
    if not found:
        click.echo("no session of this folder is known yet; --all shows those of others")
        for line in describe_memory_found_elsewhere(DiskFiles(), home, str(Path.cwd())):
            click.echo(line)
    elif len(found) > limit:
        click.echo(f"{len(found) - limit:,} older ones: --limit {len(found)}")
