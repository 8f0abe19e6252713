"""The compaction plan of one request: which steps in which order, and when to stop trying (CP-3,
CP-14, CP-15). Pure.

Sources: claude-code.md sections 5 (order), 6.2 to 6.4 (conditions, breakers, order of strategies).
`plan_compaction` names the steps; the caller takes them in order, stops at the first attempt that
makes the history smaller, and records the outcome in the circuit breaker.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.result import Strategy
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.thresholds import Thresholds

OWN_LABELS = frozenset({"session_memory", "compact"})
"""Requests that never trigger compaction: notes and compaction itself (claude-code.md section 6.2).
Their labels begin with one of these words.
"""

AT_ONCE = 3
"""The window counts as refilled at once when it is full within so many replies of a compaction."""

NEARLY_FULL = 0.9
"""Where system prompt and tools take this share of the auto threshold, the result of a compaction
(a summary, the newest messages) has no room.
"""


class Breakers(Struct, frozen=True, kw_only=True):
    """Failures of compaction in this session so far. Immutable: each change makes a new value."""

    failures: int = 0
    """Consecutive failed compactions."""
    model_failures: int = 0
    """Consecutive compactions in which the model call failed, even where another strategy
    succeeded.
    """
    refills: int = 0
    """Consecutive compactions after which the window was full again at once."""
    replies_since: int | None = None
    """Replies since the last compaction; None before the first."""

    @property
    def refilled(self) -> bool:
        """Whether a compaction that is due now would follow the last one at once."""
        return self.replies_since is not None and self.replies_since <= AT_ONCE


def replied(breakers: Breakers) -> Breakers:
    """Record a reply of the model."""
    return breakers if breakers.replies_since is None else replace(breakers, replies_since=breakers.replies_since + 1)


def compacted(breakers: Breakers, *, model_failed: bool = False) -> Breakers:
    """Record a successful compaction; `model_failed` when a model call for it had failed."""
    return Breakers(
        refills=breakers.refills + 1 if breakers.refilled else 0,
        replies_since=0,
        model_failures=breakers.model_failures + 1 if model_failed else 0,
    )


def failed(breakers: Breakers, *, model_failed: bool = False) -> Breakers:
    """Record a failed compaction. An interruption by the user is not a failure and is not recorded.
    """
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
    """Try to shrink the conversation with this strategy; the first success ends the search."""

    strategy: Literal["provider", "session-memory", "full", "inline", "structural", "tail", "micro"]
    why: str


class Stop(Struct, frozen=True):
    """Compaction is due but not attempted; `why` is a sentence for the user."""

    why: str


class Guard(Struct, frozen=True):
    """After the other steps: reject the request if the context is still at `limit` tokens or more.
    """

    limit: int
    why: str


class Leave(Struct, frozen=True):
    """This request is left untouched."""

    why: str


Step = Offload | Micro | Way | Stop | Guard | Leave


class Situation(Struct, frozen=True, kw_only=True):
    """The state of the window when a request is about to be sent."""

    used: int
    """Tokens of context, from usage and estimate."""
    freed: int = 0
    """Tokens freed by the tool result budget and microcompact; still included in `used`."""
    prefix: int = 0
    """Tokens of system prompt and tools, which no compaction can shrink."""
    limits: Thresholds
    label: str = "request"
    """Purpose of the request; `Request.label`."""
    manual: Strategy | None = None
    """The strategy the user asked for, `auto` for the ordered plan; None when the user did not ask.
    """
    instructions: bool = False
    """The user said what the summary should hold; notes cannot honor that."""
    idle_minutes: float | None = None
    """Minutes since the last reply; None when there is none."""
    has_notes: bool = False
    has_model: bool = False
    provider_compacts: bool = False
    """The provider of this request can compact on its own."""
    provider_clears: bool = False
    """The provider of this request can clear old results on its own."""


def decide(now: Situation, breakers: Breakers, settings: CompactionSettings) -> tuple[Step, ...]:
    """The steps for this request, in order: tool result budget, microcompact, compaction attempts,
    the guard (CP-3).
    """
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
    """Whether this attempt is the provider's own compaction."""
    return isinstance(step, Way) and step.strategy == "provider"
