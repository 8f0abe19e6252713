"""The gates before a consolidation: their order, what each costs, and what they say."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from memorist.dream.dream_gates import (
    DreamGateClosed,
    DreamGateFacts,
    DreamGateNeedsFact,
    DreamGatesOpen,
    DreamTriggerSessionProperties,
    Gate,
    SessionFileInfo,
    judge_dream_gates,
    select_changed_session_ids,
)
from memorist.settings import DreamSettings

OWN = DreamSettings()
NOW = 1_800_000_000.0
HOUR, MINUTE = 3_600.0, 60.0
FIVE = ("a", "b", "c", "d", "e")


def known(**values: Any) -> DreamGateFacts:
    """All gates open, but for what is given."""
    return DreamGateFacts(
        **{"now": NOW, "scanned": None, "last": NOW - 25 * HOUR, "sessions": FIVE, **values}
    )


@pytest.mark.covers("DR-1")
def test_the_defaults_are_those_of_the_family() -> None:
    """On; 24 hours; 10 minutes; 5 sessions."""
    assert (OWN.enabled, OWN.hours, OWN.scan_minutes, OWN.sessions) == (True, 24, 10, 5)


@pytest.mark.covers("DR-1")
def test_all_gates_open_give_the_sessions_and_the_reason() -> None:
    """What may be consolidated, in one clause."""
    assert judge_dream_gates(known(), OWN) == DreamGatesOpen(
        FIVE, "5 other sessions in the 25.0 hours since the last consolidation"
    )
    assert judge_dream_gates(known(last=None), OWN) == DreamGatesOpen(
        FIVE, "5 other sessions so far"
    )


@pytest.mark.covers("DR-1")
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"host": DreamTriggerSessionProperties(is_remote=True)}, "outlive"),
        ({"host": DreamTriggerSessionProperties(is_interactive=False)}, "not interactive"),
        ({"host": DreamTriggerSessionProperties(is_main_session=False)}, "subagent"),
    ],
)
def test_the_first_gate_is_shut_by_what_the_host_is(change: dict[str, Any], word: str) -> None:
    """Each reason is told, and none passes with time."""
    verdict = judge_dream_gates(known(**change), OWN)

    assert isinstance(verdict, DreamGateClosed)
    assert (verdict.gate, verdict.until) == ("on", None)
    assert word in verdict.why


@pytest.mark.covers("DR-1")
def test_the_first_gate_is_shut_by_the_setting() -> None:
    """It names the setting."""
    verdict = judge_dream_gates(known(), DreamSettings(enabled=False))

    assert verdict == DreamGateClosed("on", "consolidation is switched off (dream.enabled)")


@pytest.mark.covers("DR-1")
@pytest.mark.parametrize(
    ("ago", "is_open"), [(24 * HOUR, True), (24 * HOUR - 1, False), (0.0, False), (-5.0, False)]
)
def test_a_day_has_to_pass(ago: float, is_open: bool) -> None:
    """Open at 24 hours, shut a second before; a time a little ahead, as another machine's clock has
    it, is now.
    """
    verdict = judge_dream_gates(known(last=NOW - ago), OWN)

    assert isinstance(verdict, DreamGatesOpen) is is_open
    if isinstance(verdict, DreamGateClosed):
        assert (verdict.gate, verdict.until) == ("time", NOW - ago + 24 * HOUR)
        assert "24.0 hours are needed" in verdict.why


@pytest.mark.covers("DR-1")
@pytest.mark.parametrize(
    ("ago", "is_open"), [(10 * MINUTE, True), (10 * MINUTE - 1, False), (0.0, False)]
)
def test_sessions_are_looked_for_every_ten_minutes_at_most(ago: float, is_open: bool) -> None:
    """The look is what the gate saves: before it the gate judges, after it there is nothing to
    save.
    """
    verdict = judge_dream_gates(known(scanned=NOW - ago, sessions=UNSET), OWN)

    assert (
        verdict == DreamGateNeedsFact("sessions", NOW - 25 * HOUR)
        if is_open
        else isinstance(verdict, DreamGateClosed)
    )
    if isinstance(verdict, DreamGateClosed):
        assert (verdict.gate, verdict.until) == ("scan", NOW - ago + 10 * MINUTE)
    assert isinstance(judge_dream_gates(known(scanned=NOW), OWN), DreamGatesOpen)


@pytest.mark.covers("DR-1")
def test_four_sessions_are_too_few() -> None:
    """It says how many there are, and when the next look may be."""
    verdict = judge_dream_gates(known(sessions=FIVE[:4]), OWN)
    one = judge_dream_gates(known(sessions=FIVE[:1], last=None), OWN)

    assert verdict == DreamGateClosed(
        "sessions",
        "4 other sessions in the 25.0 hours since the last consolidation, and 5 are needed",
        NOW + 10 * MINUTE,
    )
    assert isinstance(one, DreamGateClosed)
    assert one.why.startswith("1 other session so far")


@pytest.mark.covers("DR-1")
def test_a_clock_that_was_set_back_does_not_shut_the_gates_for_long() -> None:
    """Times that lie far ahead count as never."""
    verdict = judge_dream_gates(
        known(last=NOW + 1_000 * HOUR, scanned=NOW + 1_000 * HOUR, sessions=UNSET), OWN
    )

    assert verdict == DreamGateNeedsFact("sessions", 0.0)


HOSTS = st.builds(
    DreamTriggerSessionProperties,
    is_remote=st.sampled_from([False, False, False, True]),
    is_interactive=st.sampled_from([True, True, True, False]),
    is_main_session=st.sampled_from([True, True, True, False]),
)
COSTS = st.builds(
    DreamGateFacts,
    now=st.just(NOW),
    host=HOSTS,
    scanned=st.none() | st.floats(NOW - 2 * HOUR, NOW + HOUR),
    last=st.none() | st.floats(NOW - 60 * HOUR, NOW + 60 * HOUR),
    sessions=st.lists(st.text(min_size=1), max_size=8).map(tuple),
)


@pytest.mark.covers("DR-1")
@given(
    COSTS,
    st.builds(
        DreamSettings,
        hours=st.floats(-1, 48),
        scan_minutes=st.floats(-1, 60),
        sessions=st.integers(-1, 8),
    ),
)
def test_nothing_dear_is_looked_up_behind_a_gate_that_is_shut(
    whole: DreamGateFacts, settings: DreamSettings
) -> None:
    """Asked step by step, with nothing known beyond need, the gates come in their order and each
    question is asked once.
    """
    so_far = replace(whole, last=UNSET, sessions=UNSET)
    asked = []

    while isinstance(verdict := judge_dream_gates(so_far, settings), DreamGateNeedsFact):
        asked.append(verdict.what)
        so_far = replace(so_far, **{verdict.what: getattr(whole, verdict.what)})

    assert asked == ["last", "sessions"][: len(asked)]
    if isinstance(verdict, DreamGateClosed):
        assert len(asked) == {"on": 0, "time": 1, "scan": 1, "sessions": 2}[verdict.gate]
        assert verdict.why
        assert verdict.until is None or verdict.gate != "on"
    else:
        assert len(asked) == 2


@pytest.mark.covers("DR-1")
@given(COSTS)
def test_the_time_that_a_shut_gate_names_is_when_it_opens(whole: DreamGateFacts) -> None:
    """A moment before it the gate is still shut, at it another one judges; and no wait is longer
    than twice the setting.
    """
    whole = replace(whole, host=DreamTriggerSessionProperties())
    verdict = judge_dream_gates(replace(whole, sessions=UNSET), OWN)
    if not isinstance(verdict, DreamGateClosed):
        return
    assert verdict.until is not None
    assert NOW < verdict.until <= NOW + 48 * HOUR

    before = judge_dream_gates(replace(whole, sessions=UNSET, now=verdict.until - 1), OWN)
    after = judge_dream_gates(replace(whole, sessions=UNSET, now=verdict.until + 1), OWN)

    assert isinstance(before, DreamGateClosed) or verdict.until - 1 <= NOW
    assert not isinstance(after, DreamGateClosed) or get_args(Gate).index(after.gate) > get_args(
        Gate
    ).index(verdict.gate)


@pytest.mark.covers("DR-1")
def test_only_other_sessions_count() -> None:
    """Changed after that time, the current one left out, the one that changed first in front."""
    seen = [
        SessionFileInfo(id="new", changed=30.0),
        SessionFileInfo(id="old", changed=20.0),
        SessionFileInfo(id="before", changed=10.0),
        SessionFileInfo(id="mine", changed=30.0),
    ]

    assert select_changed_session_ids(seen, current="mine", since=10.0) == ("old", "new")
