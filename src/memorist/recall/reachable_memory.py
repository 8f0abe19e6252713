"""The memories that hold in a project: its own, and those of the user that hold in every project,
whose paths begin with `everywhere/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.client_rules import (
    ClientRule,
    ClientRuleComparison,
    compare_memories_with_client_rules,
)
from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.team_memory import is_team_path
from memorist.store.memory_uses import MemoryUse, record_memory_uses
from memorist.store.sqlite_database import Connection


def compare_memory_with_client_rules(
    memory: AutoMemory, rules: Sequence[ClientRule]
) -> dict[str, ClientRuleComparison]:
    """Return what an agent's own rules say to each memory, by path; the team's are left out.

    A memory of more than one line says more than a rule, and is never repeated by one. Raises
    StoreError.
    """
    if not rules or not memory.folder.exists:
        return {}
    own = {
        topic.path: topic for topic in memory.read_memory_files() if not is_team_path(topic.path)
    }
    found = compare_memories_with_client_rules(
        {path: topic.one_line_text for path, topic in own.items()}, rules
    )
    return {
        path: replace(each, is_repeated=False) if "\n" in own[path].body.strip() else each
        for path, each in found.items()
    }


class ReachableMemory:
    """What recall reads in one project. Every method raises StoreError when the disk refuses."""

    def __init__(self, memory: AutoMemory) -> None:
        self.own = memory
        """The project's own memory."""
        self._found: list[tuple[str, Mapping[str, MemoryHeader]]] = []
        """The headers of each folder, as they were last joined."""
        self._joined: Mapping[str, MemoryHeader] = {}

    def list_memories_with_prefix(self) -> Iterator[tuple[str, AutoMemory]]:
        """The memories that have a folder, each with the prefix of its paths; the project's
        first.
        """
        for prefix, memory in self.own.memories_by_prefix.items():
            if memory.folder.exists:
                yield prefix, memory

    def find_memory_and_path(self, path: str) -> tuple[AutoMemory, str]:
        """The memory that a path is of, and the path there."""
        if self.own.everywhere is not None and path.startswith(EVERYWHERE_PREFIX):
            return self.own.everywhere, path.removeprefix(EVERYWHERE_PREFIX)
        return self.own, path

    def read_memory_with_suspicions(self, path: str) -> tuple[MemoryFile, tuple[str, ...]]:
        """A memory, whose path is the one it has in its own folder, and why a model may not see it
        (empty where it may). Raises InputError.
        """
        memory, path = self.find_memory_and_path(path)
        return memory.read_memory_with_suspicions(path)

    def headers(self) -> Mapping[str, MemoryHeader]:
        """The header of each memory, by path; the same mapping while nothing changes."""
        found = [
            (prefix, memory.headers_by_path())
            for prefix, memory in self.list_memories_with_prefix()
        ]
        known = [id(heads) for _, heads in self._found]
        if [id(heads) for _, heads in found] != known:
            self._found = found
            self._joined = _join_headers(found)
        return self._joined

    def visible_headers(self) -> dict[str, MemoryHeader]:
        """The headers that a model may see, by path."""
        return {
            prefix + head.path: _with_prefix(head, prefix)
            for prefix, memory in self.list_memories_with_prefix()
            for head in memory.visible_headers()
        }

    def list_memories_in_client_rules(self, rules: Sequence[ClientRule]) -> frozenset[str]:
        """Paths of the memories that an agent has as one of these rules of its own."""
        return frozenset(
            prefix + path
            for prefix, memory in self.list_memories_with_prefix()
            for path, each in compare_memory_with_client_rules(memory, rules).items()
            if each.is_repeated
        )

    def scan_once(self, *, at_prompt: bool = False) -> AbstractContextManager[None]:
        """Scan each folder only once within this context; `at_prompt` somebody waits."""
        return self.own.scan_once(at_prompt=at_prompt)

    def rescan_if_changed(self, paths: Iterable[str]) -> bool:
        """Scan a folder where one of these files is not as its last scan saw it; returns whether
        that was so.
        """
        found: dict[AutoMemory, list[str]] = {}
        for memory, path in map(self.find_memory_and_path, paths):
            found.setdefault(memory, []).append(path)
        changed = [memory.folder.rescan_if_changed(each) for memory, each in found.items()]
        return any(changed)

    def record_uses(self, database: Connection, uses: Iterable[MemoryUse]) -> None:
        """Record uses in the ledger, each with the folder of its memory."""
        found: dict[AutoMemory, list[MemoryUse]] = {}
        for use in uses:
            memory, path = self.find_memory_and_path(use.path)
            found.setdefault(memory, []).append(replace(use, path=path))
        for memory, each in found.items():
            record_memory_uses(database, str(memory.layout.folder), each)


def _join_headers(
    found: Sequence[tuple[str, Mapping[str, MemoryHeader]]],
) -> Mapping[str, MemoryHeader]:
    if [prefix for prefix, _ in found] == [""]:
        return found[0][1]
    return {
        prefix + path: _with_prefix(head, prefix)
        for prefix, heads in found
        for path, head in heads.items()
    }


def _with_prefix(head: MemoryHeader, prefix: str) -> MemoryHeader:
    return replace(head, path=prefix + head.path) if prefix else head
