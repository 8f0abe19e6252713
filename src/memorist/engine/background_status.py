"""What the background work of a home did, what it may still do, and what is due (SG-3)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memorist.budget.budget_caps import BudgetUsage
from memorist.budget.budget_governor import read_budget_usage
from memorist.budget.budget_status import BudgetHistory, BudgetStatus, build_budget_status
from memorist.engine.due_work import DUE_SOURCES, DueContext
from memorist.errors import StoreError
from memorist.settings import Settings
from memorist.store.home_layout import Layout
from memorist.store.spend_rows import (
    DAY_SECONDS,
    epoch_day,
    list_blocked_since,
    list_failures_since,
    usage_by_kind,
)


def read_background_status(
    database: sqlite3.Connection | None, settings: Settings, now: float, days: int = 1
) -> BudgetStatus:
    """What background work of a home used in the last days, what is left, due and on hold;
    `database` is None for a home that has none yet. Raises StoreError.
    """
    span = range(epoch_day(now) - days + 1, epoch_day(now) + 1)
    model = "" if settings.model == "structural" else settings.model
    if database is None:
        return build_budget_status(
            BudgetUsage(now=now), BudgetHistory(), settings.spend, days=span, model=model
        )
    try:
        usage = read_budget_usage(database, now)
        history = BudgetHistory(
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
        due = [each for source in DUE_SOURCES for each in source(context)]
    except sqlite3.Error as error:
        raise StoreError(
            f"the database cannot be read ({error}); memorist doctor says more"
        ) from error
    return build_budget_status(usage, history, settings.spend, days=span, model=model, due=due)
