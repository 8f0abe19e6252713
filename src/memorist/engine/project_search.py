"""One search over everything that is kept of a project: memories, the team's, past sessions, the
notes of sessions, and the memory of past sessions (PS-1).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.team_memory import is_team_path
from memorist.errors import StoreError
from memorist.platforms.regular_files import read_regular_file
from memorist.recall.memory_selection import MemoryMatch
from memorist.recall.search_query import build_search_query_from_text
from memorist.recall.session_passages import MatchedPassage, list_search_keys, measure_text_evidence
from memorist.rollouts.forgotten_claims import ForgottenClaimsReader, blank_forgotten_claims
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.settings import AutoMemorySettings
from memorist.store.home_layout import Layout, SessionLayout
from memorist.store.rollout_rows import list_rollouts
from memorist.store.session_rows import list_sessions_newest_first
from memorist.store.sqlite_database import Connection
from memorist.store.state_database import SqliteStateDatabase
from memorist.system import SystemClock

MAX_SEARCHED_NOTES = 300
"""Newest sessions of a project whose notes are searched: some tenths of a millisecond each."""
MAX_DOCUMENT_BYTES = 400_000
ROLLOUT_FILES = ("MEMORY.md", "memory_summary.md")
"""Files of the memory of past sessions that are searched."""

MemorySearch = Callable[[str, int], Sequence[MemoryMatch]]
SessionSearch = Callable[[str, int], Sequence[MatchedPassage]]


MIN_SECTION_EVIDENCE = 3.0
"""Nats of evidence that a section needs to be found: one word that few messages hold."""
MAX_SECTION_CHARS = 8_000
"""Characters of a section that are searched and returned."""
MIN_STEM_CHARS, STEM_ENDING_CHARS = 2, 2
"""A stem is a word's beginning but for its last two letters at most: `happi` of happy, `hope` of
hoping.
"""
_HEADING = re.compile(r"^#{1,4} ", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->|^\s*---\s*$", re.DOTALL | re.MULTILINE)


class SearchableDocument(Struct, frozen=True, kw_only=True):
    """One file to search in."""

    path: str
    text: str
    kind: str
    """What it is, for the reader: `notes`, `rollout memory`."""
    session: str = ""
    """Id of the session that notes are of."""
    at: float = 0.0
    """When it was written, in seconds since the epoch."""


class SectionMatch(Struct, frozen=True, kw_only=True):
    """A section that a query found."""

    document: SearchableDocument
    line: int
    """Its first line, counted from 1."""
    text: str
    evidence: float
    """How much the matched words say beyond chance, in nats."""


def search_document_sections(
    query: str, documents: Iterable[SearchableDocument], limit: int
) -> tuple[SectionMatch, ...]:
    """Return the best sections, best first."""
    words = build_search_query_from_text(query).words
    beginnings = tuple(word[: max(MIN_STEM_CHARS, len(word) - STEM_ENDING_CHARS)] for word in words)
    found = (
        SectionMatch(
            document=document,
            line=line,
            text=text,
            evidence=measure_text_evidence(words.keys(), list_search_keys(text)),
        )
        for document in documents
        for line, text in _split_sections(document.text)
        if _may_match(text, beginnings)
    )
    fit = (each for each in found if each.evidence >= MIN_SECTION_EVIDENCE)
    return tuple(nlargest(limit, fit, key=lambda each: (each.evidence, each.document.at)))


def _may_match(text: str, beginnings: tuple[str, ...]) -> bool:
    """Whether a section may have a word that begins so: to tell its words apart and stem them takes
    thirty times as long.
    """
    lowered = text.lower()
    return not text.isascii() or any(each in lowered for each in beginnings)


def _split_sections(text: str) -> Iterator[tuple[int, str]]:
    """The sections below each heading that hold more than the heading, with their first lines."""
    starts = [0, *(match.start() for match in _HEADING.finditer(text) if match.start())]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        section = _COMMENT.sub("", text[start:end]).strip()
        if section and (not section.startswith("#") or "\n" in section):
            yield text.count("\n", 0, start) + 1, section[:MAX_SECTION_CHARS]


class SearchResults(Struct, frozen=True, kw_only=True):
    """What a query found, each kind best first."""

    memories: tuple[MemoryMatch, ...] = ()
    """Of the project and, with paths below `team/`, of its team."""
    passages: tuple[MatchedPassage, ...] = ()
    """Turns of past sessions."""
    sections: tuple[SectionMatch, ...] = ()
    """Sections of notes and of the memory of past sessions."""

    def __bool__(self) -> bool:
        return bool(self.memories or self.passages or self.sections)


def label_team_or_memory(match: MemoryMatch) -> str:
    """`team` for a memory of the team, else `memory`."""
    return "team" if is_team_path(match.path) else "memory"


class ProjectSearch:
    """Searches one project, or all projects with an empty root.

    `memories` and `sessions` search these; either may be None where there is none.
    """

    def __init__(
        self,
        layout: Layout,
        open_database: Callable[[], Connection],
        *,
        root: str,
        settings: AutoMemorySettings,
        memories: MemorySearch | None = None,
        sessions: SessionSearch | None = None,
    ) -> None:
        self._layout = layout
        self._open_database = open_database
        self._root = root
        self._claims = ForgottenClaimsReader(layout, settings, root)
        self._memories = memories
        self._sessions = sessions

    def search(self, query: str, limit: int = 10) -> SearchResults:
        """Return at most `limit` results of each kind. Raises StoreError."""
        if not query.strip():
            return SearchResults()
        return SearchResults(
            memories=tuple(self._memories(query, limit)) if self._memories else (),
            passages=tuple(self._sessions(query, limit)) if self._sessions else (),
            sections=search_document_sections(query, self._documents(), limit),
        )

    def _documents(self) -> Iterator[SearchableDocument]:
        for name in ROLLOUT_FILES:
            path = self._layout.rollouts / name
            if text := _read_text(path):
                text = blank_forgotten_claims(text, self._claims.read_forgotten_in_group)
                yield SearchableDocument(path=str(path), text=text, kind="rollout memory")
        database = self._open_database()
        repositories = {
            each.id: each.repository
            for each in list_rollouts(SqliteStateDatabase(database, SystemClock().now))
        }
        rows = (
            row
            for row in list_sessions_newest_first(database)
            if not self._root
            or find_repository_root_or_folder(repositories.get(row[0]) or row[1]) == self._root
        )
        for id, _, folder, updated in islice(rows, MAX_SEARCHED_NOTES):
            path = SessionLayout(Path(folder)).notes
            if text := _read_text(path):
                yield SearchableDocument(
                    path=str(path), text=text, kind="notes", session=id, at=updated
                )


def _read_text(path: Path) -> str:
    with contextlib.suppress(OSError, StoreError):
        if path.stat().st_size <= MAX_DOCUMENT_BYTES:
            return read_regular_file(path).decode("utf-8", "replace")
    return ""
