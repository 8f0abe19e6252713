"""What stands before a conversation: it survives every way of compaction."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.carryover import keep_newest_messages
from compaction.histories import STEPS, WORD, History, told
from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionStrategy,
    UnchangedHistory,
)
from memorist.compaction.conversation_preamble import PREAMBLE_ID, reattach_preamble, split_preamble
from memorist.compaction.measured_conversation import measure_conversation
from memorist.compaction.window_at_message import rebuild_recorded_window
from memorist.core.messages import Message, Origin, TextBlock, ToolResult
from memorist.core.token_count import estimate_messages_tokens
from memorist.engine.engine import Memorist
from memorist.formats import transcript_format
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing import Say, ScriptedModel
from support.sweeps import examples

LONG = WORD * 8_000
RULES, FOLDER, NEWER = (
    "You never delete.",
    "<environment_context>\nshop\n</environment_context>",
    "<environment_context>\ndepot\n</environment_context>",
)
REMINDER = "<system-reminder>\nAmounts have two decimals.\n</system-reminder>"
WAYS: tuple[CompactionStrategy, ...] = ("full", "inline", "structural", "tail")

CHAT: dict[str, Any] = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": RULES},
        {"role": "user", "content": "Mend it."},
        {"role": "assistant", "content": LONG},
        {"role": "user", "content": "Go on."},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5",
    "input": [
        {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": RULES}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": FOLDER}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Mend it."}],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": LONG}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": NEWER}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Look here."}],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": LONG}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
    ],
}
ANTHROPIC: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": "Mend it."}],
        },
        {"role": "assistant", "content": LONG},
        {"role": "user", "content": "Go on."},
    ],
}


async def compacted(
    body: dict[str, Any], spoken: str, way: CompactionStrategy, home: Path
) -> tuple[list[Any], Path]:
    """The history that the engine sends after a compaction by this way, and its transcript."""
    async with Memorist(
        model=ScriptedModel([Say(text="<summary>The totals are mended.</summary>")]), home=home
    ) as engine:
        session = await engine.open("s", format=spoken, folder=home / "session")
        await session.prepare(body)
        done = await session.compact(strategy=way)
        assert done.result is not None, done.why
        sent = await session.prepare(body)
    return sent["input" if spoken == "openai_responses" else "messages"], session.layout.transcript


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.covers("CP-8", "CX-1")
async def test_a_system_prompt_in_the_history_survives(
    way: CompactionStrategy, tmp_path: Path
) -> None:
    """In Chat Completions it is the first message, and it is so after every compaction, byte for
    byte.
    """
    sent, _ = await compacted(CHAT, "openai_chat", way, tmp_path)

    assert sent[0] == CHAT["messages"][0]
    assert LONG not in str(sent)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.covers("CP-8", "CX-1")
async def test_instructions_in_the_middle_survive_in_their_order(
    way: CompactionStrategy, tmp_path: Path
) -> None:
    """A host gives some when something changes, in Chat Completions by a system or developer
    message between the others. They are shown after every compaction, also by the next one.
    """
    middle = [
        {"role": "developer", "content": "From here on the user is an administrator."},
        {"role": "system", "content": "Amounts are in euros."},
    ]
    first, said, answered, last = CHAT["messages"]
    body = {**CHAT, "messages": [first, said, middle[0], answered, middle[1], last]}

    sent, _ = await compacted(body, "openai_chat", way, tmp_path)

    assert [each for each in sent if each["role"] in ("system", "developer")] == [first, *middle]
    assert LONG not in str(sent)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", [{"role": "developer"}, {}])
@pytest.mark.covers("CP-8", "CX-1")
async def test_tools_that_the_history_defines_stay_defined(
    way: CompactionStrategy, role: dict[str, str], tmp_path: Path
) -> None:
    """Codex sends its tools as an item of the history, and another when a server joins: a model
    whose tools went with the older part could call none.
    """
    given = [
        {"type": "additional_tools", **role, "tools": [{"type": "function", "name": name}]}
        for name in ("exec_command", "find_issue")
    ]
    rules, folder, said, answered, *last = RESPONSES["input"]
    body = {**RESPONSES, "input": [rules, given[0], folder, said, given[1], answered, *last]}

    sent, _ = await compacted(body, "openai_responses", way, tmp_path)

    assert [each for each in sent if each["type"] == "additional_tools"] == given
    assert str(sent).count(LONG) < str(body).count(LONG)


@pytest.mark.parametrize(("approved", "stays"), [(True, False), (False, True)])
@pytest.mark.covers("CP-8")
def test_the_reminder_of_plan_mode_stands_until_a_plan_is_approved(
    approved: bool, stays: bool
) -> None:
    """Behind an approved plan it would stop the work; without one the agent would begin it."""
    planning = "<system-reminder>\nPlan mode is active. Change nothing.\n</system-reminder>"
    history = History().injected(planning).injected(REMINDER).user("Mend it.")
    history.calls(("p", "ExitPlanMode"))
    answer = ToolResult("p", (TextBlock("as said"),), is_error=not approved)
    history.messages.append(Message(id="answer", role="user", blocks=(answer,), origin=Origin.TOOL))
    history.says(LONG).injected(planning).user("And plan the next one.")
    apart = split_preamble(measure_conversation(history.messages), 20_000)

    shown = [message.text for message in apart.preamble]
    assert (planning in shown) is stays
    assert REMINDER in shown
    assert planning in [message.text for message in apart.rest.messages]


@pytest.mark.covers("CP-8")
@pytest.mark.parametrize("mode", ["Plan mode is active.", "Plan mode still active (see above)."])
def test_what_stands_beside_the_reminder_of_plan_mode_stays(mode: str) -> None:
    """A client that joins the parts of a message to one text sends the user's words with it."""
    planning = f"<system-reminder>\n{mode} Change nothing.\n</system-reminder>"
    history = History().user(f"{planning}\nAdd a marigold filter.")
    history.user(f"And keep the API.\n{planning}").calls(("p", "ExitPlanMode"))
    answer = ToolResult("p", (TextBlock("as said"),))
    history.messages.append(Message(id="answer", role="user", blocks=(answer,), origin=Origin.TOOL))
    apart = split_preamble(measure_conversation(history.user("Go on.").messages), 20_000)

    shown = "\n".join(each.text for each in (*apart.preamble, *apart.rest.messages))
    assert "Add a marigold filter." in shown
    assert "And keep the API." in shown
    assert "Change nothing." not in shown


def test_instructions_in_the_middle_stay_within_their_part() -> None:
    """A host that gives the time before each question: the newest stay, a text that comes again
    once, and no compaction makes what they take grow. None comes between a call and its result.
    """
    limit = 8_000
    held: list[Message] = []
    for turn in range(6):
        story = History()
        for step in range(8):
            number = 8 * turn + step
            for text in (f"It is {number} o'clock. {WORD * 300}", "Be brief."):
                given = Message(
                    id="", role="system", blocks=(TextBlock(text),), origin=Origin.INJECTED
                )
                story.messages.append(given)
            story.user(f"Question {number}.").runs(f"c{number}").says(LONG[:4_000])
        held += [replace(each, id=f"{turn}-{at}") for at, each in enumerate(story.messages)]
        apart = split_preamble(measure_conversation(held), limit)
        made = reattach_preamble(keep_newest_messages(apart.rest.messages, limit // 4), apart)
        assert isinstance(made, CompactedHistory)
        summary = History().summary().messages
        held = list(made.messages) if turn % 2 else [*summary, *made.messages]

        texts = [each.text for each in held if each.role == "system"]
        assert texts[-2].startswith(f"It is {8 * turn + 7} o'clock.")
        assert texts[-1] == "Be brief."
        assert estimate_messages_tokens(apart.instructions) <= limit // 4
        assert sum(map(len, texts)) < 4 * limit // 2
        assert not any(
            each.role == "system" and after.tool_results for each, after in pairwise(held)
        )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.covers("CP-8", "CX-1")
async def test_instructions_and_environment_survive_and_a_newer_folder_with_them(
    way: CompactionStrategy, tmp_path: Path
) -> None:
    """The items at the front stay as the host wrote them; what was told later of the same thing
    stands behind them, once.
    """
    sent, _ = await compacted(RESPONSES, "openai_responses", way, tmp_path)

    assert sent[:2] == RESPONSES["input"][:2]
    assert sent.count(RESPONSES["input"][4]) == 1
    assert str(sent).count(LONG) < 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.covers("CP-8", "CX-2")
async def test_what_stands_beside_the_first_words_survives_without_them(
    way: CompactionStrategy, tmp_path: Path
) -> None:
    """Instruction files that a host puts into the user's first message come back in front of what
    replaces it.
    """
    sent, _ = await compacted(ANTHROPIC, "anthropic", way, tmp_path)

    assert sent[0]["role"] == "user"
    assert str(sent).count("Amounts have two decimals.") == 1
    assert "Amounts have two decimals." in str(sent[0])
    assert LONG not in str(sent)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.covers("CP-8")
async def test_the_transcript_tells_the_same_history(
    way: CompactionStrategy, tmp_path: Path
) -> None:
    """What is read back at the end of the transcript begins with what the model was shown in front."""
    _, transcript = await compacted(RESPONSES, "openai_responses", way, tmp_path)

    read = rebuild_recorded_window(
        transcript_format.read_session(UnpackedUtf8Lines(transcript))
    ).messages

    assert [message.text for message in read[:2]] == [RULES, FOLDER]


@pytest.mark.covers("CP-8")
def test_what_stood_once_stands_after_the_next_compaction_too() -> None:
    """The message that was made of the first one's reminders is one of the host's from then on."""
    first = Message(
        id="a",
        role="user",
        blocks=(TextBlock(REMINDER, Origin.INJECTED), TextBlock("Mend it.")),
        origin=Origin.USER,
        is_typed=True,
    )
    held = measure_conversation([first, *History().says(LONG).user("Go on.").messages])
    apart = split_preamble(held, 100_000)
    made = reattach_preamble(keep_newest_messages(apart.rest.messages, 100), apart)
    assert isinstance(made, CompactedHistory)

    again = split_preamble(measure_conversation(made.messages), 100_000)

    assert made.messages[0].id == PREAMBLE_ID
    assert again.preamble == made.messages[:1]
    assert again.states == ()


@pytest.mark.covers("CP-8", "CP-14")
def test_a_state_stands_once_where_the_rest_comes_back_as_copies() -> None:
    """As from the process that compacts long histories."""
    held = measure_conversation(
        History().user("Mend it.").says(LONG).injected(NEWER).user("Go on.").messages
    )
    apart = split_preamble(held, 100_000)
    copies = CompactedHistory(
        strategy="structural",
        messages=tuple(copy.copy(each) for each in held.messages[2:]),
        tokens_before=held.tokens,
        tokens_after=1,
    )

    made = reattach_preamble(copies, apart)

    assert isinstance(made, CompactedHistory)
    assert [each.text for each in apart.states] == [NEWER]
    assert [each.text for each in made.messages].count(NEWER) == 1


@pytest.mark.covers("CP-8", "CP-14")
def test_something_huge_in_front_does_not_stand() -> None:
    """A paste on the user's side that takes more than a quarter of the limit is compacted like
    anything else; the instructions always stand.
    """
    rules = Message(id="r", role="system", blocks=(TextBlock(LONG),), origin=Origin.INJECTED)
    held = measure_conversation(
        [
            rules,
            *History()
            .injected(f"<system-reminder>\n{LONG}\n</system-reminder>")
            .user("Mend it.")
            .messages,
        ]
    )

    apart = split_preamble(held, 12_000)

    assert apart.preamble == (rules,)
    assert len(apart.rest.messages) == 2


@pytest.mark.covers("CP-8", "CP-14")
def test_a_huge_state_does_not_stand_either() -> None:
    """Neither in front nor told later; of two of one kind only the newer counts, and one that fits
    stands.
    """
    huge = f"<environment_context>\n{LONG}\n</environment_context>"
    before = History().injected(huge).user("Mend it.").says("Done.")
    again = (
        before.injected(FOLDER).user("And here?").says("Done.").injected(NEWER).user("And there?")
    )

    apart = split_preamble(measure_conversation(again.messages), 12_000)
    late = split_preamble(
        measure_conversation(
            History().user("Mend it.").says("Done.").injected(huge).user("Go on.").messages
        ),
        12_000,
    )

    assert apart.preamble == ()
    assert [message.text for message in apart.states] == [NEWER]
    assert late.states == ()


@pytest.mark.covers("CP-8", "CP-14")
def test_instructions_longer_than_the_window_leave_half_of_it_to_the_conversation() -> None:
    """A client's instructions of 30,000 tokens, in a window of 10,000: their middle is left out and
    the mark says so; what the model has not answered yet is there in whole.
    """
    rules = Message(
        id="r",
        role="developer",
        blocks=(TextBlock(f"Never push. {WORD * 30_000} Answer in German."),),
        origin=Origin.INJECTED,
    )
    talk = History().user("Mend it.").runs("c1", WORD * 2_000)
    apart = split_preamble(measure_conversation([rules, *talk.messages]), 10_000)

    (shown,) = apart.preamble
    assert shown.text.startswith("Never push.")
    assert shown.text.endswith("Answer in German.")
    assert "tokens cut" in shown.text
    assert 4_500 <= apart.limit <= 5_500
    assert apart.rest.messages == tuple(talk.messages)


@pytest.mark.covers("CP-8", "CP-14")
def test_long_instructions_stand_while_what_is_unanswered_fits_beside_them() -> None:
    """Instructions of seven tenths of the window are whole beside a short request."""
    rules = Message(
        id="r", role="developer", blocks=(TextBlock(WORD * 7_000),), origin=Origin.INJECTED
    )
    talk = History().user("Mend it.").says("Done. " * 4_000).user("And the other one?")
    apart = split_preamble(measure_conversation([rules, *talk.messages]), 10_000)
    assert apart.preamble == (rules,)


@examples(15, whole=150)
@given(STEPS, st.integers(min_value=1, max_value=60_000))
@pytest.mark.covers("CP-8", "CP-14")
def test_nothing_is_shown_twice_and_the_result_is_smaller(
    steps: list[tuple[str, int]], limit: int
) -> None:
    """Over any history: no message stands twice, the counts add up, and a compaction that only adds
    is none.
    """
    held = measure_conversation(
        [
            Message(id="r", role="developer", blocks=(TextBlock(RULES),), origin=Origin.INJECTED),
            *told(steps),
        ]
    )
    apart = split_preamble(held, limit)

    made = reattach_preamble(keep_newest_messages(apart.rest.messages, limit), apart)

    assert not {id(message) for message in apart.preamble} & {
        id(message) for message in apart.rest.messages
    }
    assert apart.preamble[0].id == held.messages[0].id
    if isinstance(made, UnchangedHistory):
        return
    assert len({message.id for message in made.messages}) == len(made.messages)
    assert made.tokens_before == held.tokens
    assert made.tokens_after == measure_conversation(made.messages).tokens <= held.tokens
