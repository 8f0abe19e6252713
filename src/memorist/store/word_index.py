"""The index of words: for each word the entries that have it, in one SQLite file that can be thrown away at any time.

A word's entries are packed, one number each: `entry << 8 | weight`, sorted, in shelves of 4,096 entries, so that a change rewrites little. SQLite's
own full text (FTS5) was measured beside it and is too slow for ten thousand memories (docs/decisions/0007).
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.errors import DamagedIndex, StoreError
from memorist.store.database import is_damage, move_aside, transaction
from memorist.store.index_file import open_index

SHELF = 12
"""Bits of an entry's number within its shelf."""

BATCH = 500
"""Entries written in one transaction: about a quarter of a second, so that other processes need not wait long, nor is much lost by a kill."""


class IndexRow(Struct, frozen=True, kw_only=True):
    """An entry as it is written: its words with their weights (1 to 255), and what the ranker wants to know of it."""

    id: str
    fingerprint: str
    words: Mapping[str, int]
    length: int
    group: str = ""
    place: int = 0
    author: str = ""
    flags: int = 0


class StoredRow(Struct, frozen=True):
    """An entry as it is read back, under its number."""

    number: int
    id: str
    fingerprint: str
    length: int
    group: str
    place: int
    author: str
    flags: int


class WordIndex:
    """The index file. Several processes may use it. Every method raises StoreError when the disk refuses or the file is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database, self.rebuilt = open_index(path)

    def begin_anew(self) -> None:
        """Move the file aside and begin an empty one."""
        self._database.close()
        with contextlib.suppress(FileNotFoundError):
            move_aside(self._path)
        self._database, _ = open_index(self._path)
        self.rebuilt = True

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._database.close()

    def version(self) -> tuple[int, int]:
        """Changes whenever the index did, by this connection or another."""
        with _told("read"):
            (outside,) = self._database.execute("pragma data_version").fetchone()
            return int(outside), self._database.total_changes

    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of every entry, by its id."""
        with _told("read"):
            return {row["id"]: row["fingerprint"] for row in self._database.execute("select id, fingerprint from entries")}

    def rows(self) -> Iterator[StoredRow]:
        """Every entry, by group and place."""
        with _told("read"):
            found = self._database.execute(
                "select number, id, fingerprint, length, grp, place, author, flags from entries order by grp, place, id"
            )
            yield from itertools.starmap(StoredRow, found)

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """In how many entries each of these words stands; words that stand nowhere are left out."""
        with _told("read"):
            found = self._database.execute(
                "select word, sum(length(entries)) from words where word in (select value from json_each(?)) group by word", (_list(words),)
            )
            sizes = {word: divmod(size, 4) for word, size in found}
            if any(rest for _, rest in sizes.values()):
                raise ValueError("a word's entries are cut off")
            return {word: size for word, (size, _) in sizes.items()}

    def postings(self, word: str) -> array[int]:
        """The packed entries of a word, sorted."""
        packed = array("I")
        with _told("read"):
            for (blob,) in self._database.execute("select entries from words where word = ? order by shelf", (word,)):
                packed.frombytes(blob)
        return packed

    def write(self, rows: Sequence[IndexRow]) -> None:
        """Add or replace entries, `BATCH` at a time: what was written before a kill stands, and the next sync does the rest."""
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            with _told("written"), transaction(self._database):
                old = self._take_out([row.id for row in part])
                self._put_in(part, old)

    def remove(self, ids: Sequence[str]) -> None:
        """Take entries out."""
        for start in range(0, len(ids), BATCH):
            with _told("written"), transaction(self._database):
                self._take_out(ids[start : start + BATCH])

    def vectors(self, embedder: str) -> Iterator[tuple[str, bytes]]:
        """Fingerprint and vector of what was embedded by this embedder."""
        with _told("read"):
            found = self._database.execute("select fingerprint, vector from vectors where embedder = ?", (embedder,))
            yield from ((row["fingerprint"], row["vector"]) for row in found)

    def keep_vectors(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by the fingerprint of their entry."""
        with _told("written"), transaction(self._database):
            self._database.executemany(
                "insert or replace into vectors values (?, ?, ?)", [(key, embedder, v) for key, v in vectors.items()]
            )

    def drop_vectors(self) -> None:
        """Forget the vectors of entries that are gone."""
        with _told("written"), transaction(self._database):
            self._database.execute("delete from vectors where fingerprint not in (select fingerprint from entries)")

    def _take_out(self, ids: Sequence[str]) -> dict[str, int]:
        """Remove entries; gives the numbers they had, for those that come back."""
        numbers, edits = {}, _Edits(self._database)
        found = self._database.execute("select id, number, words from entries where id in (select value from json_each(?))", (_list(ids),))
        for row in found:
            numbers[row["id"]] = row["number"]
            for word in row["words"].split(" "):
                edits.take(word, row["number"])
        edits.apply()
        self._database.executemany("delete from entries where number = ?", [(number,) for number in numbers.values()])
        return numbers

    def _put_in(self, rows: Sequence[IndexRow], old: Mapping[str, int]) -> None:
        used = {number for (number,) in self._database.execute("select number from entries")} | set(old.values())
        free = (number for number in itertools.count(1) if number not in used)
        edits, made = _Edits(self._database), []
        for row in rows:
            number = old.get(row.id) or next(free)
            words = " ".join(row.words)
            made.append((number, row.id, row.fingerprint, row.length, row.group, row.place, row.author, row.flags, words))
            for word, weight in row.words.items():
                edits.put(word, number << 8 | weight)
        self._database.executemany("insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)", made)
        edits.apply()


class _Edits:
    """Changes to the words' entries, collected so that each shelf is written once."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._in: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._out: dict[tuple[str, int], set[int]] = defaultdict(set)

    def put(self, word: str, packed: int) -> None:
        self._in[word, packed >> 8 >> SHELF].append(packed)

    def take(self, word: str, number: int) -> None:
        self._out[word, number >> SHELF].add(number)

    def apply(self) -> None:
        for key in sorted(self._in.keys() | self._out.keys()):
            packed, gone = array("I"), self._out.get(key, set())
            found = self._database.execute("select entries from words where word = ? and shelf = ?", key).fetchone()
            if found:
                packed.frombytes(found["entries"])
            left = sorted([each for each in packed if each >> 8 not in gone] + self._in.get(key, []))
            if left:
                self._database.execute("insert or replace into words values (?, ?, ?)", (*key, array("I", left).tobytes()))
            else:
                self._database.execute("delete from words where word = ? and shelf = ?", key)


@contextlib.contextmanager
def _told(verb: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.DatabaseError, ValueError) as error:
        if isinstance(error, ValueError) or is_damage(error):
            raise DamagedIndex(f"the index of words is damaged ({error}); the next sync makes it anew") from error
        raise StoreError(f"the index of words cannot be {verb} ({error}); check the folder's space and permissions") from error


def _list(values: Iterable[str]) -> str:
    return msgspec.json.encode(list(values)).decode()
