"""Reading files that somebody else wrote: only ordinary ones, and no more than a bound."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from memorist.platforms.file_descriptors import NON_INHERITED_BINARY_FLAGS

MAX_READ_BYTES = 64_000_000
"""Largest file of somebody else's that is read whole. Our choice: settings of agents that keep
their history in them have a few million bytes.
"""


def open_regular_file(path: Path) -> BinaryIO:
    """Open an ordinary file for reading, following links. Raises OSError, also for a pipe, a device
    or a folder in its place, which could be waited for or read for ever.
    """
    descriptor = os.open(
        path, os.O_RDONLY | NON_INHERITED_BINARY_FLAGS | getattr(os, "O_NONBLOCK", 0)
    )
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    return os.fdopen(descriptor, "rb")


def read_regular_file(path: Path, limit: int = MAX_READ_BYTES) -> bytes:
    """The bytes of an ordinary file. Raises OSError as `open_regular_file` does, and for a file of
    more than `limit` bytes.
    """
    with open_regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(size or limit, limit) + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes", str(path))
    return data


def read_regular_text_file(path: Path, limit: int = MAX_READ_BYTES) -> str:
    """The text of an ordinary file in UTF-8, without a byte order mark. Raises OSError as
    `read_regular_file` does, and UnicodeDecodeError.
    """
    return read_regular_file(path, limit).decode("utf-8-sig")


def is_open_to_other_users(path: Path) -> bool:
    """Whether the file or folder grants anything to other users of the machine; False on Windows,
    which does not say so in the mode. Raises OSError.
    """
    return hasattr(os, "getuid") and bool(path.stat().st_mode & 0o077)


def path_or_link_exists(path: str | Path) -> bool:
    """Whether anything is there, also a link that leads nowhere or what may not be looked at."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def is_reachable(path: str | Path) -> bool:
    """Whether a file or folder is there that may be looked at. False, and no error, for what is in
    another user's home, and for a name that this system does not take: a recording may name either.
    """
    return os.path.exists(path)


def is_reachable_folder(path: str | Path) -> bool:
    """Whether that is a folder."""
    return os.path.isdir(path)


def find_error_preventing_write(path: Path) -> OSError | None:
    """Why a file cannot be written, or made in its folder, without opening it; None where the
    system names nothing against it.
    """
    existing = path if path_or_link_exists(path) else path.parent
    number = 0
    try:
        if hasattr(os, "statvfs"):
            facts = os.statvfs(existing)
            if facts.f_flag & os.ST_RDONLY:
                number = errno.EROFS
            elif facts.f_files and not facts.f_favail:  # bytes are left, but no more files
                number = errno.ENOSPC
    except OSError as error:
        return error
    if number:
        return OSError(number, os.strerror(number), str(path))
    needed = ((path, os.R_OK | os.W_OK), (path.parent, os.W_OK | os.X_OK))
    if all(os.access(each, mode) for each, mode in needed if path_or_link_exists(each)):
        return None
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
