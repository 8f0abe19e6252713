"""The notes stand for the older conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.histories import STEPS, WORD, History, parted, told
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, UnchangedHistory
from memorist.compaction.full_compaction import MODEL_SUMMARY_ID, SummaryOptions
from memorist.compaction.measured_conversation import find_last_summary, measure_conversation
from memorist.compaction.newest_messages import find_unanswered_start
from memorist.compaction.restored_content import RestorableContent, RestorableFile
from memorist.compaction.session_memory_compaction import (
    SessionNotes,
    compact_with_notes,
    find_first_kept_index,
    render_notes_for_conversation,
)
from memorist.core.messages import Message, Origin
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_message_tokens
from memorist.settings import CompactionSettings

SETTINGS = CompactionSettings()
TEXTS = load_shipped_compaction_prompts()
TERMS = SummaryOptions(texts=TEXTS, settings=SETTINGS, limit=100_000)
TEMPLATE = load_prompt("session_memory/template")
NOTES = TEMPLATE + "- step one\n"


def notes(last: str | None, text: str = NOTES) -> SessionNotes:
    return SessionNotes(text=text, path="/n/summary.md", template=TEMPLATE, last_summarised=last)


def talk(*tokens: int) -> list[Message]:
    """Replies and user messages in turn, each of so many tokens."""
    history = History()
    for number, size in enumerate(tokens):
        (history.says if number % 2 else history.user)(WORD * size)
    return history.messages


@pytest.mark.covers("CP-9")
@pytest.mark.parametrize(
    ("sizes", "last", "expected"),
    [
        # unset: from the end back until 10,000 tokens and 5 texts
        ([3_000] * 10, None, 5),
        ([1_000] * 20, None, 10),
        ([9_000] * 10, None, 6),
        # set: what the notes do not cover stays, and as much before it as is wanted
        ([3_000] * 10, "m3", 4),
        ([3_000] * 10, "m8", 5),
        ([3_000] * 10, "m9", 5),
        # the upper limit holds for going back, and what is not in the notes stays whatever its size
        ([15_000] * 6, None, 4),
        ([15_000] * 6, "m1", 2),
        ([100] * 4, None, 0),
        ([], None, 0),
    ],
)
def test_what_is_kept_follows_the_three_limits(
    sizes: list[int], last: str | None, expected: int
) -> None:
    """10,000 tokens and 5 messages with text, and no more than 40,000."""
    assert find_first_kept_index(measure_conversation(talk(*sizes)), last, SETTINGS) == expected


@pytest.mark.covers("CP-9")
def test_messages_without_text_count_for_tokens_only() -> None:
    """Tool results fill the ten thousand, but five messages with text are wanted as well."""
    history = History()
    for number in range(8):
        history.says("look").runs(f"c{number}", WORD * 3_000)

    assert find_first_kept_index(measure_conversation(history.messages), None, SETTINGS) == 9


@pytest.mark.covers("CP-9", "CP-10")
def test_the_cut_goes_back_to_the_call_and_to_the_first_record_of_its_reply() -> None:
    """The last summarised message stands in the middle of a reply."""
    messages = History().user("go").interleaved("a", "b").user("next").messages

    assert (
        find_first_kept_index(
            measure_conversation(messages),
            "m3",
            CompactionSettings(keep_minimum_tokens=0, keep_minimum_texts=0),
        )
        == 1
    )


@pytest.mark.covers("CP-9")
def test_nothing_from_before_the_last_summary_is_kept() -> None:
    """Neither its messages nor the summary itself; notes older than it are refused."""
    messages = [*talk(50, 50), *History().summary().user("on").says("yes").messages]
    messages = [
        Message(
            id=f"n{index}",
            role=m.role,
            blocks=m.blocks,
            origin=m.origin,
            is_typed=(m.origin) is Origin.USER,
        )
        for index, m in enumerate(messages)
    ]

    assert find_first_kept_index(measure_conversation(messages), None, SETTINGS) == 3
    assert find_first_kept_index(measure_conversation(messages), "n2", SETTINGS) == 3
    assert isinstance(
        find_first_kept_index(measure_conversation(messages), "n0", SETTINGS), UnchangedHistory
    )


@pytest.mark.covers("CP-9")
def test_a_cursor_that_is_gone_leaves_it_to_the_full_compaction() -> None:
    """Set but not found."""
    assert isinstance(
        find_first_kept_index(measure_conversation(talk(5, 5)), "gone", SETTINGS), UnchangedHistory
    )


@pytest.mark.covers("CP-9")
def test_empty_notes_are_no_notes() -> None:
    """The template alone, and nothing at all."""
    held = measure_conversation(talk(*[3_000] * 20))

    assert isinstance(compact_with_notes(held, notes(None, TEMPLATE), TERMS), UnchangedHistory)
    assert isinstance(compact_with_notes(held, notes(None, ""), TERMS), UnchangedHistory)


@pytest.mark.covers("CP-9")
def test_a_long_section_is_cut_at_a_line_and_names_the_whole_file() -> None:
    """2,000 tokens of a section are shown; short notes name no file."""
    long = TEMPLATE + "- a line of the log\n" * 2_000

    shown = render_notes_for_conversation(notes(None, long), TEXTS)

    assert "/n/summary.md" in shown
    assert "tokens cut" in shown
    assert len(shown) < 2_000 * 4 + 300
    assert all(
        line in {"- a line of the log", "# Worklog", ""}
        for line in shown.split("\n")[:-3]
        if "cut" not in line
    )
    assert "/n/summary.md" not in render_notes_for_conversation(notes(None), TEXTS)
    assert "_One short line" not in render_notes_for_conversation(notes(None), TEXTS)


@pytest.mark.covers("CP-9", "CP-14")
def test_a_result_that_would_fill_the_window_again_falls_through() -> None:
    """What is not in the notes is larger than the limit; or the conversation is smaller than the
    notes.
    """
    big = measure_conversation(talk(*[15_000] * 10))

    assert isinstance(compact_with_notes(big, notes("m1"), TERMS), UnchangedHistory)
    assert isinstance(
        compact_with_notes(measure_conversation(talk(5, 5)), notes("m1"), TERMS), UnchangedHistory
    )


@pytest.mark.covers("CP-9", "CP-16")
def test_the_notes_stand_first_with_the_transcript_s_path_and_the_user_s_words() -> None:
    """Then the kept messages, the very same objects; files do not come back, the plan does."""
    messages = talk(*[3_000] * 20)
    held = measure_conversation(
        messages,
        user_texts=["never touch the vault", *(m.text for m in messages if m.role == "user")],
        transcript="/t.jsonl",
    )
    facts = RestorableContent(
        files=(RestorableFile("/a.py", "x", 1.0),), plan=("/plan.md", "1. parse")
    )

    found = compact_with_notes(
        held,
        notes("m17"),
        SummaryOptions(texts=TEXTS, settings=SETTINGS, limit=100_000, facts=facts),
    )

    assert isinstance(found, CompactedHistory)
    first = found.messages[0]
    assert (first.id, first.role, first.origin, first.wire) == (
        MODEL_SUMMARY_ID,
        "user",
        Origin.SUMMARY,
        None,
    )
    assert "step one" in first.text
    assert "/t.jsonl" in first.text
    assert "1. parse" in found.messages[-1].text
    assert all(
        kept is messages[index]
        for kept, index in zip(found.messages[1:-1], range(15, 20), strict=True)
    )
    assert [cut.id for cut in found.removed_items] == [f"m{index}" for index in range(15)]
    assert found.tokens_after < found.tokens_before == sum(held.sizes)


@pytest.mark.covers("CP-9", "CP-10")
@given(
    STEPS,
    st.none() | st.integers(0, 30),
    st.sampled_from([2_000, 20_000, 100_000]),
    st.sampled_from([1.0, 1.72]),
)
def test_no_pair_is_parted_and_no_budget_passed(
    steps: list[tuple[str, int]], last: int | None, limit: int, factor: float
) -> None:
    """Over histories of all shapes, with one message larger than the window among them."""
    messages = told(steps)
    held = measure_conversation(messages, factor=factor)
    cursor = None if last is None else f"m{last}"
    found = compact_with_notes(
        held, notes(cursor), SummaryOptions(texts=TEXTS, settings=SETTINGS, limit=limit)
    )
    if isinstance(found, UnchangedHistory):
        return

    kept = [message for message in found.messages if message.id != MODEL_SUMMARY_ID]
    start = find_first_kept_index(held, cursor, SETTINGS)
    assert isinstance(start, int)
    first = min(start, find_unanswered_start(messages))
    ids = [message.id for message in messages]
    assert [message.id for message in kept][-(len(messages) - first) or len(kept) :] == ids[first:]
    assert start > find_last_summary(messages)
    assert last is None or start <= last + 1
    assert not parted(messages, kept)
    assert (
        found.tokens_after
        == sum(estimate_message_tokens(message, factor) for message in found.messages)
        < min(limit, found.tokens_before)
    )
