"""Limits of the model that a request is for: thresholds from its window and output, and its price.

Pure.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from memorist.compaction.thresholds import Thresholds, inline_limit, thresholds
from memorist.core.messages import JsonObject
from memorist.models.prices import Price, PriceTable, lookup, merged, shipped
from memorist.settings import Settings

DEFAULT_WINDOW = 200_000
"""Context window in tokens of a model that is not in the price table."""

DEFAULT_OUTPUT = 8_192
"""Output tokens of a model about which nothing is known."""


OUTPUT_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
"""Keys of a request that limit the length of the reply, in the three wire formats."""


def price_for(request: JsonObject, settings: Settings) -> Price | None:
    """Return the price of a request's model; the user's own table takes precedence over the shipped
    one.
    """
    return lookup(str(request.get("model", "")), _table(settings))


@lru_cache(maxsize=8)
def _cached_table(own: bytes) -> PriceTable:
    return merged(shipped(), msgspec.json.decode(own, type=dict[str, Price]))


def _table(settings: Settings) -> PriceTable:
    return _cached_table(msgspec.json.encode(settings.models.prices))


def limits_of(request: JsonObject, settings: Settings) -> Thresholds:
    """Return the thresholds for a request's model, from its window and output in the price table or
    the defaults.
    """
    known = price_for(request, settings) or Price()
    asked = next((value for name in OUTPUT_LIMITS if (value := request.get(name))), None)
    output = asked if isinstance(asked, int) and asked > 0 else known.max_output or DEFAULT_OUTPUT
    window = known.window or DEFAULT_WINDOW
    limits = thresholds(window, output, settings.compaction)
    if settings.compaction.family == "file_native":
        return limits
    # The rollout family counts from the whole window: 90 % of it, at most 95 % in use (codex.md section 2.1).
    inline = inline_limit(min(window, settings.compaction.window or window))
    return replace(limits, auto=inline.auto, base=inline.auto, blocking=inline.usable)
