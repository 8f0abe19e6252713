"""Locks between processes, on an open file; the system releases them when the holder dies."""

from __future__ import annotations

import os
import time
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

_LOCKED_BYTE = 1 << 30
"""Windows keeps others from reading a locked byte, so one far behind the content is locked."""
_STEP_SECONDS = 0.005


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


def wait_for_lock(descriptor: int) -> None:
    """Take the lock, however long that takes. Raises OSError."""
    if HAS_FLOCK:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while not _try_lock_byte(descriptor):
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


def find_lock_holder(path: Path) -> int | None:
    """The process that keeps others from writing a file, by an advisory lock on a range of it; None
    where none does or the system does not tell (all but Linux).
    """
    try:
        found = path.stat()
        table = Path("/proc/locks").read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for line in table:
        _, kind, _, mode, process, file, *_ = *line.split(), *[""] * 6
        if kind == "POSIX" and mode == "WRITE" and file == inode and int(process) > 0:
            return int(process)
    return None
