"""Memories that a folder once had: as they were last, what took them out, and what came instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.clause_stances import parse_clause_stances
from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_file import MemoryFile, make_file_name, parse_memory_file
from memorist.auto_memory.memory_history import FolderHistory
from memorist.auto_memory.memory_manifest import is_memory_file
from memorist.auto_memory.quotation_proof import split_sentences_by_line
from memorist.auto_memory.statements.statement_parser import list_certain_statements
from memorist.auto_memory.statements.statement_similarity import compute_rule_key
from memorist.store.home_layout import MemoryLayout

_DELIBERATE_ACTORS = frozenset({"user", "said", "undo", "other"})
"""By whom the user takes a memory out: a command, their words, undo, and their own hands."""
_MAX_CHANGES = 300
"""Changes that are looked through for what the user took out. Our choice."""
_QUOTATION = re.compile(r"[“\"]([^“”\"]+)[”\"]")
_MIN_CHARS = 12
"""Characters of words by which a sentence is known again. Our choice."""


class RemovedMemory(Struct, frozen=True):
    """A memory that is no longer in the folder."""

    topic: MemoryFile
    """As it was last."""
    change: RecordedChange
    """The change that took it out."""
    successor: str
    """Path of the memory that came in its place; empty where none did."""


def find_removed_memory_by_name(memory: AutoMemory, name: str) -> RemovedMemory | None:
    """The memory that the folder of `memory` once had under a path, with or without `.md`; None
    where the history has none.
    """
    if not name:  # the folder itself
        return None
    for path in dict.fromkeys((name, f"{name.removesuffix('.md')}.md", make_file_name(name))):
        change = next(iter(memory.folder.history.list_changes(path, 1)), None)
        if change is None or memory.folder.read_present_bytes(path) is not None:
            continue
        parent = memory.folder.history.find_parent_id(change.id)
        data = memory.folder.history.read_file(path, parent) if parent else None
        if data is not None:
            return RemovedMemory(
                parse_memory_file(path, data), change, _find_successor(memory, path, change)
            )
    return None


def list_removed_paths(memory: AutoMemory) -> tuple[str, ...]:
    """Paths of the memories that the folder once had, the one removed last first."""
    named = dict.fromkeys(
        path for change in memory.folder.history.iter_changes() for path in change.paths
    )
    return tuple(
        path
        for path in named
        if is_memory_file(path) and memory.folder.read_present_bytes(path) is None
    )


def find_deliberately_deleted_paths(
    history: FolderHistory, paths: AbstractSet[str]
) -> frozenset[str]:
    """Those of some paths that somebody deleted: the history has the removal, or nothing at all of
    a memory that was forgotten for good. What went missing with its folder was not. Raises
    StoreError.
    """
    left = set(paths) - history.map_paths_to_blob_ids().keys()
    if not left or not history.find_newest_change_id():
        return frozenset()
    deleted = frozenset(left)
    for change in history.iter_changes():
        found = left.intersection(change.paths)
        left -= found
        if change.why.actor == "missing":
            deleted -= found
        if not left:
            break
    return deleted


class ForgottenQuotesReader:
    """What the user said and a memory rested on which they took out, and on which none rests that
    is there now. Read from the reasons of the changes alone, and once for each state of the
    history: a prompt waits for it.
    """

    def __init__(self, memory: AutoMemory) -> None:
        self._memory = memory
        self._head = ""
        self._words: frozenset[str] = frozenset()

    def list_quotes(self) -> frozenset[str]:
        """Return them, as of the last scan of the folder. Raises StoreError."""
        head = self._memory.folder.history.find_newest_change_id()
        if head != self._head:
            self._words, self._head = _list_forgotten_words(self._memory), head
        return self._words


def _list_forgotten_words(memory: AutoMemory) -> frozenset[str]:
    found = _find_forgotten(memory.folder.history, memory.folder.listing.headers.keys())
    return frozenset(words for words in found.quotes if len(words) >= _MIN_CHARS)


class _Forgotten(Struct, frozen=True):
    """What the user took out: words, and by path the change that did."""

    quotes: frozenset[str]
    removals: dict[str, str]


def _find_forgotten(history: FolderHistory, present: AbstractSet[str]) -> _Forgotten:
    kept: set[str] = set()
    forgotten: set[str] = set()
    removals: dict[str, str] = {}
    """By path the change that took it out; empty where that was not the user's doing."""
    for change in islice(history.iter_changes(), _MAX_CHANGES):
        removed = [path for path in change.paths if path not in present and is_memory_file(path)]
        is_kept = any(path in present and is_memory_file(path) for path in change.paths)
        is_replaced = is_kept or change.why.actor not in _DELIBERATE_ACTORS
        for path in removed:
            removals.setdefault(path, "" if is_replaced else change.id)
        if is_kept:
            kept.add(change.why.quote)
        elif any(removals[path] for path in removed):
            forgotten.add(change.why.quote)
    return _Forgotten(
        frozenset(forgotten - kept), {path: id for path, id in removals.items() if id}
    )


class ForgottenStatements(Struct, frozen=True):
    """What the user took out of memory, by statement and by the words that it rested on."""

    keys: frozenset[tuple[str, ...]] = frozenset()
    meanings: frozenset[_Meaning] = frozenset()
    """What each asks for and rules out, in whatever words."""

    def is_any_stated_in(self, text: str) -> bool:
        """Whether a text states one of them or a part of it, by itself or as a quotation."""
        return bool(self.keys) and any(map(self._is_forgotten, _list_stated_texts(text)))

    def _is_forgotten(self, text: str) -> bool:
        if compute_rule_key(text) in self.keys:
            return True
        meaning = _read_meaning(text)
        return bool(meaning) and any(
            meaning <= each or _join_clauses(meaning) == _join_clauses(each)
            for each in self.meanings
        )

    def merge_with(self, other: ForgottenStatements) -> ForgottenStatements:
        """These and those."""
        return ForgottenStatements(self.keys | other.keys, self.meanings | other.meanings)


_Meaning = frozenset[tuple[frozenset[str], bool]]
"""By clause, content words and whether the clause asks for them or rules them out."""


def _read_meaning(text: str) -> _Meaning:
    return frozenset((each.words, each.is_positive) for each in parse_clause_stances(text))


def _join_clauses(meaning: _Meaning) -> _Meaning:
    """The words of all clauses that ask for something as one, and so of those that rule it out."""
    joined = {
        positive: frozenset[str]().union(*(words for words, each in meaning if each is positive))
        for positive in (True, False)
    }
    return frozenset((words, positive) for positive, words in joined.items() if words)


def _list_stated_texts(text: str) -> Iterator[str]:
    """A text, its quotations and its sentences, and what those state."""
    parts = (text, *_QUOTATION.findall(text))
    for part in dict.fromkeys(
        piece for whole in parts for piece in (whole, *split_sentences_by_line(whole))
    ):
        yield part
        yield from (said for _, said, _ in list_certain_statements(part))


def read_forgotten_statements(layout: MemoryLayout) -> ForgottenStatements:
    """What the user took out of one folder, as far as its history tells. Raises StoreError."""
    history = FolderHistory(layout.history)
    try:
        return _read_forgotten_statements(history.path, history.find_newest_change_id())
    finally:
        history.close()


@lru_cache(maxsize=64)
def _read_forgotten_statements(path: Path, newest: str) -> ForgottenStatements:
    if not newest:
        return ForgottenStatements()
    history = FolderHistory(path)
    try:
        found = _find_forgotten(history, history.map_paths_to_blob_ids(newest).keys())
        said = set(found.quotes)
        for removed, change in found.removals.items():
            parent = history.find_parent_id(change)
            data = history.read_file(removed, parent) if parent else None
            if data is not None:
                topic = parse_memory_file(removed, data)
                said |= {topic.one_line_text, topic.description}
        return ForgottenStatements(
            frozenset(filter(None, map(compute_rule_key, said))),
            frozenset(filter(None, map(_read_meaning, said))),
        )
    finally:
        history.close()


def _find_successor(memory: AutoMemory, path: str, change: RecordedChange) -> str:
    for other in change.paths:
        data = memory.folder.history.read_file(other, change.id)
        if data is not None and path in parse_memory_file(other, data).provenance.replaces:
            return other
    return ""
