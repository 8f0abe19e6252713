"""What the model sees after each way of compaction, compared with tests/shapes line by line, and
taken by every provider.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compaction.histories import WORD, History
from memorist.compaction import full_compaction
from memorist.compaction import session_memory_compaction as from_session_memory
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, CompactionResult
from memorist.compaction.full_compaction import SummaryOptions
from memorist.compaction.measured_conversation import measure_conversation
from memorist.compaction.microcompact import clear_old_results_when_idle
from memorist.compaction.restored_content import InvokedSkill, RestorableContent, RestorableFile
from memorist.compaction.tool_result_budget import OffloadDecisions, apply_result_budget
from memorist.core.messages import ImageBlock, Message, Origin, TextBlock, ThinkingBlock, ToolResult
from memorist.core.prompt_templates import load_prompt
from memorist.formats.codec_registry import find_codec
from memorist.settings import CompactionSettings
from memorist.testing.request_checks import find_request_problem
from support.conversation_text import render_shape

SHAPES = Path(__file__).parents[1] / "shapes"
SETTINGS = CompactionSettings()
TEXTS = load_shipped_compaction_prompts()
FACTS = RestorableContent(
    files=(
        RestorableFile("/w/parser.py", "def parse(): ...", 2.0),
        RestorableFile("/w/CLAUDE.md", "rules", 3.0),
    ),
    skills=(InvokedSkill("release", "/s/release.md", "tag, build, push", 1.0),),
    plan=("/w/plan.md", "1. parse\n2. test"),
    tasks="- [x] parse\n- [ ] test",
)
TERMS = SummaryOptions(texts=TEXTS, settings=SETTINGS, limit=100_000, facts=FACTS)


def session() -> History:
    """Two turns of work on a parser, with parallel calls, a split reply and a picture."""
    history = (
        History()
        .injected("<system-reminder>rules of the project</system-reminder>")
        .user("Build a parser for the log format.")
    )
    history.calls(("c1", "Read"), ("c2", "Bash")).results(("c1", WORD * 2_000), ("c2", "ok"))
    history.says("The parser stands.").user("Good. Now make it fast and keep the tests green.")
    history.interleaved("c3", "c4").runs("c5", WORD * 4_000).runs("c6", WORD * 1_500)
    return history


def made(outcome: CompactionResult) -> tuple[Message, ...]:
    assert isinstance(outcome, CompactedHistory), outcome
    return outcome.messages


def full_compact() -> tuple[Message, ...]:
    return made(
        full_compaction.replace_history_with_summary(
            measure_conversation(session().messages), "1. Request and intent: a parser", TERMS
        )
    )


def full_before_turn() -> tuple[Message, ...]:
    return made(
        full_compaction.replace_history_with_summary(
            measure_conversation(session().says("Done.").user("And write the manual.").messages),
            "1. Request and intent: a parser",
            TERMS,
        )
    )


def session_memory() -> tuple[Message, ...]:
    template = load_prompt("session_memory/template")
    notes = from_session_memory.SessionNotes(
        text=template + "- parsed\n", path="/n/summary.md", template=template, last_summarised="m9"
    )
    held = measure_conversation(session().messages)
    terms = SummaryOptions(
        texts=TEXTS,
        settings=CompactionSettings(keep_minimum_tokens=3_000, keep_minimum_texts=0),
        limit=100_000,
        facts=FACTS,
    )
    return made(from_session_memory.compact_with_notes(held, notes, terms))


def inline_manual() -> tuple[Message, ...]:
    history = session().says("Done.")
    return made(
        full_compaction.compact_with_hand_over(
            measure_conversation(history.messages), "- parsed", TERMS
        )
    )


def inline_pre_turn() -> tuple[Message, ...]:
    history = session().says("Done.").user("And write the manual.")
    return made(
        full_compaction.compact_with_hand_over(
            measure_conversation(history.messages), "- parsed", TERMS
        )
    )


def inline_mid_turn() -> tuple[Message, ...]:
    return made(
        full_compaction.compact_with_hand_over(
            measure_conversation(session().messages), "- parsed", TERMS
        )
    )


def micro() -> tuple[Message, ...]:
    own = CompactionSettings(micro_keep=2)
    return made(
        clear_old_results_when_idle(session().messages, now=7_200.0, last_reply=0.0, settings=own)
    )


def budget() -> tuple[Message, ...]:
    history = (
        History()
        .user("Show me the logs.")
        .calls(("c1", "Bash"), ("c2", "Grep"))
        .results(("c1", "x" * 60_000), ("c2", ""))
    )
    return apply_result_budget(
        history.messages, OffloadDecisions(), SETTINGS, folder="/s/tool-results"
    ).messages


SCENARIOS: dict[str, tuple[str, Any]] = {
    "full": (
        "Full compaction in the middle of a turn: the summary, then what comes back; the "
        "instruction file does not.",
        full_compact,
    ),
    "full_before_turn": (
        "Full compaction when the user has just spoken: the new message stays as it was, and so does "
        "the reply that it may point at.",
        full_before_turn,
    ),
    "session_memory": (
        "Session memory compaction: the notes, the newest messages from a whole reply on, the "
        "plan and the tasks.",
        session_memory,
    ),
    "inline_manual": (
        "Inline compaction by the user: the user's messages and the last reply, the hand-over last.",
        inline_manual,
    ),
    "inline_pre_turn": (
        "Inline compaction before a turn: the new request is the last thing that the model reads.",
        inline_pre_turn,
    ),
    "inline_mid_turn": (
        "Inline compaction in a turn: the hand-over, and after it the request, the newest call and "
        "its result as they were.",
        inline_mid_turn,
    ),
    "micro": (
        "Microcompact after an hour: all but the two newest results hold one fixed text.",
        micro,
    ),
    "budget": ("The tool result budget: a large result is on disk, an empty one says so.", budget),
}


@pytest.mark.covers("CP-3", "CP-4", "CP-5", "CP-7", "CP-8", "CP-9", "CP-11", "CP-12")
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_model_sees_what_the_shape_says(name: str) -> None:
    """One line a block, compared exactly; each file of the folder belongs to a scenario."""
    sentence, build = SCENARIOS[name]

    assert f"{sentence}\n\n{render_shape(build())}" == (SHAPES / f"{name}.txt").read_text("utf-8")


def test_no_shape_is_left_without_a_scenario() -> None:
    """A file that nothing compares would be believed."""
    assert set(SCENARIOS) <= {path.stem for path in SHAPES.glob("*.txt")}


@pytest.mark.covers("CP-10")
@pytest.mark.parametrize("wire", ["anthropic", "openai_responses", "openai_chat"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_provider_takes_the_new_history(name: str, wire: str) -> None:
    """The strict checks of the loopback server: pairs, roles, nothing empty."""
    form = find_codec(wire)
    messages = [
        message
        for message in SCENARIOS[name][1]()
        if wire != "anthropic" or message.role != "developer"
    ]
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        form.history_key(): form.encode_messages(messages),
    }

    assert find_request_problem(wire, body, window=1_000_000, tokens=1) is None


def test_a_shape_names_every_kind_of_block() -> None:
    """Text by its origin, calls and results by their ids, media and reasoning by their kind."""
    history = (
        History().user("one two three four five six seven").summary().picture().calls(("a", "Read"))
    )
    blocks = (ThinkingBlock("so it goes"), ToolResult("a", (TextBlock("ok"), ImageBlock({}))))
    other = Message(id="x", role="assistant", blocks=blocks, origin=Origin.MODEL)

    assert render_shape([*history.messages, other]).splitlines() == [
        'user      text         <USER "one two three four five six …">',
        "user      text         <SUMMARY>",
        "user      <image>",
        "assistant tool_use     Read a",
        'assistant thinking     <MODEL "so it goes">',
        'assistant tool_result  a "ok" <image>',
    ]
