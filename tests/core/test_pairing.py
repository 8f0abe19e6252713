"""Calls and their results, and where a history may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given

from compaction.histories import STEPS, History, parted, told
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.tool_pairs import OpenToolCalls, find_cut_points, move_back_to_cut_point


def test_a_call_is_open_until_its_result_comes() -> None:
    """Parallel calls close one by one."""
    calls = OpenToolCalls()
    calls.add(
        Message(
            id="a",
            role="assistant",
            blocks=(ToolUse("1", "Read", {}), ToolUse("2", "Bash", {})),
            origin=Origin.MODEL,
        )
    )
    calls.add(
        Message(
            id="b", role="user", blocks=(ToolResult("1", (TextBlock("ok"),)),), origin=Origin.TOOL
        )
    )

    assert [call.id for call in calls.calls] == ["2"]


def test_a_result_without_its_call_changes_nothing() -> None:
    """Orphans are not counted below zero."""
    calls = OpenToolCalls()
    calls.add(Message(id="b", role="user", blocks=(ToolResult("9", ()),), origin=Origin.TOOL))

    assert not calls


@pytest.mark.covers("CP-10")
def test_a_history_is_not_cut_inside_a_reply_whose_records_stand_among_results() -> None:
    """A user, a reply of two records with a result after each, a user: only the ends of the reply
    are safe.
    """
    messages = History().user("go").interleaved("a", "b").user("next").messages

    assert find_cut_points(messages) == (0, 1, 5, 6)
    assert [move_back_to_cut_point(messages, index) for index in range(7)] == [0, 1, 1, 1, 1, 5, 6]


@pytest.mark.covers("CP-10")
def test_reasoning_stays_with_the_call_that_follows_it() -> None:
    """A provider refuses a call whose reasoning item is gone."""
    assert find_cut_points(History().user("go").items("a").messages) == (0, 1, 4)


@pytest.mark.covers("CP-10")
def test_a_call_that_waits_holds_everything_after_it() -> None:
    """With one of two results there, the end of the history is no safe place; after a later reply
    the call is past.
    """
    waiting = History().user("go").calls(("a", "Read"), ("b", "Bash")).results(("a", "x"))

    assert move_back_to_cut_point(waiting.messages, 3) == 1
    assert move_back_to_cut_point(waiting.says("never mind").messages, 4) == 4


@pytest.mark.covers("CP-10")
@given(STEPS)
def test_a_safe_start_parts_nothing_and_every_other_parts_something(
    steps: list[tuple[str, int]],
) -> None:
    """Over histories of all shapes: parallel calls, split replies, orphans, repeated ids."""
    messages = told(steps)
    starts = set(find_cut_points(messages))

    assert 0 in starts
    for index in range(len(messages) + 1):
        assert not (index in starts and parted(messages, messages[index:])), index
        assert move_back_to_cut_point(messages, index) == max(
            start for start in starts if start <= index
        )
