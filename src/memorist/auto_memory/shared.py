"""Team memory: the folder `team/`, the sharing scope of each kind, and contradictions with the team
(TM-1).

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.index import Index, points_to
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.manifest import INDEX_NAME, Head
from memorist.auto_memory.said_same import ALIKE, content_words, negations, same_rule

TEAM = "team/"
"""Where a team's memories are, below the memory folder (claude-code.md section 10.1)."""
TEAM_INDEX = TEAM + INDEX_NAME
HEADING = "Shared by the team:"

Scope = Literal["private", "either", "team"]
"""Who reads a memory of a kind by default: the user alone; the user, unless it is a project
convention; everybody.
"""
SCOPES: dict[Kind, Scope] = {Kind.USER: "private", Kind.FEEDBACK: "either", Kind.PROJECT: "team", Kind.REFERENCE: "team"}
"""Source: claude-code.md section 10.1."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_MARKS = re.compile(r"^(?:[>#*+-]+\s+|\*\*)+")
_LONGEST = 20
"""Sentences of one memory that are compared: a memory is one fact."""
OPPOSED = 0.75
"""Share of common words above which a `not` in one of two sentences makes them opposites rather
than one a refinement of the other.
"""


class Shared(Struct, frozen=True):
    """One memory of the team: its path and its text below the header."""

    path: str
    text: str


def is_shared(path: str) -> bool:
    """Whether a path of the memory folder is the team's."""
    return path.startswith(TEAM)


def scope_of(kind: Kind | None) -> Scope:
    """Return the scope of a kind; a memory without one is private."""
    return "private" if kind is None else SCOPES[kind]


def not_for_a_team(kind: Kind | None) -> str:
    """Explain why a memory of this kind is never shared; empty where it may be."""
    return "a memory about a person stays private" if kind is Kind.USER else ""


def contradicted(text: str, team: Iterable[Shared]) -> str:
    """Return the path of the first team memory that a private text contradicts; empty for none.

    Judged by words alone. Two sentences contradict when they share at least half of their words and
    each has a word of its own, or when they are nearly equal and only one is negated. A sentence
    that only adds to another does not contradict it.
    """
    mine = _sentences(text)
    return next((each.path for each in team if any(_clash(one, other) for one in mine for other in _sentences(each.text))), "")


def _sentences(text: str) -> list[str]:
    found = (_MARKS.sub("", part.strip()) for part in _SENTENCE.split(text))
    return [part for part in found if part][:_LONGEST]


def _clash(one: str, other: str) -> bool:
    if same_rule(one, other):
        return False
    mine, theirs = content_words(one), content_words(other)
    share = len(mine & theirs) / max(1, len(mine | theirs))
    if mine <= theirs or theirs <= mine:
        return share >= OPPOSED and negations(one) != negations(other)
    return share >= ALIKE


def own_heads(heads: Iterable[Head], below: str) -> list[Head]:
    """Select the headers that an index lists, with paths relative to it.

    `prefix` is `team/` for the team's index, else empty.
    """
    return [replace(head, path=head.path.removeprefix(below)) for head in heads if is_shared(head.path) == bool(below)]


def together(private: Index, team: Index) -> Index:
    """Merge both indexes as a model sees them: the team's after the user's, paths from the memory
    folder.
    """
    lines = [_from_above(line) for line in team.text.splitlines()]
    if not lines:
        return private
    text = "\n".join(filter(None, (private.text.rstrip("\n"), "", HEADING, *lines))) + "\n"
    listed = (*private.listed, *(TEAM + path for path in team.listed))
    return replace(private, text=text, listed=listed)


def _from_above(line: str) -> str:
    path = points_to(line)
    return line.replace(f"]({path})", f"]({TEAM}{path})", 1).replace(f"](<{path}>)", f"](<{TEAM}{path}>)", 1) if path else line
