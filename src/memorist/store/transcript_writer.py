"""The canonical transcript of a session on disk: append-only, one writer (FM-5)."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import Protocol, cast

import msgspec
import zstandard

from memorist.errors import SessionInUse, StoreError, UnreadableSession
from memorist.events import Event, TimestampedEvent
from memorist.formats.transcript_format import (
    RecordedLine,
    TranscriptEntry,
    encode_entry,
    read_session,
)
from memorist.platforms import file_locks
from memorist.platforms.file_descriptors import PRIVATE, read_at, replace_bytes, write_at
from memorist.ports import Clock
from memorist.safety.redacted_json import encode_redacted
from memorist.store.disk_files import make_folders, store_error

# The lines of a recorded session file, streamed in bounded memory.


LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of the longest accepted line; Claude Code's own readers stop at 50 to 100 MB of a file
(claude-code.md section 12.7).
"""

_READ_BUFFER = 256 * 1024
"""Large enough to hold most lines whole; a larger buffer costs more page faults than it saves
reads.
"""
_UNPACKED_BUFFER = 16 * 1024
"""Small: at most this much of a damaged file's readable data is lost."""
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_WIDE_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks, longer ones first, since one is a prefix of another."""


class _LineSource(Protocol):
    def readline(self, size: int = -1, /) -> bytes: ...

    def __iter__(self) -> Iterator[bytes]: ...


class LineFile:
    """The lines of a file, as `memorist.formats.transcript_format.Lines`: every `iter()` opens it
    again at its start.

    A line comes with its end of line, as it stands; cutting it off would copy every line once more.
    Zstandard files are unpacked, a UTF-8 byte order mark is dropped, UTF-16 and UTF-32 with a mark
    become UTF-8. A line over `limit` bytes comes with `problem` set, and is not held in memory.
    """

    def __init__(self, path: Path, limit: int = LINE_LIMIT) -> None:
        self.path = path
        self.limit = limit

    def __iter__(self) -> Iterator[RecordedLine]:
        """Raises UnreadableSession, at the first line, when the file cannot be opened, and later
        when the disk fails.
        """
        with ExitStack() as stack:
            try:
                source, bounded = _open_source(self.path, self.limit, stack)
            except (OSError, zstandard.ZstdError) as error:
                raise UnreadableSession(_explain_open_error(self.path, error)) from error
            try:
                yield from (
                    _iterate_lines(source)
                    if bounded
                    else _iterate_bounded_lines(source, self.limit)
                )
            except OSError as error:
                raise UnreadableSession(
                    f"{self.path} could not be read to its end: {error.strerror or error}."
                ) from error


def _open_source(path: Path, limit: int, stack: ExitStack) -> tuple[_LineSource, bool]:
    """The source of the lines, and whether it is too small for a line over the limit."""
    raw = stack.enter_context(io.FileIO(path))
    stream = stack.enter_context(io.BufferedReader(raw, _READ_BUFFER))
    start = raw.read(4) or b""  # a peek at the buffered reader would copy its whole buffer
    raw.seek(0)
    bounded = os.fstat(raw.fileno()).st_size <= limit
    if start == _ZSTANDARD:
        unpacked = cast(
            "io.FileIO",
            zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False),
        )
        stream = stack.enter_context(io.BufferedReader(unpacked, _UNPACKED_BUFFER))
        start, bounded = stream.peek(4)[:4], False
    for mark, encoding in _WIDE_ENCODINGS:
        if start.startswith(mark):
            return _RecodedLines(
                stack.enter_context(
                    io.TextIOWrapper(stream, encoding, errors="replace", newline="\n")
                )
            ), False
    return stream, bounded


class _RecodedLines:
    """Lines of a text stream, as UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def readline(self, size: int = -1, /) -> bytes:
        return self._text.readline(size).encode("utf-8", "replace")

    def __iter__(self) -> Iterator[bytes]:
        return (line.encode("utf-8", "replace") for line in self._text)


def _iterate_lines(source: _LineSource) -> Iterator[RecordedLine]:
    """The lines of a source known to be small; no Python code runs per line."""
    first = source.readline()
    if first:
        yield RecordedLine(1, first.removeprefix(codecs.BOM_UTF8))
    yield from map(
        partial(tuple.__new__, RecordedLine), zip(count(2), source, repeat(""), strict=False)
    )


def _iterate_bounded_lines(source: _LineSource, limit: int) -> Iterator[RecordedLine]:
    number = 0
    read, line = source.readline, partial(tuple.__new__, RecordedLine)
    try:
        while data := read(limit + 2):
            number += 1
            if len(data) > limit and len(data.rstrip(b"\r\n")) > limit:
                _skip_line(source, data)
                yield RecordedLine(number, b"", f"it is longer than {limit:,} bytes")
            else:
                yield line((number, data if number > 1 else data.removeprefix(codecs.BOM_UTF8), ""))
    except zstandard.ZstdError:
        yield RecordedLine(number + 1, b"", "the compressed data is damaged from here on")


def _skip_line(source: _LineSource, data: bytes) -> None:
    while data and not data.endswith(b"\n"):
        data = source.readline(_READ_BUFFER)


def _explain_open_error(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no file {path}; check the path."
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder; give a session file inside it."
    if isinstance(error, PermissionError):
        return f"{path} may not be read: permission is denied; give yourself access to it."
    if isinstance(error, zstandard.ZstdError):
        return f"{path} is a damaged compressed file; give a sound copy."
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."


_WRITE_BUFFER = 256 * 1024
"""Bytes that wait for a flush at most, where the disk takes them."""
MAX_UNWRITTEN_BYTES = 64 * 1024 * 1024
"""Bytes that wait in memory at most for a disk that refuses them. Our choice: the text of several
full windows, so that a disk that is full for an hour costs nothing.
"""
_TAIL_BLOCK = 64 * 1024


class AppendedFile:
    """A file that is appended to, line by line. What the disk does not take is kept, up to
    MAX_UNWRITTEN_BYTES, and tried again with what follows; lines beyond that are dropped whole and
    counted.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path
        self._unwritten = bytearray()
        self.closed = False
        self.dropped_lines = 0
        """Lines that are in no file, because too much waited already."""

    def append(self, data: bytes) -> None:
        """Append. What is not handed to the system yet is kept in memory; `flush` says where the
        disk refuses it.
        """
        self._unwritten += data
        if len(self._unwritten) > _WRITE_BUFFER:
            with suppress(StoreError):
                self.flush()
        # A line that is partly in the file stays, however long it is: its rest must follow.
        if max(MAX_UNWRITTEN_BYTES, len(data) - 1) < len(self._unwritten):
            del self._unwritten[-len(data) :]
            self.dropped_lines += 1

    def flush(self) -> None:
        """Hand everything to the system. Raises StoreError; what is left is tried again later."""
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._descriptor, self._unwritten)]
        except OSError as error:
            raise store_error("write", self._path, error) from error

    @property
    def is_deleted(self) -> bool:
        """Whether the file has no name any more, so that nobody finds what is written to it."""
        return not self.closed and os.fstat(self._descriptor).st_nlink == 0

    def close(self) -> None:
        """Write the rest and close the file. May be called twice. Raises StoreError."""
        if self.closed:
            return
        self.closed = True
        try:
            self.flush()
        finally:
            os.close(self._descriptor)


class TranscriptWriter:
    """Appends entries to a transcript. Append the Head first to a new file (`is_new`).

    One writer at a time: the lock is an advisory one on `<name>.lock`, which holds the writer's
    process id and is let go when the writer closes or its process ends, however it ends. A last
    line that a crash left unfinished is moved to `<name>.torn` on opening.

    A holder that calls `offer` lets go on asking: who finds it held leaves a mark in the lock file,
    and `is_wanted` tells the holder.
    """

    def __init__(self, path: Path, *, redacts: bool = False) -> None:
        """Open or make the file (0600). With `redacts`, no secret is written. Raises SessionInUse
        when another writer has it, and StoreError when the system refuses.
        """
        make_folders(path.parent)
        self.path = path
        self._redacts = redacts
        self._lock = _acquire_writer_lock(path)
        try:
            with ExitStack() as undo:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | PRIVATE, 0o600)
                undo.callback(os.close, descriptor)
                self.is_new = _repair_last_line(path, descriptor) == 0
                undo.pop_all()
        except OSError as error:
            os.close(self._lock)
            raise store_error("open", path, error) from error
        self._file = AppendedFile(descriptor, path)

    def offer(self) -> None:
        """Say that this holder lets go of the file when another process asks for it."""
        with suppress(OSError):
            write_at(self._lock, _OFFERED, _OFFER_OFFSET)

    @property
    def is_wanted(self) -> bool:
        """Whether another process asks for the file. False once it is closed."""
        if self._file.closed:
            return False
        with suppress(OSError):
            return read_at(self._lock, 1, _OFFER_OFFSET + 1) == _WANTED
        return False

    def append(self, entry: TranscriptEntry) -> None:
        """Append one entry; it reaches the system with `flush`, at the latest with `close`."""
        self._file.append(encode_entry(entry, redacts=self._redacts))

    def flush(self) -> None:
        """Hand appended entries to the system. Raises StoreError; unwritten data is retried by the
        next flush.
        """
        self._file.flush()

    @property
    def dropped_entries(self) -> int:
        """Entries that were given up, because the disk refused too many before them."""
        return self._file.dropped_lines

    @property
    def is_deleted(self) -> bool:
        """Whether somebody deleted the transcript since it was opened."""
        return self._file.is_deleted

    def close(self) -> None:
        """Write the remaining data and release the lock. May be called twice. Raises StoreError."""
        if self._file.closed:
            return
        try:
            self._file.close()
        finally:
            os.close(self._lock)


_OFFER_OFFSET = 32
"""Byte of the lock file, after the process id, where its holder says that it hands over; who asks
for it writes the next one.
"""
_OFFERED, _WANTED = b"+", b"?"


def _acquire_writer_lock(path: Path) -> int:
    """A descriptor that holds the lock. Raises SessionInUse, naming the process that has it, after
    asking it to let go.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | PRIVATE, 0o600)
    except OSError as error:
        raise store_error("open", lock, error) from error
    try:
        is_ours = file_locks.try_lock(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise store_error("lock", lock, error) from error
    if not is_ours:
        offer = read_at(descriptor, _OFFER_OFFSET + 1, 0)
        holder = offer[:_OFFER_OFFSET].split(b"\n")[0].decode("ascii", "replace").strip()
        releases_lease = offer[_OFFER_OFFSET:] == _OFFERED
        if releases_lease:
            with suppress(OSError):
                write_at(descriptor, _WANTED, _OFFER_OFFSET + 1)
        os.close(descriptor)
        who = (
            "this process"
            if holder == str(os.getpid())
            else f"process {holder or 'of unknown number'}"
        )
        raise SessionInUse(
            f"{path} is being written by {who}; close that session first.",
            releases_lease=releases_lease,
        )
    with suppress(OSError):  # a full disk: the number is for those who find it held
        replace_bytes(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


@contextmanager
def hold_writer_lock(path: Path) -> Iterator[None]:
    """Keep other writers of a transcript away. Raises SessionInUse where it has one, after asking
    it to let go.
    """
    make_folders(path.parent)
    descriptor = _acquire_writer_lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _repair_last_line(path: Path, descriptor: int) -> int:
    """Bring the file to the end of a line; returns its size. A complete record without its line
    ending is kept.
    """
    size = os.fstat(descriptor).st_size
    start = _start_of_last_line(descriptor, size)
    if start == size:
        return size
    torn = read_at(descriptor, size - start, start)
    if _is_complete_record(torn):
        os.write(descriptor, b"\n")
        return size + 1
    temporary = os.open(
        path.with_name(f"{path.name}.torn"),
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | PRIVATE,
        0o600,
    )
    with os.fdopen(temporary, "ab") as kept:
        kept.write(torn + b"\n")
    os.ftruncate(descriptor, start)
    return start


def _start_of_last_line(descriptor: int, size: int) -> int:
    """The offset after the last end of line."""
    end = size
    while end > 0:
        begin = max(0, end - _TAIL_BLOCK)
        found = read_at(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _is_complete_record(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read_transcript(path: Path) -> Iterator[TranscriptEntry]:
    """The entries of a transcript, in order; nothing where the file is missing or empty. Raises
    UnreadableSession.
    """
    if path.exists() and path.stat().st_size:
        yield from read_session(LineFile(path))


# The event log of a session: one JSON object per line, appended unbuffered.


class EventLog:
    """Appends events to `events.jsonl`. A line torn by a crash is terminated by a newline when the
    log is reopened.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        make_folders(path.parent)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | PRIVATE, 0o600)
        except OSError as error:
            raise store_error("write", path, error) from error
        self._file = AppendedFile(descriptor, path)
        size = os.fstat(descriptor).st_size
        if size and read_at(descriptor, 1, size - 1) != b"\n":
            self._file.append(b"\n")

    def append(self, event: Event) -> None:
        """Write one event. Raises StoreError when the disk refuses; it is then written with the
        next.
        """
        self._file.append(encode_redacted(TimestampedEvent(self._clock.now(), event)) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file. May be called twice. Raises StoreError where events are lost by it."""
        self._file.close()
