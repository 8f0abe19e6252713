"""The compaction plan of one request: which steps in which order, and when to stop trying (CP-3,
CP-14, CP-15). Pure.

Sources: claude-code.md sections 5 (order), 6.2 to 6.4 (conditions, breakers, order of strategies).
`plan_compaction` names the steps; the caller takes them in order, stops at the first attempt that
makes the history smaller, and records the outcome in the circuit breaker.
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.history import CompactionStrategy
from memorist.settings import CompactionSettings

# Thresholds of the context window, for both client families (CP-1, CP-12). Pure.


FULL_SIZE_WINDOW = 100_000
"""From this window size on the distances have their full size. It is the smallest window Claude
Code accepts (claude-code.md section 6.1); below it, where local models live, a reserve of 20,000
would leave nothing, so all distances shrink in proportion.
"""


class CompactionThresholds(Struct, frozen=True, kw_only=True):
    """Context sizes, in tokens, at which something happens."""

    effective: int
    """The window less the reserve for a summary's output."""
    auto: int
    """Auto compaction begins here, when it is on."""
    warning: int
    """A warning is due here."""
    blocking: int
    """A request is rejected here when nothing automatic can help."""
    base: int
    """What "percent left" counts down to: `auto` when that is on, else `effective`."""


def compute_thresholds(
    window: int, max_output: int, settings: CompactionSettings
) -> CompactionThresholds:
    """Compute the thresholds of a model from its context window and longest output, in tokens.

    Overrides of window and percent only lower (CP-1); an override that is not positive, or a
    percent outside 0 to 100, changes nothing.
    """
    if settings.window is not None and settings.window > 0:
        window = min(window, settings.window)
    window = max(1, window)
    scale = min(1.0, window / FULL_SIZE_WINDOW)
    reserve = min(max_output, int(settings.summary_reserve * scale))
    effective = max(1, window - max(0, reserve))
    auto = max(1, effective - int(settings.auto_buffer * scale))
    if settings.percent is not None and 0 < settings.percent <= 100:
        auto = max(1, min(auto, math.floor(effective * settings.percent / 100)))
    base = auto if settings.enabled else effective
    return CompactionThresholds(
        effective=effective,
        auto=auto,
        warning=max(1, base - int(settings.warning_buffer * scale)),
        blocking=max(1, effective - int(settings.blocking_buffer * scale)),
        base=base,
    )


def compute_percent_left(limits: CompactionThresholds, used: int) -> int:
    """The remaining share of the room before something happens, 0 to 100, rounded half up."""
    return max(0, math.floor((limits.base - used) / limits.base * 100 + 0.5))


class InlineLimit(Struct, frozen=True):
    """The rollout family's limits, in tokens: where compaction begins, and the usable window."""

    auto: int
    usable: int

    def is_reached(self, used: int) -> bool:
        """Whether `used` tokens call for compaction."""
        return used >= self.auto or used >= self.usable


def compute_inline_limit(
    window: int, effective_percent: int = 95, configured: int | None = None
) -> InlineLimit:
    """The limits of a window: 90 % of it, or the configured number where that is lower; at most 95
    % of it is usable.
    """
    share = window * 9 // 10
    auto = share if configured is None or configured <= 0 else min(configured, share)
    return InlineLimit(auto=auto, usable=window * effective_percent // 100)


class ManualRequest(Struct, frozen=True):
    """The user asks for it."""


class BeforeTurnCheck(Struct, frozen=True):
    """A user message of `incoming` tokens is about to be added. It counts here; the original client
    leaves it out and calls that a gap.
    """

    incoming: int


class MidTurnCheck(Struct, frozen=True):
    """A reply has arrived. `goes_on` is whether the turn continues: calls that were answered, or
    queued input.
    """

    goes_on: bool


class SwitchedModel(Struct, frozen=True):
    """A model on one side of a switch. `compatible` is its tag of compatible compactions, where it
    has one.
    """

    name: str
    window: int
    limit: InlineLimit
    compatible: str | None = None


class ModelSwitchCheck(Struct, frozen=True):
    """The next turn is to run on another model."""

    previous: SwitchedModel
    current: SwitchedModel


InlineCheck = ManualRequest | BeforeTurnCheck | MidTurnCheck | ModelSwitchCheck
"""The point in time of the check."""


class InlineTrigger(Struct, frozen=True, kw_only=True):
    """Compaction is due: its phase, reason, model, and where the initial context is inserted."""

    phase: Literal["standalone", "pre_turn", "mid_turn"]
    reason: Literal["user_requested", "context_limit", "comp_hash_changed", "model_downshift"]
    model: Literal["current", "previous"] = "current"
    initial_context: Literal["next_turn", "before_last_user"] = "next_turn"


def find_inline_trigger(moment: InlineCheck, used: int, limit: InlineLimit) -> InlineTrigger | None:
    """The trigger when inline compaction is due with `used` tokens of context; None when it is not
    (codex.md section 2.1, CP-12).
    """
    match moment:
        case ManualRequest():
            return InlineTrigger(phase="standalone", reason="user_requested")
        case BeforeTurnCheck(incoming=incoming):
            return (
                InlineTrigger(phase="pre_turn", reason="context_limit")
                if limit.is_reached(used + incoming)
                else None
            )
        case MidTurnCheck(goes_on=goes_on):
            # A finished turn over the limit waits for the check before the next one.
            due = goes_on and limit.is_reached(used)
            return (
                InlineTrigger(
                    phase="mid_turn", reason="context_limit", initial_context="before_last_user"
                )
                if due
                else None
            )
        case ModelSwitchCheck(previous=previous, current=current):
            return _find_switch_trigger(previous, current, used)


def _find_switch_trigger(
    previous: SwitchedModel, current: SwitchedModel, used: int
) -> InlineTrigger | None:
    tags = (previous.compatible, current.compatible)
    if None not in tags and previous.compatible != current.compatible:
        return InlineTrigger(phase="pre_turn", reason="comp_hash_changed", model="previous")
    smaller = previous.name != current.name and previous.window > current.window
    if smaller and (used > current.limit.auto or used >= current.limit.usable):
        return InlineTrigger(phase="pre_turn", reason="model_downshift", model="previous")
    return None


UNCOMPACTED_LABELS = frozenset({"session_memory", "compact"})
"""Requests that never trigger compaction: notes and compaction itself (claude-code.md section 6.2).
Their labels begin with one of these words.
"""

REFILL_REPLIES = 3
"""The window counts as refilled at once when it is full within so many replies of a compaction."""

MAX_PREFIX_SHARE = 0.9
"""Where system prompt and tools take this share of the auto threshold, the result of a compaction
(a summary, the newest messages) has no room.
"""


class CircuitBreaker(Struct, frozen=True, kw_only=True):
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
    def is_refilled(self) -> bool:
        """Whether a compaction that is due now would follow the last one at once."""
        return self.replies_since is not None and self.replies_since <= REFILL_REPLIES


def record_reply(breaker: CircuitBreaker) -> CircuitBreaker:
    """Record a reply of the model."""
    return (
        breaker
        if breaker.replies_since is None
        else replace(breaker, replies_since=breaker.replies_since + 1)
    )


def record_success(breaker: CircuitBreaker, *, model_failed: bool = False) -> CircuitBreaker:
    """Record a successful compaction; `model_failed` when a model call for it had failed."""
    return CircuitBreaker(
        refills=breaker.refills + 1 if breaker.is_refilled else 0,
        replies_since=0,
        model_failures=breaker.model_failures + 1 if model_failed else 0,
    )


def record_failure(breaker: CircuitBreaker, *, model_failed: bool = False) -> CircuitBreaker:
    """Record a failed compaction. An interruption by the user is not a failure and is not recorded."""
    return replace(
        breaker,
        failures=breaker.failures + 1,
        model_failures=breaker.model_failures + 1 if model_failed else breaker.model_failures,
    )


class OffloadResults(Struct, frozen=True):
    """Apply the tool result budget."""

    why: str


class ClearOldResults(Struct, frozen=True):
    """Clear old tool results: in the messages, or by telling the provider."""

    way: Literal["time", "cached"]
    why: str


class CompactionAttempt(Struct, frozen=True):
    """Try to shrink the conversation with this strategy; the first success ends the search."""

    strategy: Literal["provider", "session-memory", "full", "inline", "structural", "tail", "micro"]
    why: str


class SkipCompaction(Struct, frozen=True):
    """Compaction is due but not attempted; `why` is a sentence for the user."""

    why: str


class RejectRequest(Struct, frozen=True):
    """After the other steps: reject the request if the context is still at `limit` tokens or more."""

    limit: int
    why: str


class LeaveUntouched(Struct, frozen=True):
    """This request is left untouched."""

    why: str


PlanStep = (
    OffloadResults
    | ClearOldResults
    | CompactionAttempt
    | SkipCompaction
    | RejectRequest
    | LeaveUntouched
)


class WindowState(Struct, frozen=True, kw_only=True):
    """The state of the window when a request is about to be sent."""

    used: int
    """Tokens of context, from usage and estimate."""
    freed: int = 0
    """Tokens freed by the tool result budget and microcompact; still included in `used`."""
    prefix: int = 0
    """Tokens of system prompt and tools, which no compaction can shrink."""
    limits: CompactionThresholds
    label: str = "request"
    """Purpose of the request; `Request.label`."""
    manual: CompactionStrategy | None = None
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


def plan_compaction(
    state: WindowState, breaker: CircuitBreaker, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    """The steps for this request, in order: tool result budget, microcompact, compaction attempts,
    the guard (CP-3).
    """
    if _is_own_request(state.label):
        return (
            LeaveUntouched(f"A request for {state.label} is part of compaction or of the notes."),
        )
    if state.manual is not None:
        return _plan_manual(state, state.manual, settings)
    first: tuple[PlanStep, ...] = ()
    if settings.enabled:
        first = (
            OffloadResults("Large results go first: nothing is lost by it."),
            *_plan_clearing(state, settings),
        )
    return (*first, *_plan_automatic(state, breaker, settings), *_plan_guard(state))


def _is_own_request(label: str) -> bool:
    return label.split(":", 1)[0].split(".", 1)[0] in UNCOMPACTED_LABELS


def _plan_manual(
    state: WindowState, strategy: CompactionStrategy, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    if not settings.enabled:
        return (SkipCompaction("Compaction is switched off in the settings (`enabled = false`)."),)
    if strategy != "auto":
        return (CompactionAttempt(strategy, "Asked for by name."),)
    if _is_prefix_too_large(state):
        return (_skip_large_prefix(state),)
    # Earlier failures do not block a compaction that the user asked for.
    return _plan_attempts(state, settings, with_model=state.has_model)


def _plan_clearing(state: WindowState, settings: CompactionSettings) -> tuple[PlanStep, ...]:
    if state.idle_minutes is not None and state.idle_minutes >= settings.micro_gap_minutes:
        return (
            ClearOldResults(
                "time",
                f"The last reply is {state.idle_minutes:.0f} minutes old, so the provider's "
                f"cache is cold.",
            ),
        )
    if settings.provider and state.provider_clears and state.used >= state.limits.warning:
        return (
            ClearOldResults(
                "cached",
                "The window is getting full, and the provider can clear old results without a "
                "new prefix.",
            ),
        )
    return ()


def _plan_automatic(
    state: WindowState, breaker: CircuitBreaker, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    if not settings.enabled or state.used - state.freed < state.limits.auto:
        return ()
    if _is_prefix_too_large(state):
        return (_skip_large_prefix(state),)
    if breaker.failures >= settings.failures:
        return (
            SkipCompaction(
                f"Compaction failed {breaker.failures} times in a row and is not tried again "
                f"in this session."
            ),
        )
    if breaker.refills + breaker.is_refilled >= settings.refills:
        return (
            SkipCompaction(
                f"The window was full again at once {settings.refills} times in a row. "
                f"Something that is read again each time, such as a large file or "
                "a tool's output, fills it; read it in smaller parts."
            ),
        )
    return _plan_attempts(
        state, settings, with_model=state.has_model and breaker.model_failures < settings.failures
    )


def _plan_attempts(
    state: WindowState, settings: CompactionSettings, *, with_model: bool
) -> tuple[PlanStep, ...]:
    steps: list[PlanStep] = []
    if settings.provider and state.provider_compacts and not state.instructions:
        steps.append(
            CompactionAttempt("provider", "The settings prefer the provider's own compaction.")
        )
    match settings.family:
        case "file_native":
            if state.has_notes and not state.instructions:
                steps.append(
                    CompactionAttempt("session-memory", "The session's notes cost no further call.")
                )
            if with_model:
                steps.append(CompactionAttempt("full", "A model sums the conversation up."))
        case "rollout":
            if with_model:
                steps.append(CompactionAttempt("inline", "A model writes a hand-over."))
    steps.append(
        CompactionAttempt("structural", "What the transcript proves serves when nothing else does.")
    )
    return tuple(steps)


def _plan_guard(state: WindowState) -> tuple[PlanStep, ...]:
    if state.used - state.freed < state.limits.blocking:
        return ()
    return (
        RejectRequest(
            state.limits.blocking, "The request would not leave the model room to answer."
        ),
    )


def _is_prefix_too_large(state: WindowState) -> bool:
    return state.prefix >= state.limits.auto * MAX_PREFIX_SHARE


def _skip_large_prefix(state: WindowState) -> SkipCompaction:
    return SkipCompaction(
        f"System prompt and tools alone take {state.prefix:,} of {state.limits.auto:,} tokens. "
        f"Compaction cannot make them smaller; remove tools or choose a "
        "model with a larger window."
    )


def is_provider_attempt(step: PlanStep) -> bool:
    """Whether this attempt is the provider's own compaction."""
    return isinstance(step, CompactionAttempt) and step.strategy == "provider"
