"""Make relative dates absolute where the history proves the day on which they were written (DR-5).

Pure. Only in memories of kind project, which report plans and deadlines. In a rule ("write today's
date at the top", "check every day what is due tomorrow") the words mean the day of reading, and
stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.changes import Actor
from memorist.auto_memory.dates import absolute
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.topic import Topic
from memorist.dream.lines import told_apart

DATED_BY: frozenset[Actor] = frozenset({"said", "extraction", "agent", "user"})
"""Actors whose words are as old as their change.

What was imported, accepted later, restored by an undo or found in the folder is older.
"""
_STANDING = re.compile(
    r"\b(?:always|never|every|each|daily|weekly|monthly|whenever|when|before|after|until|if|must|should|usually|often)\b|每|总是|从不|如果",
    re.IGNORECASE,
)


def may_be_dated(topic: Topic) -> bool:
    """Tell cheaply whether a date in it could be made absolute, before its lines' times are looked
    up.
    """
    if topic.kind is not Kind.PROJECT or topic.provenance.status != "active":
        return False
    return dated(topic.body, dict.fromkeys(topic.body.splitlines(), 0.0)) != topic.body


def described(description: str, text: str, times: Mapping[str, float]) -> str:
    """Make the description's dates absolute if it is the beginning of a line of the text and then
    means the same days.
    """
    for line in text.splitlines():
        if line in times and description and line.strip().startswith(description):
            made = absolute(description, times[line])
            return made if _line(line, times).strip().startswith(made) else description
    return description


def dated(text: str, times: Mapping[str, float]) -> str:
    """Make the dates of each line absolute by when it was written (seconds since the epoch, UTC);
    lines without a time stay.
    """
    return "".join(_line(line, times) if prose else line for line, prose in told_apart(text))


def _line(line: str, times: Mapping[str, float]) -> str:
    plain = line.rstrip("\r\n")
    if plain not in times or _STANDING.search(plain):
        return line
    return absolute(plain, times[plain]) + line[len(plain) :]


def proven_times(lines: Sequence[tuple[str, str]], changes: Mapping[str, tuple[Actor, float]]) -> dict[str, float]:
    """Return the time of each line of a memory, as far as it is proven.

    `lines` are text and id of the originating change; `changes` the actor and time of each change.
    A line that occurs twice, from two days, has no proven time.
    """
    found: dict[str, set[float | None]] = {}
    for text, change in lines:
        actor, at = changes.get(change, ("other", 0.0))
        found.setdefault(text, set()).add(at if actor in DATED_BY and at > 0 else None)
    return {text: at for text, times in found.items() for at in times if len(times) == 1 and at is not None}
