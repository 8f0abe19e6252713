"""Which sessions may be extracted now, and for each other one why not (RO-1). Pure.

A session's age is that of its newest message, not of the scan. A clock that runs ahead must not
exclude a session for ever: if the newest message lies in the future, the file's modification time
counts; if that too is more than a day ahead, the session counts as finished.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from memorist.core.messages import Message, ToolUse, UnknownBlock
from memorist.core.token_count import estimate_text_tokens
from memorist.settings import RolloutsSettings
from memorist.store.rollout_rows import ExtractionProgress, Rollout, StoredExtract

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
    def eligible(self) -> bool:
        """Whether it may."""
        return self.reason is None

    @property
    def can_count(self) -> bool:
        """Whether it is extracted now or later, was, or is left out because its user said so."""
        return self.reason not in _NEVER_EXTRACTED


def judge_thread(
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
            not _is_source(thread.source, settings.sources) and not standing.is_started,
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
    last = last_activity(thread, now)
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


def judge_threads(
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
        standings, key=lambda each: (-(last_activity(each.rollout, now) or now), each.rollout.id)
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
            verdicts.append(judge_thread(standing, settings, now=now, current=current))
    return verdicts


def last_activity(thread: Rollout, now: int) -> int | None:
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


# Select which sessions are consolidated: most used, then newest, up to the configured number
# (RO-5; codex.md section 1.8). Pure.


_SECONDS_PER_DAY = 86_400


def select_rollouts(
    rows: Iterable[StoredExtract], *, limit: int, unused_days: int, now: float
) -> tuple[StoredExtract, ...]:
    """Return the selection in ascending order of session ids, so that a change of rank alone
    changes no file.

    Left out are extracts without content, and those last cited (or, if never cited, last changed or
    extracted: an old session imported recently is new here) more than `unused_days` before `now`
    (seconds since the epoch). If there are more than `limit`, they are ranked by uses, last use or
    change, last change, id.
    """
    cutoff = now - unused_days * _SECONDS_PER_DAY
    fit = [row for row in rows if not row.extracted.is_empty and _last_wanted(row) >= cutoff]
    fit.sort(
        key=lambda row: (row.uses, _changed_at(row), row.extracted.updated, row.extracted.thread),
        reverse=True,
    )
    return tuple(sorted(fit[: max(0, limit)], key=lambda row: row.extracted.thread))


ROUND_SESSIONS = 12
"""Sessions that a model is shown at once: their claims, some fourteen each, fill a page of each
list. Our choice.
"""
ROUND_TOKENS = 40_000
"""Tokens of their raw memories (`draft_review.MAX_RAW_MEMORIES_TOKENS`)."""


def split_rounds(
    chosen: Sequence[StoredExtract], known: Collection[str]
) -> list[tuple[StoredExtract, ...]]:
    """Return the selections of the rounds, each with more of the sessions that the folder does not
    hold yet, by their ids: the oldest first, so that a model is shown each and chooses what stays.
    """
    fresh = sorted(
        (row for row in chosen if row.extracted.thread not in known),
        key=lambda row: (row.extracted.updated, row.extracted.thread),
    )
    ends, tokens, first = [], 0, 0
    for at, row in enumerate(fresh):
        size = estimate_text_tokens(row.extracted.raw_memory)
        if at > first and (at - first >= ROUND_SESSIONS or tokens + size > ROUND_TOKENS):
            ends.append(at)
            tokens, first = 0, at
        tokens += size
    rounds = []
    for end in (*ends, len(fresh)):
        later = {row.extracted.thread for row in fresh[end:]}
        rounds.append(tuple(row for row in chosen if row.extracted.thread not in later))
    return rounds


def _changed_at(row: StoredExtract) -> int:
    return row.extracted.updated if row.last_use is None else row.last_use


def _last_wanted(row: StoredExtract) -> int:
    """Return when it was last cited; if never, when it was changed or extracted."""
    return (
        max(row.extracted.updated, row.extracted.generated)
        if row.last_use is None
        else row.last_use
    )


# Whether a session took in outside content: from the web or from an MCP server (RO-9; codex.md
# section 1.8). Pure.


_MCP_NAME = re.compile(r"mcp__|mcp[-_.:/]", re.IGNORECASE)
_WEB_TOOLS = frozenset(
    {
        "websearch", "webfetch", "web_search", "web_fetch", "web_search_call",
        "web_search_20250305", "web_fetch_20250910", "tool_search",
        "tool_search_call", "tool_search_output", "tool_search_call_output",
        "web_search_tool_result", "web_fetch_tool_result",
        "mcp_call", "mcp_tool_use", "mcp_tool_result", "list_mcp_resources", "read_mcp_resource",
        "listmcpresourcestool",
        "readmcpresourcetool", "google_web_search", "fetch_url", "browser", "open_url",
    }
)  # fmt: skip
"""Names of tools and items of both families, in lower case."""


def is_polluting(message: Message) -> bool:
    """Tell whether a message requests or carries such content."""
    return any(_is_outside_block(block) for block in message.blocks)


def _is_outside_block(block: object) -> bool:
    match block:
        case ToolUse(name=name, namespace=namespace):
            return _is_outside_tool(name) or _is_outside_tool(namespace or "")
        case UnknownBlock(raw=raw):
            return any(
                isinstance(raw.get(key), str) and _is_outside_tool(raw[key])
                for key in ("type", "name", "namespace")
            )
        case _:
            return False


def _is_outside_tool(name: str) -> bool:
    return name.lower() in _WEB_TOOLS or _MCP_NAME.match(name) is not None
