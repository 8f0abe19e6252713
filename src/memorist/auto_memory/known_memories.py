"""What the memories of one folder say: each file is read once, and those that say the same as a
statement or speak against it are found by a search that is built once and told of what changes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping

from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.memory_reconciliation import find_memory_saying_the_same
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.errors import InputError


class KnownMemories:
    """Used from the folder's thread, but for the steps of `prepare_search`."""

    def __init__(self, folder: MemoryFolder) -> None:
        self._folder = folder
        self._files: dict[str, tuple[str, MemoryFile]] = {}
        """Memories by path, each with the mark by which an unchanged file is recognised."""
        self._search = RelatedStatementSearch()
        self._steps: Iterator[None] | None = None
        """What is left to do until the search knows `_headers`; None before the first question."""
        self._stepping = threading.Lock()
        self._headers: Mapping[str, MemoryHeader] = {}
        self._version = 0

    def read(self, paths: Iterable[str]) -> list[MemoryFile]:
        """Read these memories, each only where its file changed since the last time. Raises
        StoreError.
        """
        marks = self._folder.file_fingerprints()
        found: list[MemoryFile] = []
        for path in paths:
            mark = marks.get(path, "")
            known = self._files.get(path)
            if known is None or known[0] != mark:
                try:
                    known = self._files[path] = (mark, self._folder.read_memory_file(path))
                except InputError:
                    continue
            found.append(known[1])
        return found

    def find_related(self, said: str) -> list[MemoryFile]:
        """The memories that say the same as a statement or speak against it. Raises StoreError."""
        return self.read(self.get_search().find_related_memories(said))

    def find_saying_the_same(self, change: MemoryChange) -> str:
        """Path of the memory that says what a new one would say; empty where none does. Raises
        StoreError.
        """
        if change.before is not None or change.after is None:
            return ""
        return find_memory_saying_the_same(
            change, self.find_related(change.memory_after.one_line_text)
        )

    def get_search(self) -> RelatedStatementSearch:
        """The search by all headers, in what the folder holds now: no file is read. Raises
        StoreError.
        """
        heads, version = self._folder.headers_by_path(), self._folder.listing.version
        if self._steps is None:
            self._begin(heads, version)
        while self._do_step():
            pass
        if self._version != version and not self._replace_edited(heads):
            self._search.set_memories(heads.values())
        self._headers, self._version = heads, version
        return self._search

    def prepare_search(self) -> Iterator[None]:
        """Steps that build the search, for another thread. Raises StoreError."""
        if self._steps is None:
            self._begin(self._folder.headers_by_path(), self._folder.listing.version)
        return self._iter_steps()

    def _iter_steps(self) -> Iterator[None]:
        while self._do_step():
            yield

    def _begin(self, heads: Mapping[str, MemoryHeader], version: int) -> None:
        self._headers, self._version = heads, version
        self._steps = self._search.set_memories_in_steps(heads.values())

    def _do_step(self) -> bool:
        """Do a step; returns whether there was one left."""
        with self._stepping:
            return self._steps is not None and next(self._steps, True) is None

    def _replace_edited(self, heads: Mapping[str, MemoryHeader]) -> bool:
        """Tell the search what changed; False where that is not known."""
        edits = self._folder.listing.list_edits_since(self._version)
        if edits is None:
            return False
        return self._search.replace_memories(
            [self._headers[path] for path in edits if path in self._headers],
            [heads[path] for path in edits if path in heads],
        )
