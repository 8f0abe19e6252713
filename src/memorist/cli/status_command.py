"""`memorist status`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from memorist.auto_memory.memory_location import locate_memory
from memorist.budget.budget_caps import BudgetUsage
from memorist.budget.budget_governor import read_budget_usage
from memorist.budget.budget_status import (
    BudgetHistory,
    BudgetStatus,
    build_budget_status,
    render_budget_status,
)
from memorist.cli import output
from memorist.cli.command_environment import load_project_settings
from memorist.cli.doctor.hook_check import format_hook_failures
from memorist.cli.effect_report import print_effect, read_effect
from memorist.cli.memory_status import read_memory_status, render_memory_status
from memorist.engine.due_work import DUE_SOURCES, DueContext
from memorist.errors import StoreError
from memorist.settings import Settings
from memorist.store.database import open_database
from memorist.store.home_layout import Layout
from memorist.store.spend_rows import (
    DAY_SECONDS,
    epoch_day,
    list_blocked_since,
    list_failures_since,
    usage_by_kind,
)
from memorist.system import SystemClock


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
    layout = Layout(Path(settings.home).expanduser())
    with _open_database(layout) as database:
        if effect:
            folder = locate_memory(layout, str(Path.cwd()), settings.auto_memory).folder
            print_effect(read_effect(database, folder), as_json=as_json)
            return
        found = read_status(database, settings, SystemClock().now(), days)
        memory = read_memory_status(database)
    if as_json:
        output.print_json({**msgspec.to_builtins(found), "memory": memory})
    else:
        click.echo(
            "\n".join(
                [
                    *render_memory_status(memory),
                    *render_budget_status(found),
                    *format_hook_failures(layout.home, SystemClock().now()),
                ]
            )
        )


def read_status(
    database: sqlite3.Connection | None, settings: Settings, now: float, days: int = 1
) -> BudgetStatus:
    """The status of a home; `database` is None if it does not exist yet. Raises StoreError."""
    span = range(epoch_day(now) - days + 1, epoch_day(now) + 1)
    model = "" if settings.model == "structural" else settings.model
    if database is None:
        return build_budget_status(
            BudgetUsage(now=now), BudgetHistory(), settings.spend, days=span, model=model
        )
    try:
        stands = read_budget_usage(database, now)
        ledger = BudgetHistory(
            kinds=tuple(usage_by_kind(database, span)),
            blocked=tuple(list_blocked_since(database, span.start)),
            failures=tuple(list_failures_since(database, float(span.start * DAY_SECONDS))),
        )
        context = DueContext(
            layout=Layout(Path(settings.home).expanduser()),
            settings=settings,
            database=database,
            now=now,
        )
        due = [each for tell in DUE_SOURCES for each in tell(context)]
    except sqlite3.Error as error:
        raise StoreError(
            f"the database cannot be read ({error}); memorist doctor says more"
        ) from error
    return build_budget_status(stands, ledger, settings.spend, days=span, model=model, due=due)


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
