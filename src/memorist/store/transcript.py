"""The canonical transcript of a session on disk: append-only, one writer (FM-5)."""

from __future__ import annotations

import errno
import fcntl
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from memorist.errors import StoreError
from memorist.formats.memorist_jsonl import encode, read
from memorist.formats.recorded import Entry
from memorist.store.files import make_folders, refusal
from memorist.store.lines import LineFile

_BUFFER = 256 * 1024
_BLOCK = 64 * 1024


class TranscriptWriter:
    """Appends entries to a transcript. Append the Head first to a new file (`is_new`).

    One writer at a time: the lock is an advisory one on `<name>.lock`, which holds the writer's process id and is let go when the writer
    closes or its process ends, however it ends. A last line that a crash left unfinished is moved to `<name>.torn` on opening.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the file (0600). Raises StoreError when another writer has it, and when the system refuses."""
        make_folders(path.parent)
        self.path = path
        self._lock = _take_lock(path)
        try:
            with ExitStack() as undo:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                undo.callback(os.close, descriptor)
                self.is_new = _mend(path, descriptor) == 0
                undo.pop_all()
        except OSError as error:
            os.close(self._lock)
            raise refusal("open", path, error) from error
        self._file = io.BufferedWriter(io.FileIO(descriptor, "a"), _BUFFER)

    def append(self, entry: Entry) -> None:
        """Add one entry behind the others; it reaches the system with `flush`, at the latest with `close`. Raises StoreError."""
        try:
            self._file.write(encode(entry))
        except OSError as error:
            raise refusal("write", self.path, error) from error

    def flush(self) -> None:
        """Hand what was appended to the system. Raises StoreError; what could not be written is tried again with the next flush."""
        try:
            self._file.flush()
        except OSError as error:
            raise refusal("write", self.path, error) from error

    def close(self) -> None:
        """Write what is left and let the lock go. May be called twice. Raises StoreError."""
        if self._file.closed:
            return
        try:
            self._file.close()
        except OSError as error:
            raise refusal("write", self.path, error) from error
        finally:
            os.close(self._lock)


def _take_lock(path: Path) -> int:
    """A descriptor that holds the lock. Raises StoreError, naming the process that has it."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise refusal("open", lock, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise refusal("lock", lock, error) from error
        who = "this process" if holder == str(os.getpid()) else f"process {holder or 'of unknown number'}"
        raise StoreError(f"{path} is being written by {who}; close that session first.") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _mend(path: Path, descriptor: int) -> int:
    """Bring the file to the end of a line; returns its size. A whole record without its end of line keeps its place."""
    size = os.fstat(descriptor).st_size
    start = _start_of_last_line(descriptor, size)
    if start == size:
        return size
    torn = os.pread(descriptor, size - start, start)
    if _whole(torn):
        os.write(descriptor, b"\n")
        return size + 1
    beside = os.open(path.with_name(f"{path.name}.torn"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(beside, "ab") as kept:
        kept.write(torn + b"\n")
    os.ftruncate(descriptor, start)
    return start


def _start_of_last_line(descriptor: int, size: int) -> int:
    """The offset after the last end of line."""
    end = size
    while end > 0:
        begin = max(0, end - _BLOCK)
        found = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _whole(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def recorded(path: Path) -> Iterator[Entry]:
    """What stands in a transcript, in order; nothing where there is none yet. Raises UnreadableSession."""
    if path.exists() and path.stat().st_size:
        yield from read(LineFile(path))
