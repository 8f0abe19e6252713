"""The compaction plan of one request: which steps in which order, and when to stop trying (CP-3,
CP-14, CP-15). Pure.

Source of order, conditions and breakers: Claude Code.
`plan_compaction` names the steps; the caller takes them in order, stops at the first attempt that
makes the history smaller, and records the outcome in the circuit breaker
(`compaction_circuit_breaker`).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from memorist.compaction.compaction_circuit_breaker import REFILL_REPLIES, CompactionCircuitBreaker
from memorist.compaction.compaction_result import CompactionStrategy
from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.settings import CompactionSettings

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
