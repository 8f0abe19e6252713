"""A recording may begin and end anywhere; what `memorist compact` makes of it goes out as a request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.histories import STEPS, WORD, History, told
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, CompactionStrategy
from memorist.compaction.offline_compaction import OfflineOptions, compact_offline
from memorist.compaction.user_words import EXTRACTIVE_SUMMARY_ID
from memorist.compaction.window_at_message import RecordedWindow
from memorist.context.history_repair import UNLIMITED_TOKENS, normalize_history
from memorist.core.messages import MISSING_OUTPUT, Message
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_messages_tokens
from memorist.formats.codec_registry import find_codec
from memorist.settings import CompactionSettings
from memorist.testing.request_checks import find_request_problem

pytestmark = pytest.mark.covers("CP-10", "CP-15")

STRATEGIES: list[CompactionStrategy] = [
    "auto", "micro", "session-memory", "full", "inline", "structural", "tail",
]  # fmt: skip
WIRES = ["anthropic", "openai_responses", "openai_chat"]


def compacted(
    messages: list[Message], strategy: CompactionStrategy, budget: int, factor: float = 1.0
) -> tuple[Message, ...] | None:
    """The new history, None where it stays as it was."""
    held = tuple(messages)
    recorded = RecordedWindow(head=None, last_message=held[-1].id, messages=held, all_messages=held)
    options = OfflineOptions(
        budget=budget,
        texts=load_shipped_compaction_prompts(),
        template=load_prompt("session_memory/template"),
        settings=CompactionSettings(),
        token_factor=factor,
    )
    made = compact_offline(recorded, strategy, options)
    return made.messages if isinstance(made, CompactedHistory) else None


def refused(messages: tuple[Message, ...], wire: str) -> str | None:
    """Why a provider refuses these messages."""
    form = find_codec(wire)
    sent = normalize_history(messages, wire, tool_tokens=UNLIMITED_TOKENS)
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        form.history_key(): form.encode_messages(sent),
    }
    problem = find_request_problem(wire, body, window=10**9, tokens=1)
    return problem.message if problem else None


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    steps=STEPS.filter(bool),
    budget=st.integers(500, 8_000),
    factor=st.sampled_from([1.0, 1.72]),
    wire=st.sampled_from(WIRES),
)
def test_every_recording_becomes_a_request_within_the_budget(
    strategy: CompactionStrategy,
    steps: list[tuple[str, int]],
    budget: int,
    factor: float,
    wire: str,
) -> None:
    """Whatever a recording begins and ends with, each strategy gives a history that a provider
    takes, within the budget where the strategy has one.
    """
    made = compacted(told(steps), strategy, budget, factor)
    if made is not None:
        assert refused(made, wire) is None
        assert strategy == "micro" or estimate_messages_tokens(made, factor) <= budget


@pytest.mark.parametrize("strategy", ["auto", "structural", "tail", "inline", "full"])
def test_a_call_that_the_recording_ends_in_stays_with_a_result(
    strategy: CompactionStrategy,
) -> None:
    """The last call stays as it was made, and its result says that it was interrupted."""
    history = History().user("Find the leak.")
    for number in range(12):
        history.runs(f"c{number}", WORD * 1_000)
    made = compacted(history.calls(("last", "Bash")).messages, strategy, 6_000)
    assert made is not None
    assert [use.id for message in made for use in message.tool_uses][-1] == "last"
    assert made[-1].tool_results[-1].text == MISSING_OUTPUT


@pytest.mark.parametrize("strategy", ["auto", "micro", "structural", "tail", "inline", "full"])
def test_calls_that_were_made_together_all_stay_with_a_result(strategy: CompactionStrategy) -> None:
    """Codex records each of several calls as a message of its own: when the session ends before
    their results, the first of them waits as the last one does.
    """
    history = History().user("Find the leak.")
    for number in range(12):
        history.runs(f"c{number}", WORD * 1_000)
    history.calls(("first", "Bash")).calls(("last", "Bash"))
    made = compacted(history.messages, strategy, 6_000)
    assert made is not None
    assert [use.id for message in made for use in message.tool_uses][-2:] == ["first", "last"]
    assert [result.text for result in made[-1].tool_results] == [MISSING_OUTPUT] * 2


def test_notes_without_a_model_do_not_come_before_the_digest() -> None:
    """Asked for no strategy, a recording is compacted as a live session without a model is."""
    history = History().user("Find the leak.")
    for number in range(60):
        history.says(f"{number}: {WORD * 600}").user("Go on.")
    made = compacted(history.messages, "auto", 20_000)
    assert made is not None
    assert made[0].id == EXTRACTIVE_SUMMARY_ID


def test_a_tail_keeps_the_newest_round_where_that_is_larger_than_the_budget() -> None:
    """A tail of nothing is no conversation: the newest result is cut in the middle."""
    made = compacted(
        History().user("Read it.").runs("c", "BEGIN " + WORD * 9_000 + " END").messages,
        "tail",
        2_000,
    )
    assert made is not None
    text = made[-1].tool_results[0].text
    assert text.startswith("BEGIN")
    assert "END" in text
