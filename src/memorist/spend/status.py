"""What background work did, what it cost, what is left, due, on hold and blocked: one value, and its text for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Usage
from memorist.forks.spec import ForkLimits
from memorist.spend.decide import (
    MEASURES,
    Measure,
    Refused,
    Standing,
    Work,
    amount_text,
    cap_of,
    decide,
    next_day,
    used_of,
)
from memorist.spend.ladder import LADDER
from memorist.spend.settings import SpendSettings
from memorist.spend.words import clock_time, date_of, left_until
from memorist.store.spend import Blocked, Hold, KindSpent


class Due(Struct, frozen=True, kw_only=True):
    """Work that a subsystem has to do. Each that works by itself tells its own."""

    what: str
    """Kind of work, as in `Work.label`."""
    why: str
    """In one clause: what waits, and for what."""
    when: float | None = None
    """When it begins at the earliest, in seconds since the epoch; None for the next time somebody works."""


class Left(Struct, frozen=True, kw_only=True):
    """One cap of the day."""

    measure: Measure
    cap: float
    used: float
    reserved: float
    left: float


class Reason(Struct, frozen=True, kw_only=True):
    """Why runs failed or were blocked, and how often."""

    kind: str
    why: str
    times: int
    until: float | None = None


class Ledger(Struct, frozen=True, kw_only=True):
    """What the books hold of the days that are asked for."""

    kinds: tuple[KindSpent, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    failures: tuple[tuple[str, str, int], ...] = ()
    """Kind, reason, times."""


class Status(Struct, frozen=True, kw_only=True):
    """All of it. Times in seconds since the epoch."""

    now: float
    first: str
    last: str
    """The days, as dates in UTC."""
    model: str
    kinds: tuple[KindSpent, ...]
    total: KindSpent
    caps: tuple[Left, ...]
    """Of the last day; empty where caps are off."""
    next_day: float
    at_rest: tuple[Reason, ...]
    """Kinds of work that may not run now. `times` is how often each was blocked in these days."""
    blocked: tuple[Reason, ...]
    failed: tuple[Reason, ...]
    holds: tuple[Hold, ...]
    due: tuple[Due, ...]


def status(books: Standing, ledger: Ledger, settings: SpendSettings, *, days: range, model: str, due: Sequence[Due] = ()) -> Status:
    """Put it together. `books` holds what every model has on hold; `model` is the one of background work, empty for none."""
    blocked: dict[tuple[str, str], Reason] = {}
    for row in ledger.blocked:
        # Newest first: the figures of the newest stand for all.
        newest = blocked.get((row.label, row.cause)) or Reason(kind=row.label, why=row.said, times=0, until=row.until)
        blocked[row.label, row.cause] = replace(newest, times=newest.times + row.times)
    return Status(
        now=books.now,
        first=date_of(days.start * 86_400),
        last=date_of((days.stop - 1) * 86_400),
        model=model,
        kinds=ledger.kinds,
        total=_total(ledger.kinds),
        caps=tuple(_left(measure, books, settings) for measure in MEASURES) if settings.enabled else (),
        next_day=next_day(books.now),
        at_rest=at_rest(books, settings, model) if model else (),
        blocked=tuple(blocked.values()),
        failed=tuple(Reason(kind=kind, why=why, times=times) for kind, why, times in ledger.failures),
        holds=books.holds,
        due=tuple(due),
    )


def at_rest(books: Standing, settings: SpendSettings, model: str) -> tuple[Reason, ...]:
    """The kinds of work that may not run now with this model, and why; what a session's own caps say is not asked."""
    own = Standing(
        now=books.now, day=books.day, day_reserved=books.day_reserved, holds=tuple(hold for hold in books.holds if hold.model == model)
    )
    found = []
    for label in LADDER:
        decided = decide(Work(label=label, limits=ForkLimits(), session=False), own, settings)
        if isinstance(decided, Refused):
            found.append(Reason(kind=label, why=decided.why, times=0, until=decided.until))
    return tuple(found)


def _left(measure: Measure, books: Standing, settings: SpendSettings) -> Left:
    cap, used = cap_of("day", measure, settings), used_of("day", measure, books, running=False)
    reserved = used_of("day", measure, books) - used
    return Left(measure=measure, cap=cap, used=used, reserved=reserved, left=max(0.0, cap - used - reserved))


def _total(kinds: Sequence[KindSpent]) -> KindSpent:
    return KindSpent(
        label="all",
        runs=sum(kind.runs for kind in kinds),
        requests=sum(kind.requests for kind in kinds),
        usage=sum((kind.usage for kind in kinds), Usage()),
        cost_usd=sum(kind.cost_usd for kind in kinds),
        unpriced=sum(kind.unpriced for kind in kinds),
        seconds=sum(kind.seconds for kind in kinds),
        changed=sum(kind.changed for kind in kinds),
        unchanged=sum(kind.unchanged for kind in kinds),
        failed=sum(kind.failed for kind in kinds),
    )


def lines(found: Status) -> list[str]:
    """The text for a terminal."""
    span = found.last if found.first == found.last else f"{found.first} to {found.last}"
    model = f"the model is {found.model}" if found.model else "no model is set: all is made from structure, at no cost"
    text = [f"Background work on {span} (days of UTC); {model}.", ""]
    text += [*_table(_kind_rows(found)), ""] if found.kinds else ["Nothing ran that asked a model.", ""]
    if found.total.unpriced:
        runs = "1 run" if found.total.unpriced == 1 else f"{found.total.unpriced:,} runs"
        text += [f"The cost of {runs} is not known and not in the sum: the model has no price.", ""]
    if found.caps:
        text += [*_table(_cap_rows(found)), f"The day ends at midnight UTC, {left_until(found.next_day, found.now)}.", ""]
    else:
        text += ["The caps are switched off (spend.enabled).", ""]
    text += _section("On hold", [_hold_line(hold, found.now) for hold in found.holds])
    text += _section("At rest now", [f"{each.kind}: {each.why}{_until(each, found.now)}" for each in found.at_rest])
    text += _section("Blocked", [f"{each.kind}, {_times(each.times)}: {each.why}" for each in found.blocked])
    text += _section("Failed", [f"{each.kind}, {_times(each.times)}: {_short(each.why)}" for each in found.failed])
    text += _section("Due", [_due_line(each, found.now) for each in found.due] or ["nothing"])
    return text[:-1]


_SAID = 160
"""Characters of a reason that are shown; the receipt has all of it."""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SAID else line[: _SAID - 1] + "…"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _section(title: str, entries: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {entry}" for entry in entries), ""] if entries else []


def _until(reason: Reason, now: float) -> str:
    return "" if reason.until is None else f" ({left_until(reason.until, now)})"


def _hold_line(hold: Hold, now: float) -> str:
    return f"{hold.model}: {hold.said}; until {clock_time(hold.until, now)}, {left_until(hold.until, now)}"


def _due_line(due: Due, now: float) -> str:
    when = "" if due.when is None else f" ({left_until(due.when, now)})"
    return f"{due.what}: {due.why}{when}"


def _kind_rows(found: Status) -> list[list[str]]:
    blocked: dict[str, int] = {}
    for each in found.blocked:
        blocked[each.kind] = blocked.get(each.kind, 0) + each.times
    blocked["all"] = sum(blocked.values())
    rows = [["kind", "runs", "requests", "input", "cache read", "output", "cost", "changed", "unchanged", "failed", "blocked"]]
    kinds = (*found.kinds, *((found.total,) if len(found.kinds) > 1 else ()))
    for kind in kinds:
        usage = kind.usage
        counts = (kind.runs, kind.requests, usage.input + usage.cache_write, usage.cache_read, usage.output)
        ends = (kind.changed, kind.unchanged, kind.failed, blocked.get(kind.label, 0))
        rows.append([kind.label, *(f"{count:,}" for count in counts), f"${kind.cost_usd:.2f}", *(f"{count:,}" for count in ends)])
    return rows


def _cap_rows(found: Status) -> list[list[str]]:
    rows = [["caps of the day", "used", "reserved", "left", "cap"]]
    for left in found.caps:
        amounts = (left.used, left.reserved, left.left, left.cap)
        unit = amount_text(left.measure, 0).split(" ", 1)[1]
        rows.append([unit, *(amount_text(left.measure, amount).split(" ", 1)[0] for amount in amounts)])
    return rows


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
