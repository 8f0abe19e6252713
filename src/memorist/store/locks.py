"""One writer at a time, across processes: an advisory lock that the system lets go of when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.errors import StoreError
from memorist.store.files import make_folders, refusal

WAIT_SECONDS = 10.0
"""Longest wait for another process; its work under the lock takes milliseconds."""
_STEP_SECONDS = 0.005


@contextmanager
def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock at `path`, a file that is made if it is missing. A killed holder holds nothing. Raises StoreError when another keeps it too long."""
    make_folders(path.parent)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise refusal("lock", path, error) from error
    try:
        _take(descriptor, path, wait_seconds)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, wait_seconds: float) -> None:
    until = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise StoreError(f"another process has held {path} for {wait_seconds:g} seconds; end it, or try again later") from None
            time.sleep(_STEP_SECONDS)
        else:
            return
