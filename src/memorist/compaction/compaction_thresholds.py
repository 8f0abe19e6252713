"""Thresholds of the context window, for both client families (CP-1, CP-12). Pure."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import JsonObject
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS
from memorist.models.context_window import resolve_context_window
from memorist.models.model_pricing import ModelPrice, find_request_model_price
from memorist.settings import CompactionSettings, Settings

FULL_SIZE_WINDOW = 100_000
"""From this window size on the distances have their full size. It is the smallest window Claude
Code accepts (Claude Code); below it, where local models live, a reserve of 20,000
would leave nothing, so all distances shrink in proportion.
"""


def are_profitable_edits_enabled(settings: CompactionSettings) -> bool:
    """Whether edits are made as soon as they save money, and not only when the window demands."""
    return settings.schedule == "price"


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
    delay: int = 0
    """Tokens by which `auto` lies later because of the schedule `price`."""

    @property
    def ordinary_auto_threshold(self) -> int:
        """The auto threshold of the ordinary schedule, of which the price's shares are parts."""
        return self.auto - self.delay


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


class InlineCompactionThresholds(Struct, frozen=True):
    """The rollout family's limits, in tokens: where compaction begins, and the usable window."""

    auto: int
    usable: int


def compute_inline_compaction_thresholds(
    window: int, output: int = 0
) -> InlineCompactionThresholds:
    """The limits of a window: compaction at 90 % of it; 95 % of it is usable. Less where a request
    asks for more `output` than the rest, as many servers refuse what does not fit together.
    """
    usable = min(window * 95 // 100, max(window // 2, window - output))
    return InlineCompactionThresholds(auto=min(window * 9 // 10, usable * 18 // 19), usable=usable)


DEFAULT_OUTPUT_TOKENS = 8_192
"""Output tokens of a model about which nothing is known."""


def compute_request_thresholds(
    request: JsonObject, settings: Settings, learned: int | None = None
) -> CompactionThresholds:
    """Return the thresholds for a request's model, from its window and its output limit; `learned`
    is the window that its server showed.
    """
    known = find_request_model_price(request, settings.models.prices) or ModelPrice()
    asked = next((value for name in OUTPUT_LIMIT_KEYS if (value := request.get(name))), None)
    named = asked if isinstance(asked, int) and asked > 0 else 0
    output = named or known.max_output or DEFAULT_OUTPUT_TOKENS
    window = resolve_context_window(request, settings.models, learned)
    output = min(output, window // 4) if learned or known.window is None else output
    limits = compute_thresholds(window, output, settings.compaction)
    if settings.compaction.family != "file-native":
        # The rollout family counts from the whole window: 90 % of it, at most 95 % in use (Codex),
        # where no output limit is named.
        inline = compute_inline_compaction_thresholds(
            min(window, settings.compaction.window or window), named
        )
        limits = replace(limits, auto=inline.auto, base=inline.auto, blocking=inline.usable)
    given = settings.compaction
    # A provider that compacts does so from `auto` on, and needs the room above it.
    priced = are_profitable_edits_enabled(given) and known.input is not None and not given.provider
    return _wait_until_full(limits) if priced and given.percent is None else limits


def _wait_until_full(limits: CompactionThresholds) -> CompactionThresholds:
    """The schedule `price` edits earlier whatever pays. What does not pay is done at the last point
    that leaves room for a reply: a session that ends before it never pays (`make bench
    NAME=cache`).
    """
    delay = max(0, limits.blocking - limits.auto)
    return replace(
        limits,
        auto=limits.auto + delay,
        base=limits.base + delay,
        warning=limits.warning + delay,
        delay=delay,
    )
