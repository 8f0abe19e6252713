"""Rewrite a history without some files, beside the old one: the long part runs while others write,
and the switch is quick.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from memorist.auto_memory.git_objects import (
    FOLDER_MODE,
    KINDS,
    TREE_ENTRY,
    build_commit,
    cast_to_object_id,
    compute_object_id,
)
from memorist.auto_memory.memory_changes import ChangeReason, render_commit_message
from memorist.auto_memory.memory_history import BRANCH, FolderHistory, pack, repo
from memorist.store.disk_files import (
    make_folder_staging_path,
    make_folders,
    raise_os_errors_as_store_errors,
    swap_in_staged_folder,
)

if TYPE_CHECKING:
    from dulwich.objects import Commit, ObjectID
    from dulwich.pack import UnpackedObject

CHANGES_PER_PACK = 200
"""Changes written as one pack: with trees of 2,000 files each, 14 MB are held in memory."""
_EMPTY_TREE = compute_object_id(KINDS["tree"], b"")


class HistoryRewrite:
    """A copy of a history without some files.

    One at a time; leftovers of a killed one are discarded.

    The old history stays in place, and may grow, until `replace_history`. Every method raises
    StoreError.
    """

    def __init__(
        self,
        history: FolderHistory,
        paths: Collection[str],
        *,
        derived: Collection[str] = (),
        clean: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._history = history
        self._purged_paths = frozenset(paths)
        self._dropped_names = frozenset(
            path.encode("utf-8", "surrogateescape") for path in (*paths, *derived)
        )
        """`derived` files name the purged ones, and are dropped from the history as well."""
        self._clean = clean
        """Applied to what stays: other files and messages may repeat the words."""
        self._build_path = history.path.with_name(f".{history.path.name}-building")
        self._reset()

    def _reset(self) -> None:
        with raise_os_errors_as_store_errors("delete", self._build_path):
            if self._build_path.exists():
                shutil.rmtree(self._build_path)
        self.touched_changes = 0
        """Number of changes that touched the purged files."""
        self._last = ""
        self._head: ObjectID | None = None
        self._tree = _EMPTY_TREE
        self._ids: dict[str, str] = {}
        self._trees: dict[tuple[ObjectID, bytes], ObjectID] = {}
        self._copied_blobs: dict[bytes, bytes] = {}

    def copy_new_changes(self) -> None:
        """Copy what the old history has beyond the last copied change.

        Starts over where the old history was replaced meanwhile.
        """
        new: list[Commit] = []
        for commit in self._history.walk_commits():
            if commit.id.decode() == self._last:
                break
            new.append(commit)
        else:
            if self._last:
                self._reset()
        new.reverse()
        for start in range(0, len(new), CHANGES_PER_PACK):
            self._write_batch(new[start : start + CHANGES_PER_PACK])

    def replace_history(self) -> None:
        """Replace the old history, of which no copy remains. Requires the folder's lock."""
        self._history.close()
        with raise_os_errors_as_store_errors("replace", self._history.path):
            if self._build_path.exists():
                self._build_path.rename(make_folder_staging_path(self._history.path))
        swap_in_staged_folder(self._history.path)

    def _write_batch(self, commits: Sequence[Commit]) -> None:
        objects: dict[ObjectID, UnpackedObject] = {}
        with self._history.translate_errors("rewrite"):
            for commit in commits:
                self._copy_commit(commit, objects)
            self._last = commits[-1].id.decode()
            if not objects or self._head is None:
                return
            if self._build_path.exists():
                repository = repo.Repo(str(self._build_path))
            else:
                make_folders(self._build_path)
                repository = repo.Repo.init_bare(str(self._build_path))
            try:
                repository.object_store.add_pack_data(len(objects), iter(objects.values()))
                repository.refs[BRANCH] = self._head
            finally:
                repository.close()

    def _copy_commit(self, commit: Commit, objects: dict[ObjectID, UnpackedObject]) -> None:
        recorded = self._history.read_change(commit)
        is_purged = bool(self._purged_paths.intersection(recorded.paths))
        self.touched_changes += is_purged
        tree = self._filter_tree(commit.tree, b"", objects)
        if tree == self._tree:
            return
        # The commit message quotes the purged memory as well.
        why = (
            ChangeReason(actor=recorded.why.actor, what="(forgotten for good)")
            if is_purged
            else recorded.why
        )
        paths = [
            path
            for path in recorded.paths
            if path.encode("utf-8", "surrogateescape") not in self._dropped_names
        ]
        rewritten = build_commit(
            tree,
            self._head,
            self._clean(
                render_commit_message(why, self._ids.get(recorded.undoes, ""), paths).encode()
            ).decode(),
            recorded.at,
        )
        self._add_object(KINDS["commit"], rewritten.as_raw_string(), objects)
        self._ids[recorded.id] = rewritten.id.decode()
        self._tree, self._head = tree, rewritten.id

    def _add_object(
        self, kind: int, data: bytes, objects: dict[ObjectID, UnpackedObject]
    ) -> ObjectID:
        """Add an object to the next pack; the library's own objects would parse every tree."""
        sha = compute_object_id(kind, data)
        objects[sha] = pack.UnpackedObject(
            kind, sha=bytes.fromhex(sha.decode()), decomp_chunks=[data], decomp_len=len(data)
        )
        return sha

    def _filter_tree(
        self, tree: ObjectID, above: bytes, objects: dict[ObjectID, UnpackedObject]
    ) -> ObjectID:
        """Return the tree without dropped files; it and its blobs are added to the objects, each
        once.
        """
        known = self._trees.get((tree, above))
        if known is not None:
            return known
        rows = []
        for mode, name, sha in TREE_ENTRY.findall(self._history.read_raw_object(tree)):
            if mode == FOLDER_MODE:
                below = self._filter_tree(
                    cast_to_object_id(sha.hex().encode()), above + name + b"/", objects
                )
                if below != _EMPTY_TREE:
                    rows.append(b"%s %s\0%s" % (mode, name, bytes.fromhex(below.decode())))
            elif above + name not in self._dropped_names:
                if sha not in self._copied_blobs:
                    data = self._history.read_raw_object(cast_to_object_id(sha.hex().encode()))
                    copied = self._add_object(KINDS["blob"], self._clean(data), objects)
                    self._copied_blobs[sha] = bytes.fromhex(copied.decode())
                rows.append(b"%s %s\0%s" % (mode, name, self._copied_blobs[sha]))
        filtered = self._trees[tree, above] = self._add_object(
            KINDS["tree"], b"".join(rows), objects
        )
        return filtered
