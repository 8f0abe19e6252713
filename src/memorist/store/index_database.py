"""The file of an index: opened, or made anew when it is damaged, of another version, or not ours.
Nothing in it is the only copy of anything.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from memorist.store.sqlite_database import (
    UnsavedDatabaseConnection,
    begin_write_ahead_log,
    connect_database,
    create_private_file,
    open_or_replace_file,
    open_unsaved_copy,
    transaction,
)

APPLICATION_ID = 0x6D656D72
"""Distinguishes our files from other programs' databases: `memr`, in SQLite's header field for
that.
"""

INDEX_VERSION = 4
"""Version of the tables and of the tokenization. An index of another version is rebuilt, not
migrated.
"""

_ENTRIES_TABLE = (
    "create table entries (number integer primary key, id text not null unique, fingerprint text "
    "not null, length integer not null, grp text not null, place integer not null, author text not "
    "null, flags integer not null, words text not null)"
)
_WORDS_TABLE = (
    "create table words (word text not null, shelf integer not null, entries blob not "
    "null, primary key (word, shelf))"
)
_VECTORS_TABLE = (
    "create table vectors (fingerprint text not null, embedder text not null, vector blob "
    "not null, primary key (fingerprint, embedder))"
)


def get_device_and_inode(path: Path) -> tuple[int, int] | None:
    """Device and number of a file, which another file in its place does not have; None where there
    is none.
    """
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def open_or_replace_index(path: Path) -> sqlite3.Connection:
    """The open file. A foreign or damaged file is renamed, never deleted. Where it cannot be
    written, or another process has it locked, a copy in memory.

    Raises StoreError when the disk refuses.
    """
    return open_or_replace_file(path, lambda: _connect_index(path), _prepare_index, what="index")


def open_unsaved_index(path: Path, error: Exception) -> UnsavedDatabaseConnection:
    """A copy of an index in memory; `error` is why. Raises StoreError."""
    return open_unsaved_copy(path, error, _prepare_index)


def _connect_index(path: Path) -> sqlite3.Connection:
    create_private_file(path)
    connection = connect_database(path, waits_once=True)
    try:
        connection.row_factory = sqlite3.Row
        if not os.access(path, os.W_OK):
            # It opens all the same, and the first change would fail.
            raise sqlite3.OperationalError("attempt to write a readonly database")
        # An unreadable or foreign file must be detected here, before anything in it is changed.
        tables = {row["name"] for row in connection.execute("select name from sqlite_master")}
        if tables and connection.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
            raise _ForeignDatabase("not a database of memorist's")
        begin_write_ahead_log(connection)
        # Losing the last changes to a power cut costs a sync, no more.
        connection.execute("pragma synchronous = normal")
        _create_index_tables(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _prepare_index(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    _create_index_tables(connection)


class _ForeignDatabase(sqlite3.DatabaseError):
    """Another program's file."""


def _create_index_tables(connection: sqlite3.Connection) -> None:
    """Create the tables unless present; those of another version are replaced."""
    if connection.execute("pragma user_version").fetchone()[0] == INDEX_VERSION:
        return
    with transaction(connection):
        # Another process may have created them while this one waited for the lock.
        if connection.execute("pragma user_version").fetchone()[0] == INDEX_VERSION:
            return
        for name in ("entries", "words", "vectors"):
            connection.execute(f"drop table if exists {name}")
        for table in (_ENTRIES_TABLE, _WORDS_TABLE, _VECTORS_TABLE):
            connection.execute(table)
        connection.execute(f"pragma application_id = {APPLICATION_ID:d}")
        connection.execute(f"pragma user_version = {INDEX_VERSION:d}")
