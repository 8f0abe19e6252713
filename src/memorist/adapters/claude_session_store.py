"""A store for the sessions of the Claude Agent SDK: every line of every session as the SDK gives
it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)

from memorist.errors import StoreError
from memorist.platforms.file_descriptors import NON_INHERITED_BINARY_FLAGS
from memorist.ports import Clock
from memorist.store.disk_files import make_folders
from memorist.store.sqlite_database import transaction
from memorist.system import SystemClock

Result = TypeVar("Result")


MAX_WRITER_WAIT_SECONDS = 10.0
"""Longest wait for another process that writes, in seconds."""


_SCHEMA = """
create table if not exists line (
  number integer primary key, project text not null, session text not null, subpath text not null, uuid text, line text not null
);
create index if not exists line_of on line (project, session, subpath, number);
create unique index if not exists line_once on line (project, session, subpath, uuid) where uuid is not null;
create table if not exists session (
  project text not null, session text not null, changed integer not null, summary text not null, primary key (project, session)
);
"""


_SELECT_LINES = (
    "select line from line where project = ? and session = ? and subpath = ? order by number"
)


class MemoristSessionStore:
    """For `ClaudeAgentOptions(session_store=…)`.

    Safe for several processes. Its methods are those of the SDK's `SessionStore`, and raise
    StoreError.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Clock | None = None) -> None:
        self.path = Path(path).expanduser().absolute()
        self._clock = clock or SystemClock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append these lines. A line whose `uuid` is already stored is skipped."""
        await self._run(lambda database: self._append(database, key, entries))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all lines in order; None for a session that was never written."""
        columns = _key_columns(key)
        rows = await self._run(lambda database: database.execute(_SELECT_LINES, columns).fetchall())
        return [json.loads(line) for (line,) in rows] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Id and modification time of each session of a project, in milliseconds since the epoch."""
        return [
            {"session_id": session, "mtime": changed}
            for session, changed, _ in await self._session_rows(project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The SDK's own summary of each session, as it gave it."""
        return [
            {"session_id": session, "mtime": changed, "data": json.loads(summary)}
            for session, changed, summary in await self._session_rows(project_key)
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with everything below it, or what is at one path below it."""
        await self._run(lambda database: _delete(database, key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The paths below a session, such as those of its subagents."""
        at = (key["project_key"], key["session_id"])
        query = (
            "select distinct subpath from line where project = ? and session = ? and "
            "subpath != '' order by subpath"
        )
        return [
            subpath
            for (subpath,) in await self._run(
                lambda database: database.execute(query, at).fetchall()
            )
        ]

    async def _session_rows(self, project: str) -> list[Any]:
        query = "select session, changed, summary from session where project = ? order by session"
        return await self._run(lambda database: database.execute(query, (project,)).fetchall())

    def _append(
        self, database: sqlite3.Connection, key: SessionKey, entries: list[SessionStoreEntry]
    ) -> None:
        fresh = [entry for entry in entries if _insert(database, key, entry)]
        if not fresh or _key_columns(key)[2]:
            return
        project, session, _ = _key_columns(key)
        found = database.execute(
            "select changed, summary from session where project = ? and session = ?",
            (project, session),
        ).fetchone()
        before: SessionSummaryEntry | None = None
        if found is not None:
            before = {"session_id": session, "mtime": found[0], "data": json.loads(found[1])}
        changed = max(int(self._clock.now() * 1_000), 0 if found is None else found[0] + 1)
        summary = json.dumps(fold_session_summary(before, key, fresh)["data"])
        database.execute(
            "insert or replace into session values (?, ?, ?, ?)",
            (project, session, changed, summary),
        )

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.to_thread(self._run_blocking, work)

    def _run_blocking(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            with self._open() as database:
                return work(database)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the sessions in {self.path} cannot be used: {error}; free space, mend "
                f"permissions, or move the file away"
            ) from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        make_folders(self.path.parent)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | NON_INHERITED_BINARY_FLAGS, 0o600))
        with closing(
            sqlite3.connect(self.path, timeout=MAX_WRITER_WAIT_SECONDS, isolation_level=None)
        ) as database:
            database.execute(
                "pragma synchronous = normal"
            )  # the SDK keeps its own copy and resends a failed batch
            database.executescript(_SCHEMA)
            with transaction(database):
                yield database


def _key_columns(key: SessionKey) -> tuple[str, str, str]:
    return key["project_key"], key["session_id"], key.get("subpath") or ""


def _insert(database: sqlite3.Connection, key: SessionKey, entry: SessionStoreEntry) -> bool:
    """Insert a line; whether it was new."""
    uuid = entry.get("uuid")
    row = (*_key_columns(key), uuid if isinstance(uuid, str) else None, json.dumps(entry))
    done = database.execute(
        "insert or ignore into line (project, session, subpath, uuid, line) values (?, ?, ?, ?, ?)",
        row,
    )
    return done.rowcount == 1


def _delete(database: sqlite3.Connection, key: SessionKey) -> None:
    project, session, subpath = _key_columns(key)
    if subpath:
        database.execute(
            "delete from line where project = ? and session = ? and subpath = ?",
            (project, session, subpath),
        )
        return
    database.execute("delete from line where project = ? and session = ?", (project, session))
    database.execute("delete from session where project = ? and session = ?", (project, session))
