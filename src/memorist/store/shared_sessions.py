"""Live sessions in PostgreSQL, for workers on several machines. Needs the extra `postgres`.

The server keeps a copy of a session's folder, and says who has the session:

    acquire(name, folder)   the lease, and the folder as the last holder left it
    save(name, folder, …)   what changed in the folder since
    release(name)           the lease is free
    remove_sessions(owner)  the copies of all sessions of an owner are gone

A lease is an advisory lock: the server takes it from a process that dies, on whatever machine. A
copy is replaced only from the state that it was read in, so that a holder who lost its lease with
its connection overwrites nothing. What is on the machine's disk stays there, and is gone on with
where the server cannot be reached.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import psycopg
from msgspec import structs
from msgspec.structs import replace
from psycopg.rows import dict_row

from memorist.errors import SessionInUse, StoreError
from memorist.store.postgres import SCHEMA, add_schema_to_address
from memorist.store.shared_session_folder import (
    FolderSyncRecord,
    SharedFileStat,
    finish_or_undo_shared_replacement,
    list_shared_session_files,
    read_appended_or_whole_content,
    read_file_state,
    read_sync_record,
    replace_shared_files,
    write_sync_record,
)
from memorist.store.sqlite_database import PAUSE_AFTER_BUSY_SECONDS

CONNECT_TIMEOUT_SECONDS = 2
"""Longest wait for a connection: the least that PostgreSQL's library takes."""

STATEMENT_TIMEOUT_SECONDS = 5.0
"""Longest wait for one step. Our choice: tens of megabytes go over a network meanwhile; a server
that is stopped and not dead answers never.
"""

MIN_POLL_SECONDS = 0.05
"""Shortest time between two looks at what others asked for: half of the pool's own."""

MAX_COPY_AGE_DAYS = 90
"""How long the server keeps a copy that nobody saved again. Our choice: a client that comes back
later sends its history, and the machine that served it last has its folder still.
"""

MAX_FOLDER_BYTES = 64 * 1024 * 1024
"""Largest folder that is shared: about what goes over a network within
`STATEMENT_TIMEOUT_SECONDS`.
"""

_KEEPALIVE = (
    "set tcp_keepalives_idle = 10",
    "set tcp_keepalives_interval = 5",
    "set tcp_keepalives_count = 3",
)
"""Lets the server see within 25 seconds that a machine is gone which could not say so (its power or
its network failed); until then it holds its leases. PostgreSQL's default is the system's two hours.
"""

_CHANNEL = "memorist_wanted"
_TABLES = (
    f"create schema if not exists {SCHEMA}",
    """create table if not exists shared_sessions (
      name text primary key,
      version bigint not null default 0,
      holder text not null default '',
      offered boolean not null default true,
      attempt text not null default '',
      saved_at timestamptz not null default now()
    )""",
    "create index if not exists shared_sessions_saved_at on shared_sessions (saved_at)",
    """create table if not exists shared_session_files (
      session text not null references shared_sessions (name) on delete cascade,
      path text not null,
      start bigint not null,
      data bytea not null,
      primary key (session, path, start)
    )""",
)
_CREATION_LOCK = 0x6D656D73
"""Number of the advisory lock under which the tables are created: `mems`."""


class SharedSessions:
    """The sessions of one process on one server, over one connection that is open while it holds
    any. Methods may be called in any thread; they raise StoreError when the server refuses or does
    not answer, and then at once for `PAUSE_AFTER_BUSY_SECONDS`.
    """

    def __init__(self, address: str) -> None:
        self._address = add_schema_to_address(address)
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._unlocked: set[str] = set()
        """Those held whose lock went with a connection and was not to be had again."""
        self._wanted: set[str] = set()
        self._looked_at = 0.0
        self._paused_until = 0.0

    def acquire(self, name: str, folder: Path) -> None:
        """Take the lease of a session, and bring its folder to the state that the last holder left.

        A folder that is ahead of the server's copy stays: its holder was killed. Raises
        SessionInUse where another has it, after asking for it, and StoreError; also where the
        server does not answer, a replacement of the folder that was killed is finished or undone.
        """
        finish_or_undo_shared_replacement(folder)
        with self._step() as connection:
            _insert_session(connection, name)
            is_ours = name not in self._held and _try_lock(connection, name)
            row = _select_session(connection, name)
            if not is_ours:
                if row["offered"]:
                    connection.execute("select pg_notify(%s, %s)", (_CHANNEL, name))
                raise SessionInUse(
                    f"the session {name} is open in {row['holder'] or 'another process'}; close it "
                    f"there first.",
                    releases_lease=row["offered"],
                )
            self._held.add(name)
            self._wanted.discard(name)
        try:
            with self._step() as connection:
                connection.execute(
                    # Whether it lets go on asking is known from its first save; until then others
                    # wait, so that none is refused between the opening and that.
                    "update shared_sessions set holder = %s, offered = true where name = %s",
                    (f"{socket.gethostname()}, process {os.getpid()}", name),
                )
                _restore(connection, row, folder)
        except BaseException:  # Ctrl-C too: others wait for the session
            with contextlib.suppress(StoreError):
                self.release(name)
            raise

    def is_takeover_requested(self, name: str) -> bool:
        """Whether another process asked for a session. Never waits."""
        now = time.monotonic()
        if now - self._looked_at > MIN_POLL_SECONDS and self._lock.acquire(blocking=False):
            self._looked_at = now
            try:
                if self._connection is not None and not self._connection.closed:
                    for asked in self._connection.notifies(timeout=0):
                        if asked.payload in self._held:
                            self._wanted.add(asked.payload)
            except psycopg.Error:
                self._drop_connection()
            finally:
                self._lock.release()
        return name in self._wanted

    def save(self, name: str, folder: Path, *, offered: bool) -> bool:
        """Bring the server's copy to the state of the folder; False where another went on with the
        session meanwhile, and nothing was saved. `offered` says that the lease is let go of when
        another asks for it.
        """
        record = read_sync_record(folder)
        if not record.attempt:
            record = replace(record, attempt=uuid4().hex)
            write_sync_record(folder, record)
        paths = list_shared_session_files(folder)
        if sum(read_file_state(folder / path).size for path in paths) > MAX_FOLDER_BYTES:
            raise StoreError(f"it has more than {MAX_FOLDER_BYTES:,} bytes")
        with self._step() as connection, cast("Any", connection.transaction()):
            if name in self._unlocked and not _try_lock(connection, name):
                return False
            self._unlocked.discard(name)
            saved = record.version + 1
            found = connection.execute(
                "update shared_sessions set version = %(saved)s, attempt = %(attempt)s,"
                " offered = %(offered)s, saved_at = now() where name = %(name)s and"
                " (version = %(version)s or (version = %(saved)s and attempt = %(attempt)s))",
                structs.asdict(record) | {"saved": saved, "offered": offered, "name": name},
            )
            if not found.rowcount:
                return False
            files = _save_files(connection, name, folder, paths, record.files)
        write_sync_record(folder, FolderSyncRecord(saved, files, uuid4().hex))
        return True

    def release(self, name: str) -> None:
        """Give the lease back."""
        try:
            with self._step() as connection:
                connection.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", (name,))
        finally:
            with self._lock:
                self._held.discard(name)
                self._unlocked.discard(name)
                self._wanted.discard(name)
                if not self._held:
                    self._drop_connection()

    def remove_sessions(self, owner: str, folder: str = "") -> None:
        """Delete the copies of all sessions of an owner, whose name begins theirs, or of those that
        are kept in a folder of this name. A machine that has one open saves nothing more of it.
        """
        end = f"/{folder}" if folder else ""
        with self._step() as connection:
            connection.execute(
                "delete from shared_sessions where starts_with(name, %s) "
                "and right(name, length(%s::text)) = %s",
                (f"{owner}/", end, end),
            )

    @contextlib.contextmanager
    def _step(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """The connection, for this thread alone and for a bounded time."""
        with self._lock:
            if time.monotonic() < self._paused_until:
                raise StoreError("the server of shared sessions did not answer a moment ago")
            try:
                connection = self._live_connection()
                with _cut_off_after(STATEMENT_TIMEOUT_SECONDS, connection):
                    yield connection
            except psycopg.Error as error:
                self._paused_until = time.monotonic() + PAUSE_AFTER_BUSY_SECONDS
                self._drop_connection()
                lines = str(error).strip().splitlines() or [type(error).__name__]
                raise StoreError(
                    f"the server of shared sessions does not answer ({lines[0]}); check it and the "
                    f"setting `shared_sessions`"
                ) from error

    def _live_connection(self) -> psycopg.Connection[dict[str, Any]]:
        """The connection, with the leases of this process: a new one takes those that are free
        still.
        """
        if self._connection is None or self._connection.closed:
            connection = psycopg.connect(
                self._address,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
                application_name="memorist sessions",
            )
            self._connection = connection
            with _cut_off_after(STATEMENT_TIMEOUT_SECONDS, connection):
                _create_tables(connection)
                for statement in _KEEPALIVE:
                    connection.execute(statement)
                connection.execute(f"listen {_CHANNEL}")
                self._unlocked = {n for n in self._held if not _try_lock(connection, n)}
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


def get_postgres_shared_session_store(address: str) -> SharedSessions:
    """The shared sessions of this process on a server. Raises StoreError for an address that is
    none.
    """
    return _open_in_process(address, os.getpid())


@functools.lru_cache
def _open_in_process(address: str, process: int) -> SharedSessions:
    """One for each process: a connection does not survive a fork."""
    del process
    return SharedSessions(address)


@contextlib.contextmanager
def _cut_off_after(
    seconds: float, connection: psycopg.Connection[dict[str, Any]]
) -> Iterator[None]:
    """End the connection if the block takes longer, so that whoever waits for it has an error."""

    def cut_off() -> None:
        with contextlib.suppress(OSError):
            same.shutdown(socket.SHUT_RDWR)

    with socket.socket(fileno=socket.dup(connection.fileno())) as same:
        timer = threading.Timer(seconds, cut_off)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _create_tables(connection: psycopg.Connection[dict[str, Any]]) -> None:
    with cast("Any", connection.transaction()):
        connection.execute("select pg_advisory_xact_lock(%s)", (_CREATION_LOCK,))
        for statement in _TABLES:
            connection.execute(cast("Any", statement))
        connection.execute(
            "delete from shared_sessions where saved_at < now() - make_interval(days => %s)",
            (MAX_COPY_AGE_DAYS,),
        )


def _insert_session(connection: psycopg.Connection[dict[str, Any]], name: str) -> None:
    connection.execute(
        "insert into shared_sessions (name) values (%s) on conflict do nothing", (name,)
    )


def _select_session(connection: psycopg.Connection[dict[str, Any]], name: str) -> dict[str, Any]:
    row = connection.execute("select * from shared_sessions where name = %s", (name,)).fetchone()
    return row or {"name": name, "version": 0, "holder": "", "offered": False, "attempt": ""}


def _try_lock(connection: psycopg.Connection[dict[str, Any]], name: str) -> bool:
    row = connection.execute(
        "select pg_try_advisory_lock(hashtextextended(%s, 0)) as ours", (name,)
    ).fetchone()
    return row is not None and bool(row["ours"])


def _restore(
    connection: psycopg.Connection[dict[str, Any]], session: dict[str, Any], folder: Path
) -> None:
    """Bring the folder to the state of the server's copy, unless that is older."""
    record, version = read_sync_record(folder), session["version"]
    if version < record.version:
        write_sync_record(folder, FolderSyncRecord(version))
    if version <= record.version or record.is_own_last_save(version, session["attempt"]):
        return
    contents: dict[str, bytearray] = {}
    rows = connection.execute(
        "select path, data from shared_session_files where session = %s order by path, start",
        (session["name"],),
    )
    for row in rows:
        contents.setdefault(row["path"], bytearray()).extend(row["data"])
    replace_shared_files(folder, version, contents)


def _save_files(
    connection: psycopg.Connection[dict[str, Any]],
    name: str,
    folder: Path,
    paths: list[str],
    known: dict[str, SharedFileStat],
) -> dict[str, SharedFileStat]:
    """Save what is new in a folder; returns the state of all of its files."""
    states = {}
    for path in paths:
        start, data, states[path] = read_appended_or_whole_content(folder / path, known.get(path))
        if not start:
            _delete_file(connection, name, path)
        if data or not start:
            connection.execute(
                "insert into shared_session_files (session, path, start, data) values (%s, %s, %s, "
                "%s) on conflict (session, path, start) do update set data = excluded.data",
                (name, path, start, data),
            )
    connection.execute(
        "delete from shared_session_files where session = %s and path <> all(%s)", (name, paths)
    )
    return states


def _delete_file(connection: psycopg.Connection[dict[str, Any]], name: str, path: str) -> None:
    connection.execute(
        "delete from shared_session_files where session = %s and path = %s", (name, path)
    )
