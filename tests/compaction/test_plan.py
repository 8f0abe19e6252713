"""What is done at one request, in which order, and when nothing more is tried."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.compaction.compaction_plan import (
    CompactionCircuitBreaker,
    ContextWindowState,
    PlanStep,
    RejectIfOverLimitStep,
    SkipCompactionStep,
    TryStrategyStep,
    count_reply_since_compaction,
    plan_compaction,
    record_compaction_failure,
    record_compaction_success,
)
from memorist.compaction.compaction_thresholds import compute_thresholds
from memorist.settings import CompactionSettings

SETTINGS = CompactionSettings()
LIMITS = compute_thresholds(200_000, 32_000, SETTINGS)
FULL = ContextWindowState(used=170_000, limits=LIMITS, has_notes=True, has_model=True)


def names(steps: tuple[PlanStep, ...]) -> list[str]:
    """The steps in one word each."""
    return [
        step.strategy
        if isinstance(step, TryStrategyStep)
        else "stop"
        if isinstance(step, SkipCompactionStep)
        else "guard"
        for step in steps
    ]


def fail(breakers: CompactionCircuitBreaker) -> CompactionCircuitBreaker:
    """One more failure, of a conversation of 170,000 tokens."""
    return record_compaction_failure(breakers, used=170_000)


def planned(
    breakers: CompactionCircuitBreaker | None = None,
    own: CompactionSettings = SETTINGS,
    **changes: Any,
) -> list[str]:
    return names(
        plan_compaction(replace(FULL, **changes), breakers or CompactionCircuitBreaker(), own)
    )


def test_the_order_is_notes_model_digest_guard() -> None:
    """Notes before a model, the extractive summary last."""
    assert planned(used=178_000) == ["session-memory", "full", "structural", "guard"]


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"used": 166_999}, []),
        ({"used": 167_000}, ["session-memory", "full", "structural"]),
        ({"used": 178_000, "freed": 12_000}, []),
        ({"has_notes": False}, ["full", "structural"]),
        ({"has_model": False}, ["session-memory", "structural"]),
        ({"has_model": False, "has_notes": False}, ["structural"]),
    ],
)
def test_what_is_due_depends_on_what_is_there(changes: dict[str, Any], steps: list[str]) -> None:
    """Below the threshold nothing; what budget and microcompact free counts; no notes, no model."""
    assert planned(**changes) == steps


def test_the_rollout_family_writes_a_hand_over() -> None:
    """Inline in place of notes and full."""
    assert planned(own=CompactionSettings(family="rollout")) == ["inline", "structural"]


def test_the_provider_comes_first_where_the_settings_say_so() -> None:
    """And only where it can."""
    own = CompactionSettings(provider=True)

    assert planned(own=own, provider_compacts=True) == [
        "provider",
        "session-memory",
        "full",
        "structural",
    ]
    assert planned(own=own) == ["session-memory", "full", "structural"]
    assert planned(provider_compacts=True) == ["session-memory", "full", "structural"]


def test_three_failures_in_a_row_stop_trying() -> None:
    """With a sentence; a success in between begins anew; a person may still ask; and a conversation
    that has grown by a tenth is tried again.
    """
    two = fail(fail(CompactionCircuitBreaker()))
    three = fail(two)

    assert planned(two)[-1] == "structural"
    assert planned(three) == ["stop"]
    assert planned(fail(fail(record_compaction_success(two))))[-1] == "structural"
    assert planned(three, manual="auto") == ["session-memory", "full", "structural"]
    assert planned(three, used=178_000) == ["stop", "guard"]
    assert planned(three, used=187_000)[0] == "session-memory"


def test_a_model_that_fails_three_times_is_not_asked_again() -> None:
    """The digest served each time, so compaction itself did not fail."""
    breakers = CompactionCircuitBreaker()
    for _ in range(3):
        breakers = record_compaction_success(replace(breakers, replies_since=50), model_failed=True)

    assert planned(replace(breakers, replies_since=50)) == ["session-memory", "structural"]
    assert breakers.failures == 0


def test_three_refills_in_a_row_stop_with_an_explanation() -> None:
    """Full again within three replies, three times; a longer pause begins anew."""
    breakers = record_compaction_success(CompactionCircuitBreaker())
    for _ in range(2):
        breakers = count_reply_since_compaction(count_reply_since_compaction(breakers))
        assert planned(breakers)[-1] == "structural"
        breakers = record_compaction_success(breakers)

    third = count_reply_since_compaction(breakers)
    stop = plan_compaction(FULL, third, SETTINGS)[-1]
    assert isinstance(stop, SkipCompactionStep)
    assert "3 times in a row" in stop.why
    assert planned(third, used=178_000) == ["stop", "structural", "guard"]
    for _ in range(4):
        third = count_reply_since_compaction(third)
    assert planned(third)[-1] == "structural"
    assert record_compaction_success(third).refills == 0


def test_a_prefix_that_nearly_fills_the_window_is_named_and_nothing_is_tried() -> None:
    """Neither by itself nor when asked for; a strategy asked for by name is still tried."""
    for asked in (None, "auto"):
        stop = plan_compaction(
            replace(FULL, prefix=160_000, manual=asked), CompactionCircuitBreaker(), SETTINGS
        )[-1]
        assert isinstance(stop, SkipCompactionStep)
        assert "160,000 of 167,000" in stop.why
    assert planned(prefix=160_000, manual="tail") == ["tail"]
    assert planned(prefix=100_000)[-1] == "structural"


def test_switched_off_only_the_guard_remains() -> None:
    """And a person who asks is told why nothing happens."""
    off = CompactionSettings(enabled=False)

    assert planned(own=off, used=176_999) == []
    assert planned(own=off, used=177_000) == ["guard"]
    assert planned(own=off, manual="auto") == ["stop"]


def test_instructions_of_the_person_pass_by_the_notes() -> None:
    """Notes cannot answer them; below every threshold a person may ask."""
    assert planned(manual="auto", used=5) == ["session-memory", "full", "structural"]
    assert planned(manual="auto", used=5, has_user_instructions=True) == ["full", "structural"]
    assert planned(manual="session-memory") == ["session-memory"]


SITUATIONS = st.builds(
    ContextWindowState,
    used=st.integers(0, 300_000),
    freed=st.integers(0, 50_000),
    prefix=st.integers(0, 250_000),
    limits=st.just(LIMITS),
    manual=st.none() | st.sampled_from(["auto", "full"]),
    has_user_instructions=st.booleans(),
    has_notes=st.booleans(),
    has_model=st.booleans(),
    provider_compacts=st.booleans(),
)
BREAKERS = st.builds(
    CompactionCircuitBreaker,
    failures=st.integers(0, 4),
    model_failures=st.integers(0, 4),
    refills=st.integers(0, 4),
    replies_since=st.none() | st.integers(0, 9),
)


@given(
    SITUATIONS,
    BREAKERS,
    st.builds(
        CompactionSettings,
        enabled=st.booleans(),
        family=st.sampled_from(["file-native", "rollout"]),
        provider=st.booleans(),
    ),
)
def test_every_plan_is_in_order_and_gives_its_reasons(
    now: ContextWindowState, breakers: CompactionCircuitBreaker, own: CompactionSettings
) -> None:
    """Whatever the situation: the kinds of steps stand in one order, a stop excludes every way, and
    each step says why.
    """
    steps = plan_compaction(now, breakers, own)

    order = [TryStrategyStep, SkipCompactionStep, RejectIfOverLimitStep]
    places = [order.index(type(step)) for step in steps]
    assert places == sorted(places)
    assert not (
        order.index(SkipCompactionStep) in places and order.index(TryStrategyStep) in places
    )
    assert all(step.why.endswith(".") for step in steps)
    assert own.enabled or not any(isinstance(step, TryStrategyStep) for step in steps)
