"""A process that is killed (SIGKILL) before its n-th change of the disk."""

from __future__ import annotations

import errno
import io
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

_SYSTEM = {
    "ftruncate", "link", "mkdir", "pwrite", "remove", "rename", "replace", "rmdir", "truncate",
    "unlink", "write",
}  # fmt: skip
_DATABASE = {"commit", "execute", "executemany", "executescript"}
_FILE = {"close", "flush", "write"}
_DATABASE_TYPES = (sqlite3.Connection, sqlite3.Cursor)
_FREEING = {"close", "ftruncate", "remove", "rmdir", "truncate", "unlink"}
T = TypeVar("T")
MOST_STEPS = 5_000


def run_killed(work: Callable[[], object], at: int) -> int:
    """Do the work in a process of its own that is killed before its n-th change of the disk: -9
    when it was killed, 0 when it came to its end first, else 1.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status, left = 1, at

    def count(_frame: FrameType, event: str, called: object) -> None:
        nonlocal left
        if event == "c_call" and _changes_disk(called):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        threading.setprofile(count)
        sys.setprofile(count)
        work()
        status = 0
    finally:
        os._exit(status)


def _changes_disk(called: object) -> bool:
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if owner is os or getattr(owner, "__name__", "") in {"posix", "nt"}:
        return name in _SYSTEM
    if isinstance(owner, _DATABASE_TYPES):
        return name in _DATABASE
    return isinstance(owner, io.IOBase) and name in _FILE


def run_refused(work: Callable[[], T], at: int) -> T:
    """Do the work, of which the n-th change of the disk is refused, as by a disk that is full for a
    moment: what is called raises, and nothing is written by it.
    """
    left = at

    def refuse(_frame: FrameType, event: str, called: object) -> None:
        nonlocal left
        if event == "c_call" and _takes_room(called):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                if isinstance(getattr(called, "__self__", None), _DATABASE_TYPES):
                    raise sqlite3.OperationalError("database or disk is full")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sys.setprofile(refuse)
    try:
        return work()
    finally:
        sys.setprofile(None)


def _takes_room(called: object) -> bool:
    owner = getattr(called, "__self__", None)
    if isinstance(owner, io.BytesIO | io.TextIOBase):  # what a command prints
        return False
    return _changes_disk(called) and getattr(called, "__name__", "") not in _FREEING


def kill_points(
    work: Callable[[], object], prepare: Callable[[], object], stride: int = 1
) -> Iterator[int]:
    """Do the work once for each of its changes of the disk, or for one in `stride`, killed before
    it, and give the number of each: `prepare` makes the state that it begins with. It ends when the
    work does.
    """
    for at in range(0, MOST_STEPS, stride):
        prepare()
        status = run_killed(work, at)
        if status == 0:
            return
        assert status == -signal.SIGKILL, at
        yield at
    raise AssertionError("the work never came to its end")
