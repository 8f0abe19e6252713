"""Read a session file incrementally while its client writes it.

Each reading starts where the last turn but one ended, so that its cost does not depend on the
file's length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from memorist.core.messages import Message
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import SESSION_READERS, detect_format
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RawTranscriptLine,
    SessionHead,
    TurnRollback,
    UsageReport,
    WorldStateRecord,
)
from memorist.platforms.regular_files import open_regular_file
from memorist.store.transcript_reader import MAX_LINE_BYTES

# Find the records of a session file that were not processed yet.


TrackedEntry = Message | CompactionBoundary | TurnRollback | WorldStateRecord | UsageReport


class NewSessionEntries(Struct, frozen=True, kw_only=True):
    """The new part of one reading of a session file."""

    head: SessionHead | None
    entries: Iterable[TrackedEntry]
    """New entries, to be processed in order, once. Beyond MAX_HELD_ENTRIES or MAX_HELD_BYTES the
    file is read again for them while they are taken, which raises UnreadableSession.
    """
    message_ids: tuple[str, ...]
    """Ids of all messages of the conversation in this reading, old ones included."""
    from_start: bool
    """Whether the reading began at the start of the file."""
    has_compaction: bool
    """Whether a compaction is among the new entries."""
    has_reply: bool
    """Whether an answer of the agent is among the new entries."""


class _NewEntrySelector:
    """Selects the new entries of a reading, one after the other; `known_ids` are the ids of
    messages processed before.
    """

    def __init__(self, known_ids: Collection[str]) -> None:
        self._known_ids = known_ids
        self.head: SessionHead | None = None
        self.live_ids: list[str] = []
        self.has_compaction = False
        self.has_reply = False

    def select(self, entries: Iterable[object]) -> Iterator[TrackedEntry]:
        """The new messages, each after the other tracked entries before it."""
        between: list[TrackedEntry] = []
        for entry in entries:
            match entry:
                case Message(id=id):
                    self.live_ids.append(id)
                    if id not in self._known_ids:
                        self.has_reply = self.has_reply or entry.role == "assistant"
                        yield from between
                        yield entry
                    between = []
                case CompactionBoundary() | TurnRollback() | WorldStateRecord() | UsageReport():
                    between.append(entry)
                case SessionHead():
                    self.head = self.head or entry
                case _:
                    pass

    def survey(self, entries: Iterable[object], most: int) -> tuple[TrackedEntry, ...]:
        """Go through all entries. Returns the new ones, at most one more than `most`."""
        batch: list[TrackedEntry] = []
        for entry in self.select(entries):
            self.has_compaction = self.has_compaction or isinstance(entry, CompactionBoundary)
            if len(batch) <= most:
                batch.append(entry)
        return tuple(batch)


MAX_FULL_READ_BYTES = 4 * 1024 * 1024
"""A file up to this size is read in full each time: it takes a few hundredths of a second, and no
rewind is missed. Our choice.
"""
MAX_HELD_ENTRIES = 500
"""New entries that are held in memory; a file with more is read twice. Our choice: more than nearly
every turn has.
"""
MAX_HELD_BYTES = 8 * 1024 * 1024
"""Bytes of the file that new entries may come from to be held in memory: a single line may have
tens of millions. Our choice.
"""
HEADER_SEARCH_LINES = 200
"""Lines that are searched for the session's header."""
NO_RECORDS = NewSessionEntries(
    head=None, entries=(), message_ids=(), from_start=False, has_compaction=False, has_reply=False
)
_ROLLBACK_MARK = b'"thread_rolled_back"'
"""A rollback of turns concerns lines that were read before."""


class _LinesFromOffset:
    """Lines from an offset on; earlier lines are yielded empty, so that every line keeps its
    number. What is written after the offset `end` is left for the next reading.
    """

    def __init__(self, path: Path, lines: int, start: int, end: int) -> None:
        self._path = path
        self._lines = lines
        self._start = start
        self._end = end
        self.line_count = lines
        self.end_offset = start
        self.near_end = (lines, start)
        """Line and byte offset of the first line within MAX_FULL_READ_BYTES of the end."""
        self.has_rollback = False

    def __iter__(self) -> Iterator[RawTranscriptLine]:
        self.line_count, self.end_offset = self._lines, self._start
        for number in range(1, self._lines + 1):
            yield RawTranscriptLine(number, b"")
        try:
            with open_regular_file(self._path) as file:
                file.seek(self._start)
                while (data := file.readline(MAX_LINE_BYTES)).endswith(b"\n"):
                    if self.end_offset + len(data) > self._end:
                        break
                    if self.end_offset < self._end - MAX_FULL_READ_BYTES:
                        self.near_end = (self.line_count + 1, self.end_offset + len(data))
                    self.line_count += 1
                    self.end_offset += len(data)
                    self.has_rollback = self.has_rollback or _ROLLBACK_MARK in data
                    yield RawTranscriptLine(self.line_count, data)
        except OSError as error:
            raise UnreadableSession(
                f"{self._path} cannot be read: {error.strerror or error}"
            ) from error


class SessionFileTail:
    """One session file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._format = ""
        self._from = self._turn = self._read = (0, 0)
        """Line and byte offsets: where the next reading begins, where the newest turn began, and
        how far the file was read.
        """

    @property
    def exists(self) -> bool:
        """Whether there is a regular file.

        A pipe or terminal does not count: opening it would block all sessions.
        """
        try:
            return self.path.is_file()
        except OSError:  # such as a name that is too long
            return False

    @property
    def unread_bytes(self) -> int:
        """Bytes since the last reading."""
        return max(0, self._size - self._read[1])

    @property
    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def read_new_entries(
        self, known_ids: Collection[str], *, from_start: bool = False
    ) -> NewSessionEntries:
        """Return the new records.

        `from_start` reads the whole file. Raises UnreadableSession if it is no session file.
        """
        size = self._size
        start = (
            self._from if not from_start and MAX_FULL_READ_BYTES < self._read[1] <= size else (0, 0)
        )
        stretch = _LinesFromOffset(self.path, *start, size)
        if next(iter(stretch), None) is None:
            return NO_RECORDS
        self._format = self._format or detect_format(stretch)
        read_session = SESSION_READERS[self._format]
        selector = _NewEntrySelector(known_ids)
        most = MAX_HELD_ENTRIES if self.unread_bytes <= MAX_HELD_BYTES else 0
        batch = selector.survey(read_session(stretch), most)
        if stretch.has_rollback and start != (0, 0):
            return self.read_new_entries(known_ids, from_start=True)
        self._read = stretch.line_count, stretch.end_offset
        if self._from == (0, 0):
            # The turns of a file that is met when it is long are not known yet.
            self._from = self._turn = stretch.near_end
        return NewSessionEntries(
            head=selector.head,
            entries=batch
            if len(batch) <= most
            else _NewEntrySelector(known_ids).select(read_session(stretch)),
            message_ids=tuple(selector.live_ids),
            from_start=start == (0, 0),
            has_compaction=selector.has_compaction,
            has_reply=selector.has_reply,
        )

    def read_start_folder(self) -> str:
        """The folder that the session started in; empty if the file does not say.

        Raises UnreadableSession.
        """
        stretch = _LinesFromOffset(self.path, 0, 0, self._size)
        self._format = detect_format(stretch)
        head = next(SESSION_READERS[self._format](list(islice(stretch, HEADER_SEARCH_LINES))))
        return head.cwd if isinstance(head, SessionHead) else ""

    @property
    def format(self) -> str:
        """The format of the file; empty before the first reading."""
        return self._format

    def skip_turns_before_last(self) -> None:
        """Let later readings begin at the start of the turn that just ended."""
        self._from, self._turn = self._turn, self._read
