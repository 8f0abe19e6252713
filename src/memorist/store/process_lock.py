"""Mutual exclusion between processes: an advisory lock that the system releases when its holder
dies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.errors import StoreError
from memorist.platforms import file_locks
from memorist.platforms.file_descriptors import NO_LINKS, NON_INHERITED_BINARY_FLAGS
from memorist.store.disk_files import make_folders, raise_os_errors_as_store_errors

MAX_LOCK_WAIT_SECONDS = 10.0
"""Longest wait for another process; work under the lock takes milliseconds."""


@contextmanager
def hold_lock(path: Path, *, wait_seconds: float = MAX_LOCK_WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock at `path`, a file created if missing. A killed holder holds nothing. Raises
    StoreError when another keeps it too long, or the file system has no locks.
    """
    make_folders(path.parent)
    with raise_os_errors_as_store_errors("lock", path):
        descriptor = os.open(
            path, os.O_CREAT | os.O_RDWR | NON_INHERITED_BINARY_FLAGS | NO_LINKS, 0o600
        )
    try:
        with raise_os_errors_as_store_errors("lock", path):
            try:
                file_locks.block_until_locked(descriptor, wait_seconds)
            except TimeoutError as error:
                raise StoreError(
                    f"another process has held {path} for {wait_seconds:g} seconds; end it, or "
                    f"try again later"
                ) from error
        yield
    finally:
        file_locks.close_locked(descriptor)
