"""Thresholds of the context window, for both client families (CP-1, CP-12). Pure.

Sources: claude-code.md section 6.1 and 15 (file-native family), codex.md section 2.1 (rollout
family).
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from memorist.compaction.settings import CompactionSettings

FULL_SIZE_WINDOW = 100_000
"""From this window size on the distances have their full size. It is the smallest window Claude
Code accepts (claude-code.md section 6.1); below it, where local models live, a reserve of 20,000
would leave nothing, so all distances shrink in proportion.
"""


class Thresholds(Struct, frozen=True, kw_only=True):
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


def thresholds(window: int, max_output: int, settings: CompactionSettings) -> Thresholds:
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
    return Thresholds(
        effective=effective,
        auto=auto,
        warning=max(1, base - int(settings.warning_buffer * scale)),
        blocking=max(1, effective - int(settings.blocking_buffer * scale)),
        base=base,
    )


def percent_left(limits: Thresholds, used: int) -> int:
    """The remaining share of the room before something happens, 0 to 100, rounded half up."""
    return max(0, math.floor((limits.base - used) / limits.base * 100 + 0.5))


class InlineLimit(Struct, frozen=True):
    """The rollout family's limits, in tokens: where compaction begins, and the usable window."""

    auto: int
    usable: int

    def reached(self, used: int) -> bool:
        """Whether `used` tokens call for compaction."""
        return used >= self.auto or used >= self.usable


def inline_limit(window: int, effective_percent: int = 95, configured: int | None = None) -> InlineLimit:
    """The limits of a window: 90 % of it, or the configured number where that is lower; at most 95
    % of it is usable.
    """
    share = window * 9 // 10
    auto = share if configured is None or configured <= 0 else min(configured, share)
    return InlineLimit(auto=auto, usable=window * effective_percent // 100)


class Manual(Struct, frozen=True):
    """The user asks for it."""


class BeforeTurn(Struct, frozen=True):
    """A user message of `incoming` tokens is about to be added. It counts here; the original client
    leaves it out and calls that a gap.
    """

    incoming: int


class MidTurn(Struct, frozen=True):
    """A reply has arrived. `goes_on` is whether the turn continues: calls that were answered, or
    queued input.
    """

    goes_on: bool


class Rival(Struct, frozen=True):
    """A model on one side of a switch. `compatible` is its tag of compatible compactions, where it
    has one.
    """

    name: str
    window: int
    limit: InlineLimit
    compatible: str | None = None


class ModelSwitch(Struct, frozen=True):
    """The next turn is to run on another model."""

    previous: Rival
    current: Rival


Moment = Manual | BeforeTurn | MidTurn | ModelSwitch
"""The point in time of the check."""


class InlineTrigger(Struct, frozen=True, kw_only=True):
    """Compaction is due: its phase, reason, model, and where the initial context is inserted."""

    phase: Literal["standalone", "pre_turn", "mid_turn"]
    reason: Literal["user_requested", "context_limit", "comp_hash_changed", "model_downshift"]
    model: Literal["current", "previous"] = "current"
    initial_context: Literal["next_turn", "before_last_user"] = "next_turn"


def inline_due(moment: Moment, used: int, limit: InlineLimit) -> InlineTrigger | None:
    """The trigger when inline compaction is due with `used` tokens of context; None when it is not
    (codex.md section 2.1, CP-12).
    """
    match moment:
        case Manual():
            return InlineTrigger(phase="standalone", reason="user_requested")
        case BeforeTurn(incoming=incoming):
            return InlineTrigger(phase="pre_turn", reason="context_limit") if limit.reached(used + incoming) else None
        case MidTurn(goes_on=goes_on):
            # A finished turn over the limit waits for the check before the next one.
            due = goes_on and limit.reached(used)
            return InlineTrigger(phase="mid_turn", reason="context_limit", initial_context="before_last_user") if due else None
        case ModelSwitch(previous=previous, current=current):
            return _on_switch(previous, current, used)


def _on_switch(previous: Rival, current: Rival, used: int) -> InlineTrigger | None:
    tags = (previous.compatible, current.compatible)
    if None not in tags and previous.compatible != current.compatible:
        return InlineTrigger(phase="pre_turn", reason="comp_hash_changed", model="previous")
    smaller = previous.name != current.name and previous.window > current.window
    if smaller and (used > current.limit.auto or used >= current.limit.usable):
        return InlineTrigger(phase="pre_turn", reason="model_downshift", model="previous")
    return None
