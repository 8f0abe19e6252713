"""Git objects of the history, read and written directly: trees, blobs and commits. Pure."""

from __future__ import annotations

import hashlib
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from memorist.core.lazy import lazy_module
from memorist.core.text_encoding import encode_file_text_as_utf8

if TYPE_CHECKING:
    from dulwich import object_store, objects, pack
    from dulwich.object_store import BaseObjectStore, PackCapableObjectStore
    from dulwich.objects import Blob, Commit, ObjectID
else:
    object_store, objects, pack = (
        lazy_module(f"dulwich.{name}") for name in ("object_store", "objects", "pack")
    )

KINDS = {"commit": 1, "tree": 2, "blob": 3}
"""Git's numbers of its object types: a change, a list of files, a file."""


def cast_to_object_id(text: bytes) -> ObjectID:
    """Cast an object's id to the library's own type."""
    return cast("ObjectID", text)


PACK_THRESHOLD = 100
"""Files per change from which they are written as one pack: single object files take several times
as long.
"""


TREE_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)
"""Mode, name and id of consecutive entries."""

_TREE_ROW = re.compile(rb"\d+ [^\0]+\0.{20}", re.DOTALL)
"""The same entries, whole."""

_ID_BYTES = 20
"""Bytes of an id, the end of each entry."""


FOLDER_MODE = b"40000"
"""The mode of a folder; all else are files."""


_FILE_MODE = b"100644"


_TIME_TRAILER = "Time: "


_AUTHOR = b"memorist <memorist@localhost>"


_KIND_NAMES = {number: name.encode() for name, number in KINDS.items()}


def compute_object_id(kind: int, data: bytes) -> ObjectID:
    """Compute the id that Git gives to an object of this type and content."""
    return cast_to_object_id(
        hashlib.sha1(b"%s %d\0" % (_KIND_NAMES[kind], len(data)) + data, usedforsecurity=False)
        .hexdigest()
        .encode()
    )


_EMPTY_TREE = compute_object_id(KINDS["tree"], b"")


ReadObject = Callable[["ObjectID"], bytes]
"""Returns the raw bytes of an object. Raises KeyError where there is none."""


def map_tree_paths_to_blob_ids(read: ReadObject, tree: ObjectID) -> dict[str, str]:
    """Return path to blob id of every file below a tree. Raises KeyError where a part is
    missing.
    """
    return {
        path.decode("utf-8", "surrogateescape"): sha.hex()
        for path, sha in _iter_tree(read, tree, b"")
    }


def _iter_tree(read: ReadObject, tree: ObjectID, above: bytes) -> Iterator[tuple[bytes, bytes]]:
    for mode, name, sha in TREE_ENTRY.findall(read(tree)):
        if mode == FOLDER_MODE:
            yield from _iter_tree(read, cast_to_object_id(sha.hex().encode()), above + name + b"/")
        else:
            yield above + name, sha


def find_blob_id(read: ReadObject, tree: ObjectID, path: str) -> ObjectID | None:
    """Find the id of the file at a path below a tree; None where none is there. Raises KeyError
    where a part of the tree is missing.
    """
    *folders, file = path.encode("utf-8", "surrogateescape").split(b"/")
    for name in folders:
        below = _find_entry(read(tree), name, is_folder=True)
        if below is None:
            return None
        tree = below
    return _find_entry(read(tree), file, is_folder=False)


def _find_entry(rows: bytes, name: bytes, *, is_folder: bool) -> ObjectID | None:
    return next(
        (
            cast_to_object_id(sha.hex().encode())
            for mode, found, sha in (TREE_ENTRY.findall(rows) if name in rows else ())
            if found == name and (mode == FOLDER_MODE) is is_folder
        ),
        None,
    )


def store_blobs(store: PackCapableObjectStore, blobs: Sequence[Blob]) -> None:
    """Add the files of one change."""
    if len(blobs) >= PACK_THRESHOLD:
        store.add_objects([(blob, None) for blob in blobs])
        return
    for blob in blobs:
        store.add_object(blob)


class _RowGroup(Struct, frozen=True):
    """Consecutive entries of a folder, with their bytes as they are and compressed."""

    rows: Sequence[bytes]
    raw: bytes
    deflated: bytes
    """A part of a zlib stream that refers to nothing before it, and ends at a whole byte."""


_GROUP_ROWS = 256
"""Entries of a group at least, where there are as many; twice as many are parted."""


class TreeEditor:
    """Writes the trees of a history, one change after the other."""

    def __init__(self) -> None:
        self._groups: dict[ObjectID, list[_RowGroup]] = {}
        """The entries of the folders that were written last."""

    def write_edited_tree(
        self,
        store: BaseObjectStore,
        read: ReadObject,
        tree: ObjectID | None,
        changes: Mapping[str, str | None],
    ) -> ObjectID:
        """Write a tree that is `tree` (None: empty) but for these files: blob id by path, None for
        one that is gone. Returns its id. What did not change is copied as it is, also compressed,
        so that one file of ten thousand costs little more than the copy. Raises KeyError where a
        part of `tree` is missing, ValueError where it is cut.
        """
        known, self._groups = self._groups, {}
        edited = {
            path.encode("utf-8", "surrogateescape"): None if sha is None else bytes.fromhex(sha)
            for path, sha in changes.items()
        }
        return self._edit_folder(store, read, tree, edited, known)

    def _edit_folder(
        self,
        store: BaseObjectStore,
        read: ReadObject,
        tree: ObjectID | None,
        changes: Mapping[bytes, bytes | None],
        known: Mapping[ObjectID, list[_RowGroup]],
    ) -> ObjectID:
        groups = [] if tree is None else known.get(tree) or _group_rows(_read_rows(read(tree)))
        below: dict[bytes, dict[bytes, bytes | None]] = {}
        edits: dict[bytes, bytes] = {}
        for path, sha in changes.items():
            name, inside, rest = path.partition(b"/")
            if inside:
                below.setdefault(name, {})[rest] = sha
            else:
                edits[name] = b"%s %s\0%s" % (_FILE_MODE, name, sha) if sha else b""
        for name, inner in below.items():
            row = _find_row(groups, name + b"/")
            old = cast_to_object_id(row[-_ID_BYTES:].hex().encode()) if row else None
            new = self._edit_folder(store, read, old, inner, known)
            row = b"%s %s\0%s" % (FOLDER_MODE, name, bytes.fromhex(new.decode()))
            edits[name + b"/"] = b"" if new == _EMPTY_TREE else row
        groups = _edit_groups(groups, edits)
        written = _unparsed_tree()(groups)
        store.add_object(written)
        self._groups[written.id] = groups
        return written.id


def _read_rows(raw: bytes) -> list[bytes]:
    rows: list[bytes] = _TREE_ROW.findall(raw)
    if sum(map(len, rows)) != len(raw):
        raise ValueError("a list of files in it is cut")
    return rows


def _group_rows(rows: Sequence[bytes]) -> list[_RowGroup]:
    found = []
    size = -(-len(rows) // max(1, len(rows) // _GROUP_ROWS))
    for start in range(0, len(rows), max(1, size)):
        part = rows[start : start + size]
        raw = b"".join(part)
        found.append(_RowGroup(part, raw, _deflate(raw)))
    return found


def _deflate(data: bytes) -> bytes:
    # Ids do not compress: the best speed takes half the time and 3 % more room.
    stream = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)


_ZLIB_HEADER, _LAST_BLOCK = b"\x78\x01", b"\x03\x00"
"""What a zlib stream begins with, and an empty last block of it."""


@lru_cache(maxsize=1)
def _unparsed_tree() -> Callable[[Sequence[_RowGroup]], Blob]:
    """A tree that the library writes as it is: to parse ten thousand entries takes it fifty times
    as long as to find the one that changed, and to compress them half of the time of a change.
    """

    class UnparsedTree(objects.Blob):
        type_name = b"tree"
        type_num = KINDS["tree"]

        def __init__(self, groups: Sequence[_RowGroup]) -> None:
            super().__init__()
            self._deflated = b"".join(each.deflated for each in groups)
            self.set_raw_string(b"".join(each.raw for each in groups))

        def as_legacy_object(self, compression_level: int = -1) -> bytes:
            del compression_level
            raw = self.as_raw_string()
            header = b"tree %d\0" % len(raw)
            check = zlib.adler32(raw, zlib.adler32(header)).to_bytes(4, "big")
            return _ZLIB_HEADER + _deflate(header) + self._deflated + _LAST_BLOCK + check

    return UnparsedTree


def _sort_key(row: bytes) -> bytes:
    """What Git sorts an entry by: a folder as if its name ended in a slash."""
    mode, _, name = row[: -_ID_BYTES - 1].partition(b" ")
    return name + b"/" if mode == FOLDER_MODE else name


def _first_key(group: _RowGroup) -> bytes:
    return _sort_key(group.rows[0])


def _find_group(groups: Sequence[_RowGroup], key: bytes) -> int:
    """Which group an entry with this key is in, or belongs into."""
    return max(0, bisect_right(groups, key, key=_first_key) - 1)


def _find_row(groups: Sequence[_RowGroup], key: bytes) -> bytes:
    """The entry with this key; empty for none."""
    rows = groups[_find_group(groups, key)].rows if groups else ()
    at = bisect_left(rows, key, key=_sort_key)
    return rows[at] if at < len(rows) and _sort_key(rows[at]) == key else b""


def _edit_groups(groups: Sequence[_RowGroup], edits: Mapping[bytes, bytes]) -> list[_RowGroup]:
    """Put entries where they belong by their keys, in place of one of the same; an empty one
    removes that.
    """
    by_group: dict[int, list[bytes]] = {}
    for key, row in edits.items():
        at = _find_group(groups, key)
        rows = by_group.setdefault(at, [*groups[at].rows] if groups else [])
        _set_row(rows, key, row)
    if not groups:
        return _group_rows(by_group.get(0, []))
    return [
        each
        for at, group in enumerate(groups)
        for each in (_group_rows(by_group[at]) if at in by_group else (group,))
    ]


def _set_row(rows: list[bytes], key: bytes, row: bytes) -> None:
    """Put an entry where it belongs in the sorted ones, in place of one of its key; an empty one
    removes that.
    """
    at = bisect_left(rows, key, key=_sort_key)
    known = at < len(rows) and _sort_key(rows[at]) == key
    rows[at : at + known] = [row] if row else []


def build_commit(tree: ObjectID, parent: ObjectID | None, text: str, timestamp: float) -> Commit:
    """Build a commit; `timestamp` is in seconds since the epoch, UTC. Git keeps whole seconds, in
    which two histories would not tell which change came first: the message names the rest.
    """
    commit = objects.Commit()
    commit.tree = tree
    commit.parents = [parent] if parent else []
    commit.author = commit.committer = _AUTHOR
    commit.commit_time = commit.author_time = max(0, int(timestamp))
    commit.commit_timezone = commit.author_timezone = 0
    commit.encoding = b"UTF-8"
    named = "" if timestamp == int(timestamp) else f"{_TIME_TRAILER}{timestamp:.6f}\n"
    commit.message = (text + named).encode()
    return commit


def read_commit_time(commit: Commit) -> float:
    """The time that `build_commit` was given; the whole second of a commit that names no other."""
    lines = commit.message.rsplit(_TIME_TRAILER.encode(), 1)
    with suppress(ValueError, OverflowError):
        if len(lines) == 2 and int(exact := float(lines[1])) == commit.commit_time:
            return exact
    return float(commit.commit_time)


def compute_blob_id(data: bytes) -> str:
    """Compute the id under which the history stores these bytes."""
    return compute_object_id(KINDS["blob"], data).decode()


VERSION_CHARS = 12
"""Characters of the version mark that tells whether a memory has changed."""


def compute_memory_version(text: str) -> str:
    """The version mark of a memory's text."""
    return compute_blob_id(encode_file_text_as_utf8(text))[:VERSION_CHARS]
