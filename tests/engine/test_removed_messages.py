"""What a later compaction reads back of the conversation that an earlier one made smaller."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.compaction.user_words import EXTRACTIVE_SUMMARY_ID
from memorist.compaction.window_recording_merge import merge_window_into_recording
from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine.session_log import collect_messages_ignoring_compactions
from memorist.formats.transcript_format import CompactionBoundary

pytestmark = pytest.mark.covers("CP-15")


def said(id: str, text: str = "", origin: Origin = Origin.USER) -> Message:
    return Message(
        id=id,
        role="user",
        blocks=(TextBlock(text or id),),
        origin=origin,
        is_typed=origin is Origin.USER,
    )


DIGEST = said(EXTRACTIVE_SUMMARY_ID, origin=Origin.SUMMARY)


@given(st.integers(0, 30), st.sets(st.integers(0, 30)), st.booleans())
def test_every_message_stands_once_and_in_its_order(
    count: int, shown: set[int], is_whole: bool
) -> None:
    """Recorded messages keep their order; those in the window are the window's own."""
    recorded = [said(f"m{at}") for at in range(count)]
    window = [said(f"m{at}", "as shown") for at in sorted(shown) if at < count]
    joined = merge_window_into_recording(recorded, [DIGEST, *window], is_whole=is_whole)

    expected = [f"m{at}" for at in range(count)]
    assert [each.id for each in joined] == ([] if is_whole else [DIGEST.id]) + expected
    assert [each for each in joined if each.text == "as shown"] == window


def test_what_is_only_in_the_window_follows_what_it_follows_there() -> None:
    """Memories that were inserted, and messages that are not recorded yet."""
    recorded = [said(id) for id in ("a", "b", "c")]
    window = [DIGEST, said("a"), said("memorist-recall"), said("c"), said("new")]

    joined = merge_window_into_recording(recorded, window, is_whole=True)

    assert [each.id for each in joined] == ["a", "memorist-recall", "b", "c", "new"]


def test_copies_of_the_users_words_stand_once() -> None:
    """Codex shows copies of the user's messages after a compaction, under other ids."""
    joined = merge_window_into_recording(
        [said("a", "Go on."), said("b")], [said("copy", "Go on.")], is_whole=True
    )

    assert [each.id for each in joined] == ["a", "b"]


def test_compactions_are_undone_and_what_the_host_drops_stays_away() -> None:
    """What the host replaced by a summary is part of the same conversation, whether the summary
    comes with the replacement or as the first message after it; what it replaced by a history
    without one was dropped on purpose.
    """
    a, b, c, summary = said("a"), said("b"), said("c"), said("s", origin=Origin.SUMMARY)
    copy, reply = said("copy", "a"), said("r", origin=Origin.MODEL)
    own = CompactionBoundary(id="structural", line=0, kept=1)
    hosts = CompactionBoundary(id="", line=0, trigger="host", kept=1)
    summed = replace(hosts, replacement=(copy, summary))
    dropped = replace(hosts, replacement=(copy,))

    assert collect_messages_ignoring_compactions([a, b, own, c]) == [a, b, c]
    assert collect_messages_ignoring_compactions([a, b, summed, c]) == [a, summary, b, c]
    assert collect_messages_ignoring_compactions([a, b, hosts, summary, c]) == [a, b, summary, c]
    assert collect_messages_ignoring_compactions([a, b, dropped, c]) == [copy, b, c]
    assert collect_messages_ignoring_compactions([a, b, hosts, c]) == [b, c]
    assert collect_messages_ignoring_compactions([a, b, hosts, reply, summary]) == [
        b,
        reply,
        summary,
    ]
