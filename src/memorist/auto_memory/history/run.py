"""The history of a memory folder: every state of its files, who changed what and why, in a bare Git repository beside it (AM-10).

It stands outside the folder, so that agents who search the folder do not meet it and no fork can change it. `git --git-dir=…/history log` reads it too.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dulwich.errors import NotGitRepository
from dulwich.index import commit_tree
from dulwich.object_store import iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.patch import write_tree_diff
from dulwich.refs import Ref
from dulwich.repo import Repo
from msgspec import Struct

from memorist.auto_memory.changes import Why, commit_text, read_commit_text
from memorist.errors import InputError, StoreError
from memorist.store.files import make_folders, refusal

BRANCH = Ref(b"refs/heads/main")
_AUTHOR = b"memorist <memorist@localhost>"
_MODE = 0o100644


class Recorded(Struct, frozen=True, kw_only=True):
    """One change in the history."""

    id: str
    at: float
    """Seconds since the epoch, UTC."""
    why: Why
    undoes: str
    """Id of the change that it took back; empty for none."""
    paths: tuple[str, ...]
    """The files that it changed, sorted."""


def blob_id(data: bytes) -> str:
    """The name under which the history keeps these bytes."""
    return Blob.from_string(data).id.decode()


class History:
    """The history kept at one path. Callers hold the folder's lock while they write. Every method raises StoreError when the disk refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repository: Repo | None = None

    def _open(self) -> Repo:
        if self._repository is None:
            try:
                self._repository = Repo(str(self.path))
            except NotGitRepository:
                make_folders(self.path)
                self._repository = Repo.init_bare(str(self.path))
            except OSError as error:
                raise refusal("open", self.path, error) from error
        return self._repository

    def close(self) -> None:
        """Let go of its files."""
        if self._repository is not None:
            self._repository.close()
            self._repository = None

    def _head(self) -> Commit | None:
        repository = self._open()
        try:
            found = repository[repository.refs[BRANCH]]
        except KeyError:
            return None
        return found if isinstance(found, Commit) else None

    def files(self, change: str = "") -> dict[str, str]:
        """Path to blob id of every file, as of a change or of the newest one."""
        commit = self._commit(change) if change else self._head()
        if commit is None:
            return {}
        entries = iter_tree_contents(self._open().object_store, commit.tree)
        return {(entry.path or b"").decode("utf-8", "surrogateescape"): (entry.sha or b"").decode() for entry in entries}

    def record(self, changes: Mapping[str, bytes | None], why: Why, at: float, *, undoes: str = "") -> str:
        """Add a change: new bytes by path, None for a file that is gone. Gives its id; empty when nothing differs from the newest state."""
        repository = self._open()
        head = self._head()
        known = self.files()
        present = dict(known)
        try:
            for path, data in changes.items():
                if data is None:
                    present.pop(path, None)
                else:
                    blob = Blob.from_string(data)
                    if present.get(path) != blob.id.decode():
                        repository.object_store.add_object(blob)
                    present[path] = blob.id.decode()
            if present == known:
                return ""
            commit = _commit_of(self._tree(present), head.id if head else None, commit_text(why, undoes), at)
            repository.object_store.add_object(commit)
            repository.refs[BRANCH] = commit.id
        except OSError as error:
            raise refusal("write", self.path, error) from error
        return commit.id.decode()

    def _tree(self, present: Mapping[str, str]) -> ObjectID:
        entries = [(path.encode("utf-8", "surrogateescape"), ObjectID(sha.encode()), _MODE) for path, sha in sorted(present.items())]
        return commit_tree(self._open().object_store, entries)

    def _walk(self) -> Iterator[Commit]:
        """The changes, newest first."""
        commit = self._head()
        while commit is not None:
            yield commit
            commit = self._commit(commit.parents[0].decode()) if commit.parents else None

    def log(self, path: str = "", limit: int | None = None) -> list[Recorded]:
        """The changes, newest first; of one file where a path is given."""
        found: list[Recorded] = []
        for commit in self._walk():
            recorded = self._recorded(commit)
            if not path or path in recorded.paths:
                found.append(recorded)
            if limit is not None and len(found) >= limit:
                break
        return found

    def _recorded(self, commit: Commit) -> Recorded:
        why, undoes = read_commit_text(commit.message.decode("utf-8", "replace"))
        after = self.files(commit.id.decode())
        before = self.files(commit.parents[0].decode()) if commit.parents else {}
        paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        return Recorded(id=commit.id.decode(), at=float(commit.commit_time), why=why, undoes=undoes, paths=tuple(paths))

    def _commit(self, change: str) -> Commit:
        try:
            found = self._open()[change.encode()]
        except (KeyError, ValueError, AssertionError) as error:
            raise InputError(f"the history has no change {change!r}; `memorist memory log` lists them") from error
        if not isinstance(found, Commit):
            raise InputError(f"{change!r} is no change of the history; `memorist memory log` lists them")
        return found

    def find(self, start: str) -> str:
        """The whole id of the change whose id begins so. Raises InputError when there is none or more than one."""
        found = [commit.id.decode() for commit in self._walk() if start and commit.id.decode().startswith(start)]
        if len(found) != 1:
            raise InputError(f"{len(found)} changes of the history begin with {start!r}; `memorist memory log` lists them")
        return found[0]

    def data(self, path: str, change: str) -> bytes | None:
        """A file's bytes as of a change; None where it was not there."""
        sha = self.files(change).get(path)
        if sha is None:
            return None
        found = self._open()[sha.encode()]
        if not isinstance(found, Blob):
            raise StoreError(f"the history at {self.path} is damaged: {path} is no file there; move it away and a new one begins")
        return found.data

    def before(self, change: str) -> str:
        """Id of the change before; empty for the first."""
        commit = self._commit(change)
        return commit.parents[0].decode() if commit.parents else ""

    def diff(self, change: str, since: str | None = None) -> str:
        """What a change did, as a unified diff; against the one before where `since` names none."""
        commit = self._commit(change)
        base = self._commit(since).tree if since else (self._commit(commit.parents[0].decode()).tree if commit.parents else None)
        out = io.BytesIO()
        write_tree_diff(out, self._open().object_store, base, commit.tree)
        return out.getvalue().decode("utf-8", "replace")

    def purge(self, paths: Iterable[str], *, derived: Iterable[str] = ()) -> int:
        """Write the history anew without these files, and throw the old one away: no copy of their bytes stays. Gives the number of changes to them.

        `derived` files name them, and go as well. The new history is built aside and takes the old one's place in one step.
        """
        named = frozenset(paths)
        wanted = named.union(derived)
        commits = list(reversed(list(self._walk())))
        aside = self.path.with_name(f".{self.path.name}-new")
        shutil.rmtree(aside, ignore_errors=True)
        fresh = History(aside)
        touched = 0
        previous: dict[str, str] = {}
        for commit in commits:
            held = self.files(commit.id.decode())
            kept = {path: sha for path, sha in held.items() if path not in wanted}
            gone = bool(named.intersection(self._recorded(commit).paths))
            touched += gone
            self._copy(fresh, kept, previous, commit, gone=gone)
            previous = kept
        fresh.close()
        self._swap(aside)
        return touched

    def _copy(self, fresh: History, kept: dict[str, str], previous: dict[str, str], commit: Commit, *, gone: bool) -> None:
        changes: dict[str, bytes | None] = dict.fromkeys(path for path in previous if path not in kept)
        for path, sha in kept.items():
            if previous.get(path) != sha:
                blob = self._open()[sha.encode()]
                changes[path] = blob.data if isinstance(blob, Blob) else b""
        if changes:
            why, undoes = read_commit_text(commit.message.decode("utf-8", "replace"))
            if gone:
                # Its own words stand in the message too.
                why = Why(actor=why.actor, what="(forgotten for good)")
            fresh.record(changes, why, float(commit.commit_time), undoes=undoes)

    def _swap(self, aside: Path) -> None:
        old = self.path.with_name(f".{self.path.name}-old")
        self.close()
        try:
            shutil.rmtree(old, ignore_errors=True)
            if self.path.exists():
                self.path.rename(old)
            if aside.exists():
                aside.rename(self.path)
            shutil.rmtree(old)
        except FileNotFoundError:
            return
        except OSError as error:
            raise refusal("replace", self.path, error) from error


def _commit_of(tree: ObjectID, parent: ObjectID | None, text: str, at: float) -> Commit:
    commit = Commit()
    commit.tree = tree
    commit.parents = [parent] if parent else []
    commit.author = commit.committer = _AUTHOR
    commit.commit_time = commit.author_time = max(0, int(at))
    commit.commit_timezone = commit.author_timezone = 0
    commit.encoding = b"UTF-8"
    commit.message = text.encode()
    return commit
