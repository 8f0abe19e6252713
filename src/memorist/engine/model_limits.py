"""Limits of the model that a request is for: thresholds from its window and output, and its price.

A window that is in no table is learned from what the server does. Pure.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from memorist.compaction.thresholds import (
    CompactionThresholds,
    compute_inline_limit,
    compute_thresholds,
)
from memorist.core.messages import JsonObject
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS
from memorist.models.model_pricing import (
    ModelPrice,
    PriceTable,
    lookup_price,
    merge_prices,
    shipped_prices,
)
from memorist.settings import Settings

DEFAULT_WINDOW = 200_000
"""Context window in tokens of a model that is not in the price table, until its server shows
another one.
"""

REFUSED_SHARE = 0.95
"""Share of the tokens of a refused request that is taken for the window: sizes here are estimates
within some 5 % of the provider's count.
"""

GROWTH, SAME = 0.3, 1.02
"""A server cuts what it is sent when requests should have grown by three tenths while its count
stayed within 2 %. Our choice: the count of a longer request never stands still otherwise.
"""

MIN_COUNTED = 1_000
"""Tokens below which a count says nothing about a window."""


class WindowObserver:
    """Learns the window of one conversation's model from refusals and from counts that stop
    growing.

    Some servers (Ollama) cut the beginning of what does not fit without a word.
    """

    def __init__(self) -> None:
        self._counted = 0
        self._uncounted = 0
        """Tokens that were added since the server's count stopped growing."""

    def on_reply(self, expected: int, counted: int) -> int | None:
        """Compare the tokens that were sent (the last count and an estimate of what came since)
        with those that the server counted; the window, where it must have cut the request.
        """
        before, self._counted = self._counted, counted
        stands = MIN_COUNTED <= before <= expected and before <= counted * SAME <= before * SAME**2
        self._uncounted = self._uncounted + expected - before if stands else 0
        return counted if stands and self._uncounted >= before * GROWTH else None

    def on_refusal(self, sent: int, assumed: int) -> int | None:
        """The window after a refusal of `sent` tokens; None where that many exceed the assumed
        window anyway.
        """
        return int(sent * REFUSED_SHARE) if MIN_COUNTED <= sent < assumed else None


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


def find_window(request: JsonObject, settings: Settings, learned: int | None = None) -> int:
    """Return the window of a request's model in tokens: what its server showed, else the price
    table's, else `models.window`, else the default.
    """
    known = find_price(request, settings) or ModelPrice()
    return learned or known.window or settings.models.window or DEFAULT_WINDOW


def thresholds_for(
    request: JsonObject, settings: Settings, learned: int | None = None
) -> CompactionThresholds:
    """Return the thresholds for a request's model, from its window and its output limit; `learned`
    is the window that its server showed.
    """
    known = find_price(request, settings) or ModelPrice()
    asked = next((value for name in OUTPUT_LIMIT_KEYS if (value := request.get(name))), None)
    output = asked if isinstance(asked, int) and asked > 0 else known.max_output or DEFAULT_OUTPUT
    window = find_window(request, settings, learned)
    output = min(output, window // 4) if learned or known.window is None else output
    limits = compute_thresholds(window, output, settings.compaction)
    if settings.compaction.family == "file-native":
        return limits
    # The rollout family counts from the whole window: 90 % of it, at most 95 % in use (codex.md
    # section 2.1).
    inline = compute_inline_limit(min(window, settings.compaction.window or window))
    return replace(limits, auto=inline.auto, base=inline.auto, blocking=inline.usable)
