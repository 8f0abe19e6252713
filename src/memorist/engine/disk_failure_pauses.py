"""A pause after the disk or the database refused: a host waits for it once, and not at every call.

What is missed meanwhile is caught up by the next request, whose history holds it.
"""

from __future__ import annotations

from memorist.errors import StoreError
from memorist.ports import Clock
from memorist.store.sqlite_database import PAUSE_AFTER_BUSY_SECONDS, is_database_or_disk_error


class DiskFailurePauses:
    """The pauses of the homes and sessions of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._paused_until: dict[str, float] = {}

    def is_paused(self, *folders: str) -> bool:
        """Whether one of these homes or sessions is not to be touched now."""
        now = self._clock.monotonic()
        return any(self._paused_until.get(folder, now) > now for folder in folders)

    def pause_after(self, error: BaseException, *, home: str, session: str) -> None:
        """Pause the home after a failure of its disk, the session after one of its own files."""
        if is_database_or_disk_error(error):
            self._pause(home)
        elif isinstance(error, StoreError):
            self._pause(session)

    def _pause(self, folder: str) -> None:
        now = self._clock.monotonic()
        still = {name: until for name, until in self._paused_until.items() if until > now}
        self._paused_until = {**still, folder: now + PAUSE_AFTER_BUSY_SECONDS}
