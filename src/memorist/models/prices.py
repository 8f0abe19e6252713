"""What a call costs, from a table of prices that the user can extend.

The shipped table (`prices.toml`) is a snapshot with a date and will grow old: prices in the settings go before it, field by field. A model
that no entry names has no price, and its calls cost None, not zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.messages import Usage

MILLION = 1_000_000


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens, and sizes in tokens. None: not known here; a shorter prefix or the shipped table may tell."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    """Written for 5 minutes (Anthropic), or for the provider's own time."""
    cache_write_1h: float | None = None
    window: int | None = None
    """Context window."""
    max_output: int | None = None
    long_from: int | None = None
    """Input tokens, cached ones among them, above which the whole request is dearer; None: never."""
    long_input_factor: float = 1.0
    """What input and cache cost then, times their price."""
    long_output_factor: float = 1.0


PriceTable = Mapping[str, Price]
"""Prices by the beginning of a model's name; see `lookup`."""

_LATER_VERSION = re.compile(r"[\d.]|-\d{1,2}(\D|$)")


@cache
def shipped() -> PriceTable:
    """The table that comes with memorist."""
    text = Path(__file__).with_name("prices.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Price])


def merged(table: PriceTable, own: PriceTable) -> PriceTable:
    """`own` over `table`: what an entry of `own` does not say is taken from the entry of `table` that would have served its name."""
    result = dict(table)
    for name, price in own.items():
        result[name] = _over(price, lookup(name.rstrip("*"), table) or Price())
    return result


def _over(price: Price, base: Price) -> Price:
    plain = Price()
    given = {name: value for name, value in msgspec.structs.asdict(price).items() if value != getattr(plain, name)}
    return msgspec.structs.replace(base, **given)


def bare_name(model: str) -> str:
    """The model's name as tables know it: without a provider's folder or region before it, lower case."""
    lowered = model.lower().rpartition("/")[2]
    found = lowered.find("anthropic.")
    return lowered[found + len("anthropic.") :] if found >= 0 else lowered


def _serves(entry: str, name: str) -> bool:
    entry = entry.lower()
    if entry.endswith("*"):
        return name.startswith(entry[:-1])
    if not name.startswith(entry):
        return False
    return not entry[-1:].isdigit() or _LATER_VERSION.match(name[len(entry) :]) is None


def lookup(model: str, table: PriceTable) -> Price | None:
    """The entry for a model: the longest name that the model's name begins with; the full name as written is tried first.

    An entry that ends in a version serves its dated and named variants (`gpt-5` serves `gpt-5-2025-08-07`), but not a later version
    (`gpt-5.4`), which may cost something else. An entry that ends with `*` serves everything that begins with it.
    """
    for name in (model.lower(), bare_name(model)):
        matches = [entry for entry in table if _serves(entry, name)]
        if matches:
            return table[max(matches, key=len)]
    return None


def price_of(model: str, usage: Usage, table: PriceTable, *, cache_write_1h: int = 0) -> float | None:
    """US dollars for one call; None when the table does not know the model's input and output prices.

    `cache_write_1h` is the part of `usage.cache_write` that was written for an hour. Cache prices that are not known count as input.
    """
    price = lookup(model, table)
    if price is None or price.input is None or price.output is None:
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    long_write = write if price.cache_write_1h is None else price.cache_write_1h
    long_tokens = min(cache_write_1h, usage.cache_write)
    dear = price.long_from is not None and usage.input + usage.cache_read + usage.cache_write > price.long_from
    entering = usage.input * price.input + usage.cache_read * read + (usage.cache_write - long_tokens) * write + long_tokens * long_write
    leaving = usage.output * price.output
    if dear:
        return (entering * price.long_input_factor + leaving * price.long_output_factor) / MILLION
    return (entering + leaving) / MILLION
