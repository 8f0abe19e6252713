"""Limits of the model that a request is for: thresholds from its window and output, and its price.

Pure.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from memorist.compaction.policy import (
    CompactionThresholds,
    compute_inline_limit,
    compute_thresholds,
)
from memorist.core.messages import JsonObject
from memorist.formats.codec import OUTPUT_LIMIT_KEYS
from memorist.models.pricing import (
    ModelPrice,
    PriceTable,
    lookup_price,
    merge_prices,
    shipped_prices,
)
from memorist.settings import Settings

DEFAULT_WINDOW = 200_000
"""Context window in tokens of a model that is not in the price table."""

DEFAULT_OUTPUT = 8_192
"""Output tokens of a model about which nothing is known."""


def find_price(request: JsonObject, settings: Settings) -> ModelPrice | None:
    """Return the price of a request's model; the user's own table takes precedence over the shipped
    one.
    """
    return lookup_price(str(request.get("model", "")), _price_table(settings))


@lru_cache(maxsize=8)
def _merge_price_tables(own: bytes) -> PriceTable:
    return merge_prices(shipped_prices(), msgspec.json.decode(own, type=dict[str, ModelPrice]))


def _price_table(settings: Settings) -> PriceTable:
    return _merge_price_tables(msgspec.json.encode(settings.models.prices))


def thresholds_for(request: JsonObject, settings: Settings) -> CompactionThresholds:
    """Return the thresholds for a request's model, from its window and output in the price table or
    the defaults.
    """
    known = find_price(request, settings) or ModelPrice()
    asked = next((value for name in OUTPUT_LIMIT_KEYS if (value := request.get(name))), None)
    output = asked if isinstance(asked, int) and asked > 0 else known.max_output or DEFAULT_OUTPUT
    window = known.window or DEFAULT_WINDOW
    limits = compute_thresholds(window, output, settings.compaction)
    if settings.compaction.family == "file-native":
        return limits
    # The rollout family counts from the whole window: 90 % of it, at most 95 % in use (codex.md
    # section 2.1).
    inline = compute_inline_limit(min(window, settings.compaction.window or window))
    return replace(limits, auto=inline.auto, base=inline.auto, blocking=inline.usable)
