"""Where in the window something happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.compaction_thresholds import (
    CompactionThresholds,
    InlineCompactionThresholds,
    compute_inline_compaction_thresholds,
    compute_request_thresholds,
    compute_thresholds,
)
from memorist.settings import CompactionSettings, Settings

VECTORS = [
    # window, output, settings, effective, auto, warning, blocking (Claude Code)
    (200_000, 32_000, {}, 180_000, 167_000, 147_000, 177_000),
    (200_000, 32_000, {"enabled": False}, 180_000, 167_000, 160_000, 177_000),
    (200_000, 8_000, {}, 192_000, 179_000, 159_000, 189_000),
    (1_000_000, 64_000, {}, 980_000, 967_000, 947_000, 977_000),
    (200_000, 32_000, {"window": 100_000}, 80_000, 67_000, 47_000, 77_000),
    (200_000, 32_000, {"window": 1_000_000}, 180_000, 167_000, 147_000, 177_000),
    (200_000, 32_000, {"percent": 50.0}, 180_000, 90_000, 70_000, 177_000),
    (200_000, 32_000, {"percent": 99.0}, 180_000, 167_000, 147_000, 177_000),
    (200_000, 32_000, {"percent": 0.0}, 180_000, 167_000, 147_000, 177_000),
    (200_000, 32_000, {"percent": 140.0}, 180_000, 167_000, 147_000, 177_000),
]


@pytest.mark.covers("CP-1")
@pytest.mark.parametrize(
    ("window", "output", "given", "effective", "auto", "warning", "blocking"), VECTORS
)
def test_the_thresholds_are_those_of_the_vectors(
    window: int, output: int, given: Any, effective: int, auto: int, warning: int, blocking: int
) -> None:
    """Window, reserve, overrides that only lower, with and without auto compaction."""
    found = compute_thresholds(window, output, CompactionSettings(**given))

    assert (found.effective, found.auto, found.warning, found.blocking) == (
        effective,
        auto,
        warning,
        blocking,
    )


@pytest.mark.covers("CP-1")
@given(
    st.integers(1, 2_000_000),
    st.integers(0, 200_000),
    st.none() | st.integers(-5, 2_000_000),
    st.none() | st.floats(-5, 200),
)
def test_thresholds_stand_in_order_in_every_window(
    window: int, output: int, own: int | None, percent: float | None
) -> None:
    """A small local model gets thresholds inside its window as well, and overrides never raise one."""
    plain = compute_thresholds(window, output, CompactionSettings())
    found = compute_thresholds(window, output, CompactionSettings(window=own, percent=percent))

    assert 0 < found.warning <= found.auto <= found.effective <= window
    assert found.auto <= plain.auto
    assert found.blocking <= plain.blocking


def test_the_inline_limit_is_nine_tenths_of_the_window() -> None:
    """Compaction is due at 90 % of the window, and 95 % of it is usable."""
    assert compute_inline_compaction_thresholds(272_000) == InlineCompactionThresholds(
        244_800, 258_400
    )


@pytest.mark.covers("CP-12")
def test_the_inline_limit_leaves_room_for_the_output_that_a_request_asks_for() -> None:
    """Many servers refuse a request whose input and output do not fit the window together; where
    nothing is asked for, or little, the usual shares hold.
    """

    def limits(**request: int) -> CompactionThresholds:
        chosen = CompactionSettings(family="rollout", window=32_000)
        return compute_request_thresholds({"model": "m", **request}, Settings(compaction=chosen))

    assert limits().blocking == limits(max_tokens=1_000).blocking == 30_400
    assert limits(max_tokens=8_000).blocking == 24_000
    assert limits(max_tokens=8_000).auto < 24_000
    assert limits(max_tokens=64_000).blocking == 16_000


@pytest.mark.covers("CP-18")
@pytest.mark.parametrize("family", ["file-native", "rollout"])
def test_by_price_nothing_is_forced_while_a_reply_still_fits(family: Any) -> None:
    """A session that ends before its window is full never pays for an edit that does not pay; a
    percent that the user set, a model without a price, and a provider that compacts by itself keep
    the threshold.
    """

    def limits(model: str, **given: Any) -> CompactionThresholds:
        return compute_request_thresholds(
            {"model": model, "max_tokens": 20_000},
            Settings(compaction=CompactionSettings(family=family, **given)),
        )

    plain = limits("claude-opus-4-6")
    priced = limits("claude-opus-4-6", schedule="price")

    assert plain.auto < priced.auto == priced.base == plain.blocking < 200_000
    assert priced.auto - priced.warning == plain.auto - plain.warning
    assert limits("never-heard-of", schedule="price") == limits("never-heard-of")
    assert limits("claude-opus-4-6", schedule="price", provider=True) == plain
    assert limits("claude-opus-4-6", schedule="price", percent=50.0) == limits(
        "claude-opus-4-6", percent=50.0
    )
