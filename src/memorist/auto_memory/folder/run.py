"""The memory folder on disk. Every change goes through `apply`: compared before it is written, indexed, and recorded in the history (AM-10, SF-4).

What others change (an editor, an agent's own tools, another program) is found by the next scan and recorded as theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from memorist.auto_memory.changes import Change, Pending, Why, bad_path, others
from memorist.auto_memory.history.run import History, blob_id
from memorist.auto_memory.index import Index, IndexLimits, Uses, build
from memorist.auto_memory.manifest import HEAD_BYTES, INDEX_NAME, MAX_FILE, Head, too_large
from memorist.auto_memory.scanned import NOTHING, RULES, Difference, Scan, Seen, difference, lifts, ours, seen
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.topic import Topic, encode, parse
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.ports import Clock, FileFacts, Files
from memorist.store.files import discard, exchange, present
from memorist.store.layout import MemoryLayout
from memorist.store.locks import held

_MADE = ("recall.sqlite", "history.damaged")  # how the names begin of what is made from the files, beside the history

Used = Callable[[], Mapping[str, Uses]]
"""Gives how often each memory was used, by path."""


class MemoryFolder:
    """One project's memory folder. Nothing is made on disk before the first memory is written."""

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
        self.where = where
        self._files = files
        self._clock = clock
        self._settings = settings
        self._used = used
        self._owner = owner
        """Asked before the first write: raises InputError where the memory is another project's."""
        self.history = History(where.history)
        self._scan: Scan | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a memory folder."""
        facts = self._files.facts(self.where.folder)
        return facts is not None and (facts.is_folder or facts.is_link)

    def heads(self) -> list[Head]:
        """What each memory says of itself, sorted by path; what others changed meanwhile is recorded first. Raises StoreError."""
        self.refresh()
        scan = self._scan or Scan()
        return [seen.head for _, seen in sorted(scan.files.items()) if seen.head is not None]

    def marks(self) -> dict[str, str]:
        """By path of each memory, a mark that changes when the file does."""
        self.refresh()
        files = self._known().files
        return {path: seen.blob or f"{seen.size}-{seen.modified_ns}" for path, seen in sorted(files.items()) if seen.head is not None}

    def refresh(self) -> Difference:
        """Look for what changed. Costs a look at each file and the reading of those that changed."""
        known = self._known()
        found = difference(known.files, self.present())
        if found:
            with self._turn():
                known = self._known()
                found = difference(known.files, self.present())
                self._take(known, found)
        return found

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the folder's lock; what another process did meanwhile is seen, and what a killed one left is put right."""
        with held(self.where.lock):
            if self.history.settle():
                discard(self._files, self.where.scan)  # a new history wants every file
            self._scan = None
            yield

    def foreign(self, path: str) -> bool:
        """Whether its claim of origin is not believed; see `Seen.foreign`."""
        return self._known().files.get(path, NOTHING).foreign

    def present(self) -> list[tuple[str, FileFacts]]:
        """Path and facts of everything in the folder, hidden files left out."""
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

    def _take(self, known: Scan, found: Difference) -> None:
        """Read what changed, record it in the history, and bring the index up to date. The lock is held."""
        files = dict(known.files)
        for path in found.gone:
            files.pop(path, None)
        data: dict[str, bytes] = {}
        pending = self._pending()
        passing = () if pending is None else tuple(pending.after)
        own = ours(known, *passing, *(() if known.files else self._logged()))
        for path in found.changed:
            read = self._read_seen(path, foreign=path not in own)
            if read is not None and lifts(files.get(path, NOTHING), read[0]) and path not in passing:
                read = self._read_seen(path, foreign=True)
            files.pop(path, None)
            if read is not None:
                files[path], data[path] = read
        self._scan = Scan(known.lines, files=files)
        self._record(data)
        self._files.write(self.where.scan, msgspec.json.encode(self._known()))

    def _logged(self) -> list[str]:
        """Paths of files that passed the gate at least once, by the history."""
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
        return seen(path, facts, data, blob=blob_id(data) if whole else "", lines=self._settings.scan_lines, foreign=foreign), data

    def _record(self, data: Mapping[str, bytes]) -> None:
        """Put what differs from the history's newest state into it, with the reason of a change that was under way, or as somebody else's."""
        scan = self._known()
        known = self.history.files()
        blobs = {path: seen.blob for path, seen in scan.files.items() if seen.blob}
        changes: dict[str, bytes | None] = {path: None for path in known if path not in blobs}
        for path, blob in blobs.items():
            if known.get(path) != blob:
                changes[path] = data[path] if path in data else present(self._files, self.where.folder / path)
        pending = self._pending()
        mine = {path for path in changes if pending is not None and pending.after.get(path) == blobs.get(path, "")}
        if pending is not None and mine:
            self.history.record({path: changes.pop(path) for path in mine}, pending.why, self._clock.now(), undoes=pending.undoes)
        why = others(changes, known) if changes else Why(actor="memorist", what="index")
        changes |= self._reindexed()
        if changes:
            self.history.record(changes, why, self._clock.now())
        if pending is not None:
            discard(self._files, self.where.pending)

    def _pending(self) -> Pending | None:
        try:
            return msgspec.json.decode(self._files.read(self.where.pending), type=Pending)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _reindexed(self) -> dict[str, bytes]:
        """Make the index anew where the files call for it; gives its bytes for the history, nothing when it stays."""
        present = self.index_text()
        text = self.index(present).text
        if text == present:
            return {}
        self._files.write(self.where.index, encode(text))
        self._note(INDEX_NAME)
        return {INDEX_NAME: encode(text)}

    def index(self, present: str | None = None) -> Index:
        """The index as it is to be, with its load report: how many lines and bytes, and what does not fit."""
        scan = self._known()
        heads = [seen.head for seen in scan.files.values() if seen.head is not None]
        limits = IndexLimits(lines=self._settings.index_lines, size=self._settings.index_bytes, line=self._settings.index_line)
        text = self.index_text() if present is None else present
        return build(heads, text, uses=self._uses(), now=self._clock.now(), limits=limits)

    def _uses(self) -> Mapping[str, Uses]:
        """How often each memory was used; without the database nobody knows, and the index is made all the same."""
        try:
            return self._used()
        except StoreError:
            return {}

    def index_text(self) -> str:
        """The index as it stands on disk; empty when there is none."""
        return (present(self._files, self.where.index, limit=MAX_FILE) or b"").decode("utf-8", "surrogateescape")

    def _note(self, path: str) -> None:
        """Take a file that we wrote into the scan, so that the next one does not read it again."""
        read = self._read_seen(path)
        files = dict(self._known().files)
        if read is None:
            files.pop(path, None)
        else:
            files[path] = read[0]
        self._scan = Scan(self._known().lines, files=files)

    def read(self, path: str) -> Topic:
        """One memory. Raises InputError when the folder has none of that path, or it is too large."""
        problem = bad_path(path)
        if problem:
            raise InputError(f"{path!r} names no memory. {problem}")
        facts = self._files.facts(self.where.folder / path)
        if facts is None or not facts.is_file or not self._inside(path):
            raise InputError(f"there is no memory {path}; `memorist memory list` shows all")
        if size := too_large(facts.size):
            raise InputError(f"{path} has {size}; split it")
        return parse(path, present(self._files, self.where.folder / path) or b"")

    def _inside(self, path: str) -> bool:
        real = self._files.resolve(self.where.folder)
        return self._files.resolve(self.where.folder / path) == real / path

    def apply(self, changes: Sequence[Change], why: Why, *, undoes: str = "") -> str:
        """Write the changes, bring the index up to date, and record all of it as one change of the history; gives its id, empty when nothing changed.

        Raises WriteConflict when a file is not as its change says it was, InputError for a path that cannot be a memory's, StoreError when the disk
        refuses; then nothing was written, or what was written is recorded by the next scan with the same reason.
        """
        if self._owner is not None and any(change.before != change.after for change in changes):
            self._owner()
            self._owner = None
        with self._turn():
            found = difference(self._known().files, self.present())
            if found:
                self._take(self._known(), found)
            real = [change for change in changes if change.before != change.after]
            if not real:
                return ""
            self._check(real)
            after = {change.path: "" if change.after is None else blob_id(change.after) for change in real}
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
        """Every path and every present content, before the first is written."""
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
        """Leave no copy of these files: not in the folder, the index, the history, nor in what was derived. Gives the number of changes that held them."""
        with self._turn():
            for path in paths:
                discard(self._files, self.where.folder / path)
            count = self.history.purge(paths, derived=(INDEX_NAME,))
            # What was moved aside as damaged may hold them too.
            made = [path for path in self._files.walk(self.where.state) if path.relative_to(self.where.state).parts[0].startswith(_MADE)]
            for derived in (self.where.scan, self.where.pending, *made):
                discard(self._files, derived)
            self._scan = None
            self._take(self._known(), difference({}, self.present()))
        return count

    def close(self) -> None:
        """Let go of the history's files."""
        self.history.close()
