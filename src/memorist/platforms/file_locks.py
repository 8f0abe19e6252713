"""Locks between processes, on an open file; the system releases them when the holder dies."""

from __future__ import annotations

import errno
import os
import time

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

_LOCKED_BYTE = 1 << 30
"""Windows keeps others from reading a locked byte, so one far behind the content is locked."""
_STEP_SECONDS = 0.002
MAX_LOCK_WAIT_SECONDS = 120.0
"""Longest wait for a lock that is held for one write, or one rewriting of a history, at a time. Our
choice.
"""


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock if it is free; `shared` excludes only writers, where the system can.

    Raises OSError for a file that cannot be locked at all.
    """
    if not HAS_FLOCK:
        return _try_lock_byte(descriptor)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def close_locked(descriptor: int) -> None:
    """Let go of the lock and close the file. Closing alone would leave the lock to each child that
    was forked meanwhile, which has a copy of the descriptor. Where the system has no locks, there
    is none to let go of.
    """
    try:
        if HAS_FLOCK:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        return
    finally:
        os.close(descriptor)


def find_folder_locking_problem(folder: os.PathLike[str]) -> OSError | None:
    """Why nothing in a folder can be locked, as on some network folders; None where it can, or the
    folder cannot be opened.

    The folder is asked and no file in it: to open a database's file and close it would drop the
    locks that SQLite holds on it for this process.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        try_lock(descriptor, shared=True)
    except OSError as error:
        return error
    finally:
        os.close(descriptor)
    return None


def block_until_locked(descriptor: int, seconds: float | None = None) -> None:
    """Take the lock as soon as it is free. Raises OSError, a TimeoutError after `seconds`, or else
    MAX_LOCK_WAIT_SECONDS: a process that was stopped holds its locks for as long as it stays so.
    """
    seconds = MAX_LOCK_WAIT_SECONDS if seconds is None else seconds
    end = time.monotonic() + seconds
    while not try_lock(descriptor):
        if time.monotonic() > end:
            raise TimeoutError(
                errno.ETIMEDOUT,
                f"another process, perhaps a stopped one, has held its lock for "
                f"{seconds:g} seconds",
            )
        time.sleep(_STEP_SECONDS)


def _try_lock_byte(descriptor: int) -> bool:
    locking = __import__("msvcrt")  # known to type checkers on Windows alone
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        locking.locking(descriptor, locking.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True
