"""The usage record of recall: when a memory was shown, read, cited or withheld, and why (RC-5)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from memorist.store.sqlite_database import build_struct_from_row, convert_sqlite_errors, transaction

_NAME = "state.sqlite"
MemoryUseKind = Literal["shown", "listed", "read", "cited", "withheld", "given", "held_out"]
"""`shown` to the model, `listed` in the index that it was shown, `read` by it with a tool, `cited`
in its answer, or `withheld` because it looked unsafe. Of no one memory, with an empty path: that a
session was drawn to be `given` memory, or to be `held_out`.
"""


class MemoryUse(Struct, frozen=True, kw_only=True):
    """One row of the usage record."""

    path: str
    what: MemoryUseKind
    session: str
    message: str = ""
    """Id of the message it responds to."""
    at: float
    """Seconds since the epoch, UTC."""
    why: str = ""
    score: float | None = None
    bytes: int = 0


class MemoryUseTotal(Struct, frozen=True):
    """How often a memory was read or cited, how often shown, and when last used (seconds since the
    epoch; 0 for never).
    """

    used: int = 0
    shown: int = 0
    last: float = 0.0


def record_memory_uses(
    database: sqlite3.Connection, folder: str, uses: Sequence[MemoryUse]
) -> None:
    """Add to the usage record of one memory folder. Raises StoreError."""
    failure = "the use of memories cannot be recorded in the database"
    with convert_sqlite_errors(failure), transaction(database):
        database.executemany(
            "insert into memory_uses (folder, path, what, session, message, at, why, score, bytes) "
            "values (:folder, :path, :what, :session, :message, :at, :why, :score, :bytes)",
            [asdict(use) | {"folder": folder} for use in uses],
        )


def _query_uses(
    database: sqlite3.Connection, statement: str, values: tuple[str, ...]
) -> list[sqlite3.Row]:
    failure = "the use of memories cannot be read from the database"
    with convert_sqlite_errors(failure, f"try again, or move {_NAME} away"):
        return database.execute(statement, values).fetchall()


def find_newest_shown_memory_use(database: sqlite3.Connection, folder: str) -> MemoryUse | None:
    """The newest use of any memory of a folder by which a model was shown it; None for none.

    Raises StoreError.
    """
    rows = _query_uses(
        database,
        "select path from memory_uses where folder = ? and what in ('shown', 'listed') "
        "order by number desc limit 1",
        (folder,),
    )
    paths = [row["path"] for row in rows]
    uses = list_uses_of_memory(database, folder, paths[0]) if paths else []
    return next((use for use in reversed(uses) if use.what in ("shown", "listed")), None)


def list_uses_of_memory(database: sqlite3.Connection, folder: str, path: str) -> list[MemoryUse]:
    """The usage record of one memory, oldest first. Raises StoreError."""
    rows = _query_uses(
        database,
        "select * from memory_uses where folder = ? and path = ? order by number",
        (folder, path),
    )
    return [build_struct_from_row(MemoryUse, row) for row in rows]


def list_uses_in_session(database: sqlite3.Connection, session: str) -> list[MemoryUse]:
    """The usage record of one session in every folder, oldest first. Raises StoreError."""
    rows = _query_uses(
        database, "select * from memory_uses where session = ? order by number", (session,)
    )
    return [build_struct_from_row(MemoryUse, row) for row in rows]


def record_holdout_draw(
    database: sqlite3.Connection, folder: str, session: str, *, held_out: bool, now: float
) -> None:
    """Record that a session was drawn. Raises StoreError."""
    what: MemoryUseKind = "held_out" if held_out else "given"
    record_memory_uses(database, folder, [MemoryUse(path="", what=what, session=session, at=now)])


def read_holdout_by_session(database: sqlite3.Connection) -> dict[str, bool]:
    """The sessions that were drawn, each with whether it went without memory; what it was first
    counts. Raises StoreError.
    """
    rows = _query_uses(
        database,
        "select session, what from memory_uses where path = '' and what in ('given', 'held_out') "
        "order by number desc",
        (),
    )
    return {row["session"]: row["what"] == "held_out" for row in rows}


def sum_memory_uses(database: sqlite3.Connection, folder: str) -> dict[str, MemoryUseTotal]:
    """How often each memory of a folder was used. Raises StoreError."""
    rows = _query_uses(
        database,
        "select path, sum(what in ('read', 'cited')) as used, sum(what = 'shown') as shown,"
        " max(case when what in ('read', 'cited') then at else 0 end) as last from memory_uses "
        "where folder = ? and what in ('read', 'cited', 'shown') group by path",
        (folder,),
    )
    return {row["path"]: MemoryUseTotal(row["used"], row["shown"], row["last"]) for row in rows}


def purge_memory_traces(
    database: sqlite3.Connection, folder: str, paths: Sequence[str], mask: Callable[[bytes], bytes]
) -> None:
    """Remove every trace of these memories from the database: their usage record, what forks said
    when writing them, and their words, by `mask`, where a session began with them. Raises
    StoreError.
    """
    with convert_sqlite_errors("the use of memories cannot be taken out of the database"):
        database.execute("pragma secure_delete = on")
        with transaction(database):
            for path in paths:
                database.execute(
                    "delete from memory_uses where folder = ? and path = ?", (folder, path)
                )
                database.execute(
                    "update receipts set said = '', files = '[]', denied = '[]' where label = "
                    "'extraction' and instr(files, ?) > 0",
                    (path,),
                )
            for row in database.execute("select id, first_words from threads").fetchall():
                id, words = row[0], str(row[1]).encode("utf-8", "surrogateescape")
                if (masked := mask(words)) != words:
                    database.execute(
                        "update threads set first_words = ? where id = ?",
                        (masked.decode("utf-8", "replace"), id),
                    )
        database.execute("pragma wal_checkpoint(truncate)")
