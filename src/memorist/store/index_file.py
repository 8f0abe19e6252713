"""The file of an index: opened, or begun anew when it is damaged, of another version, or not ours. Nothing in it is the only copy of anything."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memorist.errors import StoreError
from memorist.store.database import BUSY_SECONDS, is_damage, move_aside, private_file, transaction

APPLICATION = 0x6D656D72
"""Tells our files from other programs' databases: `memr`, in SQLite's header field for that."""

VERSION = 1
"""Of the tables and of how words are made. An index of another version is made anew, not migrated."""

_ENTRIES = (
    "create table entries (number integer primary key, id text not null unique, fingerprint text not null, length integer not null,"
    " grp text not null, place integer not null, author text not null, flags integer not null, words text not null)"
)
_WORDS = "create table words (word text not null, shelf integer not null, entries blob not null, primary key (word, shelf))"
_VECTORS = (
    "create table vectors (fingerprint text not null, embedder text not null, vector blob not null, primary key (fingerprint, embedder))"
)


def open_index(path: Path) -> tuple[sqlite3.Connection, bool]:
    """The open file, and whether one that stood there could not be used. A foreign or damaged file is moved aside, never deleted.

    Raises StoreError when the disk refuses.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _connect(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            move_aside(path)
            return _connect(path)[0], True
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the index {path.name} cannot be opened ({error}); check the folder's space and permissions") from error


def _connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    private_file(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        # An unreadable or foreign file must show here, before anything of it is changed.
        tables = {row["name"] for row in connection.execute("select name from sqlite_master")}
        if tables and connection.execute("pragma application_id").fetchone()[0] != APPLICATION:
            raise _Foreign("not a database of memorist's")
        connection.execute("pragma journal_mode = wal")
        # Losing the last changes to a power cut costs a sync, no more.
        connection.execute("pragma synchronous = normal")
        rebuilt = _make(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection, rebuilt


class _Foreign(sqlite3.DatabaseError):
    """Another program's file."""


def _make(connection: sqlite3.Connection) -> bool:
    """Make the tables unless they are there; True when others were."""
    if connection.execute("pragma user_version").fetchone()[0] == VERSION:
        return False
    with transaction(connection):
        # Another process may have made them while this one waited for the lock.
        found: int = connection.execute("pragma user_version").fetchone()[0]
        if found == VERSION:
            return False
        for name in ("entries", "words", "vectors"):
            connection.execute(f"drop table if exists {name}")
        for table in (_ENTRIES, _WORDS, _VECTORS):
            connection.execute(table)
        connection.execute(f"pragma application_id = {APPLICATION:d}")
        connection.execute(f"pragma user_version = {VERSION:d}")
    return found != 0
