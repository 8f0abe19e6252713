"""The state database: SQLite in WAL mode with numbered migrations. It holds only counts and derived
data; notes and transcripts are files.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from msgspec import Struct

from memorist.errors import StoreError
from memorist.platforms.file_locks import find_folder_locking_problem
from memorist.platforms.regular_files import find_error_preventing_write
from memorist.platforms.storage_errors import describe_storage_error

if TYPE_CHECKING:
    from sqlite3 import _Parameters

_log = logging.getLogger("memorist")
Record = TypeVar("Record", bound=Struct)

BUSY_TIMEOUT_SECONDS = 5.0
"""How long a writer waits for another process (Codex)."""

HOST_BUSY_TIMEOUT_SECONDS = 1.0
"""Longest wait of a host for a database that another process has locked. Our choice: a person
waits for it; writers hold the lock for milliseconds.
"""

PAUSE_AFTER_BUSY_SECONDS = 60.0
"""How long what refused is left alone. With `HOST_BUSY_TIMEOUT_SECONDS` of waiting at its end,
at most a second a minute.
"""

LOG_RETRY_SECONDS, MAX_LOG_TRIES = 0.01, 20
"""How long and how often a new database's log is tried. Our choice: another process has it in a few
milliseconds.
"""

_DAMAGE_WORDS = ("malformed", "not a database")
"""Phrases in SQLite's errors about a file that is not a sound database."""


@functools.cache
def load_migrations() -> tuple[tuple[int, str], ...]:
    """Number and SQL text of every migration, in order."""
    folder = Path(__file__).with_name("migrations")
    found = [(int(path.name[:4]), path.read_text("utf-8")) for path in folder.glob("*.sql")]
    return tuple(sorted(found))


Connection = sqlite3.Connection
"""An open database."""


class LockWaitCircuitBreaker:
    """For whom one wait of `HOST_BUSY_TIMEOUT_SECONDS` for a locked database is enough: after it
    the connections that share one fail at once, for `PAUSE_AFTER_BUSY_SECONDS`.
    """

    of_process: ClassVar[LockWaitCircuitBreaker | None] = None
    """Shared by all connections of a process that is a command."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def wait_seconds(self) -> float:
        """How long a connection waits now."""
        return HOST_BUSY_TIMEOUT_SECONDS if time.monotonic() >= self._until else 0.0

    def start_pause(self) -> None:
        """After a wait that was in vain."""
        self._until = time.monotonic() + PAUSE_AFTER_BUSY_SECONDS


@contextlib.contextmanager
def share_lock_circuit_breaker() -> Iterator[None]:
    """Let all databases that this process opens inside share one breaker: a command's user waits
    for all of them together.
    """
    LockWaitCircuitBreaker.of_process = LockWaitCircuitBreaker()
    try:
        yield
    finally:
        LockWaitCircuitBreaker.of_process = None


class WaitOnceConnection(sqlite3.Connection):
    """A connection for a host or a command, which a locked database must not hold up."""

    pause: LockWaitCircuitBreaker
    path: Path
    _waits = -1.0

    def execute(self, sql: str, parameters: _Parameters = (), /) -> sqlite3.Cursor:
        """As of any connection."""
        waits = self.pause.wait_seconds
        if waits != self._waits:
            self._waits = waits
            super().execute(f"pragma busy_timeout = {waits * 1000:.0f}")
        try:
            return super().execute(sql, parameters)
        except sqlite3.OperationalError as error:
            if is_database_locked(error) and waits:
                self.pause.start_pause()
                if self.pause is LockWaitCircuitBreaker.of_process:
                    _log.warning(
                        "%s %s: what is there is read, and nothing waited for again",
                        self.path,
                        _explain_lock(self.path),
                    )
            raise


def _explain_lock(path: Path) -> str:
    """Why a database is locked, as far as the system tells: SQLite takes a file system without
    locks for another process that holds one.
    """
    if refusal := find_folder_locking_problem(path.parent):
        return f"cannot be locked ({describe_storage_error(refusal)})"
    process = _find_lock_holder(path.with_name(f"{path.name}-shm")) or _find_lock_holder(path)
    return f"is locked by process {process}" if process else "is locked by another process"


def _find_lock_holder(path: Path) -> int | None:
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


def connect_database(path: Path, *, waits_once: bool = False) -> sqlite3.Connection:
    """A connection to a file that exists. It is a `WaitOnceConnection` with `waits_once`, and where
    the whole process waits once.
    """
    waits_once = waits_once or LockWaitCircuitBreaker.of_process is not None
    connection = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=WaitOnceConnection if waits_once else sqlite3.Connection,
    )
    if isinstance(connection, WaitOnceConnection):
        connection.pause = LockWaitCircuitBreaker.of_process or LockWaitCircuitBreaker()
        connection.path = path
    return connection


def is_database_locked(error: BaseException | None) -> bool:
    """Whether another process has the database locked."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def open_database(path: Path, *, waits_once: bool = False) -> sqlite3.Connection:
    """Open the database, make it if there is none, and bring it up to date.

    A damaged file is moved aside (`<name>.damaged`, `.damaged-2` …) and a new one begun: nothing in
    it is the only copy of a user's words. With `waits_once`, it is a `WaitOnceConnection`. Raises
    StoreError when the disk refuses. A database with newer migrations than known is used as it is.

    Where nothing may be written, or another process keeps it locked while it has to be brought up
    to date, a copy in memory is given (`UnsavedDatabaseConnection`), so that all that reads goes
    on.
    """
    return open_or_replace_file(
        path,
        lambda: _connect_database(path, waits_once=waits_once),
        _prepare_database,
        what="database",
    )


def open_or_replace_file(
    path: Path,
    connect: Callable[[], sqlite3.Connection],
    prepare: Callable[[sqlite3.Connection], object],
    *,
    what: str,
) -> sqlite3.Connection:
    """Connect to a database's file; a damaged one is moved aside first, and where it cannot be
    written or stays locked a copy in memory is given. Raises StoreError when the disk refuses.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return connect()
        except sqlite3.DatabaseError as error:
            if not is_database_damage(error):
                raise
            move_damaged_database_aside(path)
            return connect()
    except (sqlite3.Error, OSError) as error:
        if is_unwritable_error(error, path) or is_database_locked(error):
            return open_unsaved_copy(path, error, prepare)
        raise StoreError(
            f"the {what} {path} cannot be opened: {explain_database_error(path, error)}"
        ) from error


class UnsavedDatabaseConnection(sqlite3.Connection):
    """A copy of a database in memory: what is written to it is lost when it is closed."""

    why: str
    """Why the file cannot be used, in words."""


DISK_ERRORS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.EIO,
        errno.ENOTDIR,
        errno.ENOLCK,
    }
)
"""Errors of a disk that is full, read-only, forbidden, broken or without locks. Network errors are
no such.
"""

_UNWRITABLE_WORDS = ("readonly database", "disk is full", "disk I/O error")
"""Phrases in SQLite's errors about a file that cannot be written. On a full disk it has no room for
the memory that the processes share, which it calls an I/O error.
"""
_warned: set[Path] = set()
"""Folders that this process said cannot be written."""


def explain_database_error(path: Path, error: Exception) -> str:
    """In words why a database cannot be used, and what to do, as far as the system tells. SQLite
    names no cause; the file is not opened to find one, which would drop SQLite's own locks on it.
    """
    if isinstance(error, OSError):
        return describe_storage_error(error)
    refusal = find_error_preventing_write(path)
    return describe_storage_error(refusal) if refusal else f"{error}; check the folder's space"


def is_unwritable_error(error: sqlite3.Error | OSError, path: Path) -> bool:
    """Whether the error means that a file may not be written, or that there is no room for it, or
    no folder where one belongs.

    SQLite says no more than "unable to open" of a folder that it may not write to or that has room
    for no more files, and says that for want of file descriptors too.
    """
    if isinstance(error, OSError):
        return error.errno in DISK_ERRORS or isinstance(error, FileExistsError)
    return any(word in str(error) for word in _UNWRITABLE_WORDS) or (
        "unable to open" in str(error) and find_error_preventing_write(path) is not None
    )


def is_database_or_disk_error(error: BaseException | None) -> bool:
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


def open_unsaved_copy(
    path: Path, error: Exception, prepare: Callable[[sqlite3.Connection], object]
) -> UnsavedDatabaseConnection:
    """A copy of the database in memory, prepared as the file would be; an empty one where the file
    cannot be read either. One warning for each folder goes to the log `memorist`.
    """
    why = explain_database_error(path, error)
    if _warned.isdisjoint((path.parent, *path.parents)):
        _warned.add(path.parent)
        _log.warning(
            "%s cannot be written (%s): memorist reads what is there, and keeps nothing new",
            path.parent,
            why,
        )
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, factory=UnsavedDatabaseConnection
    )
    connection.why = why
    with contextlib.suppress(sqlite3.Error, OSError):
        _copy_database(path, connection)
    try:
        prepare(connection)
    except sqlite3.Error as failure:
        connection.close()
        raise StoreError(f"the database {path.name} cannot be read ({failure})") from failure
    return connection


def _copy_database(path: Path, target: sqlite3.Connection) -> None:
    """Copy what can be read without writing beside the file: with its journal where SQLite can use
    that, else as the file stands.
    """
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        with contextlib.suppress(sqlite3.Error):
            source = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=0)
            with contextlib.closing(source):
                source.backup(target, progress=_stop_if_locked)
            return


def _stop_if_locked(status: int, _remaining: int, _total: int) -> None:
    """End a copy that waits for a lock, which it would do for ever. Raises OperationalError."""
    if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise sqlite3.OperationalError("database is locked")


def _prepare_database(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    _apply_migrations(connection)


def _connect_database(path: Path, *, waits_once: bool) -> sqlite3.Connection:
    create_private_file(path)
    connection = connect_database(path, waits_once=waits_once)
    try:
        begin_write_ahead_log(connection)
        connection.execute("pragma synchronous = normal")
        _prepare_database(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def begin_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Have the database keep a log. Of several processes that open a new one at once all but one
    are refused, for milliseconds, and SQLite does not let them wait.
    """
    execute = partial(sqlite3.Connection.execute, connection)
    wait = execute("pragma busy_timeout").fetchone()[0]
    execute("pragma busy_timeout = 0")
    try:
        for _ in range(MAX_LOG_TRIES):
            try:
                execute("pragma journal_mode = wal")
                break
            except sqlite3.OperationalError as error:
                if not is_database_locked(error):
                    raise
                time.sleep(LOG_RETRY_SECONDS)
    finally:
        execute(f"pragma busy_timeout = {wait:d}")
    connection.execute("pragma journal_mode = wal")


def _apply_migrations(connection: sqlite3.Connection) -> None:
    current: int = connection.execute("pragma user_version").fetchone()[0]
    pending = [(number, text) for number, text in load_migrations() if number > current]
    if not pending:
        return
    with transaction(connection):
        # Another process may have migrated while this one waited for the lock.
        current = connection.execute("pragma user_version").fetchone()[0]
        for number, text in pending:
            if number > current:
                for statement in filter(str.strip, text.split(";")):
                    connection.execute(statement)
                connection.execute(f"pragma user_version = {number:d}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One immediate transaction: the whole block or nothing."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:  # Ctrl-C too: every later `begin` on this connection would fail
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("rollback")
        raise


@contextlib.contextmanager
def convert_sqlite_errors(what: str, remedy: str = "") -> Iterator[None]:
    """Raise StoreError where SQLite refuses: `what` could not be done, in one clause."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{what} ({error}){remedy and f'; {remedy}'}") from error


def build_struct_from_row(
    kind: type[Record], row: sqlite3.Row | Mapping[str, Any], **decoded: object
) -> Record:
    """The struct whose fields stand in the columns of the same names; `decoded` are the fields that
    the row has in another form.
    """
    columns = row.keys()
    return kind(**{name: row[name] for name in kind.__struct_fields__ if name in columns} | decoded)


def is_database_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the error means that the file is not a sound database, rather than locked or on a
    full disk.
    """
    return any(word in str(error) for word in _DAMAGE_WORDS)


def create_private_file(path: Path) -> None:
    """Create the file with mode 0600 if missing: SQLite would use the process's umask, and the
    content is private.
    """
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def move_damaged_database_aside(path: Path) -> None:
    """Rename the file to `<name>.damaged`, or the next free such name, and delete its WAL."""
    number = 1
    while (
        target := path.with_name(f"{path.name}.damaged" + (f"-{number}" if number > 1 else ""))
    ).exists():
        number += 1
    path.rename(target)
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)
