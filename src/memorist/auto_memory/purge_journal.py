"""What is being forgotten for good, until that is done: a command that was killed at any step is
finished by giving it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec import Struct

from memorist.auto_memory.memory_file import MemoryFile
from memorist.core.json_decoding import decode_json
from memorist.ports import FileSystem
from memorist.store.disk_files import remove_if_exists
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock


class PendingPurge(Struct, frozen=True):
    """One memory to forget: its path, the names it went by, its words in every version, and the
    sessions that it came from.
    """

    path: str
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


def build_pending_purge(path: str, versions: Sequence[MemoryFile]) -> PendingPurge:
    """The entry of a memory with these versions."""
    return PendingPurge(
        path,
        tuple({topic.name for topic in versions}),
        tuple(
            {
                text
                for topic in versions
                for text in (topic.body, topic.description, topic.provenance.quote, topic.path)
            }
        ),
        tuple({topic.provenance.session for topic in versions} - {""}),
    )


class PurgeJournal:
    """The entries of one memory folder that are not wholly forgotten. The file holds their words,
    is private to the user, and is the last copy that goes. Changed under the folder's lock, which
    the caller does not hold: another process may forget something else.
    """

    def __init__(self, files: FileSystem, layout: MemoryLayout) -> None:
        self._files = files
        self.path, self._lock = layout.purge_journal, layout.lock

    def load(self) -> tuple[PendingPurge, ...]:
        """Empty where nothing is unfinished, or the file is damaged."""
        return self._read() or ()

    def is_damaged(self) -> bool:
        """Whether what is unfinished can be told no more."""
        return self._read() is None

    def _read(self) -> tuple[PendingPurge, ...] | None:
        try:
            return decode_json(self._files.read(self.path), as_type=tuple[PendingPurge, ...])
        except FileNotFoundError:
            return ()
        except msgspec.DecodeError:
            return None

    def merge_with_unfinished(self, entries: Iterable[PendingPurge]) -> tuple[PendingPurge, ...]:
        """Note these; returns them with what an unfinished run noted of them. Raises StoreError."""
        given = tuple(entries)
        with hold_lock(self._lock):
            noted = {each.path: each for each in self.load()}
            for each in given:
                before = noted.get(each.path, PendingPurge(each.path))
                noted[each.path] = PendingPurge(
                    each.path,
                    tuple({*before.names, *each.names}),
                    tuple({*before.texts, *each.texts}),
                    tuple({*before.sessions, *each.sessions}),
                )
            self._files.write(self.path, msgspec.json.encode(tuple(noted.values())))
        return tuple(noted[each.path] for each in given)

    def find_unfinished_path(self, name: str) -> str:
        """The path of the unfinished memory that is called so; empty for none."""
        wanted = name.removesuffix(".md").casefold()
        for each in self.load():
            if wanted in (
                each.path.removesuffix(".md").casefold(),
                *(called.casefold() for called in each.names),
            ):
                return each.path
        return ""

    def remove(self, paths: Collection[str]) -> None:
        """These are wholly forgotten. Raises StoreError."""
        with hold_lock(self._lock):
            left = tuple(each for each in self.load() if each.path not in paths)
            if left:
                self._files.write(self.path, msgspec.json.encode(left))
            else:
                remove_if_exists(self._files, self.path)
