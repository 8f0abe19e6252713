"""`memorist sessions`: the sessions of a project, or of all, newest first, each with its title."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.moved_projects import describe_memory_found_elsewhere
from memorist.cli import output
from memorist.cli.command_environment import load_home_layout, read_environment
from memorist.cli.rollouts.rollouts_group import load_rollout_settings
from memorist.core.plural import pluralize
from memorist.core.sentences import shorten_to_one_line
from memorist.core.utc_time import format_local_minute
from memorist.engine.rollout_pipeline import RolloutPipeline
from memorist.engine.session_list import KnownSession, list_known_sessions
from memorist.engine.session_resumption import find_client_resume_command
from memorist.errors import InputError, StoreError
from memorist.platforms.regular_files import is_reachable, is_reachable_folder
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import is_database_or_disk_error

TITLE_CHARACTERS = 90
"""Characters of a title on one line of a terminal. Our choice."""


@click.command("sessions")
@click.argument("session", default="")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not of this one alone.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Sessions to show."
)
@output.JSON_OPTION
def sessions_command(session: str, everywhere: bool, limit: int, as_json: bool) -> None:
    """List the sessions of this project, newest first, with what each was about; of SESSION, an id
    or the start of one, also how it is opened again.

    Example: memorist sessions --all --limit 5
    """
    home = load_home_layout()
    take_in_new_sessions(RolloutPipeline(load_rollout_settings("structural")))
    if session:
        _print_one(home, session, as_json=as_json)
        return
    found = list_known_sessions(home, None if everywhere else locate_project_root(Path.cwd()))
    if as_json:
        output.print_json({"sessions": found[:limit]})
        return
    for each in found[:limit]:
        prefix = f"{Path(each.project).name}: " if everywhere else ""
        click.echo(_render_line(each, each.id[:13], prefix))
    if not found:
        click.echo("no session of this folder is known; --all shows those of others")
        elsewhere = describe_memory_found_elsewhere(DiskFiles(), home, str(Path.cwd()))
        for line in elsewhere or _describe_sessions_of_namesakes(home):
            click.echo(line)
    elif len(found) > limit:
        click.echo(f"{len(found) - limit:,} older ones: --limit {len(found)}")


def take_in_new_sessions(past: RolloutPipeline, use: Callable[[], object] | None = None) -> None:
    """Find the sessions that the agents of this machine recorded since, use them, and close the
    databases. What the disk or a database refuses is left out, which is said.
    """
    try:
        past.find_sessions()
        if use is not None:
            use()
    except StoreError as error:
        if not is_database_or_disk_error(error):
            raise
        click.echo(f"not searched: what is new since the last search ({error})", err=True)
    finally:
        past.close_databases()


def _describe_sessions_of_namesakes(home: Layout) -> Iterator[str]:
    """Sessions of a project of this one's name in a folder that is not on this machine, as those
    that were made on another one; with the command that makes them this project's.
    """
    name = locate_project_root(Path.cwd()).name
    counts = Counter(each.project for each in list_known_sessions(home, None))
    for project, count in counts.items():
        if Path(project).name == name and not is_reachable(project):
            yield output.make_terminal_safe_line(
                f"{pluralize(count, 'session')} of {project}, which is not on this machine, may "
                f"belong here; take over with: memorist memory rebind {shlex.quote(project)}"
            )


def _render_line(entry: KnownSession, id: str, prefix: str = "") -> str:
    day = format_local_minute(entry.updated)
    title = output.make_terminal_safe_line(prefix + (entry.title or "(nothing was asked)"))
    return (
        f"{day}  {id:<13}  {entry.agent:<11}  {'notes' if entry.has_notes else '     '}  "
        f"{shorten_to_one_line(title, TITLE_CHARACTERS)}"
    )


def _print_one(home: Layout, name: str, *, as_json: bool) -> None:
    """One session of any project, and how to go on with it."""
    found = [each for each in list_known_sessions(home, None) if each.id.startswith(name)]
    if len(found) != 1:
        raise InputError(
            f"{len(found)} sessions have an id that begins with {name!r}; say more of it"
            if found
            else f"no session's id begins with {name!r}; memorist sessions lists them"
        )
    (entry,) = found
    own = find_client_resume_command(home, entry.id, read_environment())
    if as_json:
        output.print_json({"session": entry, "resume": own})
        return
    click.echo(_render_line(entry, entry.id))
    file = own.file if own is not None else entry.file
    missing = "" if is_reachable(file) else "   (no longer there)"
    click.echo(f"recorded    {output.make_terminal_safe_line(file)}{missing}")
    if own is not None:
        folder = own.folder if not own.folder or is_reachable_folder(own.folder) else ""
        change = f"cd {shlex.quote(own.folder)} && " if folder else ""
        why = f"   (its folder is gone: {own.folder})" if own.folder and not folder else ""
        click.echo(f"open again  {output.make_terminal_safe_line(change + own.command + why)}")
    click.echo(f"hand over   memorist handoff {entry.id}")
    if entry.has_notes:
        click.echo(f"notes       memorist notes {entry.id}")
