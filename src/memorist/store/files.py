"""Files on the disk: atomic writes behind the Files port."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.errors import StoreError, WriteConflict
from memorist.ports import FileFacts, Files

_TEMPORARY_PREFIX = ".memorist-"
_TEMPORARY_SUFFIX = ".tmp"
_CAUSES = {
    errno.ENOSPC: "the disk is full; free space and try again",
    errno.EDQUOT: "the disk quota is used up; free space and try again",
    errno.EROFS: "the file system is read-only; choose another place (MEMORIST_HOME) or mount it for writing",
    errno.EACCES: "permission is denied; give yourself access to it",
    errno.EPERM: "the system does not permit it; check the owner and attributes of the path",
    errno.ELOOP: "its links lead in a loop; remove one of them",
    errno.EISDIR: "it is a folder, not a file; move it away",
    errno.ENOTDIR: "a part of the path is a file, not a folder; move it away",
    errno.ENAMETOOLONG: "the name is too long for the file system; choose a shorter one",
    errno.EMFILE: "too many files are open; close some or raise the limit",
    errno.EIO: "the disk reports an error; check it",
}


def refusal(doing: str, path: Path, error: OSError) -> StoreError:
    """The StoreError for what the system refused: `doing` is the verb, such as "write"."""
    cause = _CAUSES.get(error.errno or 0) or f"the system says: {error.strerror or error}"
    return StoreError(f"Cannot {doing} {path}: {cause}.")


def forbidden(error: StoreError) -> bool:
    """Whether the place may not be written at all, now or later; a full disk is no such case."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def _refusals(doing: str, path: Path) -> Iterator[None]:
    """Turn what the system refuses into StoreError; let FileNotFoundError through, as the port says."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refusal(doing, path, error) from error


def make_folders(folder: Path) -> None:
    """Make the folder and its missing parents, private to the user (0700). Raises StoreError."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError as error:
            if not path.is_dir():
                raise refusal("make", path, NotADirectoryError(errno.ENOTDIR, "")) from error
        except OSError as error:
            raise refusal("make", path, error) from error


class DiskFiles:
    """The Files port over the real file system.

    A write goes to a new temporary file in the same folder (made exclusively, 0600), is flushed to the disk and takes the name's place in
    one step: a reader sees the old bytes or the new ones. Writers of one folder take turns by an advisory lock on the folder itself, so of
    two processes that expect the same bytes only one wins. A link at the path is replaced, not followed: to write through it, resolve the
    path first.

    Args:
        durable: wait until the disk has the bytes. False is for files that are built aside and can be made again, such as those of a replay.
    """

    def __init__(self, *, durable: bool = True) -> None:
        self._durable = durable

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` of them. Raises FileNotFoundError and StoreError."""
        with _refusals("read", path), path.open("rb") as file:
            if limit is None:
                return file.read()
            size = os.fstat(file.fileno()).st_size
            return file.read(min(size or limit, limit))  # room for all of a wide limit would be made, file by file

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """Replace the file in one step; with `expect`, only while it holds exactly these bytes.

        Raises WriteConflict when the file changed or vanished since, and StoreError when the system refuses; the old file then stays.
        """
        make_folders(path.parent)
        with _refusals("write", path), _turn(path.parent):
            if expect is not None:
                _check(path, expect)
            temporary = _temporary(path.parent, data, durable=self._durable, mode=_mode(path))
            try:
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise

    def create(self, path: Path, data: bytes) -> bool:
        """Make the file if there is nothing at the path; False when there was something already. Raises StoreError."""
        make_folders(path.parent)
        if os.path.lexists(path):
            return False
        with _refusals("write", path):
            temporary = _temporary(path.parent, data, durable=self._durable)
            try:
                os.link(temporary, path)
            except FileExistsError:
                return False
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def facts(self, path: Path) -> FileFacts | None:
        """What is at the path, links not followed; None when there is nothing. Raises StoreError."""
        try:
            found = os.lstat(path)  # a third faster than Path.lstat, and asked for every name that is watched
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise refusal("look at", path, error) from error
        return _facts(found)

    def resolve(self, path: Path) -> Path:
        """The real path: links followed as far as the path exists, `..` removed. Raises StoreError for a loop of links."""
        try:
            return Path(os.path.realpath(path, strict=True))
        except (FileNotFoundError, NotADirectoryError):
            real = Path(os.path.realpath(path))
        except OSError as error:
            raise refusal("follow", path, error) from error
        if any(part.is_symlink() for part in (real, *real.parents)) and not real.exists():
            raise refusal("follow", path, OSError(errno.ELOOP, ""))
        return real

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """Every file below the folder, sorted, links not followed; temporary files of a write under way are left out. Raises StoreError.

        With `limit`, looking stops at the folder in which that many files are reached.
        """
        found: list[Path] = []
        waiting = [folder]
        while waiting and (limit is None or len(found) < limit):
            below = waiting.pop()
            with _refusals("list", below), os.scandir(below) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif not (entry.name.startswith(_TEMPORARY_PREFIX) and entry.name.endswith(_TEMPORARY_SUFFIX)):
                        found.append(Path(entry.path))
        return sorted(found)[:limit]

    def append(self, path: Path, data: bytes) -> None:
        """Add to the end of a file in one write; it is made if it is missing (0600). Raises StoreError."""
        make_folders(path.parent)
        with _refusals("write", path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileFacts]]:
        """Path relative to the folder (with slashes) and facts of every file and link below it, sorted; hidden folders and files are left out.

        One look at each folder and each file, links not followed. With `limit`, looking stops at the folder in which that many are reached.
        Raises FileNotFoundError and StoreError.
        """
        found: list[tuple[str, FileFacts]] = []
        waiting = [("", str(folder))]
        while waiting and (limit is None or len(found) < limit):
            prefix, below = waiting.pop()
            # Only the folder itself may be missing: what vanishes below it while we look is not there, and the rest is.
            gone = contextlib.suppress(FileNotFoundError) if prefix else contextlib.nullcontext()
            with gone, _refusals("list", Path(below)), os.scandir(below) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((f"{prefix}{entry.name}/", entry.path))
                    else:
                        with contextlib.suppress(FileNotFoundError):
                            found.append((prefix + entry.name, _facts(entry.stat(follow_symlinks=False))))
        return sorted(found, key=lambda pair: pair[0])[:limit]

    def remove(self, path: Path) -> None:
        """Delete a file. Raises FileNotFoundError and StoreError."""
        with _refusals("delete", path):
            path.unlink()


def present(files: Files, path: Path, *, limit: int | None = None) -> bytes | None:
    """The bytes of a file, at most `limit` of them; None where there is none. Raises StoreError."""
    try:
        return files.read(path, limit=limit)
    except FileNotFoundError:
        return None


def exchange(files: Files, path: Path, before: bytes | None, after: bytes | None) -> None:
    """Put one state of a file in the place of another; None is no file. Raises WriteConflict when it is not as `before`, and StoreError."""
    if after is None:
        files.remove(path)
    elif before is not None:
        files.write(path, after, expect=before)
    elif not files.create(path, after):
        raise WriteConflict(f"{path} was made by somebody else meanwhile; read it.")


def discard(files: Files, path: Path) -> None:
    """Delete a file where there is one. Raises StoreError."""
    with contextlib.suppress(FileNotFoundError):
        files.remove(path)


def leftovers(folder: Path, *, before: float | None = None) -> list[Path]:
    """What killed writers left in a folder: temporary files, with `before` (seconds since the epoch) those that are older."""
    found = []
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_TEMPORARY_PREFIX}*{_TEMPORARY_SUFFIX}"):
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode) and (before is None or facts.st_mtime < before):
                found.append(path)
    return found


def discard_leftovers(folder: Path, *, before: float | None = None) -> None:
    """Delete what killed writers left in a folder. Without `before`, the caller holds the lock under which it is written. Raises StoreError."""
    with contextlib.suppress(FileNotFoundError), _refusals("delete in", folder):
        for path in leftovers(folder, before=before):
            path.unlink(missing_ok=True)


def _facts(found: os.stat_result) -> FileFacts:
    mode = found.st_mode
    return FileFacts(found.st_size, found.st_mtime_ns, stat.S_ISREG(mode), stat.S_ISDIR(mode), stat.S_ISLNK(mode), found.st_nlink)


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; another writer of the folder waits until it is let go."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check(path: Path, expect: bytes) -> None:
    try:
        found: bytes | None = path.read_bytes()
    except FileNotFoundError:
        found = None
    if found != expect:
        what = "is gone" if found is None else "changed"
        raise WriteConflict(f"{path} {what} since it was read; read it again and repeat the change.")


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, which are its owner's choice; for a new one only the owner's."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return 0o600
    return stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else 0o600


def _temporary(folder: Path, data: bytes, *, durable: bool, mode: int = 0o600) -> Path:
    """A new file in the folder with these bytes, flushed to the disk if it is to be durable; nothing is left of it when that fails."""
    path = folder / f"{_TEMPORARY_PREFIX}{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode != 0o600:
                os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path
