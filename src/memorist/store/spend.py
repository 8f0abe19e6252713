"""What background work has used, for all processes of one home: totals by day and session, reservations, holds, and what was blocked (SG-1).

A receipt adds to the totals when it is kept (`store.sessions`), so reading them costs the same however many receipts there are.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from memorist.core.messages import Usage
from memorist.errors import StoreError
from memorist.forks.spec import CACHED_PART, Outcome, Receipt
from memorist.store.database import transaction

DAY_SECONDS = 86_400
"""A day of the books is one of UTC: the same for every process and machine, and no day is shorter than another."""

LENIENCE_SECONDS = 60.0
"""How far in the future a reservation or hold may have been made. More says that the clock was put back since, and then it does not count:
else one made while the clock was wrong by a year would stand in the way for a year.
"""

NEVER_RAN = (Outcome.REPLACED, Outcome.BLOCKED)
"""Outcomes of receipts for which nothing was reserved."""

_ADD = """
insert into spent (scope, name, label, runs, requests, input, cache_read, cache_write, output, cost_usd, unpriced, seconds,
  changed, unchanged, failed)
values (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (scope, name, label) do update set runs = runs + 1, requests = requests + excluded.requests, input = input + excluded.input,
  cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write, output = output + excluded.output,
  cost_usd = cost_usd + excluded.cost_usd, unpriced = unpriced + excluded.unpriced, seconds = seconds + excluded.seconds,
  changed = changed + excluded.changed, unchanged = unchanged + excluded.unchanged, failed = failed + excluded.failed
"""

_BY_KIND = """
select label, sum(runs) as runs, sum(requests) as requests, sum(input) as input, sum(cache_read) as cache_read,
  sum(cache_write) as cache_write, sum(output) as output, sum(cost_usd) as cost_usd, sum(unpriced) as unpriced, sum(seconds) as seconds,
  sum(changed) as changed, sum(unchanged) as unchanged, sum(failed) as failed
from spent where scope = 'day' and cast(name as integer) >= ? and cast(name as integer) < ?
group by label order by sum(cost_usd) desc, sum(requests) desc, label
"""


class Amount(Struct, frozen=True, kw_only=True):
    """What work used or may use. Tokens as `forks.spec.counted_tokens` counts them."""

    requests: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            requests=self.requests + other.requests,
            tokens=self.tokens + other.tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            seconds=self.seconds + other.seconds,
        )


class KindSpent(Struct, frozen=True, kw_only=True):
    """What one kind of work used on some days, and how its runs ended."""

    label: str
    runs: int = 0
    requests: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    unpriced: int = 0
    """Runs whose cost is not known."""
    seconds: float = 0.0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0


Cause = Literal["refused", "share"]
"""The provider refused a request, or told that little of its limit is left."""


class Hold(Struct, frozen=True, kw_only=True):
    """No background work with this model until then. Times in seconds since the epoch."""

    model: str
    cause: Cause
    noted: float
    until: float
    said: str


class Blocked(Struct, frozen=True, kw_only=True):
    """Work that did not run, and how often, for one reason on one day in one session."""

    day: int
    session: str
    label: str
    cause: str
    """The same text for the same reason."""
    said: str
    """The reason as it was the last time, with its figures."""
    times: int
    until: float | None


def day_of(at: float) -> int:
    """The number of the day, since the epoch."""
    return int(at // DAY_SECONDS)


@contextlib.contextmanager
def books(database: sqlite3.Connection) -> Iterator[None]:
    """One immediate transaction: what is read in it holds until its end, for other processes too. Raises StoreError."""
    try:
        with transaction(database):
            yield
    except sqlite3.Error as error:
        raise StoreError(f"what background work has used cannot be read or written in the database ({error})") from error


def add_receipt(database: sqlite3.Connection, session: str, receipt: Receipt) -> None:
    """Add what a receipt says to its day and its session. Part of the caller's transaction."""
    if receipt.requests == 0 and receipt.outcome in (*NEVER_RAN, Outcome.CANCELLED):
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
        outcome is Outcome.CHANGED,
        outcome is Outcome.UNCHANGED,
        outcome not in (Outcome.CHANGED, Outcome.UNCHANGED),
    )
    for scope, name in (("day", str(day_of(receipt.started))), ("session", session)):
        database.execute(_ADD, (scope, name, receipt.label, *counted))


def spent_on(database: sqlite3.Connection, day: int) -> Amount:
    """What all work used on a day."""
    return _spent(database, "day", str(day))


def spent_in(database: sqlite3.Connection, session: str) -> Amount:
    """What all work of a session used, on whatever day."""
    return _spent(database, "session", session)


def _spent(database: sqlite3.Connection, scope: str, name: str) -> Amount:
    row = database.execute(
        "select sum(requests) as requests, sum(input + cache_write + output) as full, sum(cache_read) as read, sum(cost_usd) as cost,"
        " sum(seconds) as seconds from spent where scope = ? and name = ?",
        (scope, name),
    ).fetchone()
    if row["requests"] is None:
        return Amount()
    tokens = row["full"] + row["read"] // CACHED_PART
    return Amount(requests=row["requests"], tokens=tokens, cost_usd=row["cost"], seconds=row["seconds"])


def reserve(database: sqlite3.Connection, session: str, label: str, amount: Amount, *, made: float, expires: float) -> int:
    """Reserve an amount until the receipt comes, or until it expires; gives its number. Part of the caller's transaction."""
    database.execute("delete from reservations where expires <= ? or made > ?", (made, made + LENIENCE_SECONDS))
    cursor = database.execute(
        "insert into reservations (session, label, made, expires, requests, tokens, cost_usd, seconds) values (?, ?, ?, ?, ?, ?, ?, ?)",
        (session, label, made, expires, amount.requests, amount.tokens, amount.cost_usd, amount.seconds),
    )
    return int(cursor.lastrowid or 0)


def release(database: sqlite3.Connection, reservation: int) -> None:
    """Give up what was reserved under this number. Part of the caller's transaction."""
    database.execute("delete from reservations where number = ?", (reservation,))


def reserved(database: sqlite3.Connection, now: float, session: str | None = None) -> Amount:
    """What is reserved at this moment, by all sessions or by one."""
    row = database.execute(
        "select coalesce(sum(requests), 0) as requests, coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost_usd), 0) as cost,"
        " coalesce(sum(seconds), 0) as seconds from reservations where expires > ? and made <= ? and (? is null or session = ?)",
        (now, now + LENIENCE_SECONDS, session, session),
    ).fetchone()
    return Amount(requests=row["requests"], tokens=row["tokens"], cost_usd=row["cost"], seconds=row["seconds"])


def note_hold(database: sqlite3.Connection, hold: Hold) -> None:
    """Keep background work of a model on hold; a hold for the same cause is replaced. Part of the caller's transaction."""
    database.execute("delete from holds where until <= ? or noted > ?", (hold.noted, hold.noted + LENIENCE_SECONDS))
    database.execute(
        "insert into holds (model, cause, noted, until, said) values (?, ?, ?, ?, ?)"
        " on conflict (model, cause) do update set noted = excluded.noted, until = excluded.until, said = excluded.said",
        (hold.model, hold.cause, hold.noted, hold.until, hold.said),
    )


def lift_hold(database: sqlite3.Connection, model: str, cause: Cause) -> None:
    """Its cause is gone. Part of the caller's transaction."""
    database.execute("delete from holds where model = ? and cause = ?", (model, cause))


def holds(database: sqlite3.Connection, now: float, model: str | None = None) -> list[Hold]:
    """What is on hold at this moment, the longest first."""
    rows = database.execute(
        "select * from holds where until > ? and noted <= ? and (? is null or model = ?) order by until desc",
        (now, now + LENIENCE_SECONDS, model, model),
    ).fetchall()
    return [Hold(model=row["model"], cause=row["cause"], noted=row["noted"], until=row["until"], said=row["said"]) for row in rows]


def note_blocked(database: sqlite3.Connection, blocked: Blocked) -> bool:
    """Count work that did not run; True when it is the first time for this cause. Part of the caller's transaction."""
    key = (blocked.day, blocked.session, blocked.label, blocked.cause)
    changed = database.execute(
        "update blocked set times = times + ?, said = ?, until = ? where day = ? and session = ? and label = ? and cause = ?",
        (blocked.times, blocked.said, blocked.until, *key),
    ).rowcount
    if changed:
        return False
    database.execute(
        "insert into blocked (day, session, label, cause, said, times, until) values (?, ?, ?, ?, ?, ?, ?)",
        (*key, blocked.said, blocked.times, blocked.until),
    )
    return True


def blocked_since(database: sqlite3.Connection, day: int) -> list[Blocked]:
    """What did not run from that day on, newest day first."""
    rows = database.execute("select * from blocked where day >= ? order by day desc, label, cause", (day,)).fetchall()
    return [Blocked(**{name: row[name] for name in Blocked.__struct_fields__}) for row in rows]


def spent_by_kind(database: sqlite3.Connection, days: range) -> list[KindSpent]:
    """What each kind of work used on these days together, the dearest first."""
    rows = database.execute(_BY_KIND, (days.start, days.stop)).fetchall()
    return [
        KindSpent(
            usage=Usage(input=row["input"], cache_read=row["cache_read"], cache_write=row["cache_write"], output=row["output"]),
            **{name: row[name] for name in KindSpent.__struct_fields__ if name != "usage"},
        )
        for row in rows
    ]


def failures_since(database: sqlite3.Connection, start: float) -> list[tuple[str, str, int]]:
    """Kind of work, reason and number of the runs that failed since then, the most frequent first."""
    rows = database.execute(
        "select label, said, count(*) as times from receipts where started >= ? and outcome in"
        " ('failed', 'timed_out', 'over_limit', 'looped') group by label, said order by times desc, label, said",
        (start,),
    ).fetchall()
    return [(row["label"], row["said"], row["times"]) for row in rows]
