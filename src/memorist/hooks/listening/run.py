"""The daemon's lock and socket: at most one process of a home answers hooks, on a socket only its
user can open.

Nothing of the engine is loaded here, so that the socket exists before the engine does, and requests
queue in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from memorist.errors import StoreError
from memorist.hooks import wire
from memorist.hooks.call.run import GaveUpError, enter

WAIT_SECONDS = 15.0
"""Longest wait for a process that is shutting down: it closes its sessions first."""
WORKS_SECONDS = 10.0
"""How long a healthy daemon may be busy: loading the engine, or reading a long session."""
STEP_SECONDS = 0.05
QUEUE = 128
"""Requests that may wait in the socket."""


class Listening:
    """The socket and the lock.

    From here on the process works in the hooks folder, because socket paths must be short.
    """

    def __init__(self, folder: Path, lock: int, line: socket.socket) -> None:
        self.folder = folder
        self.line = line
        self._lock = lock
        self._own = Path(wire.SOCKET).stat().st_ino

    @property
    def is_ours(self) -> bool:
        """Whether the socket can still be found; the folder may have been removed."""
        try:
            return Path(wire.SOCKET).stat().st_ino == self._own and self.folder.exists()
        except OSError:
            return False

    def leave(self) -> None:
        """Accept no more requests. May be called twice."""
        self.line.close()
        if self.is_ours:
            with contextlib.suppress(OSError):
                Path(wire.SOCKET).unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.leave()
        with contextlib.suppress(OSError):
            os.close(self._lock)


def listen(home: Path) -> Listening | None:
    """Open the socket of a home; None if another process listens already.

    Waits for one that is shutting down.

    Raises StoreError for a folder that cannot be used, and when another process keeps the lock
    without listening.
    """
    folder = home / wire.FOLDER
    try:
        enter(str(home), str(folder))
        lock = os.open(wire.LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except (GaveUpError, OSError) as error:
        raise StoreError(f"{folder} cannot be used for hooks: {error}") from error
    # The lock comes first: only its holder may replace the socket file.
    if not _taken(lock):
        os.close(lock)
        return None
    try:
        return Listening(folder, lock, _socket())
    except OSError as error:
        os.close(lock)
        raise StoreError(f"no socket can be made in {folder}: {error.strerror or error}") from error


def _taken(lock: int) -> bool:
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if answers():
                return False
            if time.monotonic() > until:
                raise StoreError("another memorist process holds the lock of the hooks and does not respond; end it") from None
            time.sleep(STEP_SECONDS)
        else:
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())
            return True


def answers() -> bool:
    """Whether a process listens on the socket in the working folder."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(STEP_SECONDS)
        try:
            line.connect(wire.SOCKET)
        except OSError:
            return False
        return True


def works() -> bool:
    """Whether the daemon of the working folder responds.

    Connecting alone proves nothing: the system accepts connections for a hung process too.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(WORKS_SECONDS)
        try:
            line.connect(wire.SOCKET)
            line.sendall(wire.NOTHING)
            return line.recv(1) == b""
        except OSError:
            return False


def _socket() -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        Path(wire.SOCKET).unlink()
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        line.bind(wire.SOCKET)
    finally:
        os.umask(before)
    line.listen(QUEUE)
    return line
