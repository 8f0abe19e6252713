"""The index of words: for each word the entries that have it, in one SQLite file that can be thrown
away at any time.

A word's entries are packed, one number each: `entry << 8 | weight`, sorted, in shelves of 4,096
entries, so that a change rewrites little. SQLite's own full text (FTS5) was measured beside it and
is too slow for ten thousand memories (docs/decisions/0007).
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.errors import DamagedIndex, StoreError
from memorist.store.index_database import (
    get_device_and_inode,
    open_or_replace_index,
    open_unsaved_index,
)
from memorist.store.sqlite_database import (
    PAUSE_AFTER_BUSY_SECONDS,
    UnsavedDatabaseConnection,
    is_database_damage,
    is_database_locked,
    is_unwritable_error,
    move_damaged_database_aside,
    transaction,
)

SHELF_BITS = 12
"""Bits of an entry's number within its shelf."""

ENTRIES_PER_TRANSACTION = 500
"""Entries written in one transaction: about a quarter of a second, so that other processes wait
little, and a kill loses little.
"""


class IndexRow(Struct, frozen=True, kw_only=True):
    """An entry to write: its words with their weights (1 to 255), and what the ranker needs."""

    id: str
    fingerprint: str
    words: Mapping[str, int]
    length: int
    group: str = ""
    position: int = 0
    flags: int = 0


class StoredIndexRow(Struct, frozen=True):
    """An entry as read back, with its number."""

    number: int
    id: str
    fingerprint: str
    length: int
    group: str
    position: int
    flags: int


class WordIndex:
    """The index file. Several processes may share it. Every method raises StoreError when the disk
    refuses or the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        self._database = open_or_replace_index(self._path)
        self._embedders: frozenset[str] = frozenset()
        self._embedders_at: tuple[int, int] | None = None
        self._opened_file = get_device_and_inode(self._path)
        self._file_due = time.monotonic() + PAUSE_AFTER_BUSY_SECONDS
        """When a file that a copy stands in for is tried again, by the monotonic clock."""

    @property
    def is_in_memory_copy(self) -> bool:
        """Whether a copy in memory stands in for the file."""
        return isinstance(self._database, UnsavedDatabaseConnection)

    def use_copy_if_refused(self, error: StoreError) -> bool:
        """Go on with a copy in memory where another process has the file locked, or the disk takes
        no writing; False for any other error.
        """
        cause = error.__cause__
        if not isinstance(cause, sqlite3.Error | OSError) or not (
            is_database_locked(cause) or is_unwritable_error(cause, self._path)
        ):
            return False
        self._database.close()
        self._database = open_unsaved_index(self._path, cause)
        self._embedders_at = None
        self._file_due = time.monotonic() + PAUSE_AFTER_BUSY_SECONDS
        return True

    def reopen_if_replaced(self) -> bool:
        """Open the file again where it is another one by now, and once in a minute while a copy
        stands in for it; returns whether that was so.
        """
        if self.is_in_memory_copy:
            is_due = time.monotonic() >= self._file_due
        else:
            is_due = get_device_and_inode(self._path) != self._opened_file
        if is_due:
            self._database.close()
            self._open()
        return is_due

    def replace_by_empty_index(self) -> None:
        """Rename the file and start with an empty one."""
        self._database.close()
        with contextlib.suppress(FileNotFoundError):
            move_damaged_database_aside(self._path)
        self._open()

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._database.close()

    def read_change_marker(self) -> tuple[int, int]:
        """A value that changes whenever the index does, by this connection or another."""
        with _translate_index_errors("read"):
            (outside,) = self._database.execute("pragma data_version").fetchone()
            return int(outside), self._database.total_changes

    def read_fingerprints_by_id(self) -> dict[str, str]:
        """The fingerprint of every entry, by its id."""
        with _translate_index_errors("read"):
            return {
                row["id"]: row["fingerprint"]
                for row in self._database.execute("select id, fingerprint from entries")
            }

    def iter_all_rows(self) -> Iterator[StoredIndexRow]:
        """Every entry, by group and position."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select number, id, fingerprint, length, grp, place, flags from entries "
                "order by grp, place, id"
            )
            yield from itertools.starmap(StoredIndexRow, found)

    def read_rows_by_ids(self, ids: Collection[str]) -> list[StoredIndexRow]:
        """The entries with these ids."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select number, id, fingerprint, length, grp, place, flags from entries "
                "where id in (select value from json_each(?))",
                (_json_list(ids),),
            )
            return list(itertools.starmap(StoredIndexRow, found))

    def count_entries_by_word(self, words: Iterable[str]) -> dict[str, int]:
        """Number of entries that contain each of these words; absent words are left out."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select word, sum(length(entries)) from words where word in (select value from "
                "json_each(?)) group by word",
                (_json_list(words),),
            )
            sizes = {word: divmod(size, 4) for word, size in found}
            if any(rest for _, rest in sizes.values()):
                raise ValueError("a word's entries are cut off")
            return {word: size for word, (size, _) in sizes.items()}

    def find_spelling_candidates(self, word: str) -> list[str]:
        """Words that begin like this one and are at most one letter longer or shorter."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select distinct word from words where word between ? and ? "
                "and length(word) between ? and ?",
                (word[:2], word[:2] + "\U0010ffff", len(word) - 1, len(word) + 1),
            )
            return [near for (near,) in found]

    def read_postings(self, word: str) -> array[int]:
        """The packed entries of a word, sorted."""
        packed = array("I")
        with _translate_index_errors("read"):
            for (blob,) in self._database.execute(
                "select entries from words where word = ? order by shelf", (word,)
            ):
                packed.frombytes(blob)
        return packed

    def write(self, rows: Sequence[IndexRow]) -> None:
        """Add or replace entries, `ENTRIES_PER_TRANSACTION` at a time: what was written before a
        kill stays, and the next sync does the rest.
        """
        for start in range(0, len(rows), ENTRIES_PER_TRANSACTION):
            part = rows[start : start + ENTRIES_PER_TRANSACTION]
            with _translate_index_errors("written"), transaction(self._database):
                old = self._delete_entries([row.id for row in part])
                self._insert_entries(part, old)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove entries."""
        for start in range(0, len(ids), ENTRIES_PER_TRANSACTION):
            with _translate_index_errors("written"), transaction(self._database):
                self._delete_entries(ids[start : start + ENTRIES_PER_TRANSACTION])

    def iter_all_vectors(self, embedder: str) -> Iterator[tuple[str, bytes]]:
        """Fingerprint and vector of everything embedded by this embedder."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select fingerprint, vector from vectors where embedder = ?", (embedder,)
            )
            yield from ((row["fingerprint"], row["vector"]) for row in found)

    def read_embedded_fingerprints(self, embedder: str) -> frozenset[str]:
        """Fingerprints of everything embedded by this embedder."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select fingerprint from vectors where embedder = ?", (embedder,)
            )
            return frozenset(row["fingerprint"] for row in found)

    def has_vectors(self, embedder: str) -> bool:
        """Whether anything was embedded by this embedder. Read once for each state of the file: no
        key of the table begins with the embedder, and a search of many entries asks each time.
        """
        state = self.read_change_marker()
        if self._embedders_at != state:
            with _translate_index_errors("read"):
                found = self._database.execute("select distinct embedder from vectors")
                self._embedders = frozenset(row["embedder"] for row in found)
            self._embedders_at = state
        return embedder in self._embedders

    def read_vectors_by_fingerprint(
        self, embedder: str, fingerprints: Collection[str]
    ) -> dict[str, bytes]:
        """Vector by fingerprint, of those that this embedder has embedded."""
        with _translate_index_errors("read"):
            found = self._database.execute(
                "select fingerprint, vector from vectors where embedder = ? and fingerprint in "
                "(select value from json_each(?))",
                (embedder, _json_list(fingerprints)),
            )
            return {row["fingerprint"]: row["vector"] for row in found}

    def save_vectors(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by the fingerprint of their entry."""
        with _translate_index_errors("written"), transaction(self._database):
            self._database.executemany(
                "insert or replace into vectors values (?, ?, ?)",
                [(key, embedder, v) for key, v in vectors.items()],
            )

    def drop_all_orphaned_vectors(self) -> None:
        """Delete the vectors of entries that no longer exist."""
        with _translate_index_errors("written"), transaction(self._database):
            self._database.execute(
                "delete from vectors where fingerprint not in (select fingerprint from entries)"
            )

    def drop_orphaned_vectors(self, fingerprints: Collection[str]) -> None:
        """Delete the vectors of those of these fingerprints that no entry has any more."""
        with _translate_index_errors("written"), transaction(self._database):
            self._database.execute(
                "delete from vectors where fingerprint in (select value from json_each(?)) "
                "and fingerprint not in (select fingerprint from entries)",
                (_json_list(fingerprints),),
            )

    def drop_other_vectors(self, embedders: Collection[str]) -> None:
        """Delete the vectors of all embedders but these: of another model, or of the same by an
        earlier arithmetic.
        """
        with _translate_index_errors("written"):
            found = self._database.execute("select distinct embedder from vectors")
            others = [row for row in found.fetchall() if row["embedder"] not in embedders]
            if others:
                with transaction(self._database):
                    self._database.executemany("delete from vectors where embedder = ?", others)

    def _delete_entries(self, ids: Sequence[str]) -> dict[str, int]:
        """Remove entries; returns their numbers, for those that are added again."""
        numbers, edits = {}, _PostingEdits(self._database)
        found = self._database.execute(
            "select id, number, words from entries where id in (select value from json_each(?))",
            (_json_list(ids),),
        )
        for row in found:
            numbers[row["id"]] = row["number"]
            for word in row["words"].split(" "):
                edits.remove(word, row["number"])
        edits.apply()
        self._database.executemany(
            "delete from entries where number = ?", [(number,) for number in numbers.values()]
        )
        return numbers

    def _insert_entries(self, rows: Sequence[IndexRow], old: Mapping[str, int]) -> None:
        free = self._iter_free_numbers(frozenset(old.values()))
        edits, inserted = _PostingEdits(self._database), []
        for row in rows:
            number = old.get(row.id) or next(free)
            words = " ".join(row.words)
            inserted.append(
                (
                    number,
                    row.id,
                    row.fingerprint,
                    row.length,
                    row.group,
                    row.position,
                    row.flags,
                    words,
                )
            )
            for word, weight in row.words.items():
                edits.add(word, number << 8 | weight)
        self._database.executemany(
            "insert into entries values (?, ?, ?, ?, ?, ?, '', ?, ?)", inserted
        )
        edits.apply()

    def _iter_free_numbers(self, reserved: Collection[int]) -> Iterator[int]:
        """The numbers of no entry, the lowest first."""
        last, count = self._database.execute(
            "select coalesce(max(number), 0), count(*) from entries"
        ).fetchone()
        used = set[int]()
        if last > count:
            found = self._database.execute("select number from entries")
            used = {number for (number,) in found}
        for number in itertools.count(1 if used else last + 1):
            if number not in used and number not in reserved:
                yield number


class _PostingEdits:
    """Changes of postings, collected so that each shelf is written once."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._additions: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._removals: dict[tuple[str, int], set[int]] = defaultdict(set)

    def add(self, word: str, packed: int) -> None:
        self._additions[word, packed >> 8 >> SHELF_BITS].append(packed)

    def remove(self, word: str, number: int) -> None:
        self._removals[word, number >> SHELF_BITS].add(number)

    def apply(self) -> None:
        for key in sorted(self._additions.keys() | self._removals.keys()):
            packed, removed = array("I"), self._removals.get(key, set())
            found = self._database.execute(
                "select entries from words where word = ? and shelf = ?", key
            ).fetchone()
            if found:
                packed.frombytes(found["entries"])
            left = sorted(
                [each for each in packed if each >> 8 not in removed] + self._additions.get(key, [])
            )
            if left:
                self._database.execute(
                    "insert or replace into words values (?, ?, ?)",
                    (*key, array("I", left).tobytes()),
                )
            else:
                self._database.execute("delete from words where word = ? and shelf = ?", key)


@contextlib.contextmanager
def _translate_index_errors(verb: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.DatabaseError, ValueError) as error:
        if isinstance(error, ValueError) or is_database_damage(error):
            raise DamagedIndex(
                f"the index of words is damaged ({error}); the next sync rebuilds it"
            ) from error
        raise StoreError(
            f"the index of words cannot be {verb} ({error}); check the folder's space and "
            f"permissions"
        ) from error


def _json_list(values: Iterable[str]) -> str:
    return msgspec.json.encode(list(values)).decode()
