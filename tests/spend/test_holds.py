"""When background work waits for its provider."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.budget.budget_governor import MAX_HOLD_SECONDS, decide_provider_hold
from memorist.models.call_failure import RemainingRateLimit
from memorist.models.rate_limits import RateLimitReport
from memorist.settings import SpendSettings

NOW = 1_700_000_000.0
PLAIN = SpendSettings()
anything = st.none() | st.floats()


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize(
    ("asked", "wait"),
    [(30.0, 30.0), (0.0, 0.0), (None, 60.0), (-5.0, 60.0), (1e12, MAX_HOLD_SECONDS)],
)
def test_a_refusal_holds_work_back_as_long_as_the_provider_asks(
    asked: float | None, wait: float
) -> None:
    """Without a time, for a minute; never for more than a day."""
    hold = decide_provider_hold(
        RateLimitReport(model="m", status=429, retry_after=asked), PLAIN, NOW
    )

    assert hold is not None
    assert (hold.cause, hold.until) == ("refused", NOW + wait)


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize(
    ("left", "held"), [(0.26, False), (0.25, False), (0.24, True), (0.0, True)]
)
def test_the_last_quarter_of_a_limit_is_the_hosts(left: float, held: bool) -> None:
    """Below it background work waits until the limit is reset."""
    hold = decide_provider_hold(
        RateLimitReport(
            model="m", allowances=(RemainingRateLimit(what="tokens", left=left, resets_in=40.0),)
        ),
        PLAIN,
        NOW,
    )

    assert (hold is not None) is held
    assert hold is None or hold.until == NOW + 40


@pytest.mark.covers("SG-1")
def test_of_several_low_limits_the_last_reset_counts() -> None:
    """Each of them must leave room; one that has room is not waited for."""
    allowances = (
        RemainingRateLimit(what="requests", left=0.1, resets_in=5.0),
        RemainingRateLimit(what="5h", left=0.2, resets_in=900.0),
        RemainingRateLimit(what="7d", left=0.9, resets_in=90_000.0),
    )
    hold = decide_provider_hold(RateLimitReport(model="m", allowances=allowances), PLAIN, NOW)

    assert hold is not None
    assert hold.until == NOW + 900
    assert "10 %" in hold.said


@pytest.mark.covers("SG-1")
def test_a_refusal_without_a_time_lasts_until_the_limit_that_is_used_up_is_reset() -> None:
    """A subscription's window says when it ends though `retry-after` is missing."""
    news = RateLimitReport(
        model="m",
        status=429,
        allowances=(RemainingRateLimit(what="5h", left=0.0, resets_in=7_200.0),),
    )
    hold = decide_provider_hold(news, PLAIN, NOW)

    assert hold is not None
    assert hold.until == NOW + 7_200


@pytest.mark.covers("SG-1")
def test_where_nothing_is_known_nothing_is_held_back() -> None:
    """A server without such headers."""
    assert decide_provider_hold(RateLimitReport(model="m"), PLAIN, NOW) is None


@pytest.mark.covers("SG-1")
@given(
    st.builds(
        RateLimitReport,
        model=st.text(max_size=5),
        status=st.none() | st.just(429),
        retry_after=anything,
        allowances=st.tuples(
            st.builds(
                RemainingRateLimit,
                what=st.text(max_size=5),
                left=st.floats(0, 1),
                resets_in=anything,
            )
        ),
    )
)
def test_no_word_of_a_provider_holds_work_back_for_more_than_a_day(news: RateLimitReport) -> None:
    """Nor back in time, whatever the numbers are."""
    hold = decide_provider_hold(news, PLAIN, NOW)

    assert hold is None or NOW <= hold.until <= NOW + MAX_HOLD_SECONDS
