"""Scan of a memory folder: changes are detected, judged, recorded in the history and shown in the
index (AM-6, AM-10).

Changes by other programs (an editor, an agent's own tools) are recorded as theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Self

import msgspec

from memorist.auto_memory.changes import Pending, Why, others
from memorist.auto_memory.history.run import History, blob_id
from memorist.auto_memory.index import Index, IndexLimits, Uses, build
from memorist.auto_memory.manifest import HEAD_BYTES, INDEX_NAME, MAX_FILE, Head
from memorist.auto_memory.scanned import NOTHING, RULES, Difference, Scan, Seen, difference, lifts, ours, seen, seen_again
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.shared import TEAM, own_heads
from memorist.auto_memory.topic import encode
from memorist.errors import StoreError
from memorist.ports import Clock, FileFacts, Files
from memorist.store.files import discard, forbidden, present
from memorist.store.layout import MemoryLayout
from memorist.store.locks import held

STEP = 1_000
"""Files scanned per batch where many are new: half a second under the lock, for which others wait
up to ten.
"""

Used = Callable[[], Mapping[str, Uses]]
"""Returns each memory's usage, by path."""


class ScannedFolder:
    """A memory folder as it is read. Used from one thread; another one needs `clone_for_thread`."""

    def __init__(
        self,
        where: MemoryLayout,
        *,
        files: Files,
        clock: Clock,
        settings: AutoMemorySettings,
        used: Used = dict,
    ) -> None:
        self.where = where
        self._files = files
        self._clock = clock
        self._settings = settings
        self._used = used
        self.history = History(where.history)
        self._scan: Scan | None = None
        self._judged: dict[str, Seen] = {}
        """Files that were read and judged before the lock was taken."""
        self._still: bool | None = None
        """Within `scan_once`: whether the folder was scanned. None outside of it."""

    @property
    def exists(self) -> bool:
        """Whether there is a memory folder."""
        facts = self._files.facts(self.where.folder)
        return facts is not None and (facts.is_folder or facts.is_link)

    def beside(self) -> Self:
        """Open the same folder for another thread; the two share only what is on disk."""
        uses = self.uses()
        return type(self)(self.where, files=self._files, clock=self._clock, settings=self._settings, used=lambda: uses)

    def heads(self) -> list[Head]:
        """Return each memory's header, sorted by path.

        Changes by other programs are recorded first. Raises StoreError.
        """
        self.refresh()
        scan = self._scan or Scan()
        return [seen.head for _, seen in sorted(scan.files.items()) if seen.head is not None]

    def marks(self) -> dict[str, str]:
        """Return, by path, a mark that changes when the memory's file does."""
        self.refresh()
        files = self._known().files
        return {path: seen.blob or f"{seen.size}-{seen.modified_ns}" for path, seen in sorted(files.items()) if seen.head is not None}

    def refresh(self) -> Difference:
        """Scan for changes: stats every file and reads those that changed."""
        if self._still:
            return Difference((), ())
        found = self.unseen()
        if found:
            with self._turn():
                found = self.unseen()
                if found or self._pending() is not None:
                    self._take(self._known(), found)
        if self._still is not None:
            self._still = True
        return found

    @contextmanager
    def still(self) -> Iterator[None]:
        """Scan the folder only once within this context, however often it is queried."""
        self._still = False
        try:
            yield
        finally:
            self._still = None

    def unseen(self) -> Difference:
        """Compare the folder with the last scan."""
        return difference(self._known().files, self.present())

    def refresh_in_steps(self, stopping: Callable[[], bool]) -> bool:
        """Do the same as `refresh` for many new files, in batches.

        Files are judged before the lock is taken, which is held for `SCAN_BATCH` of them at a time.
        Returns False when stopped; finished batches stand.
        """
        while found := self.unseen():
            own = self._own(self._known())
            step = found.changed[:STEP]
            for path in step:
                if stopping():
                    return False
                read = self._read_seen(path, foreign=path not in own)
                if read is not None:
                    self._judged[path] = read[0]
            with self._turn():
                found = self.unseen()
                rest = frozenset(found.changed).difference(step)
                self._take(self._known(), Difference(tuple(path for path in found.changed if path not in rest), found.gone), rest)
            self._judged.clear()
            if not rest:
                break
        return True

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the folder's lock; reload the scan and repair what a killed process left."""
        with held(self.where.lock):
            if self.history.settle():
                discard(self._files, self.where.scan)  # a new history needs every file
            self._scan = None
            done = False
            try:
                yield
                done = True
            finally:
                if not done:
                    self._scan = None  # may be ahead of what was recorded: reload from disk

    def foreign(self, path: str) -> bool:
        """Whether its claim of origin is not believed; see `ScannedFile.foreign`."""
        return self._known().files.get(path, NOTHING).foreign

    def present(self) -> list[tuple[str, FileFacts]]:
        """Return path and facts of everything in the folder except hidden files."""
        try:
            return list(self._files.scan(self.where.folder))
        except FileNotFoundError:
            return []

    def _known(self) -> Scan:
        if self._scan is None:
            self._scan = self._load()
        return self._scan

    def _load(self) -> Scan:
        try:
            found = msgspec.json.decode(self._files.read(self.where.scan), type=Scan)
        except (FileNotFoundError, msgspec.DecodeError):
            return Scan(self._settings.scan_lines)
        return found if (found.lines, found.rules) == (self._settings.scan_lines, RULES) else Scan(self._settings.scan_lines)

    def _take(self, known: Scan, found: Difference, rest: Collection[str] = ()) -> None:
        """Read what changed, record it in the history, and update the index. Requires the lock.

        `rest` are files left to a later batch; the index is updated with the last batch only.
        """
        files = dict(known.files)
        for path in found.gone:
            files.pop(path, None)
        data: dict[str, bytes] = {}
        pending = self._pending()
        passing = () if pending is None else tuple(pending.after)
        own = self._own(known, *passing)
        for path in found.changed:
            read = self._read_seen(path, foreign=path not in own)
            if read is not None and lifts(files.get(path, NOTHING), read[0]) and path not in passing:
                read = self._read_seen(path, foreign=True)
            files.pop(path, None)
            if read is not None:
                files[path], data[path] = read
        # The history first, then the scan file: after a kill in between, the next scan sees the same
        # difference again and finds nothing new to record.
        self._scan = Scan(known.lines, files=files, whole=not rest)
        self._record(data, rest)
        self._files.write(self.where.scan, msgspec.json.encode(self._known()))

    def _own(self, known: Scan, *passing: str) -> frozenset[str]:
        """Return the paths whose claim of origin is believed; after a partial scan, the history is
        used too.
        """
        return ours(known, *passing, *(() if known.files and known.whole else self._logged()))

    def _logged(self) -> list[str]:
        """Return, from the history, the paths that passed the gate at least once."""
        return [path for recorded in self.history.log() if recorded.why.actor != "other" for path in recorded.paths]

    def _read_seen(self, path: str, *, foreign: bool = False) -> tuple[Seen, bytes] | None:
        place = self.where.folder / path
        facts = self._files.facts(place)
        if facts is None or not facts.is_file:
            return None
        whole = facts.size <= MAX_FILE
        try:
            data = self._files.read(place, limit=MAX_FILE + 1 if whole else HEAD_BYTES)
        except FileNotFoundError:
            return None
        blob = blob_id(data) if whole else ""
        for before in (self._judged.get(path), self._known().files.get(path)):
            if before is not None and before.judged and (before.blob, before.foreign) == (blob, foreign):
                return seen_again(before, facts), data
        return seen(path, facts, data, blob=blob, lines=self._settings.scan_lines, foreign=foreign), data

    def _record(self, data: Mapping[str, bytes], rest: Collection[str]) -> None:
        """Record what differs from the history's newest state.

        The reason is that of the pending change where one explains it, else a change by another
        program.
        """
        scan = self._known()
        known = self.history.files()
        blobs = {path: seen.blob for path, seen in scan.files.items() if seen.blob}
        changes: dict[str, bytes | None] = {path: None for path in known if path not in blobs and path not in rest}
        for path, blob in blobs.items():
            if known.get(path) != blob:
                changes[path] = data[path] if path in data else present(self._files, self.where.folder / path)
        pending = self._pending()
        mine = {path for path in changes if pending is not None and pending.after.get(path) == blobs.get(path, "")}
        if pending is not None and mine:
            self.history.record({path: changes.pop(path) for path in mine}, pending.why, self._clock.now(), undoes=pending.undoes)
        why = others(changes, known) if changes else Why(actor="memorist", what="index")
        if not rest:
            changes |= self._reindexed_if_writable()
        if changes:
            self.history.record(changes, why, self._clock.now())
        if pending is not None:
            discard(self._files, self.where.pending)

    def _pending(self) -> Pending | None:
        try:
            return msgspec.json.decode(self._files.read(self.where.pending), type=Pending)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _reindexed_if_writable(self) -> dict[str, bytes]:
        """Rebuild the indexes; in a read-only folder they are built only where they are shown."""
        try:
            return self._reindexed()
        except StoreError as error:
            if forbidden(error):
                return {}
            raise

    def _reindexed(self) -> dict[str, bytes]:
        """Rebuild the indexes that changed; returns their bytes for the history."""
        made: dict[str, bytes] = {}
        for below in ("", TEAM) if self._shares() else ("",):
            present = self.index_text(below)
            text = self.index(present, below).text
            if text != present:
                made[below + INDEX_NAME] = encode(text)
                self._files.write(self.where.folder / below / INDEX_NAME, encode(text))
                self._note(below + INDEX_NAME)
        return made

    def _shares(self) -> bool:
        """Whether there is a team folder; a link in its place is not one."""
        facts = self._files.facts(self.where.folder / TEAM)
        return facts is not None and facts.is_folder

    def index(self, present: str | None = None, below: str = "") -> Index:
        """Build the index, with its report of lines, bytes and what does not fit.

        `prefix` is `team/` for the team's index.
        """
        scan = self._known()
        heads = own_heads((seen.head for seen in scan.files.values() if seen.head is not None), below)
        limits = IndexLimits(lines=self._settings.index_lines, size=self._settings.index_bytes, line=self._settings.index_line)
        text = self.index_text(below) if present is None else present
        uses = {path.removeprefix(below): each for path, each in self.uses().items() if path.startswith(below)}
        return build(heads, text, uses=uses, now=self._clock.now(), limits=limits)

    def uses(self) -> Mapping[str, Uses]:
        """Return each memory's usage; empty when the database fails, as the index works without it.
        """
        try:
            return self._used()
        except StoreError:
            return {}

    def index_text(self, below: str = "") -> str:
        """Return the index on disk; empty when there is none."""
        return (present(self._files, self.where.folder / below / INDEX_NAME, limit=MAX_FILE) or b"").decode("utf-8", "surrogateescape")

    def _note(self, path: str) -> None:
        """Take a file written by us into the scan, so that the next scan does not read it again."""
        read = self._read_seen(path)
        files = dict(self._known().files)
        if read is None:
            files.pop(path, None)
        else:
            files[path] = read[0]
        self._scan = Scan(self._known().lines, files=files, whole=self._known().whole)

    def close(self) -> None:
        """Close the history's files."""
        self.history.close()
