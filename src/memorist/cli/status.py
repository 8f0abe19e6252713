"""`memorist status`."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from memorist.cli import show
from memorist.cli.checks.hooks import hook_lines
from memorist.cli.due import Place, dreams_due, rollouts_due
from memorist.clock import SystemClock
from memorist.configuration import load_settings
from memorist.errors import StoreError
from memorist.settings import Settings
from memorist.spend.decide import Standing
from memorist.spend.run import standing
from memorist.spend.status import Due, Ledger, Status, lines, status
from memorist.store.database import open_database
from memorist.store.layout import Layout
from memorist.store.spend import DAY_SECONDS, blocked_since, day_of, failures_since, spent_by_kind

DUE: tuple[Callable[[Place], Sequence[Due]], ...] = (rollouts_due, dreams_due)
"""Sources of due work, in the order shown. A subsystem that works on its own adds its source."""


@click.command("status")
@click.option("--days", type=click.IntRange(1, 366), default=1, show_default=True, help="Days to look at, the last of them today.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def status_command(days: int, as_json: bool) -> None:
    """Show what ran in the background, what it cost, what is left of the caps, what is due, on hold and blocked, and why."""
    settings = load_settings(os.environ, project=Path.cwd()).settings
    layout = Layout(Path(settings.home).expanduser())
    with _opened(layout) as database:
        found = read_status(database, settings, SystemClock().now(), days)
    if as_json:
        show.json(found)
    else:
        click.echo("\n".join([*lines(found), *hook_lines(layout.home, SystemClock().now())]))


def read_status(database: sqlite3.Connection | None, settings: Settings, now: float, days: int = 1) -> Status:
    """The status of a home; `database` is None if it does not exist yet. Raises StoreError."""
    span = range(day_of(now) - days + 1, day_of(now) + 1)
    model = "" if settings.model == "structural" else settings.model
    if database is None:
        return status(Standing(now=now), Ledger(), settings.spend, days=span, model=model)
    try:
        stands = standing(database, now)
        ledger = Ledger(
            kinds=tuple(spent_by_kind(database, span)),
            blocked=tuple(blocked_since(database, span.start)),
            failures=tuple(failures_since(database, float(span.start * DAY_SECONDS))),
        )
        place = Place(layout=Layout(Path(settings.home).expanduser()), settings=settings, database=database, now=now)
        due = [each for tell in DUE for each in tell(place)]
    except sqlite3.Error as error:
        raise StoreError(f"the database cannot be read ({error}); memorist doctor says more") from error
    return status(stands, ledger, settings.spend, days=span, model=model, due=due)


@contextlib.contextmanager
def _opened(layout: Layout) -> Iterator[sqlite3.Connection | None]:
    """The database, if it exists; none is created."""
    if not layout.database.exists():
        yield None
        return
    database = open_database(layout.database)
    try:
        yield database
    finally:
        database.close()
