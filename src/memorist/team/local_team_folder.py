"""The shared memories of this machine: their texts as sent, what stays here, and whether a name can
be a file here (TM-3, TM-4).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_manifest import MAX_FILE_BYTES
from memorist.auto_memory.team_memory import TEAM_PREFIX, is_team_path
from memorist.errors import StoreError
from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists
from memorist.team.memory_merge import name_conflict_copy
from memorist.team.shared_memory_form import (
    UnshareableMemory,
    build_local_file_keeping_pin,
    compute_text_checksum,
    find_sharing_problem,
    to_shared_text,
)
from memorist.team.shared_names import SharedNames, find_shared_name_problem

# Collect what a pull is about to write, name by name.


class IncomingTeamChanges(Struct, frozen=True, kw_only=True):
    """File changes in order, and what will be known of each name once they are written."""

    changes: tuple[MemoryChange, ...] = ()
    merged: tuple[str, ...] = ()
    received: tuple[str, ...] = ()
    conflict_copies: tuple[tuple[str, str], ...] = ()
    texts: dict[str, str] = {}
    """Name to the remote text."""
    bad: tuple[tuple[str, str], ...] = ()


class LocalSharedMemory(Struct, frozen=True):
    """One memory of this machine: the file and its shared text."""

    data: bytes
    text: str


def add_local_copy_to_changes(
    incoming: IncomingTeamChanges,
    key: str,
    local: LocalSharedMemory,
    copy: LocalSharedMemory | None,
) -> IncomingTeamChanges:
    """Add a copy of the local memory under another name, ahead of everything else.

    `copy` is what already has that name, as after a killed run.
    """
    other = name_conflict_copy(key, local.text)
    change = MemoryChange(
        path=TEAM_PREFIX + other, before=copy.data if copy else None, after=local.data
    )
    changes = (
        incoming.changes
        if copy is not None and copy.text == local.text
        else (change, *incoming.changes)
    )
    return replace(
        incoming, changes=changes, conflict_copies=(*incoming.conflict_copies, (key, other))
    )


def add_received_or_merged_text(
    incoming: IncomingTeamChanges, key: str, text: str, both: str | None, before: bytes | None
) -> IncomingTeamChanges:
    """Add one incoming text: in place of the local one (also if `both` is None: they could not be
    merged), or both merged.
    """
    change = MemoryChange(
        path=TEAM_PREFIX + key,
        before=before,
        after=build_local_file_keeping_pin(text if both is None else both, before),
    )
    incoming = replace(incoming, changes=(*incoming.changes, change))
    if both is None:
        return incoming
    if both == text:
        return replace(incoming, received=(*incoming.received, key))
    return replace(incoming, merged=(*incoming.merged, key))


class LocalTeamSnapshot(Struct, frozen=True, kw_only=True):
    """The folder `team/` at one time, by name."""

    data: dict[str, bytes] = {}
    """The files as they are."""
    texts: dict[str, str] = {}
    """Their shared texts."""
    hashes: dict[str, str] = {}
    unshareable: tuple[UnshareableMemory, ...] = ()
    links: tuple[str, ...] = ()
    """Links in the folder, which are not followed: what stood in their place was not deleted."""

    def find_names_behind_links(self, keys: Iterable[str]) -> set[str]:
        """Those of the names that a link hides."""
        return {
            key
            for key in keys
            if any(key == link or key.startswith(f"{link}/") for link in self.links)
        }

    def find_memory(self, key: str) -> LocalSharedMemory | None:
        """Return one memory; None if there is none of that name."""
        return LocalSharedMemory(self.data[key], self.texts[key]) if key in self.data else None


class ProjectTeamFolderReader:
    """One project's team folder. Unchanged files are not read again."""

    def __init__(self, memory: AutoMemory, files: FileSystem, limit: int) -> None:
        self._memory = memory
        self._files = files
        self._limit = limit
        self._read: dict[bytes, tuple[str, str, str]] = {}

    def read_texts(self) -> LocalTeamSnapshot:
        """Read the current memories. Raises StoreError."""
        found = LocalTeamSnapshot()
        reviewed = self._memory.reviewed_digests()
        staying = []
        names = SharedNames()
        before, self._read = self._read, {}
        for head in self._memory.headers():
            if not is_team_path(head.path):
                continue
            key = head.path.removeprefix(TEAM_PREFIX)
            data = read_if_exists(
                self._files, self._memory.layout.folder / head.path, limit=MAX_FILE_BYTES + 1
            )
            if data is None:
                continue
            self._read[data] = text, checksum, why = before.get(data) or self._judge_file(data)
            if head.doubts and head.content_digest not in reviewed:
                why = why or f"it is withheld: {'; '.join(head.doubts)}"
            why = why or find_shared_name_problem(key, names)
            names.add(key)
            found.data[key], found.texts[key], found.hashes[key] = data, text, checksum
            if why:
                staying.append(UnshareableMemory(key, why))
        return LocalTeamSnapshot(
            data=found.data,
            texts=found.texts,
            hashes=found.hashes,
            unshareable=tuple(staying),
            links=tuple(
                path.removeprefix(TEAM_PREFIX)
                for path in self._memory.folder.list_links()
                if is_team_path(path)
            ),
        )

    def _judge_file(self, data: bytes) -> tuple[str, str, str]:
        why = find_sharing_problem(data, limit=self._limit)
        try:
            text = to_shared_text(data)
        except UnicodeDecodeError:
            text = data.decode("utf-8", "surrogateescape")
        return text, compute_text_checksum(text), why

    def find_shared_name_problem(self, key: str, present: SharedNames) -> str:
        """Return why a remote name cannot be a file here; empty if it can.

        It is checked again when the file is written.
        """
        return find_shared_name_problem(key, present) or self._location_problem(key)

    def _location_problem(self, key: str) -> str:
        folder = self._memory.layout.folder
        try:
            root = self._files.resolve(folder) / TEAM_PREFIX.rstrip("/")
            if self._files.resolve(folder / TEAM_PREFIX / key) != root / key:
                return "A link leads out of the folder."
            return self._name_collision(folder / TEAM_PREFIX, key)
        except StoreError as error:
            return f"The location cannot be read. {error}"

    def _name_collision(self, folder: Path, key: str) -> str:
        *above, name = key.split("/")
        facts = self._files.lstat(folder.joinpath(*above, name))
        if facts is not None and not facts.is_file:
            return "Something that is no file has that name here."
        for depth in range(len(above)):
            facts = self._files.lstat(folder.joinpath(*above[: depth + 1]))
            if facts is not None and not facts.is_folder:
                return "A file has the name of one of its folders here."
        return ""
