"""What a team server keeps: memories of several teams, each with the checksum it has now; deletions leave a mark; tokens as hashes.

In one SQLite file, or in PostgreSQL (extra `postgres`), by the same statements.
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
from memorist.store.database import BUSY_SECONDS, private_file
from memorist.store.files import make_folders
from memorist.store.opening import open_state
from memorist.store.state import SqliteState, State

_TABLES = (
    "create table if not exists team_spaces (name text primary key, id text not null, version bigint not null)",
    """create table if not exists team_entries (space text not null, key text not null, hash text not null, text text, bytes bigint not null,
    version bigint not null, author text not null, at bigint not null, primary key (space, key))""",
    "create table if not exists team_tokens (hash text primary key, name text not null, space text not null, writes integer not null)",
    """create table if not exists team_revisions (space text not null, key text not null, version bigint not null, hash text not null,
    author text not null, at bigint not null, primary key (space, key, version))""",
    "create index if not exists team_revisions_by_version on team_revisions (space, version)",
    """insert into team_revisions (space, key, version, hash, author, at)
    select space, key, version, hash, author, at from team_entries where true on conflict (space, key, version) do nothing""",  # of older stores
)
MOST_KEPT = 100
"""Changes of one memory whose author is remembered; the newest. Ours: 5,000 memories make 75 MB at most."""
_NOTE = "insert into team_revisions (space, key, version, hash, author, at) values (:space, :key, :version, :hash, :author, :at)"
_PRUNE = """delete from team_revisions where space = :space and key = :key and version < (select min(version) from
    (select version from team_revisions where space = :space and key = :key order by version desc limit :most) as kept)"""
_LOG = "select key, version, hash, author, at from team_revisions where space = :space order by version desc, key limit :most"
_LOG_OF_ONE = """select key, version, hash, author, at from team_revisions where space = :space and key = :key
    order by version desc limit :most"""
_PUT = """insert into team_entries (space, key, hash, text, bytes, version, author, at)
    values (:space, :key, :hash, :text, :bytes, :version, :author, :at)
    on conflict (space, key) do update set hash = excluded.hash, text = excluded.text, bytes = excluded.bytes, version = excluded.version,
    author = excluded.author, at = excluded.at"""


class Stored(Struct, frozen=True, kw_only=True):
    """One team's memories: checksum and bytes by name, and what was deleted."""

    id: str
    """Made at random with the team: another store never has it."""
    version: int
    """Counts the changes."""
    entries: dict[str, tuple[str, int]]
    gone: tuple[str, ...]
    by: dict[str, tuple[str, int]] = {}
    """Holder of the token and time of the last change of each, the deleted ones too."""


class Write(Struct, frozen=True):
    """One change: the new text and its checksum (None and empty to delete), and the checksum of what it replaces."""

    text: str | None
    hash: str
    was: str


class Noted(Struct, frozen=True, kw_only=True):
    """One change of a memory: the version of the team's state that it made, the holder of the token, and when."""

    key: str
    version: int
    author: str
    at: int
    deleted: bool


class Token(Struct, frozen=True):
    """Who holds a token, for which team (empty: all), and whether it may write."""

    name: str
    space: str
    writes: bool


class TeamFull(StoreError):
    """A team has as many memories as it may have."""


class TeamStore:
    """What a server keeps. Its methods may be called from several threads, and raise StoreError."""

    def __init__(self, state: State, *, most: int) -> None:
        self._state = state
        self._most = most
        self._turn = threading.Lock()
        with self._begun():
            for statement in _TABLES:
                state.change(statement)

    def look(self, space: str) -> Stored:
        """What a team has now; a team that is not known is begun."""
        with self._begun():
            id, version = self._space(space)
            rows = self._state.read("select key, hash, bytes, author, at from team_entries where space = :space", {"space": space})
        return Stored(
            id=id,
            version=version,
            entries={row["key"]: (row["hash"], row["bytes"]) for row in rows if row["hash"]},
            gone=tuple(sorted(row["key"] for row in rows if not row["hash"])),
            by={row["key"]: (row["author"], row["at"]) for row in rows},
        )

    def mark(self, space: str) -> tuple[str, int] | None:
        """Id and version of a team; None where it is not known."""
        with self._alone():
            found = self._state.read("select id, version from team_spaces where name = :space", {"space": space})
        return (found[0]["id"], found[0]["version"]) if found else None

    def read(self, space: str, keys: list[str], *, most: int) -> dict[str, str]:
        """Texts by name, until they have so many bytes; what is not there is left out, and what comes after them."""
        texts: dict[str, str] = {}
        with self._alone():
            for key in keys:
                rows = self._entry(space, key)
                if not rows or rows[0]["text"] is None:
                    continue
                most -= rows[0]["bytes"]
                if most < 0 and texts:
                    break
                texts[key] = rows[0]["text"]
        return texts

    def put(self, space: str, writes: Mapping[str, Write], author: str, *, version: int | None = None) -> dict[str, str]:
        """Make all changes in one step. Gives the names whose present checksum is another than the writer thinks, with it; nothing is written then.

        `version` is what the whole team must be at, where the writer says so. Raises TeamFull.
        """
        with self._begun():
            _, present = self._space(space)
            if not writes:
                return {}
            moved = {key: now for key, write in writes.items() if (now := self._hash(space, key)) != write.was}
            if moved or version not in (None, present):
                return moved or {"": ""}
            at = self._state.now()
            for key, write in writes.items():
                values = {
                    "space": space,
                    "key": key,
                    "hash": write.hash,
                    "text": write.text,
                    "version": present + 1,
                    "author": author,
                    "at": at,
                }
                self._state.change(_NOTE, values)
                self._state.change(_PRUNE, {"space": space, "key": key, "most": MOST_KEPT})
                self._state.change(_PUT, values | {"bytes": len(write.text.encode()) if write.text is not None else 0})
            rows = self._state.read("select count(*) as many from team_entries where space = :space and hash <> ''", {"space": space})
            if rows[0]["many"] > self._most and any(not write.was for write in writes.values()):
                raise TeamFull(f"a team has at most {self._most:,} memories")
            self._state.change("update team_spaces set version = :version where name = :space", {"version": present + 1, "space": space})
        return {}

    def log(self, space: str, key: str = "", *, most: int) -> list[Noted]:
        """The newest changes of a memory, or with an empty name of all; at most `MOST_KEPT` of each."""
        with self._alone():
            rows = self._state.read(_LOG_OF_ONE if key else _LOG, {"space": space, "most": most} | ({"key": key} if key else {}))
        return [Noted(key=row["key"], version=row["version"], author=row["author"], at=row["at"], deleted=not row["hash"]) for row in rows]

    def _entry(self, space: str, key: str) -> Sequence[Mapping[str, Any]]:
        return self._state.read(
            "select hash, text, bytes from team_entries where space = :space and key = :key", {"space": space, "key": key}
        )

    def _hash(self, space: str, key: str) -> str:
        rows = self._entry(space, key)
        return str(rows[0]["hash"]) if rows else ""

    def _space(self, space: str) -> tuple[str, int]:
        made = {"space": space, "id": secrets.token_hex(16)}
        self._state.change("insert into team_spaces (name, id, version) values (:space, :id, 0) on conflict (name) do nothing", made)
        found = self._state.read("select id, version from team_spaces where name = :space", {"space": space})[0]
        return found["id"], found["version"]

    def add_token(self, name: str, *, space: str = "", writes: bool = True) -> str:
        """Make a token; only its hash is kept."""
        token = secrets.token_urlsafe(32)
        values = {"hash": _token_hash(token), "name": name, "space": space, "writes": int(writes)}
        with self._begun():
            self._state.change("insert into team_tokens (hash, name, space, writes) values (:hash, :name, :space, :writes)", values)
        return token

    def drop_token(self, name: str) -> int:
        """Take back every token of that name; gives their number."""
        with self._begun():
            return self._state.change("delete from team_tokens where name = :name", {"name": name})

    def token(self, given: str) -> Token | None:
        """What a token allows; None for an unknown one."""
        with self._alone():
            rows = self._state.read("select name, space, writes from team_tokens where hash = :hash", {"hash": _token_hash(given)})
        return Token(rows[0]["name"], rows[0]["space"], bool(rows[0]["writes"])) if rows else None

    def tokens(self) -> list[Token]:
        """Every token's holder."""
        with self._alone():
            rows = self._state.read("select name, space, writes from team_tokens order by name")
        return [Token(row["name"], row["space"], bool(row["writes"])) for row in rows]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._turn:
            yield

    @contextmanager
    def _begun(self) -> Iterator[None]:
        with self._turn, self._state.transaction():
            yield

    def close(self) -> None:
        """Close it. May be called twice."""
        self._state.close()


def open_team_store(place: str, *, most: int) -> TeamStore:
    """Open the store at a path, or at `postgresql://…`; it is made if there is none. Raises SettingsError, StoreError."""
    if "://" in place:
        return TeamStore(open_state(place, Path()), most=most)
    path = Path(place)
    make_folders(path.parent)
    try:
        private_file(path)
        database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        database.row_factory = sqlite3.Row
        database.execute("pragma journal_mode = wal")
        # What was answered for stays, also after a power cut: a store that forgets its last changes shows its clients an older state.
        database.execute("pragma synchronous = full")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the team store {path} cannot be opened ({error}); check the folder's space and permissions") from error
    return TeamStore(SqliteState(database), most=most)


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
