"""The memory folder on disk.

Every change goes through `apply_changes`: checked, written, indexed, and recorded in the history
(AM-10, SF-4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.changes import Change, Pending, Why, bad_path
from memorist.auto_memory.history.rewrite.run import Rewrite
from memorist.auto_memory.history.run import blob_id
from memorist.auto_memory.manifest import INDEX_NAME, MAX_FILE, too_large
from memorist.auto_memory.scan.run import ScannedFolder, Used
from memorist.auto_memory.scanned import difference
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.shared import TEAM, TEAM_INDEX, Shared, is_shared
from memorist.auto_memory.topic import Topic, parse
from memorist.errors import InputError, WriteConflict
from memorist.ports import Clock, Files
from memorist.store.files import discard, exchange, present
from memorist.store.layout import MemoryLayout
from memorist.store.locks import held

# Name prefixes of derived files beside the history.
_MADE = ("recall.sqlite", "history.damaged")


class MemoryFolder(ScannedFolder):
    """One project's memory folder. Nothing is created on disk before the first memory is written.
    """

    def __init__(
        self,
        where: MemoryLayout,
        *,
        files: Files,
        clock: Clock,
        settings: AutoMemorySettings,
        used: Used = dict,
        owner: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(where, files=files, clock=clock, settings=settings, used=used)
        self._owner = owner
        """Called before the first write: raises InputError where the memory belongs to another
        project.
        """

    def read(self, path: str) -> Topic:
        """Read one memory. Raises InputError when there is none at this path, or it is too large.
        """
        problem = bad_path(path)
        if problem:
            raise InputError(f"{path!r} names no memory. {problem}")
        facts = self._files.facts(self.where.folder / path)
        if facts is None or not facts.is_file or not self._inside(path):
            raise InputError(f"there is no memory {path}; `memorist memory list` shows all")
        if size := too_large(facts.size):
            raise InputError(f"{path} has {size}; split it")
        return parse(path, present(self._files, self.where.folder / path) or b"")

    def shared(self) -> tuple[Shared, ...]:
        """Read the team's memories; none where there is no team folder. Raises StoreError."""
        if self._files.facts(self.where.folder / TEAM) is None:
            return ()
        paths = (head.path for head in self.heads() if is_shared(head.path) and head.size <= MAX_FILE)
        return tuple(Shared(path, self.read(path).body) for path in paths)

    def _inside(self, path: str) -> bool:
        real = self._files.resolve(self.where.folder)
        return self._files.resolve(self.where.folder / path) == real / path

    def apply(self, changes: Sequence[Change], why: Why, *, undoes: str = "") -> str:
        """Write the changes, update the index, and record everything as one change of the history.

        Returns the change's id, empty when nothing changed. Raises WriteConflict when a file is not
        as its change expects, InputError for a path that cannot be a memory's, StoreError when the
        disk fails. Then either nothing was written, or the next scan records what was written with
        the same reason.
        """
        if self._owner is not None and any(change.before != change.after for change in changes):
            self._owner()
            self._owner = None
        with self._turn():
            found = self.unseen()
            if found:
                self._take(self._known(), found)
            real = [change for change in changes if change.before != change.after]
            if not real:
                return ""
            self._check(real)
            after = {change.path: "" if change.after is None else blob_id(change.after) for change in real}
            # Order matters: the pending file lets the next scan give the reason for whatever was
            # written when the process is killed before the history has the change.
            self._files.write(self.where.pending, msgspec.json.encode(Pending(why=why, after=after, undoes=undoes)))
            for change in real:
                exchange(self._files, self.where.folder / change.path, change.before, change.after)
                self._note(change.path)
            written = {change.path: change.after for change in real} | self._reindexed()
            id = self.history.record(written, why, self._clock.now(), undoes=undoes)
            discard(self._files, self.where.pending)
            self._files.write(self.where.scan, msgspec.json.encode(self._known()))
            return id

    def _check(self, changes: Sequence[Change]) -> None:
        """Check every path and every current content before the first write."""
        taken = frozenset(path for path in self._known().files if path != INDEX_NAME)
        for change in changes:
            problem = bad_path(change.path, taken)
            if problem:
                raise InputError(f"{change.path!r} cannot be a memory. {problem}")
            if not self._inside(change.path):
                raise InputError(f"{change.path} leads out of the memory folder through a link; remove the link")
            if size := too_large(len(change.after or b"")):
                raise InputError(f"{change.path} would have {size}; split it")
            if present(self._files, self.where.folder / change.path) != change.before:
                raise WriteConflict(f"{change.path} changed since it was read; read it again and repeat the change.")

    def purge(self, paths: Sequence[str]) -> int:
        """Remove every copy of these files: folder, index, history and derived files.

        Returns the number of changes that contained them. The history is rewritten beside the old
        one, which other processes may go on writing to; only what they added meanwhile is copied
        under the lock.
        """
        # Lock order: the purge lock outside, the folder's lock inside.
        with held(self.where.purging):
            with self._turn():
                rewrite = Rewrite(self.history, paths, derived=(INDEX_NAME, TEAM_INDEX))
            rewrite.catch_up()
            with self._turn():
                for path in paths:
                    discard(self._files, self.where.folder / path)
                rewrite.catch_up()
                rewrite.put_in_place()
                # A history moved aside as damaged may contain them too.
                made = [
                    path for path in self._files.walk(self.where.state) if path.relative_to(self.where.state).parts[0].startswith(_MADE)
                ]
                known = self._known()
                for derived in (self.where.scan, self.where.pending, *made):
                    discard(self._files, derived)
                left = {path: seen for path, seen in known.files.items() if path not in (*paths, INDEX_NAME, TEAM_INDEX)}
                self._take(replace(known, files=left), difference(left, self.present()))
        return rewrite.touched
