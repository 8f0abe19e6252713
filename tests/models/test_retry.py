"""When another attempt is made, and how long after."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import JsonObject
from memorist.errors import ModelRequestRejected, ModelTimeout, ModelUnavailable
from memorist.models.call_failure import CallFailure
from memorist.models.model_settings import ModelSettings
from memorist.models.retry_policy import ModelAttempt, RetryRunner, compute_retry_delay
from memorist.testing import FrozenClock
from support.sweeps import examples

BUSY = CallFailure(kind="status", status=529, message="busy")
PLAIN = ModelSettings()


@pytest.mark.covers("SF-5")
def test_waits_double_up_to_the_cap() -> None:
    """0.5, 1, 2, 4, 8 seconds, and 8 from then on."""
    assert [compute_retry_delay(PLAIN, failed, 0.0, None) for failed in range(1, 8)] == [
        0.5,
        1,
        2,
        4,
        8,
        8,
        8,
    ]


@pytest.mark.covers("SF-5")
@given(st.integers(1, 10_000), st.floats(0, 1), st.none() | st.floats(-5, 1e9))
def test_no_wait_is_negative_or_endless(failed: int, chance: float, asked: float | None) -> None:
    """Whatever the provider asks for and chance says, the wait lies between zero and the caps."""
    assert (
        0
        <= compute_retry_delay(PLAIN, failed, chance, asked)
        <= max(PLAIN.backoff_cap_seconds, PLAIN.retry_after_cap_seconds)
    )


@pytest.mark.covers("SF-5")
def test_chance_takes_off_a_quarter_at_most() -> None:
    """Clients that failed together do not come back together."""
    assert compute_retry_delay(PLAIN, 1, 1.0, None) == pytest.approx(0.375)


def scripted(*outcomes: JsonObject | CallFailure) -> tuple[list[int], ModelAttempt]:
    calls: list[int] = []

    async def attempt() -> JsonObject | CallFailure:
        calls.append(len(calls))
        return outcomes[len(calls) - 1]

    return calls, attempt


@pytest.mark.covers("SF-5")
@given(st.integers(1, 6), st.integers(0, 8))
@examples(15, whole=40)
async def test_there_are_never_more_attempts_than_allowed(allowed: int, failures: int) -> None:
    """With enough attempts the reply comes; without, the error of the last one."""
    clock = FrozenClock()
    calls, attempt = scripted(*[BUSY] * failures, {"ok": 1})
    retrying = RetryRunner("m", ModelSettings(attempts=allowed), clock, lambda: 0.5)
    if failures < allowed:
        answer = await retrying.call_with_retries(attempt, None)
        assert (answer.body, answer.attempts) == ({"ok": 1}, failures + 1)
    else:
        with pytest.raises(ModelUnavailable) as failed:
            await retrying.call_with_retries(attempt, None)
        assert failed.value.attempts == allowed

    assert len(calls) == min(failures + 1, allowed)
    assert len(clock.slept) == len(calls) - 1


@pytest.mark.covers("SF-5")
async def test_a_lasting_refusal_ends_the_attempts() -> None:
    """No wait, no second attempt."""
    clock = FrozenClock()
    calls, attempt = scripted(CallFailure(kind="status", status=401, message="bad key"))
    with pytest.raises(ModelRequestRejected, match="check the key"):
        await RetryRunner("m", PLAIN, clock, lambda: 0.0).call_with_retries(attempt, None)

    assert len(calls) == 1
    assert clock.slept == []


@pytest.mark.covers("SF-5")
async def test_the_limit_ends_a_call_that_never_answers() -> None:
    """The call's own limit goes before the settings'."""

    async def attempt() -> JsonObject | CallFailure:
        await asyncio.Event().wait()
        return {}

    with pytest.raises(ModelTimeout, match=r"0\.01 seconds"):
        await RetryRunner("m", PLAIN, FrozenClock(), lambda: 0.0).call_with_retries(attempt, 0.01)
