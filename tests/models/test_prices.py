"""What a call costs."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import Usage
from memorist.models.model_pricing import (
    ModelPrice,
    compute_call_cost,
    load_shipped_prices,
    match_model_price,
    merge_prices,
)
from memorist.models.model_settings import ModelSettings

TABLE = {
    "gpt-5": ModelPrice(input=1.0, output=8.0),
    "gpt-5-mini": ModelPrice(input=0.5, output=4.0),
    "llama": ModelPrice(input=0.1, output=0.1),
}
TOKENS = st.integers(0, 5_000_000)


@pytest.mark.covers("CP-18")
@pytest.mark.parametrize(
    ("model", "entry"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("GPT-5-Codex", "gpt-5"),
        ("openai/gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("llama3.1:8b", "llama"),
        ("gpt-5.4", None),
        ("gpt-50", None),
        ("other", None),
    ],
)
def test_the_longest_entry_that_fits_serves_a_model(model: str, entry: str | None) -> None:
    """Dated and named variants are served, later versions are not: they may cost something else."""
    assert match_model_price(model, TABLE) == (TABLE[entry] if entry else None)


@pytest.mark.covers("CP-18")
def test_a_star_serves_everything_that_begins_so() -> None:
    """For those who want one price for a whole family."""
    assert match_model_price("gpt-5.4", {"gpt-5*": ModelPrice(input=1.0)}) == ModelPrice(input=1.0)


@pytest.mark.covers("CP-18")
@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-1-20250805",
        "anthropic/claude-sonnet-4-5",
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "claude-3-5-haiku-latest",
    ],
)
def test_claude_is_known_under_its_gateway_names(model: str) -> None:
    """Folders and regions before the name do not matter; cache factors are 0.1, 1.25 and 2 times
    input.
    """
    price = match_model_price(model, load_shipped_prices())

    assert price is not None
    assert price.input is not None
    assert price.cache_read == pytest.approx(price.input * 0.1)
    assert price.cache_write == pytest.approx(price.input * 1.25)
    assert price.cache_write_1h == pytest.approx(price.input * 2)


@pytest.mark.covers("CP-18")
def test_the_shipped_table_is_whole_and_plausible() -> None:
    """Every entry has prices and sizes, and its cached input costs no more than input."""
    for name, price in load_shipped_prices().items():
        assert price.input, name
        assert price.output, name
        assert price.window, name
        assert price.max_output, name
        assert price.output > price.input, name
        assert price.cache_read is not None, name
        assert price.cache_read <= price.input, name
        assert price.max_output <= price.window, name


@pytest.mark.covers("CP-18", "FK-8")
@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_reading_the_cache_never_costs_more_than_sending_again(
    fresh: int, read: int, write: int, out: int
) -> None:
    """Moving tokens from input to cache reads lowers the bill, and no bill is negative."""
    cached = compute_call_cost(
        "claude-sonnet-4-5",
        Usage(input=fresh, cache_read=read, cache_write=write, output=out),
        load_shipped_prices(),
    )
    plain = compute_call_cost(
        "claude-sonnet-4-5",
        Usage(input=fresh + read, cache_write=write, output=out),
        load_shipped_prices(),
    )

    assert cached is not None
    assert plain is not None
    assert 0 <= cached <= plain


@pytest.mark.covers("CP-18")
def test_long_requests_cost_their_own_price() -> None:
    """Above the threshold the whole request is dearer, cached input among it."""
    table = {
        "m": ModelPrice(
            input=1.0, output=2.0, long_from=1_000, long_input_factor=2.0, long_output_factor=1.5
        )
    }

    assert compute_call_cost("m", Usage(input=1_000, output=100), table) == pytest.approx(
        (1_000 + 200) / 1e6
    )
    assert compute_call_cost(
        "m", Usage(input=1, cache_read=1_000, output=100), table
    ) == pytest.approx((2_002 + 300) / 1e6)


@pytest.mark.covers("CP-18")
def test_a_user_entry_keeps_what_it_does_not_say() -> None:
    """The user's input price and our window, output and cache prices."""
    table = merge_prices(load_shipped_prices(), {"claude-opus-4-5-20251101": ModelPrice(input=1.5)})
    mine = match_model_price("claude-opus-4-5-20251101", table)
    ours = match_model_price("claude-opus-4-5", load_shipped_prices())

    assert mine is not None
    assert ours is not None
    assert (mine.input, mine.output, mine.window, mine.cache_read) == (
        1.5,
        ours.output,
        ours.window,
        ours.cache_read,
    )
    assert match_model_price("claude-opus-4-5", table) == ours


@pytest.mark.covers("CP-18")
def test_an_unknown_model_has_no_price() -> None:
    """None, not zero: an unknown cost must not look like a free call."""
    assert compute_call_cost("who", Usage(input=5), load_shipped_prices()) is None
    assert compute_call_cost("half", Usage(input=5), {"half": ModelPrice(input=1.0)}) is None


@pytest.mark.covers("CP-18")
def test_prices_are_read_from_settings_and_misspelt_ones_refused() -> None:
    """The settings file holds prices by model name; a price that is no number, or an unknown field,
    is an error.
    """
    read = msgspec.toml.decode(
        '[prices."my-model"]\ninput = 1\nwindow = 9_000\n', type=ModelSettings
    )

    assert read.prices == {"my-model": ModelPrice(input=1.0, window=9_000)}
    for wrong in ('[prices.m]\ninput = "much"', "[prices.m]\ninptu = 1", "[prices]\nm = 3"):
        with pytest.raises(msgspec.ValidationError, match="prices"):
            msgspec.toml.decode(wrong, type=ModelSettings)
