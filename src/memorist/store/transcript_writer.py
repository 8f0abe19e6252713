"""The canonical transcript of a session on disk: append-only, one writer (FM-5)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from memorist.errors import SessionInUse, StoreError
from memorist.formats.transcript_format import TranscriptEntry, encode_transcript_entry
from memorist.platforms import file_locks
from memorist.platforms.file_descriptors import (
    NON_INHERITED_BINARY_FLAGS,
    overwrite_descriptor_content,
    read_at_offset,
    write_at_offset,
)
from memorist.store.disk_files import convert_os_error_to_store_error, make_folders

_WRITE_BUFFER = 256 * 1024
"""Bytes that wait for a flush at most, where the disk takes them."""
MAX_UNWRITTEN_BYTES = 64 * 1024 * 1024
"""Bytes that wait in memory at most for a disk that refuses them. Our choice: the text of several
full windows, so that a disk that is full for an hour costs nothing.
"""
_TAIL_BLOCK = 64 * 1024


class RetryingAppendFile:
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
        """Append. It reaches the system with the next line or `flush`, which says where the disk
        refuses it: what follows from a line is done first, so that a kill before has it read again.
        """
        if len(self._unwritten) > _WRITE_BUFFER:
            with suppress(StoreError):
                self.flush()
        if self._unwritten and len(self._unwritten) + len(data) > MAX_UNWRITTEN_BYTES:
            self.dropped_lines += 1
        else:
            self._unwritten += data

    def flush(self) -> None:
        """Hand everything to the system. Raises StoreError; what is left is tried again later,
        and nothing is written once the file is closed: its descriptor may be another file's.
        """
        if self.closed and self._unwritten:
            raise StoreError(f"Cannot write {self._path}: it is closed.")
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._descriptor, self._unwritten)]
        except OSError as error:
            raise convert_os_error_to_store_error("write", self._path, error) from error

    @property
    def is_deleted(self) -> bool:
        """Whether the file has no name any more, so that nobody finds what is written to it."""
        return not self.closed and os.fstat(self._descriptor).st_nlink == 0

    def close(self) -> None:
        """Write the rest and close the file. May be called twice. Raises StoreError."""
        if self.closed:
            return
        try:
            self.flush()
        finally:
            self.closed = True
            os.close(self._descriptor)


class TranscriptWriter:
    """Appends entries to a transcript. Append the Head first to a new file (`is_new`).

    One writer at a time: the lock is an advisory one on `<name>.lock`, which holds the writer's
    process id and is let go when the writer closes or its process ends, however it ends. A last
    line that a crash left unfinished is moved to `<name>.torn` on opening.

    A holder that calls `allow_takeover` lets go on asking: who finds it held leaves a mark in the
    lock file, and `is_takeover_requested` tells the holder.
    """

    def __init__(self, path: Path, *, redacts: bool = False) -> None:
        """Open or make the file (0600). With `redacts`, no secret is written. Raises SessionInUse
        when another writer has it, and StoreError when the system refuses.
        """
        make_folders(path.parent)
        self._redacts = redacts
        self._process = os.getpid()
        self._lock = _acquire_writer_lock(path)
        try:
            with ExitStack() as undo:
                descriptor = os.open(
                    path, os.O_RDWR | os.O_CREAT | os.O_APPEND | NON_INHERITED_BINARY_FLAGS, 0o600
                )
                undo.callback(os.close, descriptor)
                self.is_new = _repair_last_line(path, descriptor) == 0
                undo.pop_all()
        except OSError as error:
            os.close(self._lock)
            raise convert_os_error_to_store_error("open", path, error) from error
        self._file = RetryingAppendFile(descriptor, path)

    def allow_takeover(self) -> None:
        """Say that this holder lets go of the file when another process asks for it."""
        with suppress(OSError):
            write_at_offset(self._lock, _OFFERED, _OFFER_OFFSET)

    @property
    def is_takeover_requested(self) -> bool:
        """Whether another process asks for the file. False once it is closed."""
        if self._file.closed:
            return False
        with suppress(OSError):
            return read_at_offset(self._lock, 1, _OFFER_OFFSET + 1) == _WANTED
        return False

    def append(self, entry: TranscriptEntry) -> None:
        """Append one entry; it reaches the system with `flush`, at the latest with `close`."""
        self._file.append(encode_transcript_entry(entry, redacts=self._redacts))

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
            is_copy = os.getpid() != self._process  # of a forked child: its parent has the lock
            (os.close if is_copy else file_locks.close_locked)(self._lock)


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
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | NON_INHERITED_BINARY_FLAGS, 0o600)
    except OSError as error:
        raise convert_os_error_to_store_error("open", lock, error) from error
    try:
        is_ours = file_locks.try_lock(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise convert_os_error_to_store_error("lock", lock, error) from error
    if not is_ours:
        offer = read_at_offset(descriptor, _OFFER_OFFSET + 1, 0)
        holder = offer[:_OFFER_OFFSET].split(b"\n")[0].decode("ascii", "replace").strip()
        releases_lease = offer[_OFFER_OFFSET:] == _OFFERED
        if releases_lease:
            with suppress(OSError):
                write_at_offset(descriptor, _WANTED, _OFFER_OFFSET + 1)
        os.close(descriptor)
        is_own = holder == str(os.getpid())
        who = "this process" if is_own else f"process {holder or 'of unknown number'}"
        raise SessionInUse(
            f"{path} is being written by {who}; close that session first"
            f"{' (`with` does, also when a cell is interrupted)' if is_own else ''}.",
            releases_lease=releases_lease,
        )
    with suppress(OSError):  # a full disk: the number is for those who find it held
        overwrite_descriptor_content(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


@contextmanager
def hold_transcript_writer_lock(path: Path) -> Iterator[None]:
    """Keep other writers of a transcript away. Raises SessionInUse where it has one, after asking
    it to let go.
    """
    make_folders(path.parent)
    descriptor = _acquire_writer_lock(path)
    try:
        yield
    finally:
        file_locks.close_locked(descriptor)


def _repair_last_line(path: Path, descriptor: int) -> int:
    """Bring the file to the end of a line; returns its size. A complete record without its line
    ending is kept.
    """
    size = os.fstat(descriptor).st_size
    start = _start_of_last_line(descriptor, size)
    if start == size:
        return size
    torn = read_at_offset(descriptor, size - start, start)
    if _is_complete_record(torn):
        os.write(descriptor, b"\n")
        return size + 1
    temporary = os.open(
        path.with_name(f"{path.name}.torn"),
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | NON_INHERITED_BINARY_FLAGS,
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
        found = read_at_offset(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _is_complete_record(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
