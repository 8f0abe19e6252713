"""`memorist status`."""

from __future__ import annotations

import contextlib
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from memorist.auto_memory.memory_location import resolve_project_memory_layout
from memorist.auto_memory.moved_projects import describe_memory_found_elsewhere
from memorist.budget.budget_status import render_budget_status
from memorist.cli import output
from memorist.cli.command_environment import explain_memory_off, load_project_settings
from memorist.cli.doctor.hook_check import read_recent_hook_failure_lines
from memorist.cli.install_command import build_settings_scope
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.engine.background_status import read_background_budget_status
from memorist.engine.memory_effect import (
    MemoryEffectEstimate,
    MemoryEffectReport,
    measure_memory_effect,
)
from memorist.engine.memory_status import ProjectMemoryStatus, read_memory_status
from memorist.hooks.agent_programs import find_connected_agents
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import open_database
from memorist.system import SystemClock

NO_HOLDOUT = (
    "no session goes without memory, so there is nothing to compare with: memorist config set "
    "recall.holdout 0.1 leaves every tenth without"
)


@click.command("status")
@click.option(
    "--days",
    type=click.IntRange(1, 366),
    default=1,
    show_default=True,
    help="Days to look at, the last of them today.",
)
@click.option(
    "--effect", is_flag=True, help="Whether memory helps, by the sessions that went without it."
)
@output.JSON_OPTION
def status_command(days: int, effect: bool, as_json: bool) -> None:
    """Show what is remembered here, by origin, what waits and what was shown last; then what ran in
    the background, what it cost, what is left of the caps, what is due, on hold
    and blocked, and why.

    Example: memorist status --days 7
    """
    settings = load_project_settings()
    layout = Layout.from_setting(settings.home)
    with _open_database(layout) as database:
        if effect:
            folder = resolve_project_memory_layout(
                layout, str(Path.cwd()), settings.auto_memory
            ).folder
            measured = measure_memory_effect(layout, database, folder)
            _print_effect(measured, as_json=as_json)
            if not (settings.recall.holdout or measured.without or as_json):
                click.echo(NO_HOLDOUT)
            return
        found = read_background_budget_status(database, settings, SystemClock().now(), days)
        joined = tuple(
            each.title for each in find_connected_agents(build_settings_scope(user=True))
        )
        with open_project_memory() as (_, project):
            memory = read_memory_status(layout, project, database, joined)
            links = len(project.folder.list_links())
            elsewhere = (
                ()
                if any(memory.origins.values())
                else describe_memory_found_elsewhere(DiskFiles(), layout, str(Path.cwd()))
            )
    if as_json:
        output.print_json({**msgspec.to_builtins(found), "memory": memory})
    else:
        click.echo(
            "\n".join(
                [
                    *explain_memory_off(settings),
                    *elsewhere,
                    *_render_memory(memory),
                    *([f"Not read, as links: {links:,} (memorist memory list)"] if links else []),
                    *render_budget_status(found),
                    *read_recent_hook_failure_lines(layout.home, SystemClock().now()),
                ]
            )
        )


def _render_memory(status: ProjectMemoryStatus) -> Sequence[str]:
    kinds = ", ".join(f"{count:,} {name}" for name, count in status.origins.items())
    lines = [
        f"Memories here: {kinds or 'none yet'}",
        f"Joined agents: {', '.join(status.joined) or 'none yet: memorist setup'}",
    ]
    if status.everywhere:
        lines.insert(1, f"Of you, in every project: {status.everywhere:,}")
    if status.off_sessions:
        lines.append(f"Sessions without memory: {status.off_sessions:,}, at their user's word")
    if status.waiting:
        lines.insert(1, f"Waiting for you: {status.waiting:,} (memorist memory inbox)")
    if status.last_shown:
        lines.append(f"Last shown: {status.last_shown}")
    return [*lines, ""]


def _print_effect(found: MemoryEffectReport, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    click.echo(
        f"{found.with_memory:,} sessions with memory, {found.without:,} without "
        f"(recall.holdout draws them)"
    )
    for each in found.effects:
        name = each.measure.replace("_", " ")
        click.echo(f"{name:<18}{_describe_effect(each, found)}")
    for path in found.idle:
        click.echo(
            f"shown often, never read or cited: {output.make_terminal_safe_line(path)}; "
            f"leave it out with: memorist memory mute {shlex.quote(path)}"
        )


def _describe_effect(each: MemoryEffectEstimate, found: MemoryEffectReport) -> str:
    if each.verdict == "too few":
        return f"too few sessions: {found.minimum} of each kind are needed"
    if each.verdict == "too rare":
        return "too rare in these sessions to tell"
    return (
        f"{each.with_memory:,.1f} with, {each.without:,.1f} without; ratio {each.low:.2f} to "
        f"{each.high:.2f} ({found.level:.2%}, Welch of logarithms): {each.verdict}"
    )


@contextlib.contextmanager
def _open_database(layout: Layout) -> Iterator[sqlite3.Connection | None]:
    """The database, if it exists; none is created."""
    if not layout.database.exists():
        yield None
        return
    database = open_database(layout.database)
    try:
        yield database
    finally:
        database.close()
