"""The memories that a team shares: the folder `team/`, the sharing scope of each kind, and
contradictions with the team's memories (TM-1). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.memory_index import MemoryIndex, parse_pointer_target
from memorist.auto_memory.memory_manifest import INDEX_NAME, MemoryHeader
from memorist.auto_memory.statements.statement_similarity import (
    MIN_EXAMINED_JACCARD,
    count_negations,
    extract_comparable_words,
    is_same_rule,
)
from memorist.core.json_decoding import decode_json
from memorist.safety.secrets import redact

TEAM_PREFIX = "team/"
"""Where a team's memories are, below the memory folder (Claude Code)."""
TEAM_INDEX_PATH = TEAM_PREFIX + INDEX_NAME
TEAM_INDEX_HEADING = "Shared by the team:"

SharingScope = Literal["private", "either", "team"]
"""Who reads a memory of a kind by default: the user alone; the user, unless it is a project
convention; everybody.
"""
SHARING_SCOPES: dict[MemoryKind, SharingScope] = {
    MemoryKind.USER: "private",
    MemoryKind.FEEDBACK: "either",
    MemoryKind.PROJECT: "team",
    MemoryKind.REFERENCE: "team",
}
"""Source: Claude Code."""
_SENTENCE_BREAK = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_MARKDOWN_MARKS = re.compile(r"^(?:[>#*+-]+\s+|\*\*)+")
_MAX_SENTENCES = 20
"""Sentences of one memory that are compared: a memory is one fact."""
OPPOSITE_SHARE = 0.75
"""Share of common words above which a `not` in one of two sentences makes them opposites rather
than one a refinement of the other.
"""


class TeamMemoryBody(Struct, frozen=True):
    """One memory of the team: its path and its text below the header."""

    path: str
    text: str


MAX_TEAM_LOCATION_BYTES = 4_096


class _TeamLocation(Struct, frozen=True):
    """What the file of a team's location says of its readers."""

    remote: str
    branch: str = ""


def describe_team_readers(location: bytes) -> str:
    """Who reads the team's memories, by the file of its location, in words for the user; empty
    where that names none.
    """
    try:
        found = decode_json(location, as_type=_TeamLocation)
    except msgspec.DecodeError:
        return ""
    branch = f", branch {found.branch}" if found.branch else ""
    return f"everybody who can read {redact(found.remote).text}{branch}"


def is_team_path(path: str) -> bool:
    """Whether a path of the memory folder is the team's."""
    return path.startswith(TEAM_PREFIX)


def get_kind_sharing_scope(kind: MemoryKind | None) -> SharingScope:
    """Return the scope of a kind; a memory without one is private."""
    return "private" if kind is None else SHARING_SCOPES[kind]


def find_kind_sharing_problem(kind: MemoryKind | None) -> str:
    """Explain why a memory of this kind is never shared; empty where it may be."""
    return "a memory about a person stays private" if kind is MemoryKind.USER else ""


def find_contradicted_team_memory(text: str, team: Iterable[TeamMemoryBody]) -> str:
    """Return the path of the first team memory that a private text contradicts; empty for none.

    Judged by words alone. Two sentences contradict when they share at least half of their words and
    each has a word of its own, or when they are nearly equal and only one is negated. A sentence
    that only adds to another does not contradict it.
    """
    mine = _split_sentences(text)
    return next(
        (
            each.path
            for each in team
            if any(
                _contradicts(one, other) for one in mine for other in _split_sentences(each.text)
            )
        ),
        "",
    )


def _split_sentences(text: str) -> list[str]:
    found = (_MARKDOWN_MARKS.sub("", part.strip()) for part in _SENTENCE_BREAK.split(text))
    return [part for part in found if part][:_MAX_SENTENCES]


def _contradicts(one: str, other: str) -> bool:
    if is_same_rule(one, other):
        return False
    mine, theirs = extract_comparable_words(one), extract_comparable_words(other)
    share = len(mine & theirs) / max(1, len(mine | theirs))
    if mine <= theirs or theirs <= mine:
        return share >= OPPOSITE_SHARE and count_negations(one) != count_negations(other)
    return share >= MIN_EXAMINED_JACCARD


def select_own_or_team_headers(headers: Iterable[MemoryHeader], prefix: str) -> list[MemoryHeader]:
    """Select the headers that an index lists, with paths relative to it.

    `prefix` is `team/` for the team's index, else empty.
    """
    if not prefix:
        return [head for head in headers if not head.path.startswith(TEAM_PREFIX)]
    return [
        replace(head, path=head.path.removeprefix(prefix))
        for head in headers
        if head.path.startswith(TEAM_PREFIX)
    ]


def merge_indexes(private: MemoryIndex, team: MemoryIndex) -> MemoryIndex:
    """Merge both indexes as a model sees them: the team's after the user's, paths from the memory
    folder.
    """
    lines = [prefix_index_link(line, TEAM_PREFIX) for line in team.text.splitlines()]
    if not lines:
        return private
    text = (
        "\n".join(filter(None, (private.text.rstrip("\n"), "", TEAM_INDEX_HEADING, *lines))) + "\n"
    )
    listed = (*private.listed, *(TEAM_PREFIX + path for path in team.listed))
    return replace(private, text=text, listed=listed)


def prefix_index_link(line: str, prefix: str) -> str:
    """The line of an index with `prefix` before the path that it points to."""
    path = parse_pointer_target(line)
    if path:
        return line.replace(f"]({path})", f"]({prefix}{path})", 1).replace(
            f"](<{path}>)", f"](<{prefix}{path}>)", 1
        )
    return line
