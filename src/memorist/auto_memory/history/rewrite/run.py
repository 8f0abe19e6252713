"""Rewrite a history without some files, beside the old one: the long part runs while others write,
and the switch is quick.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from memorist.auto_memory.changes import Why, commit_text
from memorist.auto_memory.history.git import BRANCH, KINDS, object_name, pack, repo
from memorist.auto_memory.history.run import History
from memorist.auto_memory.history.tree import ENTRY, FOLDER, commit_of, object_id
from memorist.store.files import make_folders, refusal
from memorist.store.folders import aside, replace_folder

if TYPE_CHECKING:
    from dulwich.objects import Commit, ObjectID
    from dulwich.pack import UnpackedObject

BATCH = 200
"""Changes written as one pack: with trees of 2,000 files each, 14 MB are held in memory."""
_EMPTY = object_id(KINDS["tree"], b"")


class Rewrite:
    """A copy of a history without some files.

    One at a time; leftovers of a killed one are discarded.

    The old history stays in place, and may grow, until `replace_history`. Every method raises
    StoreError.
    """

    def __init__(self, history: History, paths: Collection[str], *, derived: Collection[str] = ()) -> None:
        self._history = history
        self._named = frozenset(paths)
        self._wanted = frozenset(path.encode("utf-8", "surrogateescape") for path in (*paths, *derived))
        """`derived` files name the purged ones, and are dropped from the history as well."""
        self._place = history.path.with_name(f".{history.path.name}-building")
        self._begin()

    def _begin(self) -> None:
        try:
            if self._place.exists():
                shutil.rmtree(self._place)
        except OSError as error:
            raise refusal("delete", self._place, error) from error
        self.touched = 0
        """Number of changes that touched the purged files."""
        self._last = ""
        self._head: ObjectID | None = None
        self._tree = _EMPTY
        self._ids: dict[str, str] = {}
        self._trees: dict[tuple[ObjectID, bytes], ObjectID] = {}
        self._kept: set[bytes] = set()

    def catch_up(self) -> None:
        """Copy what the old history has beyond the last copied change.

        Starts over where the old history was replaced meanwhile.
        """
        new: list[Commit] = []
        for commit in self._history.walk():
            if commit.id.decode() == self._last:
                break
            new.append(commit)
        else:
            if self._last:
                self._begin()
        new.reverse()
        for start in range(0, len(new), BATCH):
            self._write(new[start : start + BATCH])

    def put_in_place(self) -> None:
        """Replace the old history, of which no copy remains. Requires the folder's lock."""
        self._history.close()
        try:
            if self._place.exists():
                self._place.rename(aside(self._history.path))
        except OSError as error:
            raise refusal("replace", self._history.path, error) from error
        replace_folder(self._history.path)

    def _write(self, commits: Sequence[Commit]) -> None:
        objects: dict[ObjectID, UnpackedObject] = {}
        with self._history.refusals("rewrite"):
            for commit in commits:
                self._copy(commit, objects)
            self._last = commits[-1].id.decode()
            if not objects or self._head is None:
                return
            if self._place.exists():
                repository = repo.Repo(str(self._place))
            else:
                make_folders(self._place)
                repository = repo.Repo.init_bare(str(self._place))
            try:
                repository.object_store.add_pack_data(len(objects), iter(objects.values()))
                repository.refs[BRANCH] = self._head
            finally:
                repository.close()

    def _copy(self, commit: Commit, objects: dict[ObjectID, UnpackedObject]) -> None:
        recorded = self._history.recorded(commit)
        gone = bool(self._named.intersection(recorded.paths))
        self.touched += gone
        tree = self._without(commit.tree, b"", objects)
        if tree == self._tree:
            return
        # The commit message quotes the purged memory as well.
        why = Why(actor=recorded.why.actor, what="(forgotten for good)") if gone else recorded.why
        paths = [path for path in recorded.paths if path.encode("utf-8", "surrogateescape") not in self._wanted]
        made = commit_of(tree, self._head, commit_text(why, self._ids.get(recorded.undoes, ""), paths), recorded.at)
        self._add(KINDS["commit"], made.as_raw_string(), objects)
        self._ids[recorded.id] = made.id.decode()
        self._tree, self._head = tree, made.id

    def _add(self, kind: int, data: bytes, objects: dict[ObjectID, UnpackedObject]) -> ObjectID:
        """Add an object to the next pack; the library's own objects would parse every tree."""
        sha = object_id(kind, data)
        objects[sha] = pack.UnpackedObject(kind, sha=bytes.fromhex(sha.decode()), decomp_chunks=[data], decomp_len=len(data))
        return sha

    def _without(self, tree: ObjectID, above: bytes, objects: dict[ObjectID, UnpackedObject]) -> ObjectID:
        """Return the tree without dropped files; it and its blobs are added to the objects, each
        once.
        """
        known = self._trees.get((tree, above))
        if known is not None:
            return known
        rows = []
        for mode, name, sha in ENTRY.findall(self._history.raw(tree)):
            if mode == FOLDER:
                below = self._without(object_name(sha.hex().encode()), above + name + b"/", objects)
                if below != _EMPTY:
                    rows.append(b"%s %s\0%s" % (mode, name, bytes.fromhex(below.decode())))
            elif above + name not in self._wanted:
                if sha not in self._kept:
                    self._kept.add(sha)
                    self._add(KINDS["blob"], self._history.raw(object_name(sha.hex().encode())), objects)
                rows.append(b"%s %s\0%s" % (mode, name, sha))
        made = self._trees[tree, above] = self._add(KINDS["tree"], b"".join(rows), objects)
        return made
