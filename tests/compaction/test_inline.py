"""Inline compaction: the user's messages, then the hand-over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.histories import STEPS, WORD, History, parted, told
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, UnchangedHistory
from memorist.compaction.full_compaction import (
    HAND_OVER_ID,
    SummaryOptions,
    compact_with_hand_over,
    keep_newest_user_messages,
)
from memorist.compaction.measured_conversation import get_typed_text, measure_conversation
from memorist.core.messages import ImageBlock, Message, Origin, TextBlock
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens
from memorist.core.truncation import truncate_middle
from memorist.formats.host_markup import detect_origin
from memorist.settings import CompactionSettings

SETTINGS = CompactionSettings()
TEXTS = load_shipped_compaction_prompts()


def terms(limit: int = 200_000) -> SummaryOptions:
    return SummaryOptions(texts=TEXTS, settings=SETTINGS, limit=limit)


@pytest.mark.covers("CP-11")
def test_user_messages_are_kept_newest_first_and_the_first_that_does_not_fit_is_cut() -> None:
    """20,000 tokens: two whole, the middle of the third gone, the oldest left out."""
    messages = [
        message for text in "abcd" for message in History().user(text + WORD * 8_000).messages
    ]

    kept = keep_newest_user_messages(messages, 20_000, prefix=TEXTS.inline_prefix)

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
        is_typed=True,
        blocks=(
            ImageBlock({"data": "x"}),
            TextBlock("look at this"),
            TextBlock("r", Origin.INJECTED),
        ),
    )
    earlier = Message(
        id="y",
        role="user",
        origin=Origin.USER,
        is_typed=True,
        blocks=(TextBlock(f"{TEXTS.inline_prefix}\nold"),),
    )

    kept = keep_newest_user_messages(
        [*history.messages, mixed, earlier], 20_000, prefix=TEXTS.inline_prefix
    )

    assert [(message.id, message.blocks) for message in kept] == [
        ("x", (TextBlock("look at this"),))
    ]


@pytest.mark.covers("CP-11")
def test_the_hand_over_is_a_user_message_behind_its_prefix() -> None:
    """Nothing else of the old history remains but the last reply: the user may point at it."""
    history = (
        History()
        .user("build it")
        .runs("a", WORD * 3_000)
        .says("done")
        .user("test it")
        .says("tested")
    )

    found = compact_with_hand_over(measure_conversation(history.messages), "- built", terms())

    assert isinstance(found, CompactedHistory)
    assert [message.text for message in found.messages] == [
        "build it",
        "test it",
        "tested",
        f"{TEXTS.inline_prefix}\n- built",
    ]
    assert (found.messages[-1].role, found.messages[-1].origin, found.messages[-1].id) == (
        "user",
        Origin.SUMMARY,
        HAND_OVER_ID,
    )
    assert detect_origin(found.messages[-1].text) is Origin.SUMMARY
    assert [cut.id for cut in found.removed_items] == ["m1", "m2", "m3"]


@pytest.mark.covers("CP-12")
def test_what_nobody_has_answered_stands_behind_the_hand_over() -> None:
    """Before a turn the new request is the last thing that the model reads; in a turn, the result
    of its newest call, with the request that it works on.
    """
    history = History().user("one").runs("a", WORD * 3_000).says("done").user("two")

    before = compact_with_hand_over(measure_conversation(history.messages), "s", terms())
    during = compact_with_hand_over(
        measure_conversation(history.runs("b", WORD * 3_000).runs("c", WORD).messages), "s", terms()
    )

    assert isinstance(before, CompactedHistory)
    assert isinstance(during, CompactedHistory)
    assert [message.id for message in before.messages] == ["m0", "m3", HAND_OVER_ID, "m4"]
    assert [message.id for message in during.messages] == ["m0", "m4", HAND_OVER_ID, "m7", "m8"]


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
            compact_with_hand_over(measure_conversation(messages), summary, terms()),
            UnchangedHistory,
        )


@pytest.mark.covers("CP-10", "CP-11")
@given(STEPS, st.sampled_from([1_500, 30_000, 200_000]), st.sampled_from([1.0, 1.05]))
def test_inline_compaction_keeps_order_and_pairs_and_passes_no_limit(
    steps: list[tuple[str, int]], limit: int, factor: float
) -> None:
    """Over all shapes: users and the last reply before the hand-over, order and pairs kept,
    smaller, and under the limit.
    """
    messages = told(steps)
    held = measure_conversation(messages, factor=factor)
    found = compact_with_hand_over(held, "- what was done", terms(limit))
    if isinstance(found, UnchangedHistory):
        return

    place = next(at for at, each in enumerate(found.messages) if each.id == HAND_OVER_ID)
    before = [message for message in found.messages[:place] if not get_typed_text(message)]
    assert found.messages[place].origin is Origin.SUMMARY
    assert not any(message.tool_uses or message.tool_results for message in before)
    ids = [message.id for message in messages]
    order = [ids.index(message.id) for message in found.messages if message.id in ids]
    assert order == sorted(order)
    assert not parted(messages, found.messages)
    assert (
        found.tokens_after
        == sum(estimate_message_tokens(message, factor) for message in found.messages)
        < min(limit, found.tokens_before)
    )


@pytest.mark.covers("CP-11")
def test_requests_that_begin_alike_are_told_apart() -> None:
    """Of two requests from one template the one that an earlier digest replaced is quoted; one that
    only is cut in the middle is not quoted again.
    """
    lead = "Please review this file by the rules that we agreed on for the whole of the project: "
    removed, shown, long = f"{lead}one.py", f"{lead}two.py", f"{lead}{WORD * 9_000}three.py"
    cut = truncate_middle(long, 900)
    history = History().summary("old").user(shown).says(WORD * 3_000).user(cut).says("Done.")
    conversation = measure_conversation(history.messages, user_texts=[removed, shown, long])

    made = compact_with_hand_over(conversation, "- reviewed", terms())

    assert isinstance(made, CompactedHistory)
    whole = "\n".join(message.text for message in made.messages)
    assert [whole.count(text) for text in (removed, shown, "three.py")] == [1, 1, 1]
