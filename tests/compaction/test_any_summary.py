"""Whatever a model writes as a summary, the new history holds what structure alone would hold."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import UnchangedHistory
from memorist.compaction.extractive_summary import compact_messages_with_extracts
from memorist.compaction.measured_conversation import MeasuredConversation
from memorist.compaction.offline_compaction import (
    OfflineOptions,
    compact_offline,
    measure_recording_to_summarize,
)
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_review import (
    MIN_EXTRACT_TOKENS,
    build_history_with_missing_parts,
    check_summary_against_history,
    render_source_text,
)
from memorist.compaction.window_at_message import RecordedWindow, rebuild_recorded_window
from memorist.core.prompt_templates import load_prompt
from memorist.formats.format_detection import read_session
from memorist.settings import CompactionSettings
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names
from support.sweeps import sampled

SESSION = Path("examples/sessions/agent-loop-log-rotation.jsonl")
OPTIONS = OfflineOptions(
    budget=0,
    texts=load_shipped_compaction_prompts(),
    template=load_prompt("session_memory/template"),
    settings=CompactionSettings(),
)


@pytest.fixture(scope="module")
def recorded() -> RecordedWindow:
    """A recorded session of some length."""
    return rebuild_recorded_window(read_session(UnpackedUtf8Lines(SESSION)))


def _write_summary(kind: str, extract: str) -> str:
    """What models of some size wrote, in kind."""
    chance = random.Random(kind)
    names, words = sorted(find_recognizable_names(extract)), extract.split()
    lines = [line for line in extract.split("\n") if line.strip()]
    match kind:
        case "half right":
            return "\n".join(lines[::2])
        case "another language":
            return "Der Mensch wollte es anders haben. " + ", ".join(names)
        case "looped":
            return "Then the tests were run again. " * 60 + " ".join(names[::2] + names[1::4])
        case "misquoting":
            return "\n".join(f'The user said: "{line}"' for line in lines)
        case _:
            return " ".join(chance.sample(words, len(words) // 2)) + " " + " ".join(names[::2])


@pytest.mark.covers("CP-16")
@pytest.mark.parametrize(
    ("strategy", "budget"),
    sampled(
        [("full", 1_500), ("inline", 4_000), ("full", 4_000), ("inline", 1_500)],
        [("full", 1_500), ("inline", 4_000)],
    ),
)
@pytest.mark.parametrize(
    "kind", ["half right", "another language", "looped", "misquoting", "random", "mixed"]
)
def test_no_summary_holds_less_than_structure(
    recorded: RecordedWindow, kind: str, budget: int, strategy: Literal["full", "inline"]
) -> None:
    """A summary is used with what it leaves out, or gives way with the reason: every identifier and
    as many words of the conversation as an extract of its size holds, also where the budget is
    tight and the lines of the summary are dropped for words that the user never said.
    """
    options = replace(OPTIONS, budget=budget)
    measured = measure_recording_to_summarize(recorded, options)
    extract = compact_messages_with_extracts(measured.messages, MIN_EXTRACT_TOKENS)
    held = render_source_text(extract.messages)

    reviewed = check_summary_against_history(
        _write_summary(kind, held), measured.messages, measured, limit=budget
    )

    if isinstance(reviewed, UnusableSummary):
        assert "identifiers that an extract of its size holds" in reviewed.why
        return
    made = build_history_with_missing_parts(
        reviewed,
        lambda text, addition: compact_offline(
            recorded, strategy, replace(options, summary=text, host_addition=addition)
        ),
    )
    if isinstance(made, UnchangedHistory):
        assert made.why
        return
    assert made.tokens_after <= budget
    text = render_source_text(made.messages)
    present = NameOccurrenceLookup(text)
    assert [name for name in find_recognizable_names(reviewed.extract) if not present[name]] == []
    assert _count_said(text, measured) >= _count_said(reviewed.extract, measured)


def _count_said(text: str, measured: MeasuredConversation) -> int:
    """How many of the longer words of the conversation a text holds, inflected or not."""
    said = {word[:6] for each in measured.messages for word in _find_words(each.text)}
    return len(said & {word[:6] for word in _find_words(text)})


def _find_words(text: str) -> list[str]:
    return re.findall(r"\w{5,}", text.lower())
