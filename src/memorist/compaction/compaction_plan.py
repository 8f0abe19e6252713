"""The compaction plan of one request: which steps in which order, and when to stop trying (CP-3,
CP-14, CP-15). Pure.

Source of order, conditions and breakers: Claude Code.
`plan_compaction` names the steps; the caller takes them in order, stops at the first attempt that
makes the history smaller, and records the outcome in the circuit breaker.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import CompactionStrategy
from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.settings import CompactionSettings

# The circuit breaker of compaction: failures so far, and whether another attempt is made (CP-14).

RETRY_GROWTH_PERCENT = 110
"""A conversation that could not be compacted is tried again once it has grown to this size."""

REFILL_REPLIES = 3
"""The window counts as refilled at once when it is full within so many replies of a compaction."""


class CompactionCircuitBreaker(Struct, frozen=True, kw_only=True):
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

    failed_tokens: int = 0
    """Size of the conversation at the last failure, in tokens."""

    @property
    def retry_tokens(self) -> int:
        """Size in tokens from which another attempt is made after repeated failures."""
        return self.failed_tokens * RETRY_GROWTH_PERCENT // 100

    def is_open(self, used: int, max_failures: int) -> bool:
        """Whether no attempt is made at `used` tokens: it failed `max_failures` times in a row, and
        the conversation has not grown enough since.
        """
        return self.failures >= max_failures and used < self.retry_tokens

    @property
    def is_due_again_at_once(self) -> bool:
        """Whether a compaction that is due now would follow the last one at once."""
        return self.replies_since is not None and self.replies_since <= REFILL_REPLIES

    def has_refilled_too_often(self, max_refills: int) -> bool:
        """Whether the window was full again at once `max_refills` times in a row."""
        return self.is_due_again_at_once and self.refills + 1 >= max_refills


def count_reply_since_compaction(breaker: CompactionCircuitBreaker) -> CompactionCircuitBreaker:
    """Record a reply of the model."""
    if breaker.replies_since is None:
        return breaker
    return replace(breaker, replies_since=breaker.replies_since + 1)


def record_compaction_success(
    breaker: CompactionCircuitBreaker, *, model_failed: bool = False
) -> CompactionCircuitBreaker:
    """Record a successful compaction; `model_failed` when a model call for it had failed."""
    return CompactionCircuitBreaker(
        refills=breaker.refills + 1 if breaker.is_due_again_at_once else 0,
        replies_since=0,
        model_failures=breaker.model_failures + 1 if model_failed else 0,
    )


def record_compaction_failure(
    breaker: CompactionCircuitBreaker, *, used: int, model_failed: bool = False
) -> CompactionCircuitBreaker:
    """Record a failed compaction of a conversation of `used` tokens. An interruption by the user is
    not a failure and is not recorded.
    """
    return replace(
        breaker,
        failures=breaker.failures + 1,
        failed_tokens=used,
        model_failures=breaker.model_failures + 1 if model_failed else breaker.model_failures,
    )


MAX_PREFIX_SHARE = 0.9
"""Where system prompt and tools take this share of the auto threshold, the result of a compaction
(a summary, the newest messages) has no room.
"""


class TryStrategyStep(Struct, frozen=True):
    """Try to shrink the conversation with this strategy; the first success ends the search."""

    strategy: Literal["provider", "session-memory", "full", "inline", "structural", "tail", "micro"]
    why: str


class SkipCompactionStep(Struct, frozen=True):
    """Compaction is due but not attempted; `why` is a sentence for the user."""

    why: str


class RejectIfOverLimitStep(Struct, frozen=True):
    """After the other steps: reject the request if the context is still at `limit` tokens or
    more.
    """

    limit: int
    why: str


PlanStep = TryStrategyStep | SkipCompactionStep | RejectIfOverLimitStep


class ContextWindowState(Struct, frozen=True, kw_only=True):
    """The state of the window when a request is about to be sent."""

    used: int
    """Tokens of context, from usage and estimate."""
    freed: int = 0
    """Tokens freed by the tool result budget and microcompact; still included in `used`."""
    prefix: int = 0
    """Tokens of system prompt and tools, which no compaction can shrink."""
    limits: CompactionThresholds
    manual: CompactionStrategy | None = None
    """The strategy the user asked for, `auto` for the ordered plan; None when the user did not ask.
    """
    has_user_instructions: bool = False
    """The user said what the summary should hold; notes cannot honor that."""
    has_notes: bool = False
    has_model: bool = False
    provider_compacts: bool = False
    """The provider of this request can compact on its own."""


def plan_compaction(
    state: ContextWindowState, breaker: CompactionCircuitBreaker, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    """The steps for this request, in order: the strategies to try, the guard (CP-3). Results are
    offloaded and cleared before, by `tool_results`.
    """
    if state.manual is not None:
        return _plan_manual(state, state.manual, settings)
    return (*_plan_automatic(state, breaker, settings), *_plan_guard(state))


def _plan_manual(
    state: ContextWindowState, strategy: CompactionStrategy, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    if not settings.enabled:
        return (
            SkipCompactionStep("Compaction is switched off in the settings (`enabled = false`)."),
        )
    if strategy != "auto":
        return (TryStrategyStep(strategy, "Asked for by name."),)
    if _is_prefix_too_large(state):
        return (_skip_large_prefix(state),)
    # Earlier failures do not block a compaction that the user asked for.
    return _plan_attempts(state, settings, with_model=state.has_model)


def _plan_automatic(
    state: ContextWindowState, breaker: CompactionCircuitBreaker, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    if not settings.enabled or state.used - state.freed < state.limits.auto:
        return ()
    if _is_prefix_too_large(state):
        return (_skip_large_prefix(state),)
    if breaker.is_open(state.used, settings.failures):
        return (
            SkipCompactionStep(
                f"Compaction failed {breaker.failures} times in a row. It is tried again when the "
                f"conversation has grown to {breaker.retry_tokens:,} tokens."
            ),
        )
    if breaker.has_refilled_too_often(settings.refills):
        return _plan_after_refills(state, settings)
    return _plan_attempts(
        state, settings, with_model=state.has_model and breaker.model_failures < settings.failures
    )


def _plan_after_refills(
    state: ContextWindowState, settings: CompactionSettings
) -> tuple[PlanStep, ...]:
    """Stop with an explanation; but a request that the provider would refuse is made smaller in the
    way that asks no model.
    """
    stop = SkipCompactionStep(
        f"The window was full again within {REFILL_REPLIES} replies, {settings.refills} "
        "times in a row: what comes in between two compactions is larger than the room "
        "they make. It is tried again after further replies."
    )
    if state.used - state.freed < state.limits.blocking:
        return (stop,)
    last = TryStrategyStep("structural", "The request would not leave the model room to answer.")
    return (stop, last)


def _plan_attempts(
    state: ContextWindowState, settings: CompactionSettings, *, with_model: bool
) -> tuple[PlanStep, ...]:
    steps: list[PlanStep] = []
    if settings.provider and state.provider_compacts and not state.has_user_instructions:
        steps.append(
            TryStrategyStep("provider", "The settings prefer the provider's own compaction.")
        )
    match settings.family:
        case "file-native":
            if state.has_notes and not state.has_user_instructions:
                steps.append(
                    TryStrategyStep("session-memory", "The session's notes cost no further call.")
                )
            if with_model:
                steps.append(TryStrategyStep("full", "A model sums the conversation up."))
        case "rollout":
            if with_model:
                steps.append(TryStrategyStep("inline", "A model writes a hand-over."))
    steps.append(
        TryStrategyStep("structural", "What the transcript proves serves when nothing else does.")
    )
    return tuple(steps)


def _plan_guard(state: ContextWindowState) -> tuple[PlanStep, ...]:
    if state.used - state.freed < state.limits.blocking:
        return ()
    return (
        RejectIfOverLimitStep(
            state.limits.blocking, "The request would not leave the model room to answer."
        ),
    )


def _is_prefix_too_large(state: ContextWindowState) -> bool:
    return state.prefix >= state.limits.auto * MAX_PREFIX_SHARE


def _skip_large_prefix(state: ContextWindowState) -> SkipCompactionStep:
    return SkipCompactionStep(
        f"System prompt and tools alone take {state.prefix:,} of {state.limits.auto:,} tokens. "
        "Compaction cannot make them smaller; remove tools or choose a model with a larger window."
    )


def is_provider_compaction_step(step: PlanStep) -> bool:
    """Whether this attempt is the provider's own compaction."""
    return isinstance(step, TryStrategyStep) and step.strategy == "provider"
