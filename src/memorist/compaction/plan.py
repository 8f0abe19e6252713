"""What is done to the conversation at one request, in order, and when nothing more is tried (CP-3, CP-14, CP-15). Pure.

Sources: claude-code.md sections 5 (order), 6.2 to 6.4 (when, breakers, order of ways). `decide` names the steps; the caller takes them one after
another, ends the search for a way at the first that makes the history smaller, and tells the breakers what came of it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.result import Strategy
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.thresholds import Thresholds

OWN_LABELS = frozenset({"session_memory", "compact"})
"""Calls that never compact themselves: notes and compaction (claude-code.md section 6.2). What they do begins with one of these words."""

AT_ONCE = 3
"""The window is full "again at once" when it is so within this many replies of a compaction."""

NEARLY_FULL = 0.9
"""Where system prompt and tools take this share of the auto threshold, what a compaction leaves (a summary, the newest messages) has no room."""


class Breakers(Struct, frozen=True, kw_only=True):
    """What went wrong with compaction in this session so far. A value: each change makes a new one."""

    failures: int = 0
    """Compactions in a row that came to nothing."""
    model_failures: int = 0
    """Compactions in a row for which a model was asked in vain, whatever helped then."""
    refills: int = 0
    """Compactions in a row that were due again at once."""
    replies_since: int | None = None
    """Replies since the last compaction; None before the first."""

    @property
    def refilled(self) -> bool:
        """Whether a compaction that is due now would follow on the last one at once."""
        return self.replies_since is not None and self.replies_since <= AT_ONCE


def replied(breakers: Breakers) -> Breakers:
    """The model has answered."""
    return breakers if breakers.replies_since is None else replace(breakers, replies_since=breakers.replies_since + 1)


def compacted(breakers: Breakers, *, model_failed: bool = False) -> Breakers:
    """A compaction succeeded; `model_failed` when a model had been asked for it in vain."""
    return Breakers(
        refills=breakers.refills + 1 if breakers.refilled else 0,
        replies_since=0,
        model_failures=breakers.model_failures + 1 if model_failed else 0,
    )


def failed(breakers: Breakers, *, model_failed: bool = False) -> Breakers:
    """A compaction came to nothing. A user's interruption is not a failure and is not told."""
    return replace(
        breakers, failures=breakers.failures + 1, model_failures=breakers.model_failures + 1 if model_failed else breakers.model_failures
    )


class Offload(Struct, frozen=True):
    """Apply the tool result budget."""

    why: str


class Micro(Struct, frozen=True):
    """Clear old tool results: in the messages, or by telling the provider."""

    way: Literal["time", "cached"]
    why: str


class Way(Struct, frozen=True):
    """Try to make the conversation smaller so; the first way that succeeds ends the search."""

    strategy: Literal["provider", "session-memory", "full", "inline", "structural", "tail", "micro"]
    why: str


class Stop(Struct, frozen=True):
    """Compaction is due and is not tried; the sentence is for the person."""

    why: str


class Guard(Struct, frozen=True):
    """After the other steps: hold the request back if the context is still at `limit` tokens or more."""

    limit: int
    why: str


class Leave(Struct, frozen=True):
    """Nothing at all is done to this request."""

    why: str


Step = Offload | Micro | Way | Stop | Guard | Leave


class Situation(Struct, frozen=True, kw_only=True):
    """What is known when a request is about to be sent."""

    used: int
    """Tokens of context, by usage and estimate."""
    freed: int = 0
    """Tokens that the tool result budget and microcompact free; `used` still holds them."""
    prefix: int = 0
    """Tokens of system prompt and tools, which no compaction can make smaller."""
    limits: Thresholds
    label: str = "request"
    """What the request is for; `Request.label`."""
    manual: Strategy | None = None
    """The way a person asked for, `auto` for the ordered plan; None when nobody asked."""
    instructions: bool = False
    """The person said what the summary should hold; notes cannot answer that."""
    idle_minutes: float | None = None
    """Since the last reply; None when there is none."""
    has_notes: bool = False
    has_model: bool = False
    provider_compacts: bool = False
    """The provider of this request can compact by itself."""
    provider_clears: bool = False
    """The provider of this request can clear old results by itself."""


def decide(now: Situation, breakers: Breakers, settings: CompactionSettings) -> tuple[Step, ...]:
    """The steps for this request, in order: tool result budget, microcompact, the ways to compact, the guard (CP-3)."""
    if _is_own(now.label):
        return (Leave(f"A request for {now.label} is part of compaction or of the notes."),)
    if now.manual is not None:
        return _manual(now, now.manual, settings)
    first: tuple[Step, ...] = ()
    if settings.enabled:
        first = (Offload("Large results go first: nothing is lost by it."), *_micro(now, settings))
    return (*first, *_automatic(now, breakers, settings), *_guard(now))


def _is_own(label: str) -> bool:
    return label.split(":", 1)[0].split(".", 1)[0] in OWN_LABELS


def _manual(now: Situation, strategy: Strategy, settings: CompactionSettings) -> tuple[Step, ...]:
    if not settings.enabled:
        return (Stop("Compaction is switched off in the settings (`enabled = false`)."),)
    if strategy != "auto":
        return (Way(strategy, "Asked for by name."),)
    if _hopeless(now):
        return (_help_is_elsewhere(now),)
    # A person who asks is not held up by earlier failures.
    return _ways(now, settings, with_model=now.has_model)


def _micro(now: Situation, settings: CompactionSettings) -> tuple[Step, ...]:
    if now.idle_minutes is not None and now.idle_minutes >= settings.micro_gap_minutes:
        return (Micro("time", f"The last reply is {now.idle_minutes:.0f} minutes old, so the provider's cache is cold."),)
    if settings.provider and now.provider_clears and now.used >= now.limits.warning:
        return (Micro("cached", "The window is getting full, and the provider can clear old results without a new prefix."),)
    return ()


def _automatic(now: Situation, breakers: Breakers, settings: CompactionSettings) -> tuple[Step, ...]:
    if not settings.enabled or now.used - now.freed < now.limits.auto:
        return ()
    if _hopeless(now):
        return (_help_is_elsewhere(now),)
    if breakers.failures >= settings.failures:
        return (Stop(f"Compaction failed {breakers.failures} times in a row and is not tried again in this session."),)
    if breakers.refills + breakers.refilled >= settings.refills:
        return (
            Stop(
                f"The window was full again at once {settings.refills} times in a row. Something that is read again each time, such as a large file or "
                "a tool's output, fills it; read it in smaller parts."
            ),
        )
    return _ways(now, settings, with_model=now.has_model and breakers.model_failures < settings.failures)


def _ways(now: Situation, settings: CompactionSettings, *, with_model: bool) -> tuple[Step, ...]:
    steps: list[Step] = []
    if settings.provider and now.provider_compacts and not now.instructions:
        steps.append(Way("provider", "The settings prefer the provider's own compaction."))
    match settings.family:
        case "file_native":
            if now.has_notes and not now.instructions:
                steps.append(Way("session-memory", "The session's notes cost no further call."))
            if with_model:
                steps.append(Way("full", "A model sums the conversation up."))
        case "rollout":
            if with_model:
                steps.append(Way("inline", "A model writes a hand-over."))
    steps.append(Way("structural", "What the transcript proves serves when nothing else does."))
    return tuple(steps)


def _guard(now: Situation) -> tuple[Step, ...]:
    if now.used - now.freed < now.limits.blocking:
        return ()
    return (Guard(now.limits.blocking, "The request would not leave the model room to answer."),)


def _hopeless(now: Situation) -> bool:
    return now.prefix >= now.limits.auto * NEARLY_FULL


def _help_is_elsewhere(now: Situation) -> Stop:
    return Stop(
        f"System prompt and tools alone take {now.prefix:,} of {now.limits.auto:,} tokens. Compaction cannot make them smaller; remove tools or choose a "
        "model with a larger window."
    )


def is_providers(step: Step) -> bool:
    """Whether the provider compacts by itself."""
    return isinstance(step, Way) and step.strategy == "provider"
