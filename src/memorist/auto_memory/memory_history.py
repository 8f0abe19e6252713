"""History of a memory folder: every state of its files, who changed what and why, in a bare Git
repository beside it (AM-10).

It is outside the folder, so that agents searching the folder do not find it and no fork can
change it. `git --git-dir=…/history log` can read it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
import weakref
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, cast

from memorist.auto_memory.git_objects import (
    TreeEditor,
    build_commit,
    cast_to_object_id,
    find_blob_id,
    map_tree_paths_to_blob_ids,
    read_commit_time,
    store_blobs,
)
from memorist.auto_memory.memory_changes import (
    OUTSIDE_ACTORS,
    ChangeReason,
    RecordedChange,
    parse_commit_message,
    parse_paths_in_commit_message,
    render_commit_message,
)
from memorist.core.lazy import lazy_module
from memorist.errors import InputError, StoreError
from memorist.store.disk_files import (
    convert_os_error_to_store_error,
    finish_or_undo_folder_replacement,
    make_folder_staging_path,
    make_folders,
)
from memorist.store.sqlite_database import move_damaged_database_aside

# The parts of the Git library (dulwich) that the history uses, imported on first use.


if TYPE_CHECKING:
    from dulwich import errors, file, objects, pack, patch, repo
    from dulwich.objects import Blob, Commit, ObjectID
    from dulwich.refs import Ref
    from dulwich.repo import Repo
else:
    errors, file, objects, pack, patch, repo = (
        lazy_module(f"dulwich.{name}")
        for name in ("errors", "file", "objects", "pack", "patch", "repo")
    )

__all__ = ["BRANCH", "errors", "file", "objects", "pack", "patch", "repo"]

BRANCH = cast("Ref", b"refs/heads/main")


_MAX_KEPT_CHANGES = 2_000
"""Changes that are kept in memory once they were read. Our choice."""
_READ_CHANGES: dict[str, tuple[RecordedChange, str]] = {}
"""Changes that were read in this process, by id, each with its parent's id: what an id names is the
same in every history and never changes.
"""
_LOCK_ATTEMPTS = 10
"""Stale Git locks that one change removes; a killed writer leaves one."""


_DAMAGE_NUMBERS = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)
"""Errors of the system that mean a damaged history; others, such as too many open files, say
nothing of it.
"""


def _damage_errors() -> tuple[type[Exception], ...]:
    """Return the errors that the Git library raises for truncated, empty or missing files."""
    theirs = (errors.ChecksumMismatch, errors.FileFormatException, errors.NotTreeError)
    return (AssertionError, KeyError, ValueError, zlib.error, *theirs)


def _abort_library_files(error: OSError) -> None:
    """Remove what the Git library began to write when the disk refused: it would try to write the
    rest when the file is collected, and print that it cannot.
    """
    for frame, _ in walk_tb(error.__traceback__):
        for value in [*frame.f_locals.values()]:
            for _ in range(2 if type(value).__module__ == "dulwich.file" else 0):
                with contextlib.suppress(OSError):  # the first attempt writes what is left
                    value.abort()


class FolderHistory:
    """The history at one path. Callers hold the folder's lock while they write.

    Every method raises StoreError when the disk fails. Reading creates nothing: a reader that meets
    the moment of a replacement sees no history.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repository: Repo | None = None
        self._release: Callable[[], object] = int
        """Closes the repository's files, also at interpreter exit, where the Git library would
        complain.
        """
        self._newest_files: tuple[ObjectID, dict[str, str]] | None = None
        """Files of the change that was read or recorded last."""
        self._trees = TreeEditor()

    def _open_repository(self) -> Repo | None:
        """Open the repository; None where there is none."""
        if self._repository is None:
            try:
                self._keep_open(repo.Repo(str(self.path)))
            except errors.NotGitRepository:
                return None
            except OSError as error:
                raise convert_os_error_to_store_error("open", self.path, error) from error
            except _damage_errors() as error:
                raise self._damage_error(error) from error
        return self._repository

    def _keep_open(self, repository: Repo) -> Repo:
        # Ids do not compress: the list of ten thousand files takes half the time and 3 % more room.
        repository.object_store.loose_compression_level = zlib.Z_BEST_SPEED
        self._repository = repository
        self._release = weakref.finalize(self, repository.close)
        return repository

    def _open_or_create(self) -> Repo:
        """Open the repository, or create it.

        A new one is built aside and renamed into place, so that a kill leaves no partial
        repository.
        """
        found = self._open_repository()
        if found is not None:
            return found
        new = make_folder_staging_path(self.path)
        with self.translate_errors("make"):
            shutil.rmtree(new, ignore_errors=True)
            make_folders(new)
            repo.Repo.init_bare(str(new)).close()
            if self.path.exists():  # not a repository; keep its content for the user
                move_damaged_database_aside(self.path)
            new.rename(self.path)
            return self._keep_open(repo.Repo(str(self.path)))

    @contextlib.contextmanager
    def translate_errors(self, verb: str) -> Iterator[None]:
        """Translate errors of the system or of damaged files into StoreError; `verb` names the
        operation.
        """
        try:
            yield
        except OSError as error:
            _abort_library_files(error)
            raise convert_os_error_to_store_error(verb, self.path, error) from error
        except _damage_errors() as error:
            raise self._damage_error(error) from error

    def _damage_error(self, error: object) -> StoreError:
        return StoreError(
            f"the history at {self.path} is damaged ({error}); the next change of memory moves "
            f"it aside and begins a new one"
        )

    def close(self) -> None:
        """Close its files."""
        self._newest_files = None
        self._trees = TreeEditor()
        self._repository = None
        self._release()

    def repair(self) -> bool:
        """Repair before a write, with the lock held.

        Finishes an interrupted rewrite, and moves a damaged history aside (`history.damaged`);
        returns True when the next one starts over: after that, and where somebody deleted it.
        """
        finish_or_undo_folder_replacement(self.path)
        if self._repository is not None and not self.path.is_dir():
            self.close()
            return True
        try:
            self._map_files(self._read_head())
        except StoreError as error:
            self.close()
            cause = error.__cause__
            is_damaged = not isinstance(cause, OSError) or cause.errno in _DAMAGE_NUMBERS
            if not (is_damaged and self.path.is_dir()):
                raise
            with self.translate_errors("move"):
                move_damaged_database_aside(self.path)
            return True
        return False

    def _read_head(self) -> Commit | None:
        repository = self._open_repository()
        if repository is None:
            return None
        with self.translate_errors("read"):
            name = repository.refs.read_ref(BRANCH)
            found = None if name is None else repository[cast_to_object_id(name)]
        if found is not None and not isinstance(found, objects.Commit):
            raise self._damage_error("its branch names no change")
        return found

    def map_paths_to_blob_ids(self, change: str = "") -> dict[str, str]:
        """Return path to blob id of every file, as of a change or the newest one."""
        return dict(self._map_files(self._read_commit(change) if change else self._read_head()))

    def _map_files(self, commit: Commit | None) -> Mapping[str, str]:
        if commit is None:
            return {}
        if self._newest_files is None or self._newest_files[0] != commit.id:
            with self.translate_errors("read"):
                found = map_tree_paths_to_blob_ids(self._read_tree, commit.tree)
            self._newest_files = (commit.id, found)
        return self._newest_files[1]

    def preload(self) -> None:
        """Read in another thread, by a repository of its own, what the next change is compared
        with. Raises StoreError.
        """
        other = FolderHistory(self.path)
        other.map_paths_to_blob_ids()
        newest = other._newest_files
        other.close()
        self._newest_files = self._newest_files or newest

    def record_change(
        self,
        changes: Mapping[str, bytes | None],
        reason: ChangeReason,
        timestamp: float,
        *,
        undoes: str = "",
    ) -> str:
        """Record a change: new bytes by path, None for a deleted file.

        Returns its id; empty when nothing differs from the newest state.
        """
        for _ in range(_LOCK_ATTEMPTS):
            try:
                return self._record_once(changes, reason, timestamp, undoes)
            except file.FileLocked as locked:
                # We hold the folder's lock, so the process that made this one was killed.
                with self.translate_errors("write"):
                    Path(os.fsdecode(locked.lockfilename)).unlink(missing_ok=True)
        raise StoreError(
            f"other programs keep files of the history at {self.path} locked; end them, then "
            f"try again"
        )

    def _record_once(
        self, changes: Mapping[str, bytes | None], why: ChangeReason, at: float, undoes: str
    ) -> str:
        repository = self._open_or_create()
        head = self._read_head()
        known = self._map_files(head)
        present = dict(known)
        with self.translate_errors("write"):
            blobs: list[Blob] = []
            for path, data in changes.items():
                if data is None:
                    present.pop(path, None)
                else:
                    blob = objects.Blob.from_string(data)
                    if present.get(path) != blob.id.decode():
                        blobs.append(blob)
                    present[path] = blob.id.decode()
            store_blobs(repository.object_store, blobs)
            paths = [path for path in changes if known.get(path) != present.get(path)]
            if not paths:
                return ""
            text = render_commit_message(why, undoes, paths)
            commit = build_commit(
                self._trees.write_edited_tree(
                    repository.object_store,
                    self._read_tree,
                    head.tree if head else None,
                    {path: present.get(path) for path in paths},
                ),
                head.id if head else None,
                text,
                at,
            )
            repository.object_store.add_object(commit)
            repository.refs[BRANCH] = commit.id
        self._newest_files = (commit.id, present)
        return commit.id.decode()

    def read_raw_object(self, id: ObjectID) -> bytes:
        """Return the raw bytes of a blob or tree by its id. Raises KeyError where there is none."""
        return self._open_or_create().object_store.get_raw(id)[1]

    def _read_tree(self, id: ObjectID) -> bytes:
        """The same of a tree: the library would parse its entries as well, which takes 50 ms for
        ten thousand files.
        """
        name = id.decode()
        try:
            data = zlib.decompress((self.path / "objects" / name[:2] / name[2:]).read_bytes())
        except FileNotFoundError:  # It stands in a pack.
            return self.read_raw_object(id)
        return data[data.index(b"\0") + 1 :]

    def iter_raw_objects(self) -> Iterator[bytes]:
        """Yield the raw bytes of all that the history holds; nothing where there is none."""
        found = self._open_repository()
        with self.translate_errors("read"):
            for id in found.object_store if found is not None else ():
                yield self.read_raw_object(id)

    def walk_commits(self) -> Iterator[Commit]:
        """Yield the commits, newest first."""
        commit = self._read_head()
        while commit is not None:
            yield commit
            commit = self._read_commit(commit.parents[0].decode()) if commit.parents else None

    def find_newest_change_id(self) -> str:
        """The id of the newest change; empty where there is none. Raises StoreError."""
        with self.translate_errors("read"):
            head = self._read_head()
        return "" if head is None else head.id.decode()

    def iter_changes(self, path: str = "") -> Iterator[RecordedChange]:
        """Yield the changes, newest first; only those of one file where a path is given."""
        id = self.find_newest_change_id()
        while id:
            recorded, id = self._read_with_parent(id)
            if not path or path in recorded.paths:
                yield recorded

    def _read_with_parent(self, id: str) -> tuple[RecordedChange, str]:
        found = _READ_CHANGES.get(id)
        if found is None:
            commit = self._read_commit(id)
            parent = commit.parents[0].decode() if commit.parents else ""
            if len(_READ_CHANGES) >= _MAX_KEPT_CHANGES:
                _READ_CHANGES.clear()
            found = _READ_CHANGES[id] = (self.read_change(commit), parent)
        return found

    def list_changes(self, path: str = "", limit: int | None = None) -> list[RecordedChange]:
        """List the changes as `iter_changes` does, at most `limit`."""
        return list(islice(self.iter_changes(path), limit and min(limit, sys.maxsize)))

    def read_change(self, commit: Commit) -> RecordedChange:
        """Read the change that a commit records."""
        text = commit.message.decode("utf-8", "replace")
        why, undoes = parse_commit_message(text)
        paths = parse_paths_in_commit_message(text) or self._compare_with_parent(commit)
        return RecordedChange(
            id=commit.id.decode(), at=read_commit_time(commit), why=why, undoes=undoes, paths=paths
        )

    def _compare_with_parent(self, commit: Commit) -> tuple[str, ...]:
        """Compare all files with the parent commit's."""
        after = self.map_paths_to_blob_ids(commit.id.decode())
        before = self.map_paths_to_blob_ids(commit.parents[0].decode()) if commit.parents else {}
        return tuple(
            sorted(
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            )
        )

    def _read_commit(self, change: str) -> Commit:
        unknown = InputError(
            f"the history has no change {change!r}; `memorist memory log` lists them"
        )
        repository = self._open_repository()
        if repository is None:
            raise unknown
        try:
            found = repository[cast_to_object_id(change.encode())]
        except (KeyError, ValueError, AssertionError) as error:
            raise unknown from error
        except _damage_errors() as error:
            raise self._damage_error(error) from error
        if not isinstance(found, objects.Commit):
            raise InputError(
                f"{change!r} is no change of the history; `memorist memory log` lists them"
            )
        return found

    def find_changes(self, id_prefix: str) -> list[RecordedChange]:
        """The changes whose id has this prefix, in any case of letters and with the signs that a
        copied one may have around it, newest first.
        """
        wanted = id_prefix.strip("#.… \t\n").lower()
        return [each for each in self.iter_changes() if wanted and each.id.startswith(wanted)]

    def read_file(self, path: str, change: str) -> bytes | None:
        """Return a file's bytes as of a change; None where it did not exist."""
        commit = self._read_commit(change)
        with self.translate_errors("read"):
            try:
                sha = find_blob_id(self._read_tree, commit.tree, path)
            except KeyError:
                return None
        return None if sha is None else self.read_blob(sha.decode())

    def read_blob(self, sha: str) -> bytes:
        """Return the bytes of a file by its blob id. Raises StoreError."""
        with self.translate_errors("read"):
            found = self._open_or_create()[cast_to_object_id(sha.encode())]
        if not isinstance(found, objects.Blob):
            raise self._damage_error("a file in it is none")
        return found.data

    def find_parent_id(self, change: str) -> str:
        """Return the id of the preceding change; empty for the first."""
        commit = self._read_commit(change)
        return commit.parents[0].decode() if commit.parents else ""

    def render_change_diff(self, change: str) -> str:
        """Render a change as a unified diff against its parent."""
        commit = self._read_commit(change)
        base = self._read_commit(commit.parents[0].decode()).tree if commit.parents else None
        out = io.BytesIO()
        with self.translate_errors("read"):
            patch.write_tree_diff(out, self._open_or_create().object_store, base, commit.tree)
        return out.getvalue().decode("utf-8", "replace")


_MAX_RETURN_CHANGES = 1_000
"""Changes that are looked through for a file that came back. Our choice."""


def find_reappeared_own_files(
    history: FolderHistory, new_files: Mapping[str, str], present: Collection[str]
) -> frozenset[str]:
    """Return those of `new_files` (blob id by path) that are as memorist wrote them, under this
    name or one that is not `present` any more, and that only another program has taken away since:
    what they say of their origin is still true. A file that the user forgot is none of them.
    """
    blobs = frozenset(filter(None, new_files.values()))
    returned: set[str] = set()
    settled = set(present)
    for change in islice(history.iter_changes(), _MAX_RETURN_CHANGES):
        paths = set(change.paths) - settled
        files = history.map_paths_to_blob_ids(change.id) if paths else {}
        for path in paths:
            blob = files.get(path, "")
            if change.why.actor not in OUTSIDE_ACTORS:
                settled.add(path)
                returned.add(blob)
            elif blob and blob not in blobs:
                settled.add(path)
    return frozenset(path for path, blob in new_files.items() if blob in returned & blobs)
