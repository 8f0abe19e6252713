"""Which sessions may be extracted now, and for each other one why not (RO-1). Pure.

A session's age is that of its newest message, not of the scan. A clock that runs ahead must not
exclude a session for ever: if the newest message lies in the future, the file's modification time
counts; if that too is more than a day ahead, the session counts as finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from memorist.settings import RolloutsSettings
from memorist.store.rollout_rows import ExtractionProgress, Rollout

IneligibilityReason = Literal[
    "current", "mode", "source", "silent", "up to date", "too young", "too old", "beyond the scan"
]
_NEVER_EXTRACTED: tuple[IneligibilityReason, ...] = ("source", "too old")
"""What neither time nor a wish of the user ends."""
_DAY_SECONDS = 86_400
_NANOSECONDS = 1_000_000_000


class EligibilityVerdict(Struct, frozen=True, kw_only=True):
    """Whether a session may be extracted."""

    thread: Rollout
    reason: IneligibilityReason | None = None
    """Why not; None if it may."""
    text: str = ""
    """The reason for the user."""
    at: int | None = None
    """When waiting alone will make it eligible, in seconds since the epoch."""

    @property
    def is_eligible(self) -> bool:
        """Whether it may."""
        return self.reason is None

    @property
    def can_ever_be_extracted(self) -> bool:
        """Whether it is extracted now or later, was, or is left out because its user said so."""
        return self.reason not in _NEVER_EXTRACTED


def judge_rollout_eligibility(
    standing: ExtractionProgress, settings: RolloutsSettings, *, now: int, current: str = ""
) -> EligibilityVerdict:
    """Judge whether one session may be extracted at `now`; `current` is the id of the running
    session.

    One that was begun, by a person's command perhaps, is ended whatever its age and source.
    """
    thread = standing.rollout
    lasting: tuple[tuple[IneligibilityReason, str, bool], ...] = (
        ("current", "it is the session that is running", thread.id == current),
        ("mode", f"it is {thread.mode}", thread.mode != "enabled"),
        (
            "source",
            f"it was run by {thread.source!r}, which is not among the sources",
            not _is_source(thread.source, settings.sources)
            and not (standing.is_started or standing.is_up_to_date),
        ),
        ("silent", "nobody said anything in it", not thread.first_words.strip()),
        ("up to date", "nothing in it is new", standing.is_up_to_date),
    )
    for reason, text, applies in lasting:
        if applies:
            return EligibilityVerdict(thread=thread, reason=reason, text=text)
    verdict = _judge_age(thread, settings, now)
    if verdict.reason == "too old" and standing.is_started:
        return EligibilityVerdict(thread=thread)
    return verdict


def _is_source(source: str, allowed: Iterable[str]) -> bool:
    return any(fnmatchcase(source, pattern) for pattern in allowed)


def _judge_age(thread: Rollout, settings: RolloutsSettings, now: int) -> EligibilityVerdict:
    wait, age = settings.min_idle_hours * 3_600, settings.max_age_days * _DAY_SECONDS
    last = find_last_activity(thread, now)
    idle = wait if last is None else now - last
    if idle < wait:
        text = (
            f"its newest message is {_format_hours(idle)} old; {settings.min_idle_hours} "
            f"hours make it a finished session"
        )
        return EligibilityVerdict(
            thread=thread, reason="too young", text=text, at=now + wait - idle
        )
    if idle > age:
        text = (
            f"it is {idle // _DAY_SECONDS} days old; sessions are taken up to "
            f"{settings.max_age_days} days"
        )
        return EligibilityVerdict(thread=thread, reason="too old", text=text)
    return EligibilityVerdict(thread=thread)


def judge_rollouts_eligibility(
    standings: Sequence[ExtractionProgress],
    settings: RolloutsSettings,
    *,
    now: int,
    current: str = "",
) -> list[EligibilityVerdict]:
    """Judge each session, newest first.

    No more are examined than the scan limit; sessions that are up to date do not count towards it.
    """
    ordered = sorted(
        standings,
        key=lambda each: (-(find_last_activity(each.rollout, now) or now), each.rollout.id),
    )
    looked, verdicts = 0, []
    for standing in ordered:
        if not standing.is_up_to_date:
            looked += 1
        if looked > settings.scan and not standing.is_up_to_date:
            text = f"{settings.scan} newer sessions come first"
            verdicts.append(
                EligibilityVerdict(thread=standing.rollout, reason="beyond the scan", text=text)
            )
        else:
            verdicts.append(judge_rollout_eligibility(standing, settings, now=now, current=current))
    return verdicts


def find_last_activity(thread: Rollout, now: int) -> int | None:
    """Return the session's last activity in seconds since the epoch; None if its times are
    unusable, more than a day ahead.
    """
    moments = (thread.updated, thread.modified_ns // _NANOSECONDS)
    for moment in moments:
        if moment <= now:
            return moment
    return now if min(moments) <= now + _DAY_SECONDS else None


def _format_hours(seconds: int) -> str:
    return f"{seconds // 3_600} hours" if seconds >= 2 * 3_600 else f"{seconds // 60} minutes"


def is_excluded_by_outside_content(settings: RolloutsSettings, *, outside: bool) -> bool:
    """Whether a session that took in content from the web or an MCP server (`outside`) gives no
    memory: the setting `rollouts.pollutes`.
    """
    return settings.pollutes and outside
