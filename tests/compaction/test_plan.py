"""What is done at one request, in which order, and when nothing more is tried."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.compaction.plan import (
    Breakers,
    Guard,
    Leave,
    Micro,
    Offload,
    Situation,
    Step,
    Stop,
    Way,
    compacted,
    decide,
    failed,
    replied,
)
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.thresholds import thresholds

SETTINGS = CompactionSettings()
LIMITS = thresholds(200_000, 32_000, SETTINGS)
FULL = Situation(used=170_000, limits=LIMITS, has_notes=True, has_model=True, idle_minutes=1.0)


def names(steps: tuple[Step, ...]) -> list[str]:
    """The steps in one word each."""
    return [
        step.strategy if isinstance(step, Way) else step.way if isinstance(step, Micro) else type(step).__name__.lower() for step in steps
    ]


def planned(breakers: Breakers | None = None, own: CompactionSettings = SETTINGS, **changes: Any) -> list[str]:
    return names(decide(replace(FULL, **changes), breakers or Breakers(), own))


@pytest.mark.covers("CP-3")
def test_the_order_is_budget_microcompact_compaction_guard() -> None:
    """Notes before a model, the structural digest last."""
    assert planned(used=178_000, idle_minutes=61.0) == ["offload", "time", "session-memory", "full", "structural", "guard"]


@pytest.mark.covers("CP-3")
@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"used": 166_999}, ["offload"]),
        ({"used": 167_000}, ["offload", "session-memory", "full", "structural"]),
        ({"used": 178_000, "freed": 12_000}, ["offload"]),
        ({"has_notes": False}, ["offload", "full", "structural"]),
        ({"has_model": False}, ["offload", "session-memory", "structural"]),
        ({"has_model": False, "has_notes": False}, ["offload", "structural"]),
        ({"idle_minutes": 60.0, "used": 5}, ["offload", "time"]),
        ({"idle_minutes": None, "used": 5}, ["offload"]),
    ],
)
def test_what_is_due_depends_on_what_is_there(changes: dict[str, Any], steps: list[str]) -> None:
    """Below the threshold nothing; what budget and microcompact free counts; no notes, no model, no time."""
    assert planned(**changes) == steps


@pytest.mark.covers("CP-3", "CP-12")
def test_the_rollout_family_writes_a_hand_over() -> None:
    """Inline in place of notes and full."""
    assert planned(own=CompactionSettings(family="rollout")) == ["offload", "inline", "structural"]


@pytest.mark.covers("CP-13")
def test_the_provider_comes_first_where_the_settings_say_so() -> None:
    """And only where it can."""
    own = CompactionSettings(provider=True)

    assert planned(own=own, provider_compacts=True) == ["offload", "provider", "session-memory", "full", "structural"]
    assert planned(own=own) == ["offload", "session-memory", "full", "structural"]
    assert planned(provider_compacts=True) == ["offload", "session-memory", "full", "structural"]


@pytest.mark.covers("CP-5", "CP-6")
def test_clearing_by_time_takes_precedence_over_the_cached_form() -> None:
    """The cached form only for a provider that can, and only when the window is getting full."""
    own = CompactionSettings(provider=True)

    assert planned(own=own, provider_clears=True, used=150_000) == ["offload", "cached"]
    assert planned(own=own, provider_clears=True, used=150_000, idle_minutes=60.0) == ["offload", "time"]
    assert planned(own=own, provider_clears=True, used=100_000) == ["offload"]
    assert planned(provider_clears=True, used=150_000) == ["offload"]


@pytest.mark.covers("CP-14")
@pytest.mark.parametrize("label", ["session_memory", "compact", "compact:retry", "session_memory.update"])
def test_compaction_and_notes_never_compact_themselves(label: str) -> None:
    """Nothing is done to their requests, however full and even when asked."""
    for asked in (None, "auto"):
        assert planned(label=label, used=190_000, manual=asked) == ["leave"]
    assert planned(label="compaction_talk")[0] == "offload"


@pytest.mark.covers("CP-14")
def test_three_failures_in_a_row_stop_trying() -> None:
    """With a sentence; a success in between begins anew; a person may still ask."""
    two = failed(failed(Breakers()))
    three = failed(two)

    assert planned(two)[-1] == "structural"
    assert planned(three) == ["offload", "stop"]
    assert planned(failed(failed(compacted(two))))[-1] == "structural"
    assert planned(three, manual="auto") == ["session-memory", "full", "structural"]
    assert planned(three, used=178_000) == ["offload", "stop", "guard"]


@pytest.mark.covers("CP-14", "CP-15")
def test_a_model_that_fails_three_times_is_not_asked_again() -> None:
    """The digest served each time, so compaction itself did not fail."""
    breakers = Breakers()
    for _ in range(3):
        breakers = compacted(replace(breakers, replies_since=50), model_failed=True)

    assert planned(replace(breakers, replies_since=50)) == ["offload", "session-memory", "structural"]
    assert breakers.failures == 0


@pytest.mark.covers("CP-14")
def test_three_refills_in_a_row_stop_with_an_explanation() -> None:
    """Full again within three replies, three times; a longer pause begins anew."""
    breakers = compacted(Breakers())
    for _ in range(2):
        breakers = replied(replied(breakers))
        assert planned(breakers)[-1] == "structural"
        breakers = compacted(breakers)

    third = replied(breakers)
    stop = decide(FULL, third, SETTINGS)[-1]
    assert isinstance(stop, Stop)
    assert "3 times in a row" in stop.why
    for _ in range(4):
        third = replied(third)
    assert compacted(third).refills == 0


@pytest.mark.covers("CP-14")
def test_a_prefix_that_nearly_fills_the_window_is_named_and_nothing_is_tried() -> None:
    """Neither by itself nor when asked for; a strategy asked for by name is still tried."""
    for asked in (None, "auto"):
        stop = decide(replace(FULL, prefix=160_000, manual=asked), Breakers(), SETTINGS)[-1]
        assert isinstance(stop, Stop)
        assert "160,000 of 167,000" in stop.why
    assert planned(prefix=160_000, manual="tail") == ["tail"]
    assert planned(prefix=100_000)[-1] == "structural"


@pytest.mark.covers("CP-1", "CP-3")
def test_switched_off_only_the_guard_remains() -> None:
    """And a person who asks is told why nothing happens."""
    off = CompactionSettings(enabled=False)

    assert planned(own=off, used=176_999) == []
    assert planned(own=off, used=177_000) == ["guard"]
    assert planned(own=off, manual="auto") == ["stop"]


@pytest.mark.covers("CP-9")
def test_instructions_of_the_person_pass_by_the_notes() -> None:
    """Notes cannot answer them; below every threshold a person may ask."""
    assert planned(manual="auto", used=5) == ["session-memory", "full", "structural"]
    assert planned(manual="auto", used=5, instructions=True) == ["full", "structural"]
    assert planned(manual="session-memory") == ["session-memory"]


SITUATIONS = st.builds(
    Situation,
    used=st.integers(0, 300_000),
    freed=st.integers(0, 50_000),
    prefix=st.integers(0, 250_000),
    limits=st.just(LIMITS),
    label=st.sampled_from(["request", "compact", "session_memory"]),
    manual=st.none() | st.sampled_from(["auto", "full"]),
    instructions=st.booleans(),
    idle_minutes=st.none() | st.floats(0, 200),
    has_notes=st.booleans(),
    has_model=st.booleans(),
    provider_compacts=st.booleans(),
    provider_clears=st.booleans(),
)
BREAKERS = st.builds(
    Breakers,
    failures=st.integers(0, 4),
    model_failures=st.integers(0, 4),
    refills=st.integers(0, 4),
    replies_since=st.none() | st.integers(0, 9),
)


@pytest.mark.covers("CP-3", "CP-14")
@settings(max_examples=60, deadline=None)
@given(
    SITUATIONS,
    BREAKERS,
    st.builds(CompactionSettings, enabled=st.booleans(), family=st.sampled_from(["file_native", "rollout"]), provider=st.booleans()),
)
def test_every_plan_is_in_order_and_gives_its_reasons(now: Situation, breakers: Breakers, own: CompactionSettings) -> None:
    """Whatever the situation: the kinds of steps stand in one order, a stop excludes every way, and each step says why."""
    steps = decide(now, breakers, own)

    order = [Leave, Offload, Micro, Way, Stop, Guard]
    places = [order.index(type(step)) for step in steps]
    assert places == sorted(places)
    assert not (order.index(Stop) in places and order.index(Way) in places)
    assert all(step.why.endswith(".") for step in steps)
    assert own.enabled or not any(isinstance(step, Offload | Micro | Way) for step in steps)
