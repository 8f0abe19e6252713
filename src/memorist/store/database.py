"""The state database: SQLite in WAL mode with numbered migrations. What it holds is counted or derived; notes and transcripts are files."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memorist.errors import StoreError

BUSY_SECONDS = 5.0
"""How long a writer waits for another process (codex.md section 1.5)."""

_DAMAGED = ("malformed", "not a database")
"""What SQLite says of a file that is no sound database."""


def migrations() -> list[tuple[int, str]]:
    """Number and SQL text of every migration, in order."""
    folder = Path(__file__).with_name("migrations")
    found = [(int(path.name[:4]), path.read_text("utf-8")) for path in folder.glob("*.sql")]
    return sorted(found)


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database, make it if there is none, and bring it up to date.

    A damaged file is moved aside (`<name>.damaged`, `.damaged-2` …) and a new one begun: nothing in it is the only copy of a user's
    words. Raises StoreError when the disk refuses. A database with newer migrations than known is used as it is.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _connect(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            move_aside(path)
            return _connect(path)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the database {path.name} cannot be opened ({error}); check the folder's space and permissions") from error


def _connect(path: Path) -> sqlite3.Connection:
    private_file(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.row_factory = sqlite3.Row
        _migrate(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    current: int = connection.execute("pragma user_version").fetchone()[0]
    pending = [(number, text) for number, text in migrations() if number > current]
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
    """One immediate transaction: all of the block or none of it."""
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:  # also for Ctrl-C: the next `begin` on this connection would fail for ever
        connection.execute("rollback")
        raise
    connection.execute("commit")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the error says that the file is no sound database, rather than that it is locked or the disk is full."""
    return any(word in str(error) for word in _DAMAGED)


def private_file(path: Path) -> None:
    """Make the file, 0600, if there is none: SQLite makes files with the process's mask, and what was said in them is private."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def move_aside(path: Path) -> None:
    """Rename the file to `<name>.damaged`, or the next free such name; its WAL goes."""
    number = 1
    while (target := path.with_name(f"{path.name}.damaged" + (f"-{number}" if number > 1 else ""))).exists():
        number += 1
    path.rename(target)
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)
