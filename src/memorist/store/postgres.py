"""The state of past sessions in PostgreSQL, for several machines. Needs the extra `postgres`.

Everything is in a schema of its own. The statements are those of SQLite; a transaction holds one lock, as SQLite's does, so that claims see each other.
The clock is the server's, so that machines need not agree on the time.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, LiteralString, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from memorist.errors import StoreError
from memorist.store.database import migrations
from memorist.store.state import Values

SCHEMA = "memorist"
_MIGRATIONS = (3,)
"""Those of the database's migrations that hold what machines share."""

_LOCK = 0x6D656D72
"""Number of the advisory lock: `memr`, as in the files' headers."""

_NAMED = re.compile(r":(\w+)")
_CONNECT_SECONDS = 10


class PostgresState:
    """A database in PostgreSQL; `now` takes the place of the server's clock. A connection that broke is made anew with the next transaction or query."""

    def __init__(self, address: str, now: Callable[[], float] | None = None) -> None:
        self._address = in_schema(address)
        self._now = now
        self._connection = self._connect()
        with self.transaction():
            self._migrate()

    def read(self, statement: str, values: Values | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows that a query finds."""
        with _told("read"):
            return self._open().execute(_translated(statement), values or {}).fetchall()

    def change(self, statement: str, values: Values | None = None) -> int:
        """Run one statement; gives the number of rows it changed."""
        with _told("write"):
            return self._open().execute(_translated(statement), values or {}).rowcount

    def change_each(self, statement: str, values: Sequence[Values]) -> None:
        """Run one statement for each of the values."""
        with _told("write"), self._open().cursor() as cursor:
            cursor.executemany(_translated(statement), values)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that waits for those of others."""
        with _told("write"), self._begun() as connection:
            connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            yield

    def now(self) -> int:
        """Seconds since the epoch by the server's clock."""
        if self._now is not None:
            return int(self._now())
        return int(self.read("select cast(floor(extract(epoch from clock_timestamp())) as bigint) as now")[0]["now"])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _connect(self) -> psycopg.Connection[dict[str, Any]]:
        with _told("open"):
            return psycopg.connect(self._address, autocommit=True, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS)

    def _open(self) -> psycopg.Connection[dict[str, Any]]:
        if self._connection.broken:
            self._connection = self._connect()
        return self._connection

    @contextlib.contextmanager
    def _begun(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        connection = self._open()
        with cast("AbstractContextManager[Any]", connection.transaction()):
            yield connection

    def _migrate(self) -> None:
        connection = self._open()
        connection.execute(_translated(f"create schema if not exists {SCHEMA}"))
        connection.execute("create table if not exists migrations (number integer primary key)")
        known = {row["number"] for row in connection.execute("select number from migrations")}
        for number, text in migrations():
            if number in _MIGRATIONS and number not in known:
                for statement in filter(str.strip, text.split(";")):
                    connection.execute(_translated(statement))
                connection.execute("insert into migrations (number) values (%s)", (number,))


def open_postgres_state(address: str) -> PostgresState:
    """Connect, and make what is missing. Raises StoreError when the server cannot be reached or refuses."""
    return PostgresState(address)


def in_schema(address: str) -> str:
    """The address with memorist's schema as the only place where names are looked up. Raises StoreError when it is none."""
    try:
        options = str(conninfo_to_dict(address).get("options") or "")
        return make_conninfo(address, options=f"{options} -c search_path={SCHEMA}".strip())
    except psycopg.Error as error:
        raise StoreError(f"the setting `state` is no address of a PostgreSQL database ({error}); write postgresql://host/name") from error


@functools.lru_cache(maxsize=200)
def _translated(statement: str) -> LiteralString:
    """The statement with values named as psycopg does it. All statements are ours; none holds a text from outside."""
    return _NAMED.sub(r"%(\1)s", statement)


@contextlib.contextmanager
def _told(verb: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise StoreError(
            f"cannot {verb} the state of past sessions in PostgreSQL ({lines[0]}); check the server and the setting `state`"
        ) from error
