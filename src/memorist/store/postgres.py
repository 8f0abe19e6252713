"""The state of past sessions in PostgreSQL, for several machines. Needs the extra `postgres`.

Everything is in a schema of its own. The statements are those of SQLite; a transaction holds one
lock, as SQLite's does, so that claims see each other. The clock is the server's, so that machines
need not agree on the time.
"""

from __future__ import annotations

import contextlib
import functools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, LiteralString, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from memorist.errors import StoreError
from memorist.store.sqlite_database import load_migrations
from memorist.store.state_database import SqlValues

T = TypeVar("T")
_Connection = psycopg.Connection[dict[str, Any]]
SCHEMA = "memorist"
_SHARED_MIGRATIONS = (3, 7)
"""The database migrations that concern data shared by machines."""

_ADVISORY_LOCK = 0x6D656D72
"""Number of the advisory lock: `memr`, as in the files' headers."""

_WORKER_LOCKS = 0x6D656D77
"""Class of the advisory locks by which workers show that they live: `memw`."""

_NAMED_VALUE = re.compile(r":(\w+)")
_CONNECT_SECONDS = 10


class PostgresState:
    """A state database in PostgreSQL; `now` overrides the server's clock. A connection that the
    server closed is opened again by the transaction or query that finds it so. The constructor
    connects, and creates what is missing; it raises StoreError when the server cannot be reached or
    refuses.
    """

    def __init__(self, address: str, now: Callable[[], float] | None = None) -> None:
        self._address = add_schema_to_address(address)
        self._now = now
        self._workers: list[str] = []
        """Names of the workers of this process."""
        self._connection = self._connect()
        with self.transaction():
            self._migrate()

    def query(self, statement: str, values: SqlValues | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows that a query returns."""
        with _translate_psycopg_errors("read"):
            return self._on_live_connection(
                lambda each: each.execute(_to_psycopg_style(statement), values or {}).fetchall()
            )

    def execute(self, statement: str, values: SqlValues | None = None) -> int:
        """Run one statement; returns the number of rows it changed."""
        with _translate_psycopg_errors("write"):
            return self._on_live_connection(
                lambda each: each.execute(_to_psycopg_style(statement), values or {}).rowcount
            )

    def execute_many(self, statement: str, values: Sequence[SqlValues]) -> None:
        """Run one statement for each of the values."""
        with _translate_psycopg_errors("write"), self._live_connection().cursor() as cursor:
            cursor.executemany(_to_psycopg_style(statement), values)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that waits for concurrent ones."""
        with _translate_psycopg_errors("write"), self._on_live_connection(_begin_alone):
            yield

    def now(self) -> int:
        """Seconds since the epoch by the server's clock."""
        if self._now is not None:
            return int(self._now())
        return int(
            self.query(
                "select cast(floor(extract(epoch from clock_timestamp())) as bigint) as now"
            )[0]["now"]
        )

    def register_worker(self, name: str) -> None:
        """Hold a lock of this name as long as the connection lasts: the server takes it away when
        the process dies, on whatever machine.
        """
        with _translate_psycopg_errors("write"):
            _lock_worker_name(self._live_connection(), name)
        self._workers.append(name)

    def is_worker_dead(self, name: str) -> bool:
        """Whether a worker that registered its name has lost its connection; False for a name that
        this version did not give, as nothing is known of it.
        """
        if name.count(":") < _NAME_COLONS:
            return False
        locks = self.query(
            _SELECT_WORKER_LOCK, {"class": _WORKER_LOCKS, "name": _lock_number(name)}
        )
        return not locks

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _connect(self) -> _Connection:
        with _translate_psycopg_errors("open"):
            return psycopg.connect(
                self._address,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=_CONNECT_SECONDS,
            )

    def _live_connection(self) -> _Connection:
        if self._connection.broken:
            self._connection = self._connect()
            for name in self._workers:
                _lock_worker_name(self._connection, name)
        return self._connection

    def _on_live_connection(self, act: Callable[[_Connection], T]) -> T:
        """What `act` gives; once more on a new connection where the server had closed the one from
        before, as at a restart. Not within a transaction, whose first statements are gone.
        """
        connection = self._live_connection()
        is_idle = connection.info.transaction_status is TransactionStatus.IDLE
        try:
            return act(connection)
        except psycopg.OperationalError:
            if not (is_idle and connection.broken):
                raise
            return act(self._live_connection())

    def _migrate(self) -> None:
        connection = self._live_connection()
        connection.execute(_to_psycopg_style(f"create schema if not exists {SCHEMA}"))
        connection.execute("create table if not exists migrations (number integer primary key)")
        known = {row["number"] for row in connection.execute("select number from migrations")}
        for number, text in load_migrations():
            if number in _SHARED_MIGRATIONS and number not in known:
                for statement in filter(str.strip, text.split(";")):
                    connection.execute(_to_psycopg_style(statement))
                connection.execute("insert into migrations (number) values (%s)", (number,))


_NAME_COLONS = 4
"""Colons in a name by `platforms.processes.build_unique_process_name`."""
_SELECT_WORKER_LOCK = (
    "select 1 from pg_locks where locktype = 'advisory' and objsubid = 2 and granted"
    " and cast(classid as bigint) = :class and cast(objid as bigint) = :name"
    " and database = (select oid from pg_database where datname = current_database())"
)


def _lock_number(name: str) -> int:
    """The number of a worker's lock. Two names with one number keep each other alive, no more."""
    return zlib.crc32(name.encode())


def _begin_alone(connection: _Connection) -> AbstractContextManager[object]:
    """Begin a transaction, and wait for the others to end; the context ends it."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(cast("AbstractContextManager[Any]", connection.transaction()))
        connection.execute("select pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))
        return stack.pop_all()


def _lock_worker_name(connection: _Connection, name: str) -> None:
    number = _lock_number(name)
    connection.execute(
        "select pg_advisory_lock_shared(%s, %s)",
        (_WORKER_LOCKS, number - (1 << 32) if number >> 31 else number),
    )


def add_schema_to_address(address: str) -> str:
    """The address with memorist's schema as the only search path. Raises StoreError for an invalid
    address.
    """
    try:
        options = str(conninfo_to_dict(address).get("options") or "")
        return make_conninfo(address, options=f"{options} -c search_path={SCHEMA}".strip())
    except psycopg.Error as error:
        raise StoreError(
            f"the setting `state` is not the address of a PostgreSQL database ({error}); write "
            f"postgresql://host/name"
        ) from error


@functools.lru_cache(maxsize=200)
def _to_psycopg_style(statement: str) -> LiteralString:
    """The statement with values named in psycopg's style. All statements are ours; none contains
    external text.
    """
    return _NAMED_VALUE.sub(r"%(\1)s", statement)


@contextlib.contextmanager
def _translate_psycopg_errors(verb: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise StoreError(
            f"cannot {verb} the state of past sessions in PostgreSQL ({lines[0]}); check the "
            f"server and the setting `state`"
        ) from error
