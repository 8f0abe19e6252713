"""Takes from Python what Windows does not have, and gives it `msvcrt`: a test puts this in the place
of `sitecustomize`, so that every process of a test begins with it.
"""

from __future__ import annotations

import _socket
import asyncio
import fcntl
import multiprocessing.util
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from functools import partial
from types import ModuleType
from typing import cast

GONE = (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "POSIX_SPAWN_OPEN", "fchdir",
    "fchmod", "fork", "getuid", "geteuid", "killpg", "posix_spawn", "pread", "pwrite", "uname",
)  # fmt: skip
LOADED = (asyncio, multiprocessing.util, sqlite3, subprocess, tempfile)
"""What of the standard library would decide by what is missing."""


def locking(descriptor: int, mode: int, size: int) -> None:
    """Lock as `msvcrt.locking` does: at once, or PermissionError."""
    assert (mode, size) == (2, 1)
    assert os.lseek(descriptor, 0, os.SEEK_CUR) > 1 << 20, "the content would be unreadable"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PermissionError(13, "locked") from error


windows = ModuleType("msvcrt")
windows.__dict__.update(LK_NBLCK=2, locking=locking)
sys.modules["msvcrt"] = windows
sys.modules.update({"fcntl": cast("ModuleType", None)})
for name in GONE:
    if hasattr(os, name):
        delattr(os, name)
# decided when the module is loaded, and from Python 3.13 on used more often
setattr(subprocess, "_USE_POSIX_SPAWN", False)
# the loop's own pair, which Windows makes of two loopback sockets
setattr(socket, "socketpair", partial(socket.socketpair, socket.AF_UNIX))
for module in (socket, _socket):
    delattr(module, "AF_UNIX")
