"""Open files by their descriptors: flags that not every system has, and reading at an offset."""

from __future__ import annotations

import os

NON_INHERITED_BINARY_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags of every file: not passed to child processes, and its bytes as they are."""
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
"""Refuses a link in place of the file, where the system can."""


def read_at_offset(descriptor: int, size: int, offset: int) -> bytes:
    """At most `size` bytes from an offset. Moves the file's position where there is no `pread`."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def overwrite_descriptor_content(descriptor: int, data: bytes) -> None:
    """Make this the whole content of a small file."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, data)


def write_at_offset(descriptor: int, data: bytes, offset: int) -> None:
    """Write bytes at an offset. Moves the file's position where there is no `pwrite`."""
    if hasattr(os, "pwrite"):
        os.pwrite(descriptor, data, offset)
        return
    os.lseek(descriptor, offset, os.SEEK_SET)
    os.write(descriptor, data)
