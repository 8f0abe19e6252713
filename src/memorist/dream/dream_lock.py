"""The dream lock: the holder's process in its text, the time of the last consolidation in its
modification time (DR-2).

An empty file means a completed dream. A file with a holder means a dream that runs, or that was
killed: then its third line still holds the time of the last completed one, and that time counts. So
a kill costs no day of waiting, and nothing has to be cleaned up.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets

from msgspec import Struct

from memorist.core.utc_time import LATEST_SECOND
from memorist.errors import StoreError
from memorist.platforms import processes
from memorist.platforms.regular_files import open_regular_file
from memorist.ports import Clock
from memorist.store.disk_files import convert_os_error_to_store_error, make_folders
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock

STALE_LOCK_SECONDS = 3_600.0
"""A lock older than this blocks no one (Claude Code)."""
_MAX_LINES = 5


class DreamLockHolder(Struct, frozen=True, kw_only=True):
    """The holder of the lock. Only `pid` is known if another program wrote it."""

    pid: int
    started: str = ""
    """Distinguishes this process from a later one with the same pid; empty if the system does not
    tell.
    """
    prior: float = 0.0
    """Time of the last consolidation before this one, in seconds since the epoch; 0 for never."""
    host: str = ""
    mark: str = ""
    """Random for each dream: tells two dreams of one process apart."""


class DreamLockBusy(Struct, frozen=True):
    """Another dream holds the lock."""

    why: str
    """In one clause, for the user."""


class DreamLock:
    """The lock of one memory folder."""

    def __init__(self, where: MemoryLayout, clock: Clock) -> None:
        self._path = where.dream_state / "lock"
        self._guard = where.dream_state / "lock.guard"
        self._clock = clock

    def last_dream_time(self) -> float | None:
        """Return when memory was last consolidated, in seconds since the epoch; None for never.

        Costs one stat. Raises StoreError.
        """
        holder, at = self._read()
        if at is None:
            return None
        if holder is None or not holder.mark or self._is_running(holder, at):
            return at
        return holder.prior or None

    def acquire(self) -> HeldDreamLock | DreamLockBusy:
        """Acquire the lock: its time is now from here on. Raises StoreError."""
        make_folders(self._path.parent)
        with hold_lock(self._guard):
            holder, at = self._read()
            if holder is not None and at is not None and self._is_running(holder, at):
                minutes = max(0.0, self._clock.now() - at) / 60
                return DreamLockBusy(
                    f"process {holder.pid} has been consolidating this memory for "
                    f"{minutes:,.0f} minutes"
                )
            prior = (holder.prior if holder is not None and holder.mark else at) or 0.0
            mine = DreamLockHolder(
                pid=os.getpid(),
                started=processes.read_process_start_id(os.getpid()),
                prior=prior,
                host=platform.node(),
                mark=secrets.token_hex(8),
            )
            self._write(encode_lock_holder(mine), self._clock.now())
        found, _ = self._read()
        if found is None or found.mark != mine.mark:
            return DreamLockBusy("another process took the lock at the same moment")
        return HeldDreamLock(self, mine)

    def release_and_set_dream_time(self, mine: DreamLockHolder, *, done: bool) -> None:
        """Release the lock: its time stays if `done`, otherwise the previous time is restored.

        Does nothing if another process holds the lock by now.
        """
        with hold_lock(self._guard):
            found, at = self._read()
            if found is None or found.mark != mine.mark or at is None:
                return
            if done:
                self._write(b"", at)
            elif mine.prior:
                self._write(b"", mine.prior)
            else:
                self._path.unlink(missing_ok=True)

    def _is_running(self, holder: DreamLockHolder, at: float) -> bool:
        """Tell whether that dream still runs.

        A time more than an hour ahead means a clock that was set back, and blocks no one either.
        """
        return abs(self._clock.now() - at) < STALE_LOCK_SECONDS and is_lock_holder_alive(holder)

    def _read(self) -> tuple[DreamLockHolder | None, float | None]:
        try:
            with open_regular_file(self._path) as file:
                return parse_lock_holder(file.read(1_000)), os.fstat(file.fileno()).st_mtime
        except FileNotFoundError:
            return None, None
        except OSError as error:
            raise convert_os_error_to_store_error("read", self._path, error) from error

    def _write(self, body: bytes, at: float) -> None:
        """Write text and time in one step."""
        temporary = self._path.with_name(f".lock-{secrets.token_hex(4)}")
        try:
            with os.fdopen(
                os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
            ) as file:
                file.write(body)
                file.flush()
                os.utime(file.fileno(), (at, at))
            temporary.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise convert_os_error_to_store_error("write", self._path, error) from error


class HeldDreamLock:
    """The acquired lock.

    One of `complete` and `abandon` is called once; if the disk refuses that, the lock reads as one
    of a killed dream.
    """

    def __init__(self, lock: DreamLock, mine: DreamLockHolder) -> None:
        self._lock = lock
        self._mine = mine

    def complete(self) -> None:
        """The dream completed: the time at which it took the lock becomes the time of the last
        consolidation.
        """
        self._end(done=True)

    def abandon(self) -> None:
        """The dream did not complete: restore the previous time."""
        self._end(done=False)

    def _end(self, *, done: bool) -> None:
        with contextlib.suppress(StoreError):
            self._lock.release_and_set_dream_time(self._mine, done=done)


def encode_lock_holder(holder: DreamLockHolder) -> bytes:
    """Encode the lock's text, one value a line."""
    return "\n".join(
        (str(holder.pid), holder.started, repr(holder.prior), holder.host, holder.mark, "")
    ).encode("utf-8", "replace")


def parse_lock_holder(body: bytes) -> DreamLockHolder | None:
    """Parse the holder from the lock's text; None if it is empty or names no process."""
    lines = [*body.decode("utf-8", "replace").split("\n"), *[""] * _MAX_LINES][:_MAX_LINES]
    pid, started, prior, host, mark = (line.strip() for line in lines)
    if not (pid.isascii() and pid.isdecimal()) or len(pid) > 10:
        return None
    try:
        at = float(prior or 0.0)
    except ValueError:
        at = 0.0
    if not 0.0 <= at <= LATEST_SECOND:
        at = 0.0
    return DreamLockHolder(pid=int(pid), started=started, prior=at, host=host, mark=mark)


def is_lock_holder_alive(holder: DreamLockHolder) -> bool:
    """Tell whether that very process runs.

    A process of another machine counts as running, as only the lock's age is known.
    """
    if holder.host and holder.host != platform.node():
        return True
    if holder.pid <= 0:
        return False
    try:
        if not processes.is_running(holder.pid):
            return False
    except OverflowError:
        return False
    now = processes.read_process_start_id(holder.pid)
    return not (holder.started and now) or holder.started == now
