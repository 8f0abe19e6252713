"""Report on background work: what ran, what it cost, what is left, due, on hold and blocked; one
value, and its text for a terminal. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.budget.budget_caps import (
    CAP_SHARES,
    MEASURES,
    BudgetMeasure,
    BudgetRefused,
    BudgetRequest,
    BudgetUsage,
    compute_budget_used,
    decide_budget_request,
    find_next_utc_midnight,
    format_amount,
    format_clock_time,
    format_time_left,
    get_configured_budget_cap,
)
from memorist.budget.fruitless_runs import LABELS_THAT_CHANGE
from memorist.core.messages import Usage
from memorist.core.utc_time import format_utc_day
from memorist.forks.fork_spec import ForkLimits
from memorist.settings import SpendSettings
from memorist.store.spend_rows import BlockedWork, ModelHold, WorkKindUsage

MIN_JUDGED_RUNS = 3
"""Runs from which on it is said that nothing of them stood. Our choice: one or two are chance."""


class DueWork(Struct, frozen=True, kw_only=True):
    """Work that a subsystem has to do; every self-scheduling subsystem reports its own."""

    what: str
    """Kind of work, as in `BudgetRequest.label`."""
    why: str
    """In one clause: what waits, and for what."""
    when: float | None = None
    """Earliest start, in seconds since the epoch; None for the next time a session or worker runs.
    """


class CapUsage(Struct, frozen=True, kw_only=True):
    """State of one cap of the day."""

    measure: BudgetMeasure
    cap: float
    used: float
    reserved: float
    left: float


class StoppedWorkCount(Struct, frozen=True, kw_only=True):
    """Why runs failed or were blocked, and how often."""

    kind: str
    why: str
    times: int
    until: float | None = None


class BudgetHistory(Struct, frozen=True, kw_only=True):
    """Recorded use of the requested days."""

    kinds: tuple[WorkKindUsage, ...] = ()
    blocked: tuple[BlockedWork, ...] = ()
    failures: tuple[tuple[str, str, int], ...] = ()
    """Kind, reason, times."""


class BudgetStatus(Struct, frozen=True, kw_only=True):
    """The whole report. Times in seconds since the epoch."""

    now: float
    first: str
    last: str
    """The days, as dates in UTC."""
    model: str
    kinds: tuple[WorkKindUsage, ...]
    total: WorkKindUsage
    caps: tuple[CapUsage, ...]
    """State on the last day; empty where caps are off."""
    next_day: float
    at_rest: tuple[StoppedWorkCount, ...]
    """Kinds of work that may not run now. `times` is how often each was blocked in these days."""
    blocked: tuple[StoppedWorkCount, ...]
    failed: tuple[StoppedWorkCount, ...]
    holds: tuple[ModelHold, ...]
    due: tuple[DueWork, ...]


def build_budget_status(
    usage: BudgetUsage,
    history: BudgetHistory,
    settings: SpendSettings,
    *,
    days: range,
    model: str,
    due: Sequence[DueWork] = (),
) -> BudgetStatus:
    """Build the report. `usage` includes the holds on every model; `model` is the one of background
    work, empty for none.
    """
    blocked: dict[tuple[str, str], StoppedWorkCount] = {}
    for row in history.blocked:
        # Rows come newest first: the figures of the newest represent all.
        newest = blocked.get((row.label, row.cause)) or StoppedWorkCount(
            kind=row.label, why=row.said, times=0, until=row.until
        )
        blocked[row.label, row.cause] = replace(newest, times=newest.times + row.times)
    return BudgetStatus(
        now=usage.now,
        first=format_utc_day(days.start * 86_400),
        last=format_utc_day((days.stop - 1) * 86_400),
        model=model,
        kinds=history.kinds,
        total=_sum_kinds(history.kinds),
        caps=tuple(_cap_usage(measure, usage, settings) for measure in MEASURES)
        if settings.enabled
        else (),
        next_day=find_next_utc_midnight(usage.now),
        at_rest=find_paused_work(usage, settings, model) if model else (),
        blocked=tuple(blocked.values()),
        failed=tuple(
            StoppedWorkCount(kind=kind, why=why, times=times)
            for kind, why, times in history.failures
        ),
        holds=usage.holds,
        due=tuple(due),
    )


def find_paused_work(
    usage: BudgetUsage, settings: SpendSettings, model: str
) -> tuple[StoppedWorkCount, ...]:
    """The kinds of work that may not run now with this model, and why; the caps of a session are
    not considered.
    """
    own = BudgetUsage(
        now=usage.now,
        day=usage.day,
        day_reserved=usage.day_reserved,
        holds=tuple(hold for hold in usage.holds if hold.model == model),
    )
    found = []
    for label in CAP_SHARES:
        decided = decide_budget_request(
            BudgetRequest(label=label, limits=ForkLimits(), belongs_to_session=False), own, settings
        )
        if isinstance(decided, BudgetRefused):
            found.append(
                StoppedWorkCount(kind=label, why=decided.why, times=0, until=decided.until)
            )
    return tuple(found)


def _cap_usage(measure: BudgetMeasure, usage: BudgetUsage, settings: SpendSettings) -> CapUsage:
    cap = get_configured_budget_cap("day", measure, settings)
    used = compute_budget_used("day", measure, usage, running=False)
    reserved = compute_budget_used("day", measure, usage) - used
    return CapUsage(
        measure=measure, cap=cap, used=used, reserved=reserved, left=max(0.0, cap - used - reserved)
    )


def _sum_kinds(kinds: Sequence[WorkKindUsage]) -> WorkKindUsage:
    return WorkKindUsage(
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


def render_budget_status(status: BudgetStatus) -> list[str]:
    """The report as lines for a terminal."""
    span = status.last if status.first == status.last else f"{status.first} to {status.last}"
    model = (
        f"the model is {status.model}"
        if status.model
        else "no model is set: all is made from structure, at no cost"
    )
    text = [f"Background work on {span} (days of UTC); {model}.", ""]
    text += (
        [*_render_table(_rows_of_kinds(status)), ""]
        if status.kinds
        else ["Nothing ran that asked a model.", ""]
    )
    if status.total.unpriced:
        runs = "1 run" if status.total.unpriced == 1 else f"{status.total.unpriced:,} runs"
        text += [f"The cost of {runs} is not known and not in the sum: the model has no price.", ""]
    if status.caps:
        text += [
            *_render_table(_rows_of_caps(status)),
            f"The day ends at midnight UTC, {format_time_left(status.next_day, status.now)}.",
            "",
        ]
    else:
        text += ["The caps are switched off (spend.enabled).", ""]
    text += _render_section("On hold", [_render_hold(hold, status.now) for hold in status.holds])
    text += _render_section(
        "At rest now",
        [f"{each.kind}: {each.why}{_format_until(each, status.now)}" for each in status.at_rest],
    )
    text += _render_section(
        "Nothing stood",
        [
            f"{each.label}, asked {_format_times(each.runs)}: no answer of the model could be "
            "used, and structure served; `memorist doctor --model` tries the model"
            for each in status.kinds
            if each.label in LABELS_THAT_CHANGE
            and each.runs >= MIN_JUDGED_RUNS
            and not each.changed
        ],
    )
    text += _render_section(
        "Blocked",
        [f"{each.kind}, {_format_times(each.times)}: {each.why}" for each in status.blocked],
    )
    text += _render_section(
        "Failed",
        [
            f"{each.kind}, {_format_times(each.times)}: {_shorten_reason(each.why)}"
            for each in status.failed
        ],
    )
    text += _render_section(
        "Due", [_render_due(each, status.now) for each in status.due] or ["nothing"]
    )
    return text[:-1]


_REASON_CHARACTERS = 160
"""Characters of a reason that are shown; the receipt has the full text."""


def _shorten_reason(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 1] + "…"


def _format_times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _render_section(title: str, entries: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {entry}" for entry in entries), ""] if entries else []


def _format_until(reason: StoppedWorkCount, now: float) -> str:
    return "" if reason.until is None else f" ({format_time_left(reason.until, now)})"


def _render_hold(hold: ModelHold, now: float) -> str:
    return (
        f"{hold.model}: {hold.said}; until {format_clock_time(hold.until, now)}, "
        f"{format_time_left(hold.until, now)}"
    )


def _render_due(due: DueWork, now: float) -> str:
    when = "" if due.when is None else f" ({format_time_left(due.when, now)})"
    return f"{due.what}: {due.why}{when}"


def _rows_of_kinds(found: BudgetStatus) -> list[list[str]]:
    blocked: dict[str, int] = {}
    for each in found.blocked:
        blocked[each.kind] = blocked.get(each.kind, 0) + each.times
    blocked["all"] = sum(blocked.values())
    titles = "kind,runs,requests,input,cache read,output,cost,changed,unchanged,failed,blocked"
    rows = [titles.split(",")]
    kinds = (*found.kinds, *((found.total,) if len(found.kinds) > 1 else ()))
    for kind in kinds:
        usage = kind.usage
        counts = (
            kind.runs,
            kind.requests,
            usage.input + usage.cache_write,
            usage.cache_read,
            usage.output,
        )
        ends = (kind.changed, kind.unchanged, kind.failed, blocked.get(kind.label, 0))
        rows.append(
            [
                kind.label,
                *(f"{count:,}" for count in counts),
                f"${kind.cost_usd:.2f}",
                *(f"{count:,}" for count in ends),
            ]
        )
    return rows


def _rows_of_caps(found: BudgetStatus) -> list[list[str]]:
    rows = [["caps of the day", "used", "reserved", "left", "cap"]]
    for left in found.caps:
        amounts = (left.used, left.reserved, left.left, left.cap)
        unit = format_amount(left.measure, 0).split(" ", 1)[1]
        rows.append(
            [unit, *(format_amount(left.measure, amount).split(" ", 1)[0] for amount in amounts)]
        )
    return rows


def _render_table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
