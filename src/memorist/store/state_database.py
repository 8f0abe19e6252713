"""Where threads, extracts and jobs are kept: one small port over SQL, so that SQLite and PostgreSQL
run the same statements.

Statements name their values `:name`, and keep to what both dialects say alike (`insert … on
conflict`, no JSON, no scalar `max`).
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from memorist.errors import SettingsError, StoreError
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.platforms.processes import is_named_process_dead
from memorist.store.sqlite_database import (
    UnsavedDatabaseConnection,
    is_database_damage,
    move_damaged_database_aside,
    open_database,
    transaction,
)

SqlValues = Mapping[str, Any]
SQLITE = "sqlite"
"""Value of the setting `state` that keeps everything in the home folder."""


def render_upsert(table: str, columns: Sequence[str], key: Sequence[str]) -> str:
    """A statement that inserts a row, or changes the one with the same key; each value has its
    column's name.
    """
    values = [f":{each}" for each in columns]
    changes = [f"{each} = excluded.{each}" for each in columns if each not in key]
    parts = ("insert into", table, "(", ", ".join(columns), ") values (", ", ".join(values))
    return " ".join(
        (*parts, ") on conflict (", ", ".join(key), ") do update set", ", ".join(changes))
    )


class StateDatabase(Protocol):
    """A database. Every method raises StoreError when it refuses."""

    def query(self, statement: str, values: SqlValues | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows that a query returns."""
        ...

    def execute(self, statement: str, values: SqlValues | None = None) -> int:
        """Run one statement; returns the number of rows it changed."""
        ...

    def execute_many(self, statement: str, values: Sequence[SqlValues]) -> None:
        """Run one statement for each of the values."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """The whole block or nothing, excluding other writers. Must not be nested."""
        ...

    def now(self) -> int:
        """Seconds since the epoch, by the clock common to all users of the database."""
        ...

    def register_worker(self, name: str) -> None:
        """Let the others see that the worker of this name lives, until this process ends."""
        ...

    def is_worker_dead(self, name: str) -> bool:
        """Whether the worker of this name is surely dead; False where that is not known."""
        ...

    def close(self) -> None:
        """Close the connection. May be called twice."""
        ...


class SqliteStateDatabase:
    """The database in the home folder. Uses the machine's clock, or the one given."""

    def __init__(self, database: sqlite3.Connection, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    @property
    def unsaved_reason(self) -> str:
        """Why what is written is lost when it is closed; empty where it is not."""
        kept = self._database
        return kept.why if isinstance(kept, UnsavedDatabaseConnection) else ""

    def query(self, statement: str, values: SqlValues | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows that a query returns."""
        with _convert_state_errors("read"):
            return [dict(row) for row in self._database.execute(statement, values or {})]

    def execute(self, statement: str, values: SqlValues | None = None) -> int:
        """Run one statement; returns the number of rows it changed."""
        with _convert_state_errors("write"):
            return self._database.execute(statement, values or {}).rowcount

    def execute_many(self, statement: str, values: Sequence[SqlValues]) -> None:
        """Run one statement for each of the values."""
        with _convert_state_errors("write"):
            self._database.executemany(statement, values)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """An immediate transaction: the writer's lock is held from the first statement on."""
        with _convert_state_errors("write"), transaction(self._database):
            yield

    def now(self) -> int:
        """Seconds since the epoch."""
        return int(self._now())

    def register_worker(self, name: str) -> None:
        """Nothing is to be done: the name tells the process (`build_unique_process_name`)."""

    def is_worker_dead(self, name: str) -> bool:
        """Whether the process of this name is dead: a file is one machine's."""
        return is_named_process_dead(name)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


@contextlib.contextmanager
def _convert_state_errors(verb: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        is_damage = isinstance(error, sqlite3.DatabaseError) and is_database_damage(error)
        cure = "it is recreated when it is next opened" if is_damage else "try again"
        raise StoreError(f"cannot {verb} the state of past sessions ({error}); {cure}") from error


def open_sqlite_state(
    path: Path, now: Callable[[], float] = time.time, *, waits_once: bool = False
) -> SqliteStateDatabase:
    """Open the database of a home folder, and look whether it is sound.

    One that is damaged is moved aside and a new one is begun, which leaves a remark (`remarks`):
    what stage one made is then to be taken from its files (`rollouts.rebuild`). `waits_once` as of
    `open_database`. Raises StoreError when the disk refuses.
    """
    database = open_database(path, waits_once=waits_once)
    if not _is_sound(database):
        database.close()
        move_damaged_database_aside(path)
        database = open_database(path, waits_once=waits_once)
    state = SqliteStateDatabase(database, now)
    remarks = list_recorded_damage(state)
    for name in sorted(each.name for each in path.parent.glob(f"{path.name}.damaged*")):
        if not any(name in text for text in remarks):
            text = (
                f"the database was damaged and a new one created; the old one is kept: "
                f"{name} in the home folder"
            )
            state.execute(
                "insert into remarks (at, text) values (:at, :text)",
                {"at": state.now(), "text": text},
            )
    return state


def list_recorded_damage(state: StateDatabase) -> list[str]:
    """Remarks on damage to the database, oldest first."""
    return [row["text"] for row in state.query("select text from remarks order by at")]


def _is_sound(database: sqlite3.Connection) -> bool:
    """Whether every page can be read. 25 MB take about 20 ms."""
    try:
        return bool(database.execute("pragma quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        if is_database_damage(error):
            return False
        raise StoreError(f"cannot read the state of past sessions ({error}); try again") from error


# Open the database for the state of past sessions, as chosen by the setting `state`.


_POSTGRES_ADDRESS = re.compile(r"postgres(ql)?://")
_PASSWORD = re.compile(r"(?<=:)[^:/@]+(?=@)|(?<=password=)[^&\s]+")


def open_state_database(setting: str, database: Path, *, waits_once: bool = False) -> StateDatabase:
    """Open the state: the file `database` for `sqlite`, a server for `postgresql://…`. A file that
    `waits_once` is a `WaitOnceConnection`. Raises SettingsError and StoreError.
    """
    if not is_server_database_setting(setting):
        return open_sqlite_state(database, waits_once=waits_once)
    try:
        module = import_module("memorist.store.postgres")
    except ImportError as error:
        raise SettingsError(
            f"the setting `state` needs the extra: {build_extra_install_command('postgres')}"
        ) from error
    state: StateDatabase = module.PostgresState(setting)
    return state


def is_server_database_setting(setting: str) -> bool:
    """Whether the setting names a server shared by several machines. Raises SettingsError for a
    value that is neither that nor `sqlite`.
    """
    if setting == SQLITE:
        return False
    if not is_postgres_address(setting):
        raise SettingsError(f"the setting `state` is {SQLITE} or postgresql://host/name")
    return True


def is_postgres_address(setting: str) -> bool:
    """Whether a setting is the address of a PostgreSQL database."""
    return _POSTGRES_ADDRESS.match(setting) is not None


def redact_password(setting: str) -> str:
    """The setting without a password, for display."""
    return _PASSWORD.sub("…", setting)
