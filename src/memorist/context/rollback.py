"""Rolling back turns (CX-7): a marker at the end of the transcript, never a deletion. Pure.

A turn begins with what the user typed, and with what was put into the context right above it. What
precedes the first turn belongs to the session and stays; rolling back more turns than there are
goes back to that point (codex.md section 3.7).
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.core.messages import Message, Origin
from memorist.formats.codex_rollout_turns import Turns
from memorist.formats.recorded import Boundary, Entry, RolledBack, WorldRecord


def roll_back(entries: Iterable[Entry], turns: int) -> RolledBack | None:
    """Build the marker that rolls back the last turns, to be appended to the transcript.

    None if there is no turn to roll back, or `turns` is not positive.
    """
    kept, following = _followed(entries)
    before = _messages(_live(kept, following.stretches))
    dropped, _ = following.take_back(turns, len(kept))
    if not dropped:
        return None
    gone = before - _messages(_live(kept, following.stretches))
    return RolledBack(turns=dropped, messages=gone, line=0, kept=True)


def surviving(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries without those of rolled-back turns; the markers stay. Linear."""
    kept, following = _followed(entries)
    return _live(kept, following.stretches)


def taken_back(entries: Iterable[Entry]) -> list[tuple[int, int]]:
    """Return the spans of rolled-back entries as (first, one past the last), in order and disjoint.

    No entry is held.
    """
    return _turns(entries).stretches


def is_turn(message: Message) -> bool:
    """Tell whether a message begins a turn of a transcript: the user, or another agent, spoke."""
    return message.role == "user" and message.origin in (Origin.USER, Origin.AGENT)


def _followed(entries: Iterable[Entry]) -> tuple[list[Entry], Turns]:
    kept = list(entries)
    return kept, _turns(kept)


def _turns(entries: Iterable[Entry]) -> Turns:
    """Markers whose messages were already left out by the reader (`kept` is false) have no
    effect.
    """
    turns = Turns()
    for place, entry in enumerate(entries):
        match entry:
            case Message():
                typed = is_turn(entry)
                turns.said(
                    place, typed=typed, context=not typed and entry.role in ("user", "developer", "system") and not entry.tool_results
                )
            case WorldRecord():
                turns.told(place)
            case RolledBack(turns=count, kept=True):
                turns.take_back(count, place)
            case Boundary():
                turns.said(place, typed=False, context=False)
            case _:
                pass
    return turns


def _messages(entries: list[Entry]) -> int:
    return sum(isinstance(entry, Message) for entry in entries)


def _live(entries: list[Entry], stretches: list[tuple[int, int]]) -> list[Entry]:
    """Return the entries outside the spans (first, one past the last; in order, disjoint)."""
    found: list[Entry] = []
    place = 0
    for first, after in stretches:
        found += entries[place:first]
        place = after
    return found + entries[place:]
