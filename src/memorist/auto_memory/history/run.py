"""History of a memory folder: every state of its files, who changed what and why, in a bare Git
repository beside it (AM-10).

It stands outside the folder, so that agents searching the folder do not find it and no fork can
change it. `git --git-dir=…/history log` can read it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from memorist.auto_memory.changes import Why, commit_text, named_paths, read_commit_text
from memorist.auto_memory.history.git import BRANCH, KINDS, errors, file, object_name, object_store, objects, patch, repo
from memorist.auto_memory.history.tree import commit_of, keep_blobs, object_id, read_tree, write_tree
from memorist.errors import InputError, StoreError
from memorist.store.database import move_aside
from memorist.store.files import make_folders, refusal
from memorist.store.folders import aside, settle_folder

if TYPE_CHECKING:
    from dulwich.objects import Blob, Commit, ObjectID
    from dulwich.repo import Repo

_LOCKS = 10
"""Stale Git locks that one change removes; a killed writer leaves one."""


def _damage() -> tuple[type[Exception], ...]:
    """Return the errors that the Git library raises for truncated, empty or missing files."""
    theirs = (errors.ChecksumMismatch, errors.FileFormatException, errors.NotTreeError)
    return (AssertionError, KeyError, ValueError, zlib.error, *theirs)


class Recorded(Struct, frozen=True, kw_only=True):
    """One change in the history."""

    id: str
    at: float
    """Seconds since the epoch, UTC."""
    why: Why
    undoes: str
    """Id of the change that it undid; empty for none."""
    paths: tuple[str, ...]
    """The changed files, sorted."""


def blob_id(data: bytes) -> str:
    """Compute the id under which the history stores these bytes."""
    return object_id(KINDS["blob"], data).decode()


class History:
    """The history at one path. Callers hold the folder's lock while they write.

    Every method raises StoreError when the disk fails. Reading creates nothing: a reader that meets
    the moment of a replacement sees no history.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repository: Repo | None = None
        self._let_go: Callable[[], object] = int
        """Closes the repository's files, also at interpreter exit, where the Git library would
        complain.
        """
        self._newest: tuple[ObjectID, dict[str, str]] | None = None
        """Files of the change that was read or recorded last."""

    def _found(self) -> Repo | None:
        """Open the repository; None where there is none."""
        if self._repository is None:
            try:
                self._hold(repo.Repo(str(self.path)))
            except errors.NotGitRepository:
                return None
            except OSError as error:
                raise refusal("open", self.path, error) from error
            except _damage() as error:
                raise self._damaged(error) from error
        return self._repository

    def _hold(self, repository: Repo) -> Repo:
        self._repository = repository
        self._let_go = weakref.finalize(self, repository.close)
        return repository

    def _made(self) -> Repo:
        """Open the repository, or create it.

        A new one is built aside and renamed into place, so that a kill leaves no partial
        repository.
        """
        found = self._found()
        if found is not None:
            return found
        new = aside(self.path)
        with self.refusals("make"):
            shutil.rmtree(new, ignore_errors=True)
            make_folders(new)
            repo.Repo.init_bare(str(new)).close()
            if self.path.exists():  # not a repository; keep its content for the user
                move_aside(self.path)
            new.rename(self.path)
            return self._hold(repo.Repo(str(self.path)))

    @contextlib.contextmanager
    def refusals(self, doing: str) -> Iterator[None]:
        """Translate errors of the system or of damaged files into StoreError; `verb` names the
        operation.
        """
        try:
            yield
        except OSError as error:
            raise refusal(doing, self.path, error) from error
        except _damage() as error:
            raise self._damaged(error) from error

    def _damaged(self, error: object) -> StoreError:
        return StoreError(f"the history at {self.path} is damaged ({error}); the next change of memory moves it aside and begins a new one")

    def close(self) -> None:
        """Close its files."""
        self._newest = None
        self._repository = None
        self._let_go()

    def settle(self) -> bool:
        """Repair before a write, with the lock held.

        Finishes an interrupted rewrite, and moves a damaged history aside (`history.damaged`);
        returns True when it did the latter.
        """
        settle_folder(self.path)
        try:
            self.files()
        except StoreError:
            self.close()
            if not self.path.is_dir():
                raise
            with self.refusals("move"):
                move_aside(self.path)
            return True
        return False

    def _head(self) -> Commit | None:
        repository = self._found()
        if repository is None:
            return None
        with self.refusals("read"):
            name = repository.refs.read_ref(BRANCH)
            found = None if name is None else repository[object_name(name)]
        if found is not None and not isinstance(found, objects.Commit):
            raise self._damaged("its branch names no change")
        return found

    def files(self, change: str = "") -> dict[str, str]:
        """Return path to blob id of every file, as of a change or the newest one."""
        commit = self._commit(change) if change else self._head()
        repository = self._found()
        if commit is None or repository is None:
            return {}
        if self._newest is None or self._newest[0] != commit.id:
            with self.refusals("read"):
                found = read_tree(repository.object_store, commit.tree)
            self._newest = (commit.id, found)
        return dict(self._newest[1])

    def record(self, changes: Mapping[str, bytes | None], why: Why, at: float, *, undoes: str = "") -> str:
        """Record a change: new bytes by path, None for a deleted file.

        Returns its id; empty when nothing differs from the newest state.
        """
        for _ in range(_LOCKS):
            try:
                return self._recorded(changes, why, at, undoes)
            except file.FileLocked as locked:
                # We hold the folder's lock, so the process that made this one was killed.
                with self.refusals("write"):
                    Path(os.fsdecode(locked.lockfilename)).unlink(missing_ok=True)
        raise StoreError(f"other programs keep files of the history at {self.path} locked; end them, then try again")

    def _recorded(self, changes: Mapping[str, bytes | None], why: Why, at: float, undoes: str) -> str:
        repository = self._made()
        head = self._head()
        known = self.files()
        present = dict(known)
        with self.refusals("write"):
            blobs: list[Blob] = []
            for path, data in changes.items():
                if data is None:
                    present.pop(path, None)
                else:
                    blob = objects.Blob.from_string(data)
                    if present.get(path) != blob.id.decode():
                        blobs.append(blob)
                    present[path] = blob.id.decode()
            keep_blobs(repository.object_store, blobs)
            paths = [path for path in changes if known.get(path) != present.get(path)]
            if not paths:
                return ""
            text = commit_text(why, undoes, paths)
            commit = commit_of(write_tree(repository.object_store, present), head.id if head else None, text, at)
            repository.object_store.add_object(commit)
            repository.refs[BRANCH] = commit.id
        self._newest = (commit.id, present)
        return commit.id.decode()

    def raw(self, id: ObjectID) -> bytes:
        """Return the raw bytes of a blob or tree by its id. Raises KeyError where there is none."""
        return self._made().object_store.get_raw(id)[1]

    def walk(self) -> Iterator[Commit]:
        """Yield the commits, newest first."""
        commit = self._head()
        while commit is not None:
            yield commit
            commit = self._commit(commit.parents[0].decode()) if commit.parents else None

    def each(self, path: str = "") -> Iterator[Recorded]:
        """Yield the changes, newest first; only those of one file where a path is given."""
        for commit in self.walk():
            recorded = self.recorded(commit)
            if not path or path in recorded.paths:
                yield recorded

    def log(self, path: str = "", limit: int | None = None) -> list[Recorded]:
        """List the changes as `iter_changes` does, at most `limit`."""
        return list(islice(self.each(path), limit))

    def recorded(self, commit: Commit) -> Recorded:
        """Read the change that a commit records."""
        text = commit.message.decode("utf-8", "replace")
        why, undoes = read_commit_text(text)
        paths = named_paths(text) or self._compared(commit)
        return Recorded(id=commit.id.decode(), at=float(commit.commit_time), why=why, undoes=undoes, paths=paths)

    def _compared(self, commit: Commit) -> tuple[str, ...]:
        """Compare all files with the parent commit's."""
        after = self.files(commit.id.decode())
        before = self.files(commit.parents[0].decode()) if commit.parents else {}
        return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))

    def _commit(self, change: str) -> Commit:
        unknown = InputError(f"the history has no change {change!r}; `memorist memory log` lists them")
        repository = self._found()
        if repository is None:
            raise unknown
        try:
            found = repository[object_name(change.encode())]
        except (KeyError, ValueError, AssertionError) as error:
            raise unknown from error
        except _damage() as error:
            raise self._damaged(error) from error
        if not isinstance(found, objects.Commit):
            raise InputError(f"{change!r} is no change of the history; `memorist memory log` lists them")
        return found

    def find(self, start: str) -> str:
        """Return the full id of the change with this prefix.

        Raises InputError when there is none or more than one.
        """
        found = [commit.id.decode() for commit in self.walk() if start and commit.id.decode().startswith(start)]
        if len(found) != 1:
            raise InputError(f"{len(found)} changes of the history begin with {start!r}; `memorist memory log` lists them")
        return found[0]

    def change(self, start: str) -> Recorded:
        """Return the change whose id has this prefix. Raises as `find_change_id`."""
        return self.recorded(self._commit(self.find(start)))

    def data(self, path: str, change: str) -> bytes | None:
        """Return a file's bytes as of a change; None where it did not exist."""
        commit, repository = self._commit(change), self._made()
        with self.refusals("read"):
            try:
                _, sha = object_store.tree_lookup_path(repository.__getitem__, commit.tree, path.encode("utf-8", "surrogateescape"))
            except (KeyError, errors.NotTreeError):
                return None
        return self._blob(sha.decode())

    def _blob(self, sha: str) -> bytes:
        with self.refusals("read"):
            found = self._made()[object_name(sha.encode())]
        if not isinstance(found, objects.Blob):
            raise self._damaged("a file in it is none")
        return found.data

    def before(self, change: str) -> str:
        """Return the id of the preceding change; empty for the first."""
        commit = self._commit(change)
        return commit.parents[0].decode() if commit.parents else ""

    def diff(self, change: str, since: str | None = None) -> str:
        """Render a change as a unified diff, against its parent or against `since`."""
        commit = self._commit(change)
        base = self._commit(since).tree if since else (self._commit(commit.parents[0].decode()).tree if commit.parents else None)
        out = io.BytesIO()
        with self.refusals("read"):
            patch.write_tree_diff(out, self._made().object_store, base, commit.tree)
        return out.getvalue().decode("utf-8", "replace")
