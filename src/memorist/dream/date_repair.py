"""Make relative dates in memories absolute where the history proves the day on which they were
written (DR-5). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.memory_changes import Actor
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.dream.duplicate_memories import mark_prose_lines

DATED_ACTORS: frozenset[Actor] = frozenset({"said", "extraction", "agent", "user"})
"""Actors whose words are as old as their change.

What was imported, accepted later, restored by an undo or found in the folder is older.
"""
_RECURRING = re.compile(
    r"\b(?:always|never|every|each|daily|weekly|monthly|whenever|when|before|after|until|if|"
    r"must|should|usually|often)\b|每|总是|从不|如果",
    re.IGNORECASE,
)


def is_date_repair_candidate(topic: MemoryFile) -> bool:
    """Tell cheaply whether a date in it could be made absolute, before its lines' times are looked
    up.
    """
    if topic.kind is not MemoryKind.PROJECT or topic.provenance.status != "active":
        return False
    return (
        resolve_dates_by_line_times(topic.body, dict.fromkeys(topic.body.splitlines(), 0.0))
        != topic.body
    )


def make_description_dates_absolute(description: str, text: str, times: Mapping[str, float]) -> str:
    """Make the description's dates absolute if it is the beginning of a line of the text and then
    means the same days.
    """
    for line in text.splitlines():
        if line in times and description and line.strip().startswith(description):
            dated = make_dates_absolute(description, times[line])
            return dated if _date_line(line, times).strip().startswith(dated) else description
    return description


def resolve_dates_by_line_times(text: str, times: Mapping[str, float]) -> str:
    """Make the dates of each line absolute by when it was written (seconds since the epoch, UTC);
    lines without a time stay.
    """
    return "".join(
        _date_line(line, times) if prose else line for line, prose in mark_prose_lines(text)
    )


def _date_line(line: str, times: Mapping[str, float]) -> str:
    plain = line.rstrip("\r\n")
    if plain not in times or _RECURRING.search(plain):
        return line
    return make_dates_absolute(plain, times[plain]) + line[len(plain) :]


def find_proven_line_times(
    lines: Sequence[tuple[str, str]], changes: Mapping[str, tuple[Actor, float]]
) -> dict[str, float]:
    """Return the time of each line of a memory, as far as it is proven.

    `lines` are text and id of the originating change; `changes` the actor and time of each change.
    A line that occurs twice, from two days, has no proven time.
    """
    found: dict[str, set[float | None]] = {}
    for text, change in lines:
        actor, at = changes.get(change, ("other", 0.0))
        found.setdefault(text, set()).add(at if actor in DATED_ACTORS and at > 0 else None)
    return {
        text: at
        for text, times in found.items()
        for at in times
        if len(times) == 1 and at is not None
    }
