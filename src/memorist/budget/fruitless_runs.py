"""Runs of a model of which nothing stood: how many there were in a row, and from when on a kind of
work asks the model no more on that day (`spend.fruitless_runs`).
"""

from __future__ import annotations

import sqlite3
from itertools import takewhile

from memorist.forks.fork_spec import ForkOutcome
from memorist.models.own_network_servers import is_model_on_own_network
from memorist.settings import SpendSettings
from memorist.store.spend_rows import DAY_SECONDS, compute_epoch_day

LABELS_THAT_CHANGE = ("session_memory", "magic_docs", "compact")
"""Work that is begun only when there is something to change."""
LABELS_TRIED_AGAIN_SOON = ("dream",)
"""Work that is needed once a day, and that begins anew some minutes after it failed: whatever it
failed by, the next minutes are no better.
"""


def has_reached_fruitless_limit(count: int, settings: SpendSettings) -> bool:
    """Whether a kind of work asks its model no more today, after `count` runs in a row of which
    nothing stood.
    """
    return 0 < settings.fruitless_runs <= count


def explain_fruitless_pause(label: str, count: int, until: str) -> str:
    """Why a kind of work asks its model no more until a time of day."""
    return (
        f"the last {count} runs of the model were of no use for {label}, so structure serves until "
        f"{until} (spend.fruitless_runs); `memorist doctor --model` says what the model is good "
        f"enough for."
    )


def count_fruitless_runs(
    database: sqlite3.Connection, label: str, model: str, now: float, settings: SpendSettings
) -> int:
    """How many of today's newest runs of this label and model ended in a row without anything that
    stood; at most `spend.fruitless_runs`.

    For notes, documents and summaries a run that changed nothing is one, unless it confirmed notes
    of its own; extraction, dreams and the stages of past sessions often rightly change nothing. A
    cancelled run, a failed one and one that never ran say nothing of the answers. One that took too
    long does where the model is on this machine or its network: it is too slow for that work, and
    no provider's bad hour. A dream that failed in any way is one: it would be asked for every ten
    minutes.
    """
    limit = settings.fruitless_runs
    fruitless = [ForkOutcome.OVER_LIMIT, ForkOutcome.LOOPED]
    if label in LABELS_THAT_CHANGE:
        fruitless.append(ForkOutcome.UNCHANGED)
    if label in LABELS_TRIED_AGAIN_SOON:
        fruitless += [ForkOutcome.TIMED_OUT, ForkOutcome.FAILED]
    elif is_model_on_own_network(model):
        fruitless.append(ForkOutcome.TIMED_OUT)
    rows = database.execute(
        "select outcome, requests from receipts where label = ? and model = ? and started >= ? "
        "order by number desc limit ?",
        (label, model, compute_epoch_day(now) * DAY_SECONDS, 2 * limit),
    ).fetchall()
    ran = [
        row["outcome"]
        for row in rows
        if row["requests"]
        and (
            row["outcome"] in fruitless
            or row["outcome"]
            not in (ForkOutcome.CANCELLED, ForkOutcome.FAILED, ForkOutcome.TIMED_OUT)
        )
    ]
    return sum(1 for _ in takewhile(fruitless.__contains__, ran[:limit]))
