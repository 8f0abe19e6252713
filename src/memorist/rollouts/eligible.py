"""Which sessions may be extracted now, and for each other one why not (RO-1). Pure.

A session's age is that of its newest message, not of the scan. A clock that runs ahead must not
exclude a session for ever: if the newest message lies in the future, the file's modification time
counts; if that too is more than a day ahead, the session counts as finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.rollouts.settings import RolloutsSettings
from memorist.store.thread import Standing, Thread

Reason = Literal["current", "mode", "source", "silent", "up to date", "too young", "too old", "beyond the scan"]
_DAY = 86_400
_NANOSECONDS = 1_000_000_000


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether a session may be extracted."""

    thread: Thread
    reason: Reason | None = None
    """Why not; None if it may."""
    text: str = ""
    """The reason for the user."""
    at: int | None = None
    """When waiting alone will make it eligible, in seconds since the epoch."""

    @property
    def eligible(self) -> bool:
        """Whether it may."""
        return self.reason is None


def judge(standing: Standing, settings: RolloutsSettings, *, now: int, current: str = "") -> Verdict:
    """Judge whether one session may be extracted at `now`; `current` is the id of the running
    session.
    """
    thread = standing.thread
    lasting: tuple[tuple[Reason, str, bool], ...] = (
        ("current", "it is the session that is running", thread.id == current),
        ("mode", f"it is {thread.mode}", thread.mode != "enabled"),
        ("source", f"it was run by {thread.source!r}, which is not among the sources", thread.source not in settings.sources),
        ("silent", "nobody said anything in it", not thread.first_words.strip()),
        ("up to date", "nothing in it is new", standing.up_to_date),
    )
    for reason, text, applies in lasting:
        if applies:
            return Verdict(thread=thread, reason=reason, text=text)
    return _by_age(thread, settings, now)


def _by_age(thread: Thread, settings: RolloutsSettings, now: int) -> Verdict:
    wait, age = settings.min_idle_hours * 3_600, settings.max_age_days * _DAY
    last = newest(thread, now)
    idle = wait if last is None else now - last
    if idle < wait:
        text = f"its newest message is {_hours(idle)} old; {settings.min_idle_hours} hours make it a finished session"
        return Verdict(thread=thread, reason="too young", text=text, at=now + wait - idle)
    if idle > age:
        text = f"it is {idle // _DAY} days old; sessions are taken up to {settings.max_age_days} days"
        return Verdict(thread=thread, reason="too old", text=text)
    return Verdict(thread=thread)


def judge_all(standings: Sequence[Standing], settings: RolloutsSettings, *, now: int, current: str = "") -> list[Verdict]:
    """Judge each session, newest first.

    No more are examined than the scan limit; sessions that are up to date do not count towards it.
    """
    ordered = sorted(standings, key=lambda each: (-(newest(each.thread, now) or now), each.thread.id))
    looked, verdicts = 0, []
    for standing in ordered:
        if not standing.up_to_date:
            looked += 1
        if looked > settings.scan and not standing.up_to_date:
            text = f"{settings.scan} newer sessions come first"
            verdicts.append(Verdict(thread=standing.thread, reason="beyond the scan", text=text))
        else:
            verdicts.append(judge(standing, settings, now=now, current=current))
    return verdicts


def newest(thread: Thread, now: int) -> int | None:
    """Return the session's last activity in seconds since the epoch; None if its times are
    unusable, more than a day ahead.
    """
    moments = (thread.updated, thread.modified_ns // _NANOSECONDS)
    for moment in moments:
        if moment <= now:
            return moment
    return now if min(moments) <= now + _DAY else None


def _hours(seconds: int) -> str:
    return f"{seconds // 3_600} hours" if seconds >= 2 * 3_600 else f"{seconds // 60} minutes"
