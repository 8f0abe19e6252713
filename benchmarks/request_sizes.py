"""How well the size of the next request is known: predicted from what was said, then counted by the
provider, over recorded sessions.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from benchmarks.datasets import all_sessions
from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import Message, Origin
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import (
    CompactionBoundary,
    SessionHead,
    TranscriptEntry,
    UsageReport,
)
from memorist.session_memory.conversation_tracker import ConversationTracker
from memorist.settings import SessionMemorySettings
from memorist.store.transcript_reader import UnpackedUtf8Lines

NEAR = 0.05
"""Largest error of a request that counts as known."""
GOAL = 0.99


class PredictedSize(Struct, frozen=True):
    """One request: its size as predicted and as counted, and whether it began a turn."""

    predicted: int
    counted: int
    begins_turn: bool

    @property
    def error(self) -> float:
        """The error in proportion to the count; above 0 where too much was predicted."""
        return self.predicted / self.counted - 1


def measure(data: Path) -> BenchResult:
    """Predict every request of every recorded session but the first after each compaction."""
    paths = all_sessions(data, "sessions*")
    if not paths:
        return BenchResult("request-size", absent=f"no recorded sessions below {data}")
    rows: list[BenchRow] = []
    for client in ("claude-code", "codex"):
        own = [path for path in paths if path.parent.name == client]
        found = [
            size for path in own for size in predict_sizes(read_session(UnpackedUtf8Lines(path)))
        ]
        begun = [size for size in found if size.begins_turn]
        rows += _rows(f"{client}, {len(own)} sessions", found)
        rows += _rows(f"{client}, those that begin a turn", begun)
    return BenchResult("request-size", tuple(rows))


def _rows(what: str, sizes: list[PredictedSize]) -> list[BenchRow]:
    if not sizes:
        return []
    share = sum(abs(size.error) <= NEAR for size in sizes) / len(sizes)
    error = statistics.median(abs(size.error) for size in sizes)
    return [
        BenchRow(
            f"{what}: of {len(sizes)} requests within {NEAR:.0%}",
            share,
            "",
            f"at least {GOAL}",
            share >= GOAL,
        ),
        BenchRow(f"{what}: error, median", error),
    ]


def predict_sizes(entries: Iterator[TranscriptEntry]) -> Iterator[PredictedSize]:
    """The size of each request as a session would predict it, beside the count that followed."""
    tracker = ConversationTracker(SessionMemorySettings)
    predicted, begins_turn, is_measured = 0, False, False
    for entry in entries:
        match entry:
            case SessionHead():
                tracker.on_transcript_head(entry)
            case Message():
                if entry.origin is Origin.MODEL:
                    predicted = predicted or tracker.tokens
                else:
                    begins_turn |= entry.origin is Origin.USER and not entry.tool_results
                tracker.on_message(entry)
            case CompactionBoundary():
                tracker.on_history_replaced(entry.replacement)
                predicted, begins_turn, is_measured = 0, False, False
            case UsageReport(context=context, output=output, reasoning=reasoning):
                tracker.record_context_measurement(context, output=output, reasoning=reasoning)
        given = _count_input(entry)
        if not given:
            continue
        if predicted and is_measured:
            yield PredictedSize(predicted, given, begins_turn)
        predicted, begins_turn, is_measured = 0, False, True


def _count_input(entry: TranscriptEntry) -> int:
    """Input tokens of the request that the entry tells of; 0 where it tells of none."""
    if isinstance(entry, UsageReport):
        return entry.input + entry.cache_read
    if isinstance(entry, Message) and entry.usage is not None:
        return entry.usage.context_tokens - entry.usage.output
    return 0
