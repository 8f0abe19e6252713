"""What background work has used, for all processes of one home: totals by day and session,
reservations, holds, and what was blocked (SG-1).

A receipt adds to the totals when it is kept (`store.receipt_rows`), so reading them costs the same
however many receipts there are.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from memorist.core.messages import Usage
from memorist.forks.fork_spec import CACHE_READ_DISCOUNT, ForkOutcome, Receipt
from memorist.store.sqlite_database import build_struct_from_row, convert_sqlite_errors, transaction
from memorist.store.state_database import render_upsert

DAY_SECONDS = 86_400
"""An accounting day is a UTC day: the same for every process and machine, and always of the same
length.
"""

CLOCK_LENIENCE_SECONDS = 60.0
"""How far in the future a reservation or hold may have been made. More means that the clock was set
back since, and it is ignored: otherwise one made while the clock was a year ahead would block for a
year.
"""

UNRUN_OUTCOMES = (ForkOutcome.REPLACED, ForkOutcome.BLOCKED)
"""Outcomes of receipts without a reservation."""

_ADD_RECEIPT = """
insert into spent (scope, name, label, runs, requests, input, cache_read, cache_write, output, cost_usd, unpriced, seconds,
  changed, unchanged, failed)
values (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (scope, name, label) do update set runs = runs + 1, requests = requests + excluded.requests, input = input + excluded.input,
  cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write, output = output + excluded.output,
  cost_usd = cost_usd + excluded.cost_usd, unpriced = unpriced + excluded.unpriced, seconds = seconds + excluded.seconds,
  changed = changed + excluded.changed, unchanged = unchanged + excluded.unchanged, failed = failed + excluded.failed
"""

_SELECT_BY_KIND = """
select label, sum(runs) as runs, sum(requests) as requests, sum(input) as input, sum(cache_read) as cache_read,
  sum(cache_write) as cache_write, sum(output) as output, sum(cost_usd) as cost_usd, sum(unpriced) as unpriced, sum(seconds) as seconds,
  sum(changed) as changed, sum(unchanged) as unchanged, sum(failed) as failed
from spent where scope = 'day' and cast(name as integer) >= ? and cast(name as integer) < ?
group by label order by sum(cost_usd) desc, sum(requests) desc, label
"""


class ResourceAmounts(Struct, frozen=True, kw_only=True):
    """Resources that work used or may use. Tokens as counted by `forks.fork_spec.count_budget_tokens`."""

    requests: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: ResourceAmounts) -> ResourceAmounts:
        return ResourceAmounts(
            requests=self.requests + other.requests,
            tokens=self.tokens + other.tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            seconds=self.seconds + other.seconds,
        )


class WorkKindUsage(Struct, frozen=True, kw_only=True):
    """Resources used by one kind of work on some days, and how its runs ended."""

    label: str
    runs: int = 0
    requests: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    unpriced: int = 0
    """Runs of unknown cost."""
    seconds: float = 0.0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0


HoldCause = Literal["refused", "share"]
"""The provider refused a request, or reported that little of its limit is left."""


class ModelHold(Struct, frozen=True, kw_only=True):
    """No background work with this model until then. Times in seconds since the epoch."""

    model: str
    cause: HoldCause
    noted: float
    until: float
    said: str


class BlockedWork(Struct, frozen=True, kw_only=True):
    """Work that did not run, and how often, for one reason on one day in one session."""

    day: int
    session: str
    label: str
    cause: str
    """Identical text for identical reasons."""
    said: str
    """The most recent reason, with its figures."""
    times: int
    until: float | None


def compute_epoch_day(at: float) -> int:
    """Number of the day since the epoch."""
    return int(at // DAY_SECONDS)


@contextlib.contextmanager
def budget_transaction(database: sqlite3.Connection) -> Iterator[None]:
    """One immediate transaction: what is read in it stays valid until its end, for other processes
    too. Raises StoreError.
    """
    failure = "what background work has used cannot be read or written in the database"
    with convert_sqlite_errors(failure), transaction(database):
        yield


def add_receipt_to_daily_and_session_totals(
    database: sqlite3.Connection, session: str, receipt: Receipt
) -> None:
    """Add a receipt to the totals of its day and session. Part of the caller's transaction."""
    if receipt.requests == 0 and receipt.outcome in (*UNRUN_OUTCOMES, ForkOutcome.CANCELLED):
        return
    usage, outcome = receipt.usage, receipt.outcome
    counted = (
        receipt.requests,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        receipt.cost_usd or 0.0,
        receipt.cost_usd is None,
        receipt.seconds,
        outcome is ForkOutcome.CHANGED,
        outcome in (ForkOutcome.UNCHANGED, ForkOutcome.CONFIRMED),
        outcome not in (ForkOutcome.CHANGED, ForkOutcome.UNCHANGED, ForkOutcome.CONFIRMED),
    )
    for scope, name in (("day", str(compute_epoch_day(receipt.started))), ("session", session)):
        database.execute(_ADD_RECEIPT, (scope, name, receipt.label, *counted))


def sum_usage_on_day(database: sqlite3.Connection, day: int) -> ResourceAmounts:
    """Resources used by all work on a day."""
    return _sum_usage(database, "day", str(day))


def sum_usage_in_session(database: sqlite3.Connection, session: str) -> ResourceAmounts:
    """Resources used by all work of a session, on any day."""
    return _sum_usage(database, "session", session)


def _sum_usage(database: sqlite3.Connection, scope: str, name: str) -> ResourceAmounts:
    row = database.execute(
        "select sum(requests) as requests, sum(input + cache_write + output) as full, "
        "sum(cache_read) as read, sum(cost_usd) as cost_usd,"
        " sum(seconds) as seconds from spent where scope = ? and name = ?",
        (scope, name),
    ).fetchone()
    if row["requests"] is None:
        return ResourceAmounts()
    tokens = row["full"] + row["read"] // CACHE_READ_DISCOUNT
    return build_struct_from_row(ResourceAmounts, row, tokens=tokens)


def reserve_amount(
    database: sqlite3.Connection,
    session: str,
    label: str,
    amount: ResourceAmounts,
    *,
    reserved: float,
    expires: float,
) -> int:
    """Reserve an amount until the receipt arrives or until it expires; returns its number. Part of
    the caller's transaction.
    """
    database.execute(
        "delete from reservations where expires <= ? or made > ?",
        (reserved, reserved + CLOCK_LENIENCE_SECONDS),
    )
    cursor = database.execute(
        "insert into reservations (session, label, made, expires, requests, tokens, cost_usd, "
        "seconds) values (:session, :label, :made, :expires, :requests, :tokens, :cost_usd, "
        ":seconds)",
        asdict(amount) | {"session": session, "label": label, "made": reserved, "expires": expires},
    )
    return int(cursor.lastrowid or 0)


def release_reservation(database: sqlite3.Connection, reservation: int) -> None:
    """Release the reservation with this number. Part of the caller's transaction."""
    database.execute("delete from reservations where number = ?", (reservation,))


def sum_reserved_amount(
    database: sqlite3.Connection, now: float, session: str | None = None
) -> ResourceAmounts:
    """The amount currently reserved, by all sessions or by one."""
    row = database.execute(
        "select coalesce(sum(requests), 0) as requests, coalesce(sum(tokens), 0) as tokens, "
        "coalesce(sum(cost_usd), 0) as cost_usd, coalesce(sum(seconds), 0) as seconds from "
        "reservations where expires > ? and made <= ? and (? is null or session = ?)",
        (now, now + CLOCK_LENIENCE_SECONDS, session, session),
    ).fetchone()
    return build_struct_from_row(ResourceAmounts, row)


def record_model_hold(database: sqlite3.Connection, hold: ModelHold) -> None:
    """Put background work of a model on hold; a hold for the same cause is replaced. Part of the
    caller's transaction.
    """
    database.execute(
        "delete from holds where until <= ? or noted > ?",
        (hold.noted, hold.noted + CLOCK_LENIENCE_SECONDS),
    )
    database.execute(
        render_upsert("holds", ModelHold.__struct_fields__, ("model", "cause")), asdict(hold)
    )


def lift_model_hold(database: sqlite3.Connection, model: str, cause: HoldCause) -> None:
    """Remove the hold: its cause no longer applies. Part of the caller's transaction."""
    database.execute("delete from holds where model = ? and cause = ?", (model, cause))


def list_model_holds(
    database: sqlite3.Connection, now: float, model: str | None = None
) -> list[ModelHold]:
    """The current holds, the longest first."""
    rows = database.execute(
        "select * from holds where until > ? and noted <= ? and (? is null or model = ?) order "
        "by until desc",
        (now, now + CLOCK_LENIENCE_SECONDS, model, model),
    ).fetchall()
    return [build_struct_from_row(ModelHold, row) for row in rows]


def record_blocked_work(database: sqlite3.Connection, blocked: BlockedWork) -> bool:
    """Count work that did not run; True when it is the first time for this cause. Part of the
    caller's transaction.
    """
    key = (blocked.day, blocked.session, blocked.label, blocked.cause)
    changed = database.execute(
        "update blocked set times = times + ?, said = ?, until = ? where day = ? and session = "
        "? and label = ? and cause = ?",
        (blocked.times, blocked.said, blocked.until, *key),
    ).rowcount
    if changed:
        return False
    database.execute(
        "insert into blocked (day, session, label, cause, said, times, until) values (?, ?, ?, "
        "?, ?, ?, ?)",
        (*key, blocked.said, blocked.times, blocked.until),
    )
    return True


def list_blocked_work_since(database: sqlite3.Connection, day: int) -> list[BlockedWork]:
    """Work that did not run from that day on, newest day first."""
    rows = database.execute(
        "select * from blocked where day >= ? order by day desc, label, cause", (day,)
    ).fetchall()
    return [build_struct_from_row(BlockedWork, row) for row in rows]


def list_usage_by_kind(database: sqlite3.Connection, days: range) -> list[WorkKindUsage]:
    """Resources used by each kind of work on these days together, the most expensive first."""
    rows = database.execute(_SELECT_BY_KIND, (days.start, days.stop)).fetchall()
    return [
        build_struct_from_row(WorkKindUsage, row, usage=build_struct_from_row(Usage, row))
        for row in rows
    ]


def count_failed_runs_by_reason(
    database: sqlite3.Connection, start: float
) -> list[tuple[str, str, int]]:
    """Kind of work, reason and number of the failed runs since then, the most frequent first."""
    rows = database.execute(
        "select label, said, count(*) as times from receipts where started >= ? and outcome in"
        " ('failed', 'timed_out', 'over_limit', 'looped') group by label, said order by times "
        "desc, label, said",
        (start,),
    ).fetchall()
    return [(row["label"], row["said"], row["times"]) for row in rows]
