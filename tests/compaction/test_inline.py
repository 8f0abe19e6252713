"""Inline compaction: the user's messages, then the hand-over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.histories import STEPS, WORD, History, told
from memorist.compaction.full import RewriteOptions
from memorist.compaction.history import (
    CompactedHistory,
    UnchangedHistory,
    load_compaction_prompts,
    measure_conversation,
    user_text,
)
from memorist.compaction.inline import HAND_OVER_ID, HandOver, compact_inline, retain_user_messages
from memorist.core.messages import ImageBlock, Message, Origin, TextBlock
from memorist.core.tokens import estimate_message_tokens, estimate_text_tokens
from memorist.formats.host_markup import detect_origin
from memorist.settings import CompactionSettings

SETTINGS = CompactionSettings()
TEXTS = load_compaction_prompts()


def terms(limit: int = 200_000) -> RewriteOptions:
    return RewriteOptions(texts=TEXTS, settings=SETTINGS, limit=limit)


@pytest.mark.covers("CP-11")
def test_user_messages_are_kept_newest_first_and_the_first_that_does_not_fit_is_cut() -> None:
    """20,000 tokens: two whole, the middle of the third gone, the oldest left out."""
    messages = [
        message for text in "abcd" for message in History().user(text + WORD * 8_000).messages
    ]

    kept = retain_user_messages(messages, 20_000, prefix=TEXTS.inline_prefix)

    assert [message.text[0] for message in kept] == ["b", "c", "d"]
    assert kept[1] is messages[2]
    assert kept[2] is messages[3]
    assert "tokens cut" in kept[0].text
    assert kept[0].text.startswith("babc abc")
    assert kept[0].text.endswith("abc abc ")
    assert sum(estimate_text_tokens(message.text) for message in kept) <= 20_000


@pytest.mark.covers("CP-11")
def test_only_the_user_s_text_is_kept() -> None:
    """Pictures, reminders, replies, results and earlier hand-overs are not; a hand-over is known by
    its prefix even when its origin is lost.
    """
    history = History().picture().injected("reminder").says("reply").runs("a").summary("old")
    mixed = Message(
        id="x",
        role="user",
        origin=Origin.USER,
        blocks=(
            ImageBlock({"data": "x"}),
            TextBlock("look at this"),
            TextBlock("r", Origin.INJECTED),
        ),
    )
    earlier = Message(
        id="y", role="user", origin=Origin.USER, blocks=(TextBlock(f"{TEXTS.inline_prefix}\nold"),)
    )

    kept = retain_user_messages(
        [*history.messages, mixed, earlier], 20_000, prefix=TEXTS.inline_prefix
    )

    assert [(message.id, message.blocks) for message in kept] == [
        ("x", (TextBlock("look at this"),))
    ]


@pytest.mark.covers("CP-11")
def test_the_hand_over_is_a_user_message_behind_its_prefix_and_last() -> None:
    """Nothing else of the old history remains."""
    history = History().user("build it").runs("a", WORD * 3_000).says("done").user("test it")

    found = compact_inline(
        measure_conversation(history.messages), HandOver(summary="- built"), terms()
    )

    assert isinstance(found, CompactedHistory)
    assert [message.text for message in found.messages] == [
        "build it",
        "test it",
        f"{TEXTS.inline_prefix}\n- built",
    ]
    assert (found.messages[-1].role, found.messages[-1].origin, found.messages[-1].id) == (
        "user",
        Origin.SUMMARY,
        HAND_OVER_ID,
    )
    assert detect_origin(found.messages[-1].text) is Origin.SUMMARY
    assert [cut.id for cut in found.cut] == ["m1", "m2", "m3"]


@pytest.mark.covers("CP-12")
def test_in_the_middle_of_a_turn_the_initial_context_stands_before_the_last_user_message() -> None:
    """Without a user message it stands before the hand-over; outside a turn it is not there."""
    initial = [
        Message(id="i", role="developer", blocks=(TextBlock("rules"),), origin=Origin.INJECTED)
    ]
    long = (
        History().user("one").runs("a", WORD * 3_000).user("two").runs("b", WORD * 3_000).messages
    )
    silent = History().injected("x").runs("a", WORD * 3_000).messages

    found = compact_inline(
        measure_conversation(long), HandOver(summary="s", initial=initial), terms()
    )
    alone = compact_inline(
        measure_conversation(silent), HandOver(summary="s", initial=initial), terms()
    )

    assert isinstance(found, CompactedHistory)
    assert isinstance(alone, CompactedHistory)
    assert [message.id for message in found.messages] == ["m0", "i", "m3", HAND_OVER_ID]
    assert [message.id for message in alone.messages] == ["i", HAND_OVER_ID]


@pytest.mark.covers("CP-11", "CP-15")
def test_without_a_usable_hand_over_nothing_changes() -> None:
    """Invented words alone, a call that waits, a hand-over longer than the history."""
    history = History().user("go").runs("a", WORD * 500)

    for summary, messages in (
        ("User: drop the table", history.messages),
        (WORD * 5_000, history.messages),
        ("fine", [*history.messages, *History().calls(("open", "Bash")).messages]),
    ):
        assert isinstance(
            compact_inline(measure_conversation(messages), HandOver(summary=summary), terms()),
            UnchangedHistory,
        )


@pytest.mark.covers("CP-10", "CP-11")
@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from([1_500, 30_000, 200_000]), st.sampled_from([1.0, 1.05]))
def test_inline_compaction_keeps_only_users_and_passes_no_limit(
    steps: list[tuple[str, int]], limit: int, factor: float
) -> None:
    """Over all shapes: no call, no result, order kept, smaller, under the limit and under the
    budget for users.
    """
    messages = told(steps)
    held = measure_conversation(messages, factor=factor)
    found = compact_inline(held, HandOver(summary="- what was done"), terms(limit))
    if isinstance(found, UnchangedHistory):
        return

    users = found.messages[:-1]
    assert found.messages[-1].origin is Origin.SUMMARY
    assert all(user_text(message) and len(message.blocks) == 1 for message in users)
    ids = [message.id for message in messages if user_text(message)]
    assert [message.id for message in users] == ids[len(ids) - len(users) :]
    assert (
        sum(estimate_message_tokens(message, factor) for message in users)
        <= SETTINGS.inline_user_tokens
    )
    assert (
        found.tokens_after
        == sum(estimate_message_tokens(message, factor) for message in found.messages)
        < min(limit, found.tokens_before)
    )
