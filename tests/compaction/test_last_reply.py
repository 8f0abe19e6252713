"""The last reply stays: what the user says next may point at it, however long it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compaction.histories import WORD, History
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, CompactionStrategy
from memorist.compaction.extractive_summary import compact_messages_with_extracts
from memorist.compaction.newest_messages import (
    choose_messages_to_keep_verbatim,
    find_reply_start,
    find_unanswered_start,
)
from memorist.compaction.offline_compaction import OfflineOptions, compact_offline
from memorist.compaction.window_at_message import RecordedWindow
from memorist.core.messages import Message, Origin
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_message_tokens, estimate_messages_tokens
from memorist.formats.codec_registry import find_codec
from memorist.settings import CompactionSettings

pytestmark = pytest.mark.covers("CP-15", "CP-16")

STRATEGIES: tuple[CompactionStrategy, ...] = ("auto", "structural", "tail", "full", "inline")
PLAN = "\n".join(
    f"Step {number}: move module {number * 31}. " + f"It needs care number {number}. " * 60
    for number in range(1, 13)
)
END = "That is the end of the plan; which step shall I do first?"


def worked() -> History:
    """A session of some 30,000 tokens."""
    history = History().user("Move the parser to src/parser.")
    for number in range(12):
        history.runs(f"c{number}", f"round {number} " + WORD * 2_500, tool="Task")
    return history


def compact(
    messages: list[Message], strategy: CompactionStrategy, budget: int
) -> tuple[Message, ...]:
    """The conversation as the command line compacts it."""
    found = compact_offline(
        RecordedWindow(
            head=None,
            messages=tuple(messages),
            all_messages=tuple(messages),
            last_message=messages[-1].id,
        ),
        strategy,
        OfflineOptions(
            budget=budget,
            texts=load_shipped_compaction_prompts(),
            template=load_prompt("session_memory/template"),
            settings=CompactionSettings(),
        ),
    )
    assert isinstance(found, CompactedHistory), found
    assert estimate_messages_tokens(found.messages) == found.tokens_after <= budget
    return found.messages


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("asked", ["do step 3", "go on", ""])
def test_a_long_plan_stays_whole_where_it_fits_half_of_the_budget(
    strategy: CompactionStrategy, asked: str
) -> None:
    """“Do step 3” finds step 3; so does the user who has not spoken yet."""
    history = worked().says(f"{PLAN}\n{END}")
    messages = (history.user(asked) if asked else history).messages
    found = compact(messages, strategy, 20_000)

    (plan,) = [each for each in found if each.role == "assistant" and END in each.text]
    assert plan in messages
    assert not asked or found[-1].text == asked


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [2_000, 8_000])
def test_a_reply_that_was_cut_off_keeps_its_end(strategy: CompactionStrategy, budget: int) -> None:
    """“Continue” goes on from the last words, however long the reply is and small the budget; the
    id of the whole is in the middle, not behind them.
    """
    end = "and the last function begins with def parse_line(self, "
    messages = worked().says(PLAN * 8 + end).user("continue").messages
    found = compact(messages, strategy, budget)

    (reply,) = [each for each in found if each.role == "assistant" and end in each.text]
    assert reply.text.endswith(end)
    assert f"[whole text: {messages[-2].id}]" in reply.text
    assert found[-1] is messages[-1]


def test_what_stands_between_the_reply_and_the_user_s_words_does_not_part_them() -> None:
    """A reminder of the client is no answer."""
    messages = worked().says(PLAN).injected("<system-reminder>x</system-reminder>").messages
    messages.extend(History().user("go on").messages)
    found = compact_messages_with_extracts(messages, 20_000).messages

    assert messages[-3] in found


def test_the_request_itself_has_its_room_before_the_reply_before_it() -> None:
    """A long request stays whole, and the reply gets what is left."""
    request = "Look: " + WORD * 5_000
    messages = worked().says(PLAN * 8).user(request).messages
    found = compact_messages_with_extracts(messages, 10_000).messages

    assert found[-1] is messages[-1]
    assert found[-2].role == "assistant"
    assert found[-2].origin is Origin.MODEL


@pytest.mark.parametrize("budget", [500, 1_500])
def test_a_call_s_long_foreword_is_within_the_budget(budget: int) -> None:
    """What the model said before a call that waits is cut in the middle like a result."""
    history = worked().says(WORD * 4_000)
    said = history.messages[-1]
    history.calls(("open", "Bash"))
    found = compact_messages_with_extracts(history.messages, budget)

    assert found.tokens_after <= budget
    assert said.id in {each.id for each in found.messages}


def test_a_call_keeps_its_thought_where_its_foreword_is_cut() -> None:
    """Anthropic refuses the result of a call whose message does not begin with what was thought."""
    thought = {"type": "thinking", "thinking": "First the table.", "signature": "c2lnbg=="}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": WORD * 4_000}
    said = [
        {"role": "user", "content": "Move the parser."},
        {"role": "assistant", "content": [thought, {"type": "text", "text": WORD * 4_000}, call]},
        {"role": "user", "content": [answer]},
    ]
    codec = find_codec("anthropic")
    request = codec.decode_request({"model": "m", "max_tokens": 9, "messages": said})
    sizes = [estimate_message_tokens(each) for each in request.messages]
    kept = choose_messages_to_keep_verbatim(request.messages, sizes, 2_000, 1.0).messages

    _, shown, _ = codec.encode_request(replace(request, messages=kept))["messages"]
    assert [each["type"] for each in shown["content"]] == ["thinking", "text", "tool_use"]
    assert shown["content"][0] == thought
    assert len(shown["content"][1]["text"]) < len(WORD * 4_000)


def test_a_reply_that_called_something_is_no_last_reply() -> None:
    """Its call and result are the newest round, which has rules of its own."""
    messages = worked().messages
    assert find_unanswered_start(messages) == len(messages) - 2
    assert find_reply_start(messages, len(messages)) == len(messages)
