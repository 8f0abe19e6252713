"""A pause after the disk or the database refused: a host waits for it once, and not at every call.

What is missed meanwhile is caught up by the next request, whose history holds it.
"""

from __future__ import annotations

import errno
import sqlite3

from memorist.errors import StoreError
from memorist.ports import Clock

PAUSE_SECONDS = 60.0
"""Length of a pause. With `HOST_BUSY_SECONDS` of waiting at its end, at most a second a minute."""

HOST_BUSY_SECONDS = 1.0
"""Longest wait of a host for a database that another process has locked. Our choice: a person
waits for it; writers hold the lock for milliseconds.
"""


DISK_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOTDIR}
)
"""Errors of a disk that is full, read-only, forbidden or broken. Network errors are no such."""


class DiskBreaker:
    """The pauses of the homes and sessions of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._paused_until: dict[str, float] = {}

    def is_paused(self, *places: str) -> bool:
        """Whether one of these homes or sessions is not to be touched now."""
        now = self._clock.monotonic()
        return any(self._paused_until.get(place, now) > now for place in places)

    def on_failure(self, error: BaseException, *, home: str, session: str) -> None:
        """Pause the home after a failure of its disk, the session after one of its own files."""
        if is_disk_failure(error):
            self._pause(home)
        elif isinstance(error, StoreError):
            self._pause(session)

    def _pause(self, place: str) -> None:
        now = self._clock.monotonic()
        still = {name: until for name, until in self._paused_until.items() if until > now}
        self._paused_until = {**still, place: now + PAUSE_SECONDS}


def is_disk_failure(error: BaseException | None) -> bool:
    """Whether an error comes from a disk or a database that refuses everybody, rather than from
    one session that another process has open.
    """
    while error is not None:
        if isinstance(error, sqlite3.Error):
            return True
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            return True
        error = error.__cause__
    return False
