"""The cost of a call, from a price table that the user can extend.

The shipped table (`prices.toml`) is a dated snapshot and will become outdated: prices in the
settings override it, field by field. A model without an entry has no price, and its calls cost
None, not zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.core.messages import JsonObject, Usage

MILLION = 1_000_000


class ModelPrice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens, and sizes in tokens. None: not known here; a shorter prefix or
    the shipped table may know.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    """Cache writes kept for 5 minutes (Anthropic), or for the provider's own time."""
    cache_write_1h: float | None = None
    window: int | None = None
    """Context window."""
    max_output: int | None = None
    long_from: int | None = None
    """Input tokens, cached ones included, above which the whole request costs more; None: never."""
    long_input_factor: float = 1.0
    """Factor on the prices of input and cache above `long_from`."""
    long_output_factor: float = 1.0


PriceTable = Mapping[str, ModelPrice]
"""Prices by model name or prefix; see `match_model_price`."""

_LATER_VERSION = re.compile(r"[\d.]|-\d{1,2}(\D|$)")


@cache
def load_shipped_prices() -> PriceTable:
    """The table that ships with memorist."""
    text = Path(__file__).with_name("prices.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, ModelPrice])


def merge_prices(table: PriceTable, overrides: PriceTable) -> PriceTable:
    """Overlay `overrides` on `table`: fields that an override leaves out come from the entry of
    `table` that would have served its name.
    """
    result = dict(table)
    for name, price in overrides.items():
        result[name] = _overlay(price, match_model_price(name.rstrip("*"), table) or ModelPrice())
    return result


def _overlay(price: ModelPrice, base: ModelPrice) -> ModelPrice:
    plain = ModelPrice()
    given = {
        name: value
        for name, value in msgspec.structs.asdict(price).items()
        if value != getattr(plain, name)
    }
    return msgspec.structs.replace(base, **given)


def strip_provider_from_model_name(model: str) -> str:
    """The model's name as tables know it: without a provider's path or region in front, in lower
    case.
    """
    lowered = model.lower().rpartition("/")[2]
    found = lowered.find("anthropic.")
    return lowered[found + len("anthropic.") :] if found >= 0 else lowered


def _is_entry_for(entry: str, name: str) -> bool:
    entry = entry.lower()
    if entry.endswith("*"):
        return name.startswith(entry[:-1])
    if not name.startswith(entry):
        return False
    return not entry[-1:].isdigit() or _LATER_VERSION.match(name[len(entry) :]) is None


def match_model_price(model: str, table: PriceTable) -> ModelPrice | None:
    """The entry for a model: the longest entry that the model's name begins with; the full name as
    written is tried first.

    An entry that ends in a version serves its dated and named variants (`gpt-5` serves
    `gpt-5-2025-08-07`), but not a later version (`gpt-5.4`), which may have another price. An entry
    that ends with `*` serves everything that begins with it.
    """
    for name in (model.lower(), strip_provider_from_model_name(model)):
        matches = [entry for entry in table if _is_entry_for(entry, name)]
        if matches:
            return table[max(matches, key=len)]
    return None


def compute_call_cost(
    model: str, usage: Usage, table: PriceTable, *, cache_write_1h: int = 0
) -> float | None:
    """US dollars of one call; None when the table lacks the model's input or output price.

    `cache_write_1h` is the part of `usage.cache_write` that was written for an hour. Unknown cache
    prices count as input.
    """
    price = match_model_price(model, table)
    if price is None or price.input is None or price.output is None:
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    long_write = write if price.cache_write_1h is None else price.cache_write_1h
    long_tokens = min(cache_write_1h, usage.cache_write)
    dear = (
        price.long_from is not None
        and usage.input + usage.cache_read + usage.cache_write > price.long_from
    )
    entering = (
        usage.input * price.input
        + usage.cache_read * read
        + (usage.cache_write - long_tokens) * write
        + long_tokens * long_write
    )
    leaving = usage.output * price.output
    if dear:
        return (entering * price.long_input_factor + leaving * price.long_output_factor) / MILLION
    return (entering + leaving) / MILLION


def compute_cache_saving_usd(model: str, usage: Usage, table: PriceTable) -> float | None:
    """US dollars that the prompt cache saved a call; below 0 where writing to it cost more than
    reading from it gave. None for a model without a price.
    """
    whole = usage.input + usage.cache_read + usage.cache_write
    without = compute_call_cost(model, Usage(input=whole, output=usage.output), table)
    actual = compute_call_cost(model, usage, table)
    return None if without is None or actual is None else without - actual


def find_request_model_price(
    request: JsonObject, own: Mapping[str, ModelPrice]
) -> ModelPrice | None:
    """Return the price of a request's model; the user's `own` table (`models.prices`) takes
    precedence over the shipped one.
    """
    return _find_price(str(request.get("model", "")), msgspec.json.encode(own))


@lru_cache(maxsize=64)
def _find_price(model: str, own: bytes) -> ModelPrice | None:
    return match_model_price(model, _merge_price_tables(own))


@lru_cache(maxsize=8)
def _merge_price_tables(own: bytes) -> PriceTable:
    return merge_prices(load_shipped_prices(), decode_json(own, as_type=dict[str, ModelPrice]))
