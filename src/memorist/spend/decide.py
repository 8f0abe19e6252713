"""Whether a fork may run: a value that explains itself. Pure (SG-1)."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.forks.spec import ForkLimits
from memorist.spend.ladder import share_of
from memorist.spend.settings import SpendSettings
from memorist.spend.words import clock_time
from memorist.store.spend import DAY_SECONDS, Amount, Hold, day_of

Scope = Literal["day", "session"]
Measure = Literal["requests", "tokens", "cost_usd", "seconds"]
MEASURES: Final[tuple[Measure, ...]] = ("requests", "tokens", "cost_usd", "seconds")

LEAST = Amount(requests=1, tokens=5_000, cost_usd=0.01, seconds=10.0)
"""With less left of a cap a fork is not begun: it would be cut off before its first answer was of use, and be paid for."""


class Work(Struct, frozen=True, kw_only=True):
    """A fork that wants to run."""

    label: str
    limits: ForkLimits
    session: bool = True
    """It belongs to a session, whose caps hold for it too."""
    asked: bool = False
    """A person asked for it and waits."""


class Standing(Struct, frozen=True, kw_only=True):
    """How the books stand."""

    now: float
    """Seconds since the epoch, UTC."""
    day: Amount = Amount()
    session: Amount = Amount()
    """Used up to now."""
    day_reserved: Amount = Amount()
    session_reserved: Amount = Amount()
    """What running forks may still use."""
    holds: tuple[Hold, ...] = ()
    """Of the fork's model."""


class Granted(Struct, frozen=True):
    """It may run, within these limits."""

    limits: ForkLimits


class Refused(Struct, frozen=True, kw_only=True):
    """It may not run, and why."""

    cause: str
    """The same text for the same reason."""
    why: str
    until: float | None
    """When it may run again; None where only a person can change that."""


def decide(work: Work, standing: Standing, settings: SpendSettings) -> Granted | Refused:
    """Whether the fork may run, and with what limits: never more than is left of any cap, so that the caps hold when it uses all of them.

    The last request of a fork may go beyond by what it uses itself, since that is known only after it.
    """
    if work.asked:
        return Granted(work.limits)
    if standing.holds:
        return _held(standing.holds[0], standing.now)
    if not settings.enabled:
        return Granted(work.limits)
    limits = work.limits
    for scope in _scopes(work):
        for measure in MEASURES:
            left = room(scope, measure, work.label, standing, settings)
            if left < getattr(LEAST, measure):
                return _capped(scope, measure, work.label, standing, settings)
            limits = _within(limits, measure, left)
    return Granted(limits)


def _scopes(work: Work) -> tuple[Scope, ...]:
    return ("day", "session") if work.session else ("day",)


def cap_of(scope: Scope, measure: Measure, settings: SpendSettings) -> float:
    """The cap that the settings give."""
    return float(getattr(settings, f"{scope}_{measure}"))


def used_of(scope: Scope, measure: Measure, standing: Standing, *, running: bool = True) -> float:
    """What is used of it, and with `running` what running forks have reserved."""
    used = standing.day if scope == "day" else standing.session
    reserved = standing.day_reserved if scope == "day" else standing.session_reserved
    return float(getattr(used + reserved if running else used, measure))


def room(scope: Scope, measure: Measure, label: str, standing: Standing, settings: SpendSettings) -> float:
    """What is left for work of this label; negative where its share is used up already."""
    return cap_of(scope, measure, settings) * share_of(label) - used_of(scope, measure, standing)


def _within(limits: ForkLimits, measure: Measure, left: float) -> ForkLimits:
    match measure:
        case "requests":
            return replace(limits, requests=min(limits.requests, int(left)))
        case "tokens":
            return replace(limits, tokens=min(limits.tokens, int(left)))
        case "cost_usd":
            return replace(limits, cost_usd=min(limits.cost_usd, left))
        case "seconds":
            return replace(limits, seconds=min(limits.seconds, left))


def bound(limits: ForkLimits) -> Amount:
    """What a fork with these limits may use."""
    return Amount(requests=limits.requests, tokens=limits.tokens, cost_usd=limits.cost_usd, seconds=limits.seconds)


def next_day(now: float) -> float:
    """The next midnight, UTC."""
    return float((day_of(now) + 1) * DAY_SECONDS)


def amount_text(measure: Measure, amount: float) -> str:
    """An amount with its unit, as a person reads it."""
    match measure:
        case "requests" | "tokens":
            return f"{int(amount):,} {measure}"
        case "cost_usd":
            return f"{amount:.2f} dollars"
        case "seconds":
            return f"{amount / 60:,.0f} minutes"


def _capped(scope: Scope, measure: Measure, label: str, standing: Standing, settings: SpendSettings) -> Refused:
    cap, share, least = cap_of(scope, measure, settings), share_of(label), getattr(LEAST, measure)
    setting = f"spend.{scope}_{measure}"
    if cap * share < least:
        return Refused(cause=f"{setting} allows none", why=f"{setting} is {cap:g}, which leaves no room for {label}.", until=None)
    used = used_of(scope, measure, standing, running=False)
    owner = "the day" if scope == "day" else "this session"
    said = f"{amount_text(measure, used).split(' ', 1)[0]} of {owner}'s {amount_text(measure, cap)} are used"
    rest = "" if share >= 1 else f"; {label} may run up to {share * 100:.0f} % of them"
    if cap * share - used >= least:
        why = f"{said}, and work that runs now has the rest reserved{rest}; it is tried again when it is next due."
        return Refused(cause=f"{setting} reserved", why=why, until=None)
    if scope == "day":
        return Refused(cause=setting, why=f"{said}{rest}; next at midnight UTC.", until=next_day(standing.now))
    return Refused(cause=setting, why=f"{said}{rest}; {setting} raises the cap.", until=None)


def _held(hold: Hold, now: float) -> Refused:
    why = f"{hold.said}; background work waits until {clock_time(hold.until, now)}."
    return Refused(cause=f"hold {hold.cause}", why=why, until=hold.until)
