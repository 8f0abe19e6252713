"""Whether it is time to consolidate: the gates in order, the cheapest first (DR-1). Pure.

`judge_dream_gates` never needs more facts than for the gates that are open: it returns
`DreamGatesOpen`, `DreamGateClosed` with the gate, or `DreamGateNeedsFact` with the fact to be
looked up next.

    facts = DreamGateFacts(now=clock.now(), scanned=scanned)
    while isinstance(verdict := judge_dream_gates(facts, settings), DreamGateNeedsFact):
        facts = look_up(verdict, facts)

A gate costs: nothing (on), one stat (time), nothing (scan), one stat per session of the project
(sessions). The lock comes after all of them and is not a gate: acquiring it changes the disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from memorist.settings import DreamSettings

Gate = Literal["on", "time", "scan", "sessions"]
"""In the order in which they are judged."""

_HOUR, _MINUTE = 3_600.0, 60.0


class DreamTriggerSessionProperties(Struct, frozen=True, kw_only=True):
    """What is known of the session without I/O; each of these can close the first gate
    (Claude Code).
    """

    is_remote: bool = False
    """The disk does not outlive the session."""
    is_interactive: bool = True
    """A user is present. A program that asks one question and ends has no time for it."""
    is_main_session: bool = True
    """It is the main agent, not a subagent."""


class SessionFileInfo(Struct, frozen=True, kw_only=True):
    """A session of the project, by the metadata of its file."""

    id: str
    changed: float
    """Seconds since the epoch."""


class DreamGateFacts(Struct, frozen=True, kw_only=True):
    """The facts known so far. Times are seconds since the epoch."""

    now: float
    host: DreamTriggerSessionProperties = DreamTriggerSessionProperties()
    scanned: float | None = None
    """When this process last scanned for sessions; None for never."""
    last: float | UnsetType | None = UNSET
    """When memory was last consolidated; None for never, unset until looked up."""
    sessions: tuple[str, ...] | UnsetType = UNSET
    """Ids of the other sessions (`select_changed_session_ids`); unset until scanned for."""


class DreamGateNeedsFact(Struct, frozen=True):
    """The gates so far are open; judging the next one requires this fact."""

    what: Literal["last", "sessions"]
    since: float = 0.0
    """For `sessions`: the time after which they count, 0 for all of them."""


class DreamGatesOpen(Struct, frozen=True):
    """Every gate is open: these sessions may be consolidated once the lock is acquired."""

    sessions: tuple[str, ...]
    why: str
    """In one clause, for the user."""


class DreamGateClosed(Struct, frozen=True):
    """This gate is closed; those before it are open."""

    gate: Gate
    why: str
    """In one clause, for the user."""
    until: float | None = None
    """The earliest time at which it can open; None if it does not depend on time."""


def select_changed_session_ids(
    sessions: Iterable[SessionFileInfo], *, current: str, since: float
) -> tuple[str, ...]:
    """Return ids of the sessions that count, oldest change first: changed after `since`, not the
    current one.
    """
    counted = {
        seen.id: seen.changed for seen in sessions if seen.changed > since and seen.id != current
    }
    return tuple(sorted(counted, key=lambda id: (counted[id], id)))


def judge_dream_gates(
    known: DreamGateFacts, settings: DreamSettings
) -> DreamGatesOpen | DreamGateClosed | DreamGateNeedsFact:
    """Return the outcome, or the fact that is still needed."""
    off = _reason_off(known.host, settings)
    if off:
        return DreamGateClosed("on", off)
    if known.last is UNSET:
        return DreamGateNeedsFact("last")
    last = _plausible_time(known.last, known.now, settings.hours * _HOUR)
    if last is not None and known.now - last < settings.hours * _HOUR:
        why = (
            f"the last consolidation was {_format_hours(known.now - last)} ago, and "
            f"{_format_hours(settings.hours * _HOUR)} are needed"
        )
        return DreamGateClosed("time", why, last + settings.hours * _HOUR)
    if known.sessions is UNSET:
        return _judge_scan(known, settings) or DreamGateNeedsFact("sessions", last or 0.0)
    return _judge_sessions(known.sessions, last, known.now, settings)


def _reason_off(host: DreamTriggerSessionProperties, settings: DreamSettings) -> str:
    """Return why the first gate is closed; empty if it is open."""
    reasons = {
        "consolidation is switched off (dream.enabled)": not settings.enabled,
        "the disk of this machine does not outlive the session": host.is_remote,
        "nobody is there: the session is not interactive": not host.is_interactive,
        "a subagent does not consolidate; its main agent does": not host.is_main_session,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _judge_scan(known: DreamGateFacts, settings: DreamSettings) -> DreamGateClosed | None:
    interval = settings.scan_minutes * _MINUTE
    scanned = _plausible_time(known.scanned, known.now, interval)
    if scanned is None or known.now - scanned >= interval:
        return None
    ago = f"{max(0.0, known.now - scanned) / _MINUTE:,.0f}"
    why = (
        f"sessions were looked for {ago} minutes ago, and that is done every "
        f"{settings.scan_minutes:,.0f} minutes at most"
    )
    return DreamGateClosed("scan", why, scanned + interval)


def _judge_sessions(
    sessions: tuple[str, ...], last: float | None, now: float, settings: DreamSettings
) -> DreamGatesOpen | DreamGateClosed:
    when = (
        "so far"
        if last is None
        else f"in the {_format_hours(now - last)} since the last consolidation"
    )
    count = f"{len(sessions)} other session{'' if len(sessions) == 1 else 's'} {when}"
    if len(sessions) < settings.sessions:
        return DreamGateClosed(
            "sessions",
            f"{count}, and {settings.sessions} are needed",
            now + settings.scan_minutes * _MINUTE,
        )
    return DreamGatesOpen(sessions, count)


def _plausible_time(then: float | None, now: float, interval: float) -> float | None:
    """Return a plausible time: in the past, or slightly ahead, as two machines' clocks may differ.

    A time further ahead than the interval means a clock that was set back, and counts as never,
    since it would keep the gate closed until then.
    """
    return None if then is None or then - now > interval else then


def _format_hours(seconds: float) -> str:
    return f"{max(0.0, seconds) / _HOUR:,.1f} hours"
