"""In small windows, too, the newest round stays whole and the user's short messages verbatim: the
room of what came before gives way.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from compaction.histories import History
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, CompactionResult
from memorist.compaction.compactor import compact_structurally, estimate_unanswered_messages_budget
from memorist.compaction.full_compaction import (
    SummaryOptions,
    compact_with_hand_over,
    replace_history_with_summary,
)
from memorist.compaction.measured_conversation import MeasuredConversation, measure_conversation
from memorist.compaction.newest_messages import (
    compute_tokens_left_for_older_messages,
    find_unanswered_start,
    keep_messages_from_index,
    keep_newest_messages,
)
from memorist.compaction.session_memory_compaction import SessionNotes, compact_with_notes
from memorist.core.messages import Message
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_messages_tokens, estimate_text_tokens
from memorist.engine.engine import Memorist
from memorist.events import CompactionFailed, ConversationCompacted, Event
from memorist.formats.codec_registry import find_codec
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.session_memory.notes_template import compose_notes
from memorist.settings import CompactionSettings, Settings
from support.sweeps import examples, sampled

TEMPLATE = load_prompt("session_memory/template")
SUMMARY = "1. Request and intent: go on with the work."
LEAST_BESIDE = 400
"""Tokens of a summary of one line, with the remarks around it."""

Way = Callable[[MeasuredConversation, int], CompactionResult]


def _terms(limit: int) -> SummaryOptions:
    texts = load_shipped_compaction_prompts()
    return SummaryOptions(texts=texts, settings=CompactionSettings(), limit=limit)


def _structural(conversation: MeasuredConversation, limit: int) -> CompactionResult:
    return compact_structurally(
        replace(conversation, transcript="/s/transcript.jsonl", token_factor=1.0),
        budgets=(min(limit, conversation.tokens) // 2, limit),
        cwd="/s",
    )


def _tail(conversation: MeasuredConversation, limit: int) -> CompactionResult:
    return keep_newest_messages(
        conversation, estimate_unanswered_messages_budget(conversation.messages, (), limit, 1.0)
    )


def _notes(conversation: MeasuredConversation, limit: int) -> CompactionResult:
    notes = SessionNotes(
        text=compose_notes(TEMPLATE, {"Session Title": "Read on", "Current State": "- Half read."}),
        path="/s/notes.md",
        template=TEMPLATE,
        last_summarised=conversation.messages[len(conversation.messages) // 2].id,
    )
    return compact_with_notes(conversation, notes, _terms(limit))


WAYS: dict[str, Way] = {
    "session-memory": _notes,
    "structural": _structural,
    "tail": _tail,
    "full": lambda held, limit: replace_history_with_summary(held, SUMMARY, _terms(limit)),
    "inline": lambda held, limit: compact_with_hand_over(held, SUMMARY, _terms(limit)),
}


def _words(tokens: int) -> str:
    return "timber and tar; " * (tokens // 4)


def _tell(rounds: Sequence[tuple[int, list[int]]], window: int) -> list[Message]:
    """Each round is a message of so many tokens and, at once, calls whose results take so many
    thousandths of the window.
    """
    history = History()
    for number, (typed, shares) in enumerate(rounds):
        history.user(f"Wish {number}: {_words(typed)}")
        ids = [f"c{number}_{at}" for at in range(len(shares))]
        if ids:
            history.calls(*((id, "Read") for id in ids)).results(
                *(
                    (id, _page(id, window * share // 1000))
                    for id, share in zip(ids, shares, strict=True)
                )
            )
        if number < len(rounds) - 1:
            history.says(f"Done {number}.")
    return history.messages


def _page(id: str, tokens: int) -> str:
    return f"BEGIN-{id} {_words(tokens)} END-{id}"


ROUNDS = st.lists(
    st.tuples(st.integers(0, 380), st.lists(st.integers(0, 450), max_size=3)),
    min_size=2,
    max_size=10,
)


@pytest.mark.covers("CP-3", "CP-10", "CP-14", "CP-15", "CP-16")
@pytest.mark.parametrize("name", list(WAYS))
@examples(8, whole=25)
@given(ROUNDS, st.sampled_from([4_000, 8_000, 16_000, 32_000]))
@example([(92, []), (380, [217]), (180, []), (380, [21, 423]), (224, [])], 16_000)
def test_the_newest_round_is_whole_and_short_words_are_verbatim(
    name: str, rounds: list[tuple[int, list[int]]], window: int
) -> None:
    """In every way of compaction: as far as the newest round fits beside the least that is left for
    the past, not a character of it goes; and as far as the user's words fit beside it, none of
    them.
    """
    limit = window * 3 // 4
    conversation = measure_conversation(_tell(rounds, window))
    result = WAYS[name](conversation, limit)
    if not isinstance(result, CompactedHistory):
        return
    assert result.tokens_after == estimate_messages_tokens(result.messages) <= limit
    newest = keep_messages_from_index(
        conversation.messages, find_unanswered_start(conversation.messages), 10**9, 1.0
    )
    needed = estimate_messages_tokens(newest)
    if needed + max(compute_tokens_left_for_older_messages(limit), LEAST_BESIDE) <= limit:
        whole = {message.id: message for message in result.messages}
        assert [whole.get(message.id) for message in newest] == list(newest)
    said = sum(estimate_text_tokens(text) + 8 for text in conversation.user_texts)
    if name != "tail" and said + LEAST_BESIDE <= limit // 2 and needed + said <= limit // 2:
        shown = "\n".join(message.text for message in result.messages)
        assert not [text for text in conversation.user_texts if text.strip() not in shown]


def _count(events: Sequence[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in events)


async def _read_files(window: int, share: float, home: str) -> tuple[list[int], list[Event]]:
    """Sizes of the requests of a turn in which each of thirty calls brings so many hundredths of
    the window.
    """
    prices = {"local": ModelPrice(window=window, max_output=window // 8)}
    body: dict[str, Any] = {"model": "local", "max_tokens": window // 8}
    body["messages"] = [{"role": "user", "content": "Read all files."}]
    sizes: list[int] = []
    events: list[Event] = []
    chosen = Settings(models=ModelSettings(prices=prices))
    async with Memorist(model="structural", home=home, settings=chosen) as engine:
        session = await engine.open("s", listener=events.append)
        for number in range(30):
            id = f"c{number}"
            call = {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": id}}
            result = {
                "type": "tool_result",
                "tool_use_id": id,
                "content": _page(id, int(window * share // 100)),
            }
            body["messages"] += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
            sent = await session.prepare(body)
            decoded = find_codec("anthropic").decode_request(sent).messages
            sizes.append(estimate_messages_tokens(decoded))
            assert result["content"] in str(sent["messages"])
    return sizes, events


@pytest.mark.covers("CP-3", "CP-14")
@pytest.mark.parametrize("window", [4_000, 8_000])
def test_files_that_nearly_fill_the_window_each_are_read_one_after_another(window: int) -> None:
    """Each result takes half of the window, so that it is full again after every reply: the model
    always sees the result that it has asked for, and no request is larger than the window leaves.
    """
    with tempfile.TemporaryDirectory() as home:
        sizes, events = asyncio.run(_read_files(window, 50, home))

    assert max(sizes) <= window - window // 8
    assert _count(events, ConversationCompacted) > 10
    assert not _count(events, CompactionFailed)


@pytest.mark.covers("CP-3", "CP-14")
@pytest.mark.parametrize("share", sampled([58.5, 61.5], {61.5}))
def test_a_result_that_takes_all_of_the_limit_stays_whole(share: float) -> None:
    """Compaction begins at 62 % of this window, as its tokens are counted here. Where the past has no room below that, it takes a
    little of what is left for errors of the estimate.
    """
    with tempfile.TemporaryDirectory() as home:
        sizes, events = asyncio.run(_read_files(16_000, share, home))

    assert max(sizes) <= 14_000
    assert _count(events, ConversationCompacted) > 10
    assert not _count(events, CompactionFailed)
