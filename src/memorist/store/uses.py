"""The ledger of recall: when each memory was shown, read, cited or left out, and why (RC-5)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.errors import StoreError
from memorist.store.database import transaction

_NAME = "state.sqlite"
What = Literal["shown", "read", "cited", "withheld"]
"""`shown` to the model, `read` by it with a tool, `cited` in its answer, or `withheld` because it looked unsafe."""


class Use(Struct, frozen=True, kw_only=True):
    """One line of the ledger."""

    path: str
    what: What
    session: str
    message: str = ""
    """Id of the message that it answers to."""
    at: float
    """Seconds since the epoch, UTC."""
    why: str = ""
    score: float | None = None
    bytes: int = 0


class Total(Struct, frozen=True):
    """How often a memory was read or cited, how often shown, and when last used (seconds since the epoch; 0 for never)."""

    used: int = 0
    shown: int = 0
    last: float = 0.0


def keep_uses(database: sqlite3.Connection, folder: str, uses: Sequence[Use]) -> None:
    """Add to the ledger of one memory folder. Raises StoreError."""
    rows = [(folder, use.path, use.what, use.session, use.message, use.at, use.why, use.score, use.bytes) for use in uses]
    try:
        with transaction(database):
            database.executemany(
                "insert into memory_uses (folder, path, what, session, message, at, why, score, bytes) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
    except sqlite3.Error as error:
        raise StoreError(f"the use of memories cannot be recorded in the database ({error})") from error


def _read(database: sqlite3.Connection, statement: str, values: tuple[str, ...]) -> list[sqlite3.Row]:
    try:
        return database.execute(statement, values).fetchall()
    except sqlite3.Error as error:
        raise StoreError(f"the use of memories cannot be read from the database ({error}); try again, or move {_NAME} away") from error


def uses_of(database: sqlite3.Connection, folder: str, path: str) -> list[Use]:
    """The ledger of one memory, oldest first. Raises StoreError."""
    rows = _read(database, "select * from memory_uses where folder = ? and path = ? order by number", (folder, path))
    return [
        Use(
            path=row["path"],
            what=row["what"],
            session=row["session"],
            message=row["message"],
            at=row["at"],
            why=row["why"],
            score=row["score"],
            bytes=row["bytes"],
        )
        for row in rows
    ]


def totals(database: sqlite3.Connection, folder: str) -> dict[str, Total]:
    """How often each memory of a folder was used. Raises StoreError."""
    rows = _read(
        database,
        "select path, sum(what in ('read', 'cited')) as used, sum(what = 'shown') as shown,"
        " max(case when what in ('read', 'cited') then at else 0 end) as last from memory_uses where folder = ? group by path",
        (folder,),
    )
    return {row["path"]: Total(row["used"], row["shown"], row["last"]) for row in rows}


def forget_uses(database: sqlite3.Connection, folder: str, paths: Sequence[str]) -> None:
    """Leave nothing of these memories in the database: their ledger, and what forks said when they wrote them. Raises StoreError."""
    try:
        database.execute("pragma secure_delete = on")
        with transaction(database):
            for path in paths:
                database.execute("delete from memory_uses where folder = ? and path = ?", (folder, path))
                database.execute(
                    "update receipts set said = '', files = '[]', denied = '[]' where label = 'extraction' and instr(files, ?) > 0", (path,)
                )
        database.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.Error as error:
        raise StoreError(f"the use of memories cannot be taken out of the database ({error})") from error
