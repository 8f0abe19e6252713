"""Rows of the state database: the sessions of each project."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memorist.store.home_layout import is_unnamed_session
from memorist.store.sqlite_database import convert_sqlite_errors, transaction

_NOT_READ = "the sessions cannot be read from the database"


def record_session(
    database: sqlite3.Connection,
    session: str,
    *,
    project: str,
    folder: str,
    format: str,
    now: float,
) -> None:
    """Record that a session was opened; `now` in seconds since the epoch. Raises StoreError."""
    failure = "the session cannot be recorded in the database"
    with convert_sqlite_errors(failure), transaction(database):
        database.execute(
            "insert into sessions (id, project, folder, format, created, updated) values (?, "
            "?, ?, ?, ?, ?) on conflict (id) do update set project = excluded.project, folder "
            "= excluded.folder, updated = excluded.updated",
            (session, project, folder, format, now, now),
        )


def find_sessions_by_id_prefix(
    database: sqlite3.Connection, id_prefix: str
) -> list[tuple[str, str]]:
    """Id and folder of the sessions whose id begins with `id_prefix`, newest first."""
    rows = database.execute(
        "select id, folder from sessions where substr(id, 1, ?) = ? order by updated desc",
        (len(id_prefix), id_prefix),
    ).fetchall()
    return [(row["id"], row["folder"]) for row in rows]


def list_sessions(database: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Id, project and folder of every session. Raises StoreError."""
    with convert_sqlite_errors(_NOT_READ):
        rows = database.execute("select id, project, folder from sessions order by id").fetchall()
    return [(row["id"], row["project"], row["folder"]) for row in rows]


def list_sessions_newest_first(database: sqlite3.Connection) -> list[tuple[str, str, str, float]]:
    """Id, project, folder and time of last opening (seconds since the epoch) of every session,
    newest first. Raises StoreError.
    """
    with convert_sqlite_errors(_NOT_READ):
        rows = database.execute(
            "select id, project, folder, updated from sessions order by updated desc, id"
        ).fetchall()
    return [(row["id"], row["project"], row["folder"], row["updated"]) for row in rows]


def list_old_unnamed_sessions(database: sqlite3.Connection, newest: int) -> list[tuple[str, str]]:
    """Id and folder of the sessions that nobody named, but for the newest. Raises StoreError."""
    rows = list_sessions_newest_first(database)
    unnamed = [(id, folder) for id, _, folder, _ in rows if is_unnamed_session(id)]
    return unnamed[newest:]


def delete_session_rows(database: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Forget that these sessions were opened. Raises StoreError."""
    failure = "the sessions cannot be removed from the database"
    with convert_sqlite_errors(failure), transaction(database):
        database.executemany("delete from sessions where id = ?", [(id,) for id in ids])


def reassign_sessions(database: sqlite3.Connection, old_root: str, new_root: str) -> None:
    """Give the sessions of one project to another, by their roots.

    Raises StoreError.
    """
    failure = "the sessions cannot be assigned in the database"
    with convert_sqlite_errors(failure), transaction(database):
        database.execute(
            "update sessions set project = ? where project = ? or substr(project, 1, ?) = ?",
            (new_root, old_root, len(old_root) + 1, f"{old_root}/"),
        )
