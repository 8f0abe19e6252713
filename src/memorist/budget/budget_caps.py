"""Decide whether a fork may run, as a value that explains itself. Pure (SG-1)."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.budget.fruitless_runs import explain_fruitless_pause, has_reached_fruitless_limit
from memorist.core.utc_time import convert_epoch_to_utc_datetime, format_utc_day
from memorist.forks.fork_spec import ForkLimits
from memorist.settings import SpendSettings
from memorist.store.spend_rows import DAY_SECONDS, ModelHold, ResourceAmounts, compute_epoch_day

# The order in which work gives way as a cap comes near (SG-1).

CAP_SHARES: dict[str, float] = {
    "dream": 0.5,
    "consolidation": 0.6,
    "rollouts": 0.7,
    "extraction": 0.8,
    "magic_docs": 0.8,
    "recall": 0.8,
    "session_memory": 0.9,
    "compact": 1.0,
}
"""Kind of work, by its forks' label, to the share of a cap up to which it may run. `rollouts` and
`consolidation` are the two stages of rollout memory.

What can wait longest gives way first: dream and consolidation lose nothing by a day's wait, a past
session waits for days, messages that extraction has not seen are seen at the next run, and recall
has its ranker. Notes become structural at nine tenths. The last tenth is compaction's, which the
window demands: a model's summary is worth most there, and what it replaces cannot be asked for
again.
"""


UNKNOWN_WORK_SHARE = 0.5
"""Share for work not listed: it gives way first."""


def get_budget_cap_share(label: str) -> float:
    """The share of each cap up to which work of this label may run."""
    return CAP_SHARES.get(label, UNKNOWN_WORK_SHARE)


# Render times for the user.


def format_clock_time(at: float, now: float) -> str:
    """The time of day, such as 14:05 UTC, with the date where it is not today's."""
    form = "%H:%M UTC" if format_utc_day(at) == format_utc_day(now) else "%Y-%m-%d %H:%M UTC"
    return convert_epoch_to_utc_datetime(at).strftime(form)


def format_time_left(at: float, now: float) -> str:
    """The time left until then, such as `in 3 h`; `now` for a past time."""
    seconds = at - now
    if seconds <= 0:
        return "now"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"in {seconds / size:.0f} {unit}"
    return f"in {max(1, round(seconds))} s"


BudgetScope = Literal["day", "session"]
BudgetMeasure = Literal["requests", "tokens", "cost_usd", "seconds"]
MEASURES: Final[tuple[BudgetMeasure, ...]] = ("requests", "tokens", "cost_usd", "seconds")

MINIMUM_GRANT = ResourceAmounts(requests=1, tokens=5_000, cost_usd=0.01, seconds=10.0)
"""With less left of a cap a fork is not started: it would be cut off before its first useful
answer, and still be paid for.
"""


class BudgetRequest(Struct, frozen=True, kw_only=True):
    """A fork that asks to run."""

    label: str
    limits: ForkLimits
    belongs_to_session: bool = True
    """It belongs to a session, whose caps apply to it too."""
    is_asked_by_user: bool = False
    """The user asked for it and waits."""


class BudgetUsage(Struct, frozen=True, kw_only=True):
    """Current use of the budget."""

    now: float
    """Seconds since the epoch, UTC."""
    day: ResourceAmounts = ResourceAmounts()
    session: ResourceAmounts = ResourceAmounts()
    """Used so far."""
    day_reserved: ResourceAmounts = ResourceAmounts()
    session_reserved: ResourceAmounts = ResourceAmounts()
    """What running forks may still use."""
    holds: tuple[ModelHold, ...] = ()
    """Holds on the fork's model."""
    fruitless: int = 0
    """Runs of this kind with this model that today ended in a row without anything that stood."""


class BudgetGranted(Struct, frozen=True):
    """It may run, within these limits."""

    limits: ForkLimits


class BudgetRefused(Struct, frozen=True, kw_only=True):
    """It may not run, and why."""

    cause: str
    """The same text for the same reason."""
    why: str
    until: float | None
    """When it may run again; None where only a person can change that."""


def decide_budget_request(
    request: BudgetRequest, usage: BudgetUsage, settings: SpendSettings
) -> BudgetGranted | BudgetRefused:
    """Whether the fork may run, and with what limits: never more than is left of any cap, so that
    the caps hold when it uses all of them.

    The last request of a fork may go beyond by what it uses itself, since that is known only after
    it.
    """
    if request.is_asked_by_user:
        return BudgetGranted(request.limits)
    if usage.holds:
        return _refuse_for_hold(usage.holds[0], usage.now)
    if has_reached_fruitless_limit(usage.fruitless, settings):
        return _refuse_fruitless(request.label, usage)
    if not settings.enabled:
        return BudgetGranted(request.limits)
    limits = request.limits
    for scope in _scopes_of(request):
        for measure in MEASURES:
            left = compute_budget_left(scope, measure, request.label, usage, settings)
            if left < getattr(MINIMUM_GRANT, measure):
                return _refuse_for_cap(scope, measure, request.label, usage, settings)
            limits = _lower_limit(limits, measure, left)
    return BudgetGranted(limits)


def _scopes_of(work: BudgetRequest) -> tuple[BudgetScope, ...]:
    return ("day", "session") if work.belongs_to_session else ("day",)


def get_configured_budget_cap(
    scope: BudgetScope, measure: BudgetMeasure, settings: SpendSettings
) -> float:
    """The cap given by the settings."""
    return float(getattr(settings, f"{scope}_{measure}"))


def compute_budget_used(
    scope: BudgetScope, measure: BudgetMeasure, usage: BudgetUsage, *, running: bool = True
) -> float:
    """The amount used, and with `running` also what running forks have reserved."""
    used = usage.day if scope == "day" else usage.session
    reserved = usage.day_reserved if scope == "day" else usage.session_reserved
    return float(getattr(used + reserved if running else used, measure))


def compute_budget_left(
    scope: BudgetScope,
    measure: BudgetMeasure,
    label: str,
    usage: BudgetUsage,
    settings: SpendSettings,
) -> float:
    """The amount left for work of this label; negative where its share is already used up."""
    return get_configured_budget_cap(scope, measure, settings) * get_budget_cap_share(
        label
    ) - compute_budget_used(scope, measure, usage)


def _lower_limit(limits: ForkLimits, measure: BudgetMeasure, left: float) -> ForkLimits:
    most = int(left) if measure in ("requests", "tokens") else left
    return replace(limits, **{measure: min(getattr(limits, measure), most)})


def convert_fork_limits_to_amount(limits: ForkLimits) -> ResourceAmounts:
    """The most that a fork with these limits may use."""
    return ResourceAmounts(
        requests=limits.requests,
        tokens=limits.tokens,
        cost_usd=limits.cost_usd,
        seconds=limits.seconds,
    )


def find_next_utc_midnight(now: float) -> float:
    """The next midnight, UTC."""
    return float((compute_epoch_day(now) + 1) * DAY_SECONDS)


def format_amount(measure: BudgetMeasure, amount: float) -> str:
    """An amount with its unit, for the user."""
    match measure:
        case "requests" | "tokens":
            return f"{int(amount):,} {measure}"
        case "cost_usd":
            return f"{amount:.2f} dollars"
        case "seconds":
            return f"{amount / 60:,.0f} minutes"


def _refuse_for_cap(
    scope: BudgetScope,
    measure: BudgetMeasure,
    label: str,
    usage: BudgetUsage,
    settings: SpendSettings,
) -> BudgetRefused:
    cap = get_configured_budget_cap(scope, measure, settings)
    share = get_budget_cap_share(label)
    least = getattr(MINIMUM_GRANT, measure)
    setting = f"spend.{scope}_{measure}"
    if cap * share < least:
        return BudgetRefused(
            cause=f"{setting} allows none",
            why=f"{setting} is {cap:g}, which leaves no room for {label}.",
            until=None,
        )
    used = compute_budget_used(scope, measure, usage, running=False)
    owner = "the day" if scope == "day" else "this session"
    said = (
        f"{format_amount(measure, used).split(' ', 1)[0]} of {owner}'s "
        f"{format_amount(measure, cap)} are used"
    )
    rest = "" if share >= 1 else f"; {label} may run up to {share * 100:.0f} % of them"
    if cap * share - used >= least:
        why = (
            f"{said}, and work that runs now has the rest reserved{rest}; it is tried again "
            f"when it is next due."
        )
        return BudgetRefused(cause=f"{setting} reserved", why=why, until=None)
    if scope == "day":
        return BudgetRefused(
            cause=setting,
            why=f"{said}{rest}; next at midnight UTC.",
            until=find_next_utc_midnight(usage.now),
        )
    return BudgetRefused(cause=setting, why=f"{said}{rest}; {setting} raises the cap.", until=None)


def _refuse_fruitless(label: str, usage: BudgetUsage) -> BudgetRefused:
    until = find_next_utc_midnight(usage.now)
    why = explain_fruitless_pause(label, usage.fruitless, format_clock_time(until, usage.now))
    return BudgetRefused(cause=f"fruitless {label}", why=why, until=until)


def _refuse_for_hold(hold: ModelHold, now: float) -> BudgetRefused:
    why = f"{hold.said}; background work waits until {format_clock_time(hold.until, now)}."
    return BudgetRefused(cause=f"hold {hold.cause}", why=why, until=hold.until)
