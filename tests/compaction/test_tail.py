"""The plain ways: a tail window, and clearing before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.carryover import (
    CLEARED_RESULT,
    clear_and_tail,
    clear_oldest_results,
    keep_newest_messages,
)
from compaction.histories import STEPS, WORD, History, parted, told
from memorist.core.token_count import estimate_message_tokens

pytestmark = pytest.mark.covers("CP-10")


def test_the_newest_messages_that_fit_are_kept_whole() -> None:
    """A window of whole messages, the very same objects."""
    messages = History().user(WORD * 100).says(WORD * 100).user(WORD * 100).messages
    made = keep_newest_messages(messages, 250)

    assert made.messages == tuple(messages[1:])
    assert made.messages[0] is messages[1]
    assert [cut.id for cut in made.removed_items] == [messages[0].id]


def test_a_result_without_room_for_its_call_is_left_out_with_it() -> None:
    """A pair goes as one."""
    messages = History().runs("c1", WORD * 400).says("done").messages

    assert [message.text for message in keep_newest_messages(messages, 300).messages] == ["done"]


def test_clearing_keeps_the_newest_results_and_names_the_emptied_ones() -> None:
    """Older answers give one short text; the calls stay."""
    history = History().user("go")
    for number in range(7):
        history.runs(f"c{number}", WORD * 200)
    made = clear_and_tail(history.messages, 1_200)
    results = [result for message in made.messages for result in message.tool_results]

    assert [result.text == CLEARED_RESULT for result in results] == [
        True,
        True,
        False,
        False,
        False,
        False,
        False,
    ]
    assert {cut.id for cut in made.removed_items} == {"c0", "c1"}
    assert made.tokens_after <= 1_200


def test_what_fits_is_not_cleared() -> None:
    """Nothing is taken away without need."""
    messages = History().runs("c1", WORD * 50).messages

    assert clear_and_tail(messages, 1_000).messages == tuple(messages)
    assert clear_oldest_results(messages) == tuple(messages)


@given(STEPS, st.integers(0, 20_000))
def test_no_pair_is_parted_and_the_budget_holds(steps: list[tuple[str, int]], budget: int) -> None:
    """Over histories of every shape, both ways."""
    messages = told(steps)
    for made in (keep_newest_messages(messages, budget), clear_and_tail(messages, budget)):
        assert not parted(messages, made.messages)
        assert made.tokens_after == sum(map(estimate_message_tokens, made.messages)) <= budget
