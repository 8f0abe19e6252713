"""Rolling back turns (CX-7): a marker at the end of the transcript, never a deletion. Pure.

A turn begins with what the user typed, and with what was put into the context right above it. What
precedes the first turn belongs to the session and stays; rolling back more turns than there are
goes back to that point (Codex).
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.core.messages import Message, Origin
from memorist.formats.codex_rollout_records import TurnRollbackTracker
from memorist.formats.transcript_format import (
    CompactionBoundary,
    TranscriptEntry,
    TurnRollback,
    WorldStateRecord,
)


def drop_rolled_back_entries(entries: Iterable[TranscriptEntry]) -> list[TranscriptEntry]:
    """Return the entries without those of rolled-back turns; the markers stay. Linear."""
    kept, following = _read_turns(entries)
    return _outside_spans(kept, following.rolled_back_lines)


def find_rolled_back_spans(entries: Iterable[TranscriptEntry]) -> list[tuple[int, int]]:
    """Return the spans of rolled-back entries as (first, one past the last), in order and disjoint.

    No entry is held.
    """
    return _track_turns(entries).rolled_back_lines


def starts_turn(message: Message) -> bool:
    """Tell whether a message begins a turn of a transcript: the user, or another agent, spoke."""
    return message.role == "user" and message.origin in (Origin.USER, Origin.AGENT)


def _read_turns(
    entries: Iterable[TranscriptEntry],
) -> tuple[list[TranscriptEntry], TurnRollbackTracker]:
    kept = list(entries)
    return kept, _track_turns(kept)


def _track_turns(entries: Iterable[TranscriptEntry]) -> TurnRollbackTracker:
    """Markers whose messages were already left out by the reader (`kept` is false) have no
    effect.
    """
    turns = TurnRollbackTracker()
    for index, entry in enumerate(entries):
        match entry:
            case Message():
                typed = starts_turn(entry)
                turns.on_message(
                    index,
                    typed=typed,
                    context=not typed
                    and entry.role in ("user", "developer", "system")
                    and not entry.tool_results,
                )
            case WorldStateRecord():
                turns.on_context(index)
            case TurnRollback(turns=count, kept=True):
                turns.roll_back(count, index)
            case CompactionBoundary():
                turns.on_message(index, typed=False, context=False)
            case _:
                pass
    return turns


def _outside_spans(
    entries: list[TranscriptEntry], stretches: list[tuple[int, int]]
) -> list[TranscriptEntry]:
    """Return the entries outside the spans (first, one past the last; in order, disjoint)."""
    found: list[TranscriptEntry] = []
    start = 0
    for first, after in stretches:
        found += entries[start:first]
        start = after
    return found + entries[start:]
