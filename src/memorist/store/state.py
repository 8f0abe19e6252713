"""Where threads, extracts and jobs are kept: one small port over SQL, so that SQLite and PostgreSQL run the same statements.

Statements name their values `:name`, and keep to what both dialects say alike (`insert … on conflict`, no JSON, no scalar `max`).
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from memorist.errors import StoreError
from memorist.store.database import is_damage, move_aside, open_database, transaction

Values = Mapping[str, Any]
SQLITE = "sqlite"
"""The value of the setting `state` that keeps everything in the home folder."""


class State(Protocol):
    """A database. Every method raises StoreError when it refuses."""

    def read(self, statement: str, values: Values | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows that a query finds."""
        ...

    def change(self, statement: str, values: Values | None = None) -> int:
        """Run one statement; gives the number of rows it changed."""
        ...

    def change_each(self, statement: str, values: Sequence[Values]) -> None:
        """Run one statement for each of the values."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All of the block or none of it, and no other writer meanwhile. Not to be nested."""
        ...

    def now(self) -> int:
        """Seconds since the epoch, by the one clock that all who share the database go by."""
        ...

    def close(self) -> None:
        """Let go of it. May be called twice."""
        ...


class SqliteState:
    """The database in the home folder. It goes by the machine's clock, or by the one that is given."""

    def __init__(self, database: sqlite3.Connection, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    def read(self, statement: str, values: Values | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows that a query finds."""
        try:
            return [dict(row) for row in self._database.execute(statement, values or {})]
        except sqlite3.Error as error:
            raise _refusal("read", error) from error

    def change(self, statement: str, values: Values | None = None) -> int:
        """Run one statement; gives the number of rows it changed."""
        try:
            return self._database.execute(statement, values or {}).rowcount
        except sqlite3.Error as error:
            raise _refusal("write", error) from error

    def change_each(self, statement: str, values: Sequence[Values]) -> None:
        """Run one statement for each of the values."""
        try:
            self._database.executemany(statement, values)
        except sqlite3.Error as error:
            raise _refusal("write", error) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """An immediate transaction: the writer's lock is held from the first statement on."""
        try:
            with transaction(self._database):
                yield
        except sqlite3.Error as error:
            raise _refusal("write", error) from error

    def now(self) -> int:
        """Seconds since the epoch."""
        return int(self._now())

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def _refusal(verb: str, error: sqlite3.Error) -> StoreError:
    cure = "it is made anew when it is opened next" if isinstance(error, sqlite3.DatabaseError) and is_damage(error) else "try again"
    return StoreError(f"cannot {verb} the state of past sessions ({error}); {cure}")


def open_sqlite_state(path: Path, now: Callable[[], float] = time.time) -> SqliteState:
    """Open the database of a home folder, and look whether it is sound.

    One that is damaged is moved aside and begun anew, which leaves a remark (`remarks`): what stage one made is then to be taken from its files
    (`rollouts.rebuild`). Raises StoreError when the disk refuses.
    """
    database = open_database(path)
    if not _sound(database):
        database.close()
        move_aside(path)
        database = open_database(path)
    state = SqliteState(database, now)
    told = remarks(state)
    for name in sorted(each.name for each in path.parent.glob(f"{path.name}.damaged*")):
        if not any(name in text for text in told):
            text = f"the database was damaged and begun anew; the old one is kept: {name} in the home folder"
            state.change("insert into remarks (at, text) values (:at, :text)", {"at": state.now(), "text": text})
    return state


def remarks(state: State) -> list[str]:
    """What befell the database, oldest first."""
    return [row["text"] for row in state.read("select text from remarks order by at")]


def _sound(database: sqlite3.Connection) -> bool:
    """Whether every page can be read. 25 MB take about 20 ms."""
    try:
        return bool(database.execute("pragma quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return False
        raise StoreError(f"cannot read the state of past sessions ({error}); try again") from error
