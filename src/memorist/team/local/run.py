"""The shared memories of this machine: their texts as sent, what stays here, and whether a name can
be a file here (TM-3, TM-4).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.manifest import MAX_FILE
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.shared import TEAM, is_shared
from memorist.errors import StoreError
from memorist.ports import Files
from memorist.store.files import present
from memorist.team.arriving import Here
from memorist.team.keys import key_problem
from memorist.team.wire import Unshareable, digest, unshareable, wire


class LocalTexts(Struct, frozen=True, kw_only=True):
    """The folder `team/` at one time, by name."""

    data: dict[str, bytes] = {}
    """The files as they are."""
    texts: dict[str, str] = {}
    """Their shared texts."""
    hashes: dict[str, str] = {}
    staying: tuple[Unshareable, ...] = ()

    def here(self, key: str) -> Here | None:
        """Return one memory; None if there is none of that name."""
        return Here(self.data[key], self.texts[key]) if key in self.data else None


class Local:
    """One project's team folder. Unchanged files are not read again."""

    def __init__(self, memory: AutoMemory, files: Files, limit: int) -> None:
        self._memory = memory
        self._files = files
        self._limit = limit
        self._read: dict[bytes, tuple[str, str, str]] = {}

    def texts(self) -> LocalTexts:
        """Read the current memories. Raises StoreError."""
        found = LocalTexts()
        reviewed = self._memory.reviewed()
        staying = []
        before, self._read = self._read, {}
        for head in self._memory.heads():
            if not is_shared(head.path):
                continue
            key = head.path.removeprefix(TEAM)
            data = present(self._files, self._memory.where.folder / head.path, limit=MAX_FILE + 1)
            if data is None:
                continue
            self._read[data] = text, checksum, why = before.get(data) or self._judged(data)
            if head.doubts and head.seal not in reviewed:
                why = why or f"it is withheld: {'; '.join(head.doubts)}"
            why = why or key_problem(key, found.hashes)
            found.data[key], found.texts[key], found.hashes[key] = data, text, checksum
            if why:
                staying.append(Unshareable(key, why))
        return LocalTexts(data=found.data, texts=found.texts, hashes=found.hashes, staying=tuple(staying))

    def _judged(self, data: bytes) -> tuple[str, str, str]:
        why = unshareable(data, limit=self._limit)
        try:
            text = wire(data)
        except UnicodeDecodeError:
            text = data.decode("utf-8", "surrogateescape")
        return text, digest(text), why

    def key_problem(self, key: str, present: Collection[str]) -> str:
        """Return why a remote name cannot be a file here; empty if it can.

        It is checked again when the file is written.
        """
        return key_problem(key, present) or self._place_problem(key)

    def _place_problem(self, key: str) -> str:
        folder = self._memory.where.folder
        try:
            root = self._files.resolve(folder) / TEAM.rstrip("/")
            if self._files.resolve(folder / TEAM / key) != root / key:
                return "A link leads out of the folder."
            return self._taken(folder / TEAM, key)
        except StoreError as error:
            return f"The place cannot be looked at. {error}"

    def _taken(self, folder: Path, key: str) -> str:
        *above, name = key.split("/")
        facts = self._files.facts(folder.joinpath(*above, name))
        if facts is not None and not facts.is_file:
            return "Something that is no file has that name here."
        for depth in range(len(above)):
            facts = self._files.facts(folder.joinpath(*above[: depth + 1]))
            if facts is not None and not facts.is_folder:
                return "A file has the name of one of its folders here."
        return ""
