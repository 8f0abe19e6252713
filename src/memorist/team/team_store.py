"""The store of a team server: memories of several teams, each with its current checksum; deletions
leave a tombstone; tokens are stored as hashes.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from memorist.errors import StoreError
from memorist.store.disk_files import make_folders
from memorist.store.sqlite_database import BUSY_TIMEOUT_SECONDS, create_private_file
from memorist.store.state_database import SqliteStateDatabase, StateDatabase, open_state_database
from memorist.team.team_protocol import LoggedMemoryChange, MemoryHashAndSize, TeamListing
from memorist.team.team_remote import MAX_KEYS

_TEAM_TABLES = (
    "create table if not exists team_spaces (name text primary key, id text not null, version "
    "bigint not null)",
    """create table if not exists team_entries (space text not null, key text not null, hash text not null, text text, bytes bigint not null,
    version bigint not null, author text not null, at bigint not null, primary key (space, key))""",
    "create table if not exists team_tokens (hash text primary key, name text not null, space "
    "text not null, writes integer not null)",
    """create table if not exists team_revisions (space text not null, key text not null, version bigint not null, hash text not null,
    author text not null, at bigint not null, primary key (space, key, version))""",
    "create index if not exists team_revisions_by_version on team_revisions (space, version)",
    # Revisions of stores from before the table existed.
    """insert into team_revisions (space, key, version, hash, author, at)
    select space, key, version, hash, author, at from team_entries where true on conflict (space, key, version) do nothing""",
)
MAX_STORED_REVISIONS = 100
"""Newest changes of one memory whose author is kept. Ours: 5,000 memories make 75 MB at most."""
MAX_TOMBSTONES = 10_000
"""Newest deletions of a team that are remembered. Ours: with 5,000 memories, a client still reads
the whole view (8 MB). A machine that was away for longer sends its copy again.
"""
_INSERT_REVISION = (
    "insert into team_revisions (space, key, version, hash, author, at) values (:space, "
    ":key, :version, :hash, :author, :at)"
)
_PRUNE_REVISIONS = """delete from team_revisions where space = :space and key = :key and version < (select min(version) from
    (select version from team_revisions where space = :space and key = :key order by version desc limit :most) as kept)"""
_PRUNE_TOMBSTONES = """delete from team_entries where space = :space and hash = '' and version < (select min(version) from
    (select version from team_entries where space = :space and hash = '' order by version desc limit :most) as kept)"""
_MARK_AS_CLOSED = """insert into team_tokens (hash, name, space, writes) values ('', '', '', 0)
    on conflict (hash) do nothing"""
"""A row that no token has, and that stays when the last token goes."""
_SELECT_REVISIONS = (
    "select key, version, hash, author, at from team_revisions where space = :space order "
    "by version desc, key limit :most"
)
_SELECT_REVISIONS_OF_ONE = """select key, version, hash, author, at from team_revisions where space = :space and key = :key
    order by version desc limit :most"""
_SAVE_ENTRY = """insert into team_entries (space, key, hash, text, bytes, version, author, at)
    values (:space, :key, :hash, :text, :bytes, :version, :author, :at)
    on conflict (space, key) do update set hash = excluded.hash, text = excluded.text, bytes = excluded.bytes, version = excluded.version,
    author = excluded.author, at = excluded.at"""


class TeamMemoryWrite(Struct, frozen=True):
    """One change: the new text and its checksum (None and empty to delete), and the checksum of
    what it replaces.
    """

    text: str | None
    new_hash: str
    replaced_hash: str


class TeamTokenHolder(Struct, frozen=True):
    """The holder of a token, its team (empty: all), and whether it may write."""

    name: str
    space: str
    writes: bool


class TeamStoreFull(StoreError):
    """A team has the maximum number of memories."""


class TeamStore:
    """The store of a server. Its methods are thread-safe, and raise StoreError."""

    def __init__(self, state: StateDatabase, *, most: int) -> None:
        self._state = state
        self._most = most
        self._lock = threading.Lock()
        with self._transaction():
            for statement in _TEAM_TABLES:
                state.execute(statement)

    def read_or_create_snapshot(self, space: str) -> TeamListing:
        """The current state of a team; an unknown team is created."""
        with self._transaction():
            id, version = self._ensure_space(space)
            rows = self._state.query(
                "select key, hash, bytes, author, at from team_entries where space = :space",
                {"space": space},
            )
        return TeamListing(
            id=id,
            version=version,
            entries={
                row["key"]: MemoryHashAndSize(row["hash"], row["bytes"])
                for row in rows
                if row["hash"]
            },
            deleted=sorted(row["key"] for row in rows if not row["hash"]),
            by={row["key"]: (row["author"], row["at"]) for row in rows},
        )

    def find_team_id_and_version(self, space: str) -> tuple[str, int] | None:
        """Id and version of a team; None where it is unknown."""
        with self._locked():
            found = self._state.query(
                "select id, version from team_spaces where name = :space", {"space": space}
            )
        return (found[0]["id"], found[0]["version"]) if found else None

    def read_texts(self, space: str, keys: list[str], *, most: int) -> dict[str, str]:
        """Texts by name, up to `most` bytes; missing names are skipped, and the list is cut at the
        limit.
        """
        texts: dict[str, str] = {}
        with self._locked():
            for key in keys:
                rows = self._select_entry(space, key)
                if not rows or rows[0]["text"] is None:
                    continue
                most -= rows[0]["bytes"]
                if most < 0 and texts:
                    break
                texts[key] = rows[0]["text"]
        return texts

    def apply_writes(
        self,
        space: str,
        writes: Mapping[str, TeamMemoryWrite],
        author: str,
        *,
        version: int | None = None,
    ) -> dict[str, str]:
        """Apply all changes atomically. Returns the names whose current checksum differs from the
        writer's expectation, with that checksum; nothing is written then. A deletion of what was
        never there is no change.

        `version` is the required version of the whole team, where the writer gives one. Raises
        TeamStoreFull.
        """
        with self._transaction():
            _, present = self._ensure_space(space)
            moved = {
                key: now
                for key, write in writes.items()
                if (now := self._current_hash(space, key)) != write.replaced_hash
            }
            if moved or version not in (None, present):
                return moved or {"": ""}
            changes = {
                key: write
                for key, write in writes.items()
                if write.text is not None or write.replaced_hash
            }
            if not changes:
                return {}
            for key, write in changes.items():
                self._write_change(space, key, write, author=author, version=present + 1)
            if any(write.text is None for write in changes.values()):
                self._state.execute(_PRUNE_TOMBSTONES, {"space": space, "most": MAX_TOMBSTONES})
            rows = self._state.query(
                "select count(*) as many from team_entries where space = :space and hash <> ''",
                {"space": space},
            )
            if rows[0]["many"] > self._most and any(
                not write.replaced_hash for write in changes.values()
            ):
                raise TeamStoreFull(f"a team has at most {self._most:,} memories")
            self._state.execute(
                "update team_spaces set version = :version where name = :space",
                {"version": present + 1, "space": space},
            )
        return {}

    def _write_change(
        self, space: str, key: str, write: TeamMemoryWrite, *, author: str, version: int
    ) -> None:
        values = {
            "space": space,
            "key": key,
            "hash": write.new_hash,
            "text": write.text,
            "version": version,
            "author": author,
            "at": self._state.now(),
        }
        self._state.execute(_INSERT_REVISION, values)
        self._state.execute(
            _PRUNE_REVISIONS, {"space": space, "key": key, "most": MAX_STORED_REVISIONS}
        )
        self._state.execute(
            _SAVE_ENTRY,
            values | {"bytes": len(write.text.encode()) if write.text is not None else 0},
        )

    def list_revisions(self, space: str, key: str = "", *, most: int) -> list[LoggedMemoryChange]:
        """The newest changes of a memory, or of all for an empty name; at most `MAX_REVISIONS` of
        each.
        """
        with self._locked():
            rows = self._state.query(
                _SELECT_REVISIONS_OF_ONE if key else _SELECT_REVISIONS,
                {"space": space, "most": most} | ({"key": key} if key else {}),
            )
        return [
            LoggedMemoryChange(
                key=row["key"],
                version=row["version"],
                by=row["author"],
                at=row["at"],
                deleted=not row["hash"],
            )
            for row in rows
        ]

    def _select_entry(self, space: str, key: str) -> Sequence[Mapping[str, Any]]:
        return self._state.query(
            "select hash, text, bytes from team_entries where space = :space and key = :key",
            {"space": space, "key": key},
        )

    def _current_hash(self, space: str, key: str) -> str:
        rows = self._select_entry(space, key)
        return str(rows[0]["hash"]) if rows else ""

    def _ensure_space(self, space: str) -> tuple[str, int]:
        record = {"space": space, "id": secrets.token_hex(16)}
        self._state.execute(
            "insert into team_spaces (name, id, version) values (:space, :id, 0) on conflict "
            "(name) do nothing",
            record,
        )
        found = self._state.query(
            "select id, version from team_spaces where name = :space", {"space": space}
        )[0]
        return found["id"], found["version"]

    def add_token(self, name: str, *, space: str = "", writes: bool = True) -> str:
        """Create a token; only its hash is stored."""
        token = secrets.token_urlsafe(32)
        values = {"hash": _token_hash(token), "name": name, "space": space, "writes": int(writes)}
        with self._transaction():
            self._state.execute(
                "insert into team_tokens (hash, name, space, writes) values (:hash, :name, "
                ":space, :writes)",
                values,
            )
        return token

    def revoke_tokens(self, name: str) -> int:
        """Revoke every token of that name; returns their number. A store that had one never serves
        without a token again: its server may be reached from elsewhere.
        """
        with self._transaction():
            dropped = self._state.execute(
                "delete from team_tokens where name = :name and hash <> ''", {"name": name}
            )
            if dropped:
                self._state.execute(_MARK_AS_CLOSED)
        return dropped

    def is_token_needed(self) -> bool:
        """Whether there is a token, or ever was one."""
        with self._locked():
            return bool(self._state.query("select 1 from team_tokens limit 1"))

    def find_token(self, secret: str) -> TeamTokenHolder | None:
        """The rights of a token; None for an unknown one."""
        with self._locked():
            rows = self._state.query(
                "select name, space, writes from team_tokens where hash = :hash",
                {"hash": _token_hash(secret)},
            )
        if rows:
            return TeamTokenHolder(rows[0]["name"], rows[0]["space"], bool(rows[0]["writes"]))
        return None

    def list_tokens(self) -> list[TeamTokenHolder]:
        """Every token's holder."""
        with self._locked():
            rows = self._state.query(
                "select name, space, writes from team_tokens where hash <> '' order by name"
            )
        return [TeamTokenHolder(row["name"], row["space"], bool(row["writes"])) for row in rows]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._state.transaction():
            yield

    def close(self) -> None:
        """Close the store. May be called twice."""
        self._state.close()


def open_team_store(location: str, *, most: int = MAX_KEYS) -> TeamStore:
    """Open the store at a path, or at `postgresql://…`, creating it if missing. Raises
    SettingsError, StoreError.
    """
    if "://" in location:
        return TeamStore(open_state_database(location, Path()), most=most)
    path = Path(location)
    make_folders(path.parent)
    try:
        create_private_file(path)
        database = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        database.row_factory = sqlite3.Row
        database.execute("pragma journal_mode = wal")
        # Acknowledged changes must survive a power cut: otherwise clients would see an older state.
        database.execute("pragma synchronous = full")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"the team store {path} cannot be opened ({error}); check the folder's space and "
            f"permissions"
        ) from error
    return TeamStore(SqliteStateDatabase(database), most=most)


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
