"""API rounds, and what goes when a request is too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.histories import STEPS, History, parted, told
from memorist.compaction.compaction_result import UnchangedHistory
from memorist.compaction.oldest_rounds import (
    MARKER_ID,
    ShortenedHistory,
    drop_oldest_rounds,
    find_conversation_rounds,
)
from memorist.core.token_count import estimate_message_tokens
from memorist.settings import CompactionSettings

SETTINGS = CompactionSettings()

pytestmark = pytest.mark.covers("CP-7", "CP-10")


def test_a_new_round_begins_at_a_new_reply() -> None:
    """Records of one reply, with results between them, are one round; what the user says belongs to
    the round before.
    """
    messages = (
        History().user("go").interleaved("a", "b").user("more").runs("c").says("done").messages
    )

    assert find_conversation_rounds(messages) == ((0, 1), (1, 6), (6, 8), (8, 9))


def test_the_oldest_rounds_go_until_the_excess_is_covered() -> None:
    """Three tokens over: the first two rounds go, and a user message says that something is
    missing.
    """
    messages = History().user("go").runs("a").runs("b").says("done").messages

    found = drop_oldest_rounds(
        messages, [2, 1, 1, 5, 5, 1], excess=3, marker="cut", settings=SETTINGS
    )

    assert isinstance(found, ShortenedHistory)
    assert [message.id for message in found.messages] == [MARKER_ID, "m3", "m4", "m5"]
    assert found.messages[0].role == "user"
    assert found.messages[0].text == "cut"


def test_a_fifth_of_the_rounds_goes_when_the_excess_is_not_known() -> None:
    """Ten rounds lose two; the marker of the first try is gone in the second."""
    history = History().user("go")
    for number in range(9):
        history.runs(f"c{number}")

    first = drop_oldest_rounds(
        history.messages, [1] * 19, excess=None, marker="cut", settings=SETTINGS
    )
    assert isinstance(first, ShortenedHistory)
    second = drop_oldest_rounds(
        first.messages, first.sizes, excess=None, marker="cut", settings=SETTINGS
    )

    assert isinstance(second, ShortenedHistory)
    assert [message.id for message in first.messages][:2] == [MARKER_ID, "m3"]
    assert [message.id for message in second.messages][:2] == [MARKER_ID, "m5"]
    assert sum(message.id == MARKER_ID for message in second.messages) == 1


def test_one_round_is_always_kept() -> None:
    """An excess that nothing can cover leaves the newest round."""
    found = drop_oldest_rounds(
        History().user("go").runs("a").says("x").messages,
        [9, 9, 9, 9],
        excess=1_000,
        marker="cut",
        settings=SETTINGS,
    )

    assert isinstance(found, ShortenedHistory)
    assert [message.id for message in found.messages] == [MARKER_ID, "m3"]


def test_a_single_round_cannot_be_shortened() -> None:
    """It says so instead of parting what belongs together."""
    assert isinstance(
        drop_oldest_rounds(
            History().user("go").messages, [9], excess=5, marker="cut", settings=SETTINGS
        ),
        UnchangedHistory,
    )
    assert isinstance(
        drop_oldest_rounds([], [], excess=5, marker="cut", settings=SETTINGS), UnchangedHistory
    )


@given(STEPS, st.none() | st.integers(1, 60_000))
def test_dropping_parts_nothing_and_always_ends(
    steps: list[tuple[str, int]], excess: int | None
) -> None:
    """Whatever the history: pairs and replies stay whole, the request begins with a user, and
    repeating comes to an end.
    """
    messages = told(steps)
    sizes = [estimate_message_tokens(message) for message in messages]
    found = drop_oldest_rounds(messages, sizes, excess=excess, marker="cut", settings=SETTINGS)
    tries = 0

    while isinstance(found, ShortenedHistory):
        tries += 1
        assert tries <= len(messages)
        assert len(found.messages) == len(found.sizes) > 0
        assert found.messages[0].role != "assistant"
        assert not parted(messages, found.messages)
        found = drop_oldest_rounds(
            found.messages, found.sizes, excess=excess, marker="cut", settings=SETTINGS
        )
