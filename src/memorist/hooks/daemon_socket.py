"""The daemon's lock and socket: at most one process of a home answers hooks, on a socket that only
its user can open.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Self

from memorist.errors import StoreError
from memorist.hooks import hook_protocol
from memorist.hooks.hook_client import HookGotNoResponse, enter_hooks_folder, find_hooks_folder
from memorist.platforms import file_locks, sockets
from memorist.platforms.file_descriptors import (
    NO_LINKS,
    NON_INHERITED_BINARY_FLAGS,
    overwrite_descriptor_content,
)

LOCK_WAIT_SECONDS = 120.0
"""Longest wait for a process that is shutting down: the last answers, updates of notes and the
closing of its sessions may take it half a minute, and then 75 seconds.
"""
PING_TIMEOUT_SECONDS = 10.0
"""How long a healthy daemon may be busy: loading the engine, or reading a long session."""
POLL_SECONDS = 0.05
MAX_QUEUED_REQUESTS = 128
"""Requests that may wait in the socket."""


class LockedDaemonSocket:
    """The socket and the lock.

    From here on the process works in the hooks folder, because socket paths must be short.
    """

    def __init__(self, folder: Path, lock: int, line: socket.socket, token: bytes = b"") -> None:
        self.folder = folder
        self.token = token
        """What every connection must send first; empty for a Unix socket."""
        self.listener = line
        self._lock = lock
        self._own = Path(hook_protocol.SOCKET).stat().st_ino

    @property
    def is_ours(self) -> bool:
        """Whether the socket can still be found; the folder may have been removed."""
        try:
            return Path(hook_protocol.SOCKET).stat().st_ino == self._own and self.folder.exists()
        except OSError:
            return False

    def remove_socket_file(self) -> None:
        """Take the socket's file away, so that the next hook starts another process. The listener
        itself is the server's to close. May be called twice.
        """
        if self.is_ours:
            with contextlib.suppress(OSError):
                Path(hook_protocol.SOCKET).unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove_socket_file()
        self.listener.close()
        with contextlib.suppress(OSError):
            os.close(self._lock)


def open_daemon_socket(home: Path) -> LockedDaemonSocket | None:
    """Open the socket of a home; None if another process listens already, or waits to.

    Waits for one that is shutting down.

    Raises StoreError for a folder that cannot be used, and when another process keeps the lock
    without listening.
    """
    folder = Path(find_hooks_folder(str(home)))
    try:
        enter_hooks_folder(str(home), str(folder))
        lock, waiting = map(_open_lock_file, (hook_protocol.LOCK, hook_protocol.WAITING))
    except (HookGotNoResponse, OSError) as error:
        raise StoreError(f"{folder} cannot be used for hooks: {error}") from error
    # The lock comes first: only its holder may replace the socket file. One process waits for it:
    # each hook of an agent that works meanwhile starts another.
    try:
        is_locked = file_locks.try_lock(waiting) and _acquire_lock(lock)
    finally:
        os.close(waiting)
    if not is_locked:
        os.close(lock)
        return None
    try:
        return LockedDaemonSocket(folder, lock, *_bind_socket())
    except OSError as error:
        os.close(lock)
        raise StoreError(f"no socket can be made in {folder}: {error.strerror or error}") from error


def _open_lock_file(name: str) -> int:
    return os.open(name, os.O_CREAT | os.O_RDWR | NON_INHERITED_BINARY_FLAGS | NO_LINKS, 0o600)


def _acquire_lock(lock: int) -> bool:
    until = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        if file_locks.try_lock(lock):
            with contextlib.suppress(OSError):  # a full disk: the number is for who ends it
                overwrite_descriptor_content(lock, f"{os.getpid()}\n".encode())
            return True
        if is_daemon_listening():
            return False
        if time.monotonic() > until:
            raise StoreError(
                "another memorist process holds the lock of the hooks and does not respond; end it"
            )
        time.sleep(POLL_SECONDS)


def find_daemon_process(lock: Path) -> str:
    """The process that holds the lock; empty if none does."""
    with contextlib.suppress(OSError), lock.open("rb") as file:
        if not file_locks.try_lock(file.fileno(), shared=True):
            return file.read(32).decode("ascii", "replace").strip() or "of unknown number"
    return ""


def is_daemon_listening() -> bool:
    """Whether a process listens on the socket in the working folder."""
    try:
        sockets.connect(hook_protocol.SOCKET, POLL_SECONDS).close()
    except OSError:
        return False
    return True


def is_daemon_responsive() -> bool:
    """Whether the daemon of the working folder responds.

    Connecting alone proves nothing: the system accepts connections for a hung process too.
    """
    with (
        contextlib.suppress(OSError),
        contextlib.closing(sockets.connect(hook_protocol.SOCKET, PING_TIMEOUT_SECONDS)) as line,
    ):
        line.sendall(hook_protocol.PING)
        return line.recv(1) == b""
    return False


def _bind_socket() -> tuple[socket.socket, bytes]:
    line, token = sockets.listen(hook_protocol.SOCKET, MAX_QUEUED_REQUESTS)
    return socket.socket(fileno=line.detach()), token
