"""What a team server keeps: memories of several teams in one SQLite file, each with the checksum it has now; deletions leave a mark; tokens as hashes."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from memorist.errors import StoreError
from memorist.store.database import BUSY_SECONDS, private_file, transaction
from memorist.store.files import make_folders

_TABLES = (
    "create table if not exists spaces (name text primary key, id text not null, version integer not null)",
    """create table if not exists entries (space text not null, key text not null, hash text not null, text text, bytes integer not null,
    version integer not null, author text not null, at integer not null, primary key (space, key))""",
    "create table if not exists tokens (hash text primary key, name text not null, space text not null, writes integer not null)",
)


class Stored(Struct, frozen=True, kw_only=True):
    """One team's memories: checksum and bytes by name, and what was deleted."""

    id: str
    """Made at random with the team: another store never has it."""
    version: int
    """Counts the changes."""
    entries: dict[str, tuple[str, int]]
    gone: tuple[str, ...]


class Write(Struct, frozen=True):
    """One change: the new text and its checksum (None and empty to delete), and the checksum of what it replaces."""

    text: str | None
    hash: str
    was: str


class Token(Struct, frozen=True):
    """Who holds a token, for which team (empty: all), and whether it may write."""

    name: str
    space: str
    writes: bool


class TeamFull(StoreError):
    """A team has as many memories as it may have."""


class TeamStore:
    """The file of a server. Its methods may be called from several threads, and raise StoreError."""

    def __init__(self, path: Path, *, most: int) -> None:
        self._most = most
        self._turn = threading.Lock()
        make_folders(path.parent)
        with _told():
            private_file(path)
            self._database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._database.execute("pragma journal_mode = wal")
            # What was answered for stays, also after a power cut: a store that forgets its last changes shows its clients an older state.
            self._database.execute("pragma synchronous = full")
            for statement in _TABLES:
                self._database.execute(statement)

    def look(self, space: str) -> Stored:
        """What a team has now; a team that is not known is begun."""
        with self._begun() as database:
            id, version = self._space(database, space)
            rows = database.execute("select key, hash, bytes from entries where space = ?", (space,)).fetchall()
        return Stored(
            id=id,
            version=version,
            entries={key: (checksum, size) for key, checksum, size in rows if checksum},
            gone=tuple(sorted(key for key, checksum, _ in rows if not checksum)),
        )

    def mark(self, space: str) -> tuple[str, int] | None:
        """Id and version of a team; None where it is not known."""
        with self._turn, _told():
            found = self._database.execute("select id, version from spaces where name = ?", (space,)).fetchone()
        return None if found is None else (found[0], found[1])

    def read(self, space: str, keys: list[str], *, most: int) -> dict[str, str]:
        """Texts by name, until they have so many bytes; what is not there is left out, and what comes after them."""
        texts: dict[str, str] = {}
        with self._turn, _told():
            for key in keys:
                row = self._database.execute("select text, bytes from entries where space = ? and key = ?", (space, key)).fetchone()
                if row is None or row[0] is None:
                    continue
                most -= row[1]
                if most < 0 and texts:
                    break
                texts[key] = row[0]
        return texts

    def put(self, space: str, writes: Mapping[str, Write], author: str, *, version: int | None = None) -> dict[str, str]:
        """Make all changes in one step. Gives the names whose present checksum is another than the writer thinks, with it; nothing is written then.

        `version` is what the whole team must be at, where the writer says so. Raises TeamFull.
        """
        with self._begun() as database:
            _, present = self._space(database, space)
            if not writes:
                return {}
            moved = {key: now for key, write in writes.items() if (now := self._hash(database, space, key)) != write.was}
            if moved or version not in (None, present):
                return moved or {"": ""}
            for key, write in writes.items():
                size = len(write.text.encode()) if write.text is not None else 0
                database.execute(
                    "insert into entries values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (space, key) do update set hash = excluded.hash,"
                    " text = excluded.text, bytes = excluded.bytes, version = excluded.version, author = excluded.author, at = excluded.at",
                    (space, key, write.hash, write.text, size, present + 1, author, int(time.time())),
                )
            count = database.execute("select count(*) from entries where space = ? and hash <> ''", (space,)).fetchone()[0]
            if count > self._most and any(not write.was for write in writes.values()):
                raise TeamFull(f"a team has at most {self._most:,} memories")
            database.execute("update spaces set version = ? where name = ?", (present + 1, space))
        return {}

    @staticmethod
    def _hash(database: sqlite3.Connection, space: str, key: str) -> str:
        row = database.execute("select hash from entries where space = ? and key = ?", (space, key)).fetchone()
        return "" if row is None else str(row[0])

    @staticmethod
    def _space(database: sqlite3.Connection, space: str) -> tuple[str, int]:
        database.execute("insert into spaces values (?, ?, 0) on conflict (name) do nothing", (space, secrets.token_hex(16)))
        id, version = database.execute("select id, version from spaces where name = ?", (space,)).fetchone()
        return id, version

    def add_token(self, name: str, *, space: str = "", writes: bool = True) -> str:
        """Make a token; only its hash is kept."""
        token = secrets.token_urlsafe(32)
        with self._begun() as database:
            database.execute("insert into tokens values (?, ?, ?, ?)", (_token_hash(token), name, space, int(writes)))
        return token

    def drop_token(self, name: str) -> int:
        """Take back every token of that name; gives their number."""
        with self._begun() as database:
            return database.execute("delete from tokens where name = ?", (name,)).rowcount

    def token(self, given: str) -> Token | None:
        """What a token allows; None for an unknown one."""
        with self._turn, _told():
            row = self._database.execute("select name, space, writes from tokens where hash = ?", (_token_hash(given),)).fetchone()
        return None if row is None else Token(row[0], row[1], bool(row[2]))

    def tokens(self) -> list[Token]:
        """Every token's holder."""
        with self._turn, _told():
            return [
                Token(row[0], row[1], bool(row[2]))
                for row in self._database.execute("select name, space, writes from tokens order by name")
            ]

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        with self._turn, _told(), transaction(self._database):
            yield self._database

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the team store refused ({error}); check the folder's space and permissions") from error
