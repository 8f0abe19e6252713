"""The search for memories of one folder that say the same as a statement or speak against it: built
once, step by step, and told of what changes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.statement_comparison import RelatedStatementSearch


class FolderStatementSearch:
    """Used from the folder's thread, but for the steps of `prepare`."""

    def __init__(self, folder: MemoryFolder) -> None:
        self._folder = folder
        self._search = RelatedStatementSearch()
        self._steps: Iterator[None] | None = None
        """What is left to do until the search knows `_headers`; None before the first question."""
        self._stepping = threading.Lock()
        self._headers: Mapping[str, MemoryHeader] = {}
        self._version = 0

    def get(self) -> RelatedStatementSearch:
        """The search, in what the folder holds now. Raises StoreError."""
        heads, version = self._folder.headers_by_path(), self._folder.listing_version
        if self._steps is None:
            self._begin(heads, version)
        while self._do_step():
            pass
        if self._version != version and not self._replace_edited(heads):
            self._search.set_memories(heads.values())
        self._headers, self._version = heads, version
        return self._search

    def prepare(self) -> Iterator[None]:
        """Steps that build the search, for another thread. Raises StoreError."""
        if self._steps is None:
            self._begin(self._folder.headers_by_path(), self._folder.listing_version)
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
        edits = self._folder.list_edits_since(self._version)
        if edits is None:
            return False
        return self._search.replace_memories(
            [self._headers[path] for path in edits if path in self._headers],
            [heads[path] for path in edits if path in heads],
        )
