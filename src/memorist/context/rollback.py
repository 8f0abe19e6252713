"""Taking back turns (CX-7): a marker at the end of the transcript, never a deletion; what survives is found by reading. Pure.

A turn begins with what the user typed, and with what was put into the context right above it. What stands before the first turn is the session's and
stays; to take back more turns than there are is to go back to there (codex.md section 3.7).
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.core.messages import Message, Origin
from memorist.formats.codex_rollout_turns import Turns
from memorist.formats.recorded import Boundary, Entry, RolledBack, WorldRecord


def roll_back(entries: Iterable[Entry], turns: int) -> RolledBack | None:
    """The marker that takes back the last turns; append it to the transcript. None when there is no turn to take back, or `turns` is not positive."""
    kept, following = _followed(entries)
    before = _messages(_live(kept, following.stretches))
    dropped, _ = following.take_back(turns, len(kept))
    if not dropped:
        return None
    gone = before - _messages(_live(kept, following.stretches))
    return RolledBack(turns=dropped, messages=gone, line=0, kept=True)


def surviving(entries: Iterable[Entry]) -> list[Entry]:
    """The entries without those of turns that were taken back; the markers stay. Linear."""
    kept, following = _followed(entries)
    return _live(kept, following.stretches)


def taken_back(entries: Iterable[Entry]) -> list[tuple[int, int]]:
    """The stretches of entries that were taken back (first, and one after the last; in order, apart). No entry is held."""
    return _turns(entries).stretches


def is_turn(message: Message) -> bool:
    """Whether a message begins a turn of a transcript: a person, or another agent, spoke."""
    return message.role == "user" and message.origin in (Origin.USER, Origin.AGENT)


def _followed(entries: Iterable[Entry]) -> tuple[list[Entry], Turns]:
    kept = list(entries)
    return kept, _turns(kept)


def _turns(entries: Iterable[Entry]) -> Turns:
    """Markers whose messages were left out by their reader (`kept` is false) are history already."""
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
    """The entries that lie in none of the stretches (first, and one after the last; in order, apart)."""
    found: list[Entry] = []
    place = 0
    for first, after in stretches:
        found += entries[place:first]
        place = after
    return found + entries[place:]
