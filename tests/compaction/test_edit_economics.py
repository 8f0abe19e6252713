"""Edits of the sent history are made when they pay, or when the window demands it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.edit_economics import (
    ExpectedRestOfSession,
    HistoryEdit,
    HistoryEditVerdict,
    RequestCacheState,
    TokenRates,
    choose_profitable_or_required_edits,
    derive_token_rates,
    estimate_rest_of_session,
    price_edits_together,
)
from memorist.models.model_pricing import ModelPrice, load_shipped_prices, match_model_price

# Whole dollars a token, so that the sums below can be done by hand: reading 1, writing 12, plain
# input 10.
RATES = TokenRates(cache_read=1.0, cache_write=12.0)
STEADY = ExpectedRestOfSession(20.0, 0.0, 20.0)


def price_edit(
    edit: HistoryEdit, state: RequestCacheState, rest: ExpectedRestOfSession, rates: TokenRates
) -> HistoryEditVerdict:
    return price_edits_together((edit,), state, rest, rates)


def state(
    *, context: int = 1_000, cached: int = 1_000, age: float = 10.0, ttl: float = 300.0
) -> RequestCacheState:
    return RequestCacheState(
        context_tokens=context, cached_tokens=cached, age_seconds=age, ttl_seconds=ttl
    )


def clear(
    first: int,
    freed: int,
    *,
    end: int | None = None,
    cost_usd: float = 0.0,
    loss_usd: float = 0.0,
    carried: int | None = None,
    only_forced: bool = False,
) -> HistoryEdit:
    return HistoryEdit(
        kind="clear",
        first_changed_token=first,
        end_token=first + freed if end is None else end,
        tokens_freed=freed,
        cost_usd=cost_usd,
        loss_usd=loss_usd,
        carried=carried,
        only_forced=only_forced,
    )


@pytest.mark.covers("CP-18")
def test_the_price_of_an_edit_is_what_is_written_again() -> None:
    """By hand: 400 tokens behind the change, 300 of them freed: 100 are written at 12 instead of
    400 read at 1; then 300 fewer for 20 calls.
    """
    verdict = price_edit(clear(600, 300), state(), STEADY, RATES)

    assert verdict.cost_usd == pytest.approx(100 * 12 - 400 * 1)
    assert verdict.saved_usd == pytest.approx(300 * 20)
    assert verdict.pays


@pytest.mark.covers("CP-18")
def test_an_edit_far_ahead_of_a_large_rest_does_not_pay() -> None:
    """By hand: freeing 50 tokens at the start means writing 950 again: 11,400 against 1,000, for
    1,000 saved.
    """
    verdict = price_edit(clear(0, 50), state(), STEADY, RATES)

    assert verdict.cost_usd == pytest.approx(950 * 12 - 1_000)
    assert verdict.saved_usd == pytest.approx(50 * 20)
    assert not verdict.pays
    assert (
        choose_profitable_or_required_edits(
            [clear(0, 50)], state(), STEADY, RATES, limit=2_000
        ).edits
        == ()
    )


@pytest.mark.covers("CP-18")
@pytest.mark.parametrize(("age", "pays"), [(300.0, False), (301.0, True)])
def test_clearing_is_free_once_the_cache_is_cold(age: float, *, pays: bool) -> None:
    """Past the lifetime everything is written again in any case; the same edit that did not pay a
    second earlier pays now.
    """
    verdict = price_edit(clear(0, 50), state(age=age), STEADY, RATES)

    assert verdict.pays is pays
    assert (verdict.cost_usd == 0) is pays


@pytest.mark.covers("CP-18")
def test_a_cold_cache_does_not_make_lost_content_free() -> None:
    """What the model will have to fetch again still counts."""
    assert not price_edit(clear(0, 50, loss_usd=5_000.0), state(age=9_999), STEADY, RATES).pays


@pytest.mark.covers("CP-18")
def test_tokens_that_were_never_cached_are_edited_for_nothing() -> None:
    """A result that has not been sent yet can be shortened at no cost."""
    verdict = price_edit(clear(1_000, 200), state(context=1_300, cached=1_000), STEADY, RATES)

    assert verdict.cost_usd == 0
    assert verdict.saved_usd == pytest.approx(200 * 12 + 200 * 20)


@pytest.mark.covers("CP-18")
def test_several_edits_share_one_reset() -> None:
    """Neither of two pays alone; together the rest is written again only once, and they pay."""
    first, second = clear(400, 250), clear(700, 200)
    rest = ExpectedRestOfSession(6.0, 0.0, 6.0)

    assert not price_edit(first, state(), rest, RATES).pays
    assert not choose_profitable_or_required_edits(
        [second], state(), ExpectedRestOfSession(3.0, 0.0, 3.0), RATES, limit=2_000
    ).edits
    together = price_edits_together((first, second), state(), rest, RATES)
    assert together.cost_usd == pytest.approx(150 * 12 - 600)
    assert together.pays
    assert choose_profitable_or_required_edits(
        [second, first], state(), rest, RATES, limit=2_000
    ).edits == (first, second)


@pytest.mark.covers("CP-18")
def test_tokens_are_expected_to_stay_no_longer_than_they_have_stayed() -> None:
    """Renting or buying: what has been carried for a call is not cleared for the sake of twenty to
    come.
    """
    young = clear(600, 300, carried=300)

    assert price_edit(young, state(), STEADY, RATES).saved_usd == pytest.approx(300)
    assert not price_edit(young, state(), STEADY, RATES).pays
    assert price_edit(clear(600, 300, carried=3_000), state(), STEADY, RATES).pays


@pytest.mark.covers("CP-18")
def test_a_summary_call_must_pay_for_itself() -> None:
    """The edit's own cost goes on top of the reset."""
    free, dear = clear(600, 300), clear(600, 300, cost_usd=5_500.0)

    assert choose_profitable_or_required_edits(
        [free], state(), STEADY, RATES, limit=2_000
    ).edits == (free,)
    assert (
        choose_profitable_or_required_edits([dear], state(), STEADY, RATES, limit=2_000).edits == ()
    )


@pytest.mark.covers("CP-18")
def test_what_loses_talk_waits_until_the_window_demands_it() -> None:
    """An edit that is only for need is not made because it would pay."""
    cut = clear(100, 800, only_forced=True)

    assert price_edit(cut, state(), STEADY, RATES).pays
    assert (
        choose_profitable_or_required_edits([cut], state(), STEADY, RATES, limit=2_000).edits == ()
    )
    forced = choose_profitable_or_required_edits([cut], state(), STEADY, RATES, limit=900)
    assert forced.edits == (cut,)


@pytest.mark.covers("CP-18")
def test_the_window_forces_the_cheapest_edit_that_fits() -> None:
    """Too large by 200: clearing 100 is not enough; of a free digest and a summary that costs a
    call, the digest is taken.
    """
    small = clear(900, 100)
    digest = HistoryEdit(kind="structural", first_changed_token=100, tokens_freed=600)
    summary = HistoryEdit(kind="full", first_changed_token=100, tokens_freed=600, cost_usd=4_000.0)
    chosen = choose_profitable_or_required_edits(
        [small, summary, digest], state(), STEADY, RATES, limit=800
    )

    assert [edit.kind for edit in chosen.edits] == ["structural"]


@pytest.mark.covers("CP-18")
def test_where_nothing_fits_what_frees_most_is_taken() -> None:
    """Better too large by less than not at all."""
    small, large = (
        clear(900, 50),
        HistoryEdit(kind="full", first_changed_token=100, tokens_freed=300),
    )

    assert choose_profitable_or_required_edits(
        [small, large], state(), STEADY, RATES, limit=100
    ).edits == (large,)
    assert choose_profitable_or_required_edits([], state(), STEADY, RATES, limit=100).edits == ()


@pytest.mark.covers("CP-18")
def test_the_rest_is_as_long_as_the_past_but_ends_at_the_window() -> None:
    """Forty calls, each adding 2,000: forty more; with room for 20,000, ten."""
    assert estimate_rest_of_session(
        calls=40, context=100_000, start=20_000, limit=1_000_000
    ) == ExpectedRestOfSession(40.0, 2_000.0, 40.0)
    assert estimate_rest_of_session(
        calls=40, context=100_000, start=20_000, limit=120_000
    ).calls == pytest.approx(10)
    assert (
        estimate_rest_of_session(calls=40, context=100_000, start=20_000, limit=90_000).calls == 0
    )
    assert estimate_rest_of_session(calls=0, context=100, start=100, limit=1_000).calls == 1


@pytest.mark.covers("CP-18")
def test_prices_come_from_the_price_table() -> None:
    """Opus 4.6 of the shipped table, a model without cache prices, and one that is not known."""
    opus = derive_token_rates(match_model_price("claude-opus-4-6", load_shipped_prices()))
    hour = derive_token_rates(
        match_model_price("claude-opus-4-6", load_shipped_prices()), ttl_seconds=3_600
    )

    assert opus is not None
    assert hour is not None
    assert (opus.cache_read, opus.cache_write) == pytest.approx((0.5e-6, 6.25e-6))
    assert hour.cache_write == pytest.approx(10e-6)
    assert derive_token_rates(ModelPrice(input=2.0)) == TokenRates(
        cache_read=2e-6, cache_write=2e-6
    )
    assert derive_token_rates(None) is None
    assert derive_token_rates(ModelPrice(output=1.0)) is None


@pytest.mark.covers("CP-18")
def test_staying_below_a_dearer_tier_counts() -> None:
    """Above 1,000 tokens everything costs five times as much: by hand, the calls to come are 1,200
    × 5 against 900 × 1 each.
    """
    tiered = TokenRates(cache_read=1.0, cache_write=12.0, long_from=1_000, long_factor=5.0)
    verdict = price_edit(
        clear(1_150, 300, end=1_200),
        state(context=1_200, cached=1_200),
        ExpectedRestOfSession(10.0, 0.0, 10.0),
        tiered,
    )

    assert verdict.saved_usd >= 10 * (1_200 * 5 - 900)
    assert verdict.pays


@st.composite
def situations(
    draw: st.DrawFn,
) -> tuple[list[HistoryEdit], RequestCacheState, ExpectedRestOfSession, int]:
    context = draw(st.integers(100, 100_000))
    edits = []
    for _ in range(draw(st.integers(0, 6))):
        first = draw(st.integers(0, context - 1))
        end = draw(st.integers(first + 1, context))
        edits.append(
            HistoryEdit(
                kind="clear",
                first_changed_token=first,
                end_token=end,
                tokens_freed=draw(st.integers(0, end - first)),
                cost_usd=draw(st.floats(0, 1_000_000)),
                loss_usd=draw(st.floats(0, 1_000_000)),
                carried=draw(st.none() | st.integers(0, 3_000_000)),
                only_forced=draw(st.booleans()),
            )
        )
    now = state(
        context=context,
        cached=draw(st.integers(0, context)),
        age=draw(st.sampled_from([5.0, 5_000.0])),
    )
    rest = ExpectedRestOfSession(draw(st.floats(0, 100)), draw(st.floats(0, 5_000)), 50.0)
    return edits, now, rest, draw(st.integers(100, 120_000))


@pytest.mark.covers("CP-18")
@given(situations())
def test_nothing_is_done_that_costs_more_than_it_saves_unless_the_window_demands_it(
    situation: tuple[list[HistoryEdit], RequestCacheState, ExpectedRestOfSession, int],
) -> None:
    """For any edits: not forced means it pays, nothing for need only is done, and no two edits
    touch the same part.
    """
    edits, now, rest, limit = situation
    chosen = choose_profitable_or_required_edits(edits, now, rest, RATES, limit=limit)

    if now.context_tokens > limit:
        assert chosen.edits or not any(edit.tokens_freed > 0 for edit in edits)
    elif chosen.edits:
        assert chosen.verdict.saved_usd > chosen.verdict.cost_usd
        assert not any(edit.only_forced for edit in chosen.edits)
    places = sorted((edit.first_changed_token, edit.end_token or math.inf) for edit in chosen.edits)
    assert all(before[1] <= after[0] for before, after in pairwise(places))


@pytest.mark.covers("CP-18")
@given(situations())
def test_no_single_edit_would_have_paid_better(
    situation: tuple[list[HistoryEdit], RequestCacheState, ExpectedRestOfSession, int],
) -> None:
    """What is chosen freely is worth at least as much as the best edit alone."""
    edits, now, rest, _ = situation
    chosen = choose_profitable_or_required_edits(edits, now, rest, RATES, limit=1_000_000)
    alone = [
        price_edit(edit, now, rest, RATES).gain
        for edit in edits
        if not edit.only_forced and edit.tokens_freed > 0
    ]

    assert chosen.verdict.gain >= max([0.0, *alone]) - 1e-6
