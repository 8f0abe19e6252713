"""Whatever a model writes as a summary, the new history holds what structure alone would hold."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorist.compaction.extractive_summary import build_extractive_summary
from memorist.compaction.measured_history import (
    CompactedHistory,
    MeasuredConversation,
    load_compaction_prompts,
    measure_conversation,
    user_text,
)
from memorist.compaction.offline_compaction import OfflineOptions, compact_offline
from memorist.compaction.recorded_window import RecordedWindow, read_recorded_window
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_review import (
    MIN_EXTRACT_TOKENS,
    render_source_text,
    review_summary,
)
from memorist.core.markdown import load_prompt
from memorist.formats.format_detection import read_session
from memorist.settings import CompactionSettings
from memorist.store.transcript_writer import LineFile
from memorist.transcript.name_search import NameOccurrences, find_names

SESSION = Path("examples/sessions/agent-loop-log-rotation.jsonl")
BUDGET = 4_000
OPTIONS = OfflineOptions(
    budget=BUDGET,
    texts=load_compaction_prompts(),
    template=load_prompt("session_memory/template"),
    settings=CompactionSettings(),
)


@pytest.fixture(scope="module")
def recorded() -> RecordedWindow:
    """A recorded session of some length."""
    return read_recorded_window(read_session(LineFile(SESSION)))


@pytest.fixture(scope="module")
def measured(recorded: RecordedWindow) -> MeasuredConversation:
    """The same, measured."""
    said = [words for words in map(user_text, recorded.all_messages) if words]
    return measure_conversation(recorded.messages, user_texts=said)


def _write_summary(kind: str, extract: str) -> str:
    """What models of some size wrote, in kind."""
    chance = random.Random(kind)
    names, words = sorted(find_names(extract)), extract.split()
    lines = [line for line in extract.split("\n") if line.strip()]
    match kind:
        case "half right":
            return "\n".join(lines[::2])
        case "another language":
            return "Der Mensch wollte es anders haben. " + ", ".join(names)
        case "looped":
            return "Then the tests were run again. " * 60 + " ".join(names[::2] + names[1::4])
        case _:
            return " ".join(chance.sample(words, len(words) // 2)) + " " + " ".join(names[::2])


@pytest.mark.covers("CP-16")
@pytest.mark.parametrize("strategy", ["full", "inline"])
@pytest.mark.parametrize("kind", ["half right", "another language", "looped", "random", "mixed"])
def test_no_summary_holds_less_than_structure(
    recorded: RecordedWindow, measured: MeasuredConversation, kind: str, strategy: str
) -> None:
    """A summary is used with what it leaves out, or gives way: every identifier and as many words
    of the conversation as an extract of its size holds.
    """
    extract = build_extractive_summary(measured.messages, MIN_EXTRACT_TOKENS)
    held = render_source_text(extract.messages)
    summary = _write_summary(kind, held)

    reviewed = review_summary(
        summary, measured.messages, measured, limit=BUDGET, settings=OPTIONS.settings
    )

    if isinstance(reviewed, UnusableSummary):
        assert "identifiers that an extract of its size holds" in reviewed.why
        return
    made = compact_offline(
        recorded,
        "full" if strategy == "full" else "inline",
        replace(OPTIONS, summary=reviewed.text),
    )
    assert isinstance(made, CompactedHistory)
    text = render_source_text(made.messages)
    present = NameOccurrences(text)
    assert [name for name in find_names(held) if not present[name]] == []
    assert _count_said(text, measured) >= _count_said(held, measured)


def _count_said(text: str, measured: MeasuredConversation) -> int:
    """How many of the longer words of the conversation a text holds, inflected or not."""
    said = {word[:6] for each in measured.messages for word in _find_words(each.text)}
    return len(said & {word[:6] for word in _find_words(text)})


def _find_words(text: str) -> list[str]:
    return re.findall(r"\w{7,}", text.lower())
