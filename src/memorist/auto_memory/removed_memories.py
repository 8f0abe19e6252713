"""Memories that a folder once had: as they were last, what took them out, and what came instead."""

from __future__ import annotations

from itertools import islice

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_file import Topic, make_file_name, parse_topic
from memorist.auto_memory.memory_manifest import is_memory_file

_DELIBERATE_ACTORS = frozenset({"user", "said", "undo", "other"})
"""By whom the user takes a memory out: a command, their words, undo, and their own hands."""
_MAX_CHANGES = 300
"""Changes that are looked through for what the user took out. Our choice."""
_MIN_CHARS = 12
"""Characters of words by which a sentence is known again. Our choice."""


class RemovedTopic(Struct, frozen=True):
    """A memory that is no longer in the folder."""

    topic: Topic
    """As it was last."""
    change: RecordedChange
    """The change that took it out."""
    successor: str
    """Path of the memory that came in its place; empty where none did."""


def find_removed_topic_by_name(memory: AutoMemory, name: str) -> RemovedTopic | None:
    """The memory that the folder of `memory` once had under a path, with or without `.md`; None
    where the history has none.
    """
    for path in dict.fromkeys((name, f"{name.removesuffix('.md')}.md", make_file_name(name))):
        change = next(iter(memory.folder.history.log(path, 1)), None)
        if change is None or memory.read_present_bytes(path) is not None:
            continue
        parent = memory.folder.history.find_parent_id(change.id)
        data = memory.folder.history.read_file(path, parent) if parent else None
        if data is not None:
            return RemovedTopic(
                parse_topic(path, data), change, _find_successor(memory, path, change)
            )
    return None


def list_removed_paths(memory: AutoMemory) -> tuple[str, ...]:
    """Paths of the memories that the folder once had, the one removed last first."""
    named = dict.fromkeys(
        path for change in memory.folder.history.iter_changes() for path in change.paths
    )
    return tuple(
        path for path in named if is_memory_file(path) and memory.read_present_bytes(path) is None
    )


class ForgottenUserQuotes:
    """What the user said and a memory rested on which they took out, and on which none rests that
    is there now. Read from the reasons of the changes alone, and once for each state of the
    history: a prompt waits for it.
    """

    def __init__(self, memory: AutoMemory) -> None:
        self._memory = memory
        self._head = ""
        self._words: frozenset[str] = frozenset()

    def list_words(self) -> frozenset[str]:
        """Return them, as of the last scan of the folder. Raises StoreError."""
        head = self._memory.folder.history.find_newest_id()
        if head != self._head:
            self._words, self._head = _list_forgotten_words(self._memory), head
        return self._words


def _list_forgotten_words(memory: AutoMemory) -> frozenset[str]:
    present = memory.folder.known_paths()
    kept: set[str] = set()
    forgotten: set[str] = set()
    is_forgotten: dict[str, bool] = {}
    for change in islice(memory.folder.history.iter_changes(), _MAX_CHANGES):
        removed = [path for path in change.paths if path not in present and is_memory_file(path)]
        is_kept = any(path in present for path in change.paths)
        is_replaced = is_kept or change.why.actor not in _DELIBERATE_ACTORS
        for path in removed:
            is_forgotten.setdefault(path, not is_replaced)
        if is_kept:
            kept.add(change.why.quote)
        elif any(is_forgotten[path] for path in removed):
            forgotten.add(change.why.quote)
    return frozenset(words for words in forgotten - kept if len(words) >= _MIN_CHARS)


def _find_successor(memory: AutoMemory, path: str, change: RecordedChange) -> str:
    for other in change.paths:
        data = memory.folder.history.read_file(other, change.id)
        if data is not None and path in parse_topic(other, data).provenance.replaces:
            return other
    return ""
