"""Files on disk: atomic writes behind the Files port, and replacing a folder as a whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from memorist.core.json_decoding import Value, decode_json
from memorist.errors import StoreError, WriteConflict
from memorist.platforms import file_locks
from memorist.platforms.file_descriptors import NO_LINKS, NON_INHERITED_BINARY_FLAGS
from memorist.platforms.regular_files import open_regular_file
from memorist.platforms.storage_errors import describe_storage_error
from memorist.ports import FileInfo, FileSystem

_TEMPORARY_PREFIX = ".memorist-"
_TEMPORARY_SUFFIX = ".tmp"


def convert_os_error_to_store_error(verb: str, path: Path, error: OSError) -> StoreError:
    """The StoreError for an OSError; `verb` is the failed operation, such as "write"."""
    return StoreError(f"Cannot {verb} {path}: {describe_storage_error(error)}.")


@contextlib.contextmanager
def raise_os_errors_as_store_errors(verb: str, path: Path) -> Iterator[None]:
    """Turn OSError into StoreError; `verb` as in `convert_os_error_to_store_error`."""
    try:
        yield
    except OSError as error:
        raise convert_os_error_to_store_error(verb, path, error) from error


def is_write_forbidden(error: StoreError) -> bool:
    """Whether the path may not be written at all, now or later; a full disk does not count."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EROFS, errno.EACCES, errno.EPERM)


def check_folder_readable_or_missing(folder: Path) -> None:
    """Raises StoreError where a folder can be neither used nor made: a file stands there, it may
    not be read, or it lies behind a link that leads nowhere, as to a disk that is not mounted.
    """
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        if why := describe_broken_link(folder):
            raise StoreError(why) from None
    except OSError as error:
        raise convert_os_error_to_store_error("read", folder, error) from error


def describe_broken_link(path: Path) -> str:
    """Say which link on the way to `path` leads nowhere; empty for none."""
    for each in (path, *path.parents):
        try:
            each.stat()
        except FileNotFoundError:
            if each.is_symlink():
                to = each.readlink()
                return (
                    f"{each} is a link to {to}, which is not there; bring that back, or remove it."
                )
        except OSError:
            break
        else:
            break
    return ""


@contextmanager
def _translate_os_errors(verb: str, path: Path) -> Iterator[None]:
    """Translate OSError into StoreError; FileNotFoundError passes through, as the port
    specifies.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise convert_os_error_to_store_error(verb, path, error) from error


def make_folders(folder: Path) -> None:
    """Create the folder and its missing parents, private to the user (0700). Raises StoreError."""
    missing = []
    with raise_os_errors_as_store_errors("make", folder):
        while not folder.is_dir():
            missing.append(folder)
            if folder.parent == folder:
                break
            folder = folder.parent
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if not path.is_dir():
                cause = NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
                raise convert_os_error_to_store_error("make", path, cause) from cause
        except OSError as error:
            raise convert_os_error_to_store_error("make", path, error) from error


class DiskFiles:
    """The Files port over the real file system.

    A write goes to a new temporary file in the same folder (created exclusively, 0600), is flushed
    to disk and replaces the name atomically: a reader sees the old bytes or the new ones. Writers
    of one folder are serialized by an advisory lock on the folder itself, so of two processes that
    expect the same bytes only one wins. A link at the path is replaced, not followed: to write
    through it, resolve the path first.

    Args:
        durable: wait until the disk has the bytes. False is for files that are built aside and can
            be made again, such as those of a replay.
    """

    def __init__(self, *, durable: bool = True) -> None:
        self._durable = durable

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` of them. Raises FileNotFoundError and StoreError."""
        with _translate_os_errors("read", path), _open_if_reachable(path) as file:
            if limit is None:
                return file.read()
            size = os.fstat(file.fileno()).st_size
            return file.read(
                min(size or limit, limit)
            )  # room for all of a wide limit would be made, file by file

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """Replace the file in one step; with `expect`, only while it holds exactly these bytes.

        Raises WriteConflict when the file changed or vanished since, and StoreError when the system
        refuses; the old file then stays.
        """
        make_folders(path.parent)
        with _translate_os_errors("write", path), _lock_folder(path.parent):
            if expect is not None:
                _check_expected(path, expect)
            temporary = _write_temporary(
                path.parent, data, durable=self._durable, mode=_file_mode(path)
            )
            try:
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise

    def create(self, path: Path, data: bytes) -> bool:
        """Create the file if nothing exists at the path; False when something does. Raises
        StoreError.
        """
        make_folders(path.parent)
        if os.path.lexists(path):
            return False
        with _translate_os_errors("write", path), _lock_folder(path.parent):
            temporary = _write_temporary(path.parent, data, durable=self._durable)
            try:
                os.link(temporary, path)
            except FileExistsError:
                return False
            except OSError:  # exFAT, and many network folders, have no hard links
                if os.path.lexists(path):
                    return False
                # The folder's lock keeps other writers of memorist away between the two.
                temporary.rename(path)
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def lstat(self, path: Path) -> FileInfo | None:
        """Facts of whatever is at the path, without following links; None when there is nothing.
        Raises StoreError.
        """
        try:
            # A third faster than Path.lstat, and called for every watched path.
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise convert_os_error_to_store_error("look at", path, error) from error
        return _facts_of_stat(found)

    def resolve(self, path: Path) -> Path:
        """The real path: links followed as far as the path exists, `..` removed. Raises StoreError
        for a loop of links.
        """
        try:
            return Path(os.path.realpath(path, strict=True))
        except (FileNotFoundError, NotADirectoryError):
            real = Path(os.path.realpath(path))
        except OSError as error:
            raise convert_os_error_to_store_error("follow", path, error) from error
        if any(part.is_symlink() for part in (real, *real.parents)) and not real.exists():
            raise convert_os_error_to_store_error("follow", path, OSError(errno.ELOOP, ""))
        return real

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """Every file below the folder, sorted, links not followed; temporary files of running
        writes are skipped. Raises StoreError.

        With `limit`, the walk stops at the folder in which that many files are reached.
        """
        found: list[Path] = []
        waiting = [folder]
        while waiting and (limit is None or len(found) < limit):
            below = waiting.pop()
            with _translate_os_errors("list", below), os.scandir(below) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif not (
                        entry.name.startswith(_TEMPORARY_PREFIX)
                        and entry.name.endswith(_TEMPORARY_SUFFIX)
                    ):
                        found.append(Path(entry.path))
        return sorted(found)[:limit]

    def append(self, path: Path, data: bytes) -> None:
        """Append to a file in one write; it is created if missing (0600). Raises StoreError where
        the disk takes less than all; what it took is taken back.
        """
        make_folders(path.parent)
        with _translate_os_errors("write", path):
            descriptor = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NON_INHERITED_BINARY_FLAGS, 0o600
            )
            try:
                if (written := os.write(descriptor, data)) < len(data):
                    os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(descriptor)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileInfo]]:
        """Path relative to the folder (with slashes) and facts of every file and link below it,
        sorted; hidden folders and files are left out.

        One look at each folder and each file, links not followed. With `limit`, looking stops at
        the folder in which that many are reached. Raises FileNotFoundError and StoreError.
        """
        found: list[tuple[str, FileInfo]] = []
        waiting = [("", str(folder))]
        while waiting and (limit is None or len(found) < limit):
            prefix, below = waiting.pop()
            # Only the folder itself may be missing: what vanishes below it while we look is not
            # there, and the rest is.
            suppression = (
                contextlib.suppress(FileNotFoundError) if prefix else contextlib.nullcontext()
            )
            with (
                suppression,
                _translate_os_errors("list", Path(below)),
                os.scandir(below) as entries,
            ):
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((f"{prefix}{entry.name}/", entry.path))
                    else:
                        with contextlib.suppress(FileNotFoundError):
                            found.append(
                                (
                                    prefix + entry.name,
                                    _facts_of_stat(entry.stat(follow_symlinks=False)),
                                )
                            )
        return sorted(found, key=lambda pair: pair[0])[:limit]

    def remove(self, path: Path) -> None:
        """Delete a file. Raises FileNotFoundError and StoreError."""
        with _translate_os_errors("delete", path):
            path.unlink()


def _open_if_reachable(path: Path) -> BinaryIO:
    """Open a file for reading. Below something that is no folder there is none, as `facts` says."""
    try:
        return open_regular_file(path)
    except NotADirectoryError as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error


def read_if_exists(files: FileSystem, path: Path, *, limit: int | None = None) -> bytes | None:
    """The bytes of a file, at most `limit` of them; None where it does not exist. Raises
    StoreError.
    """
    try:
        return files.read(path, limit=limit)
    except FileNotFoundError:
        return None


def read_json_if_valid(
    files: FileSystem, path: Path, as_type: type[Value], *, limit: int | None = None
) -> Value | None:
    """The value in a JSON file of at most `limit` bytes; None where there is no file, and where it
    says something else or is damaged. Raises StoreError.
    """
    try:
        return decode_json(files.read(path, limit=limit), as_type=as_type)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def replace_content_if_unchanged(
    files: FileSystem, path: Path, before: bytes | None, after: bytes | None
) -> None:
    """Replace one content of a file by another; None means no file. Raises WriteConflict when it is
    not as `before`, and StoreError.
    """
    if after is None:
        if read_if_exists(files, path) != before:
            raise WriteConflict(f"{path} was changed by another process meanwhile; read it.")
        remove_if_exists(files, path)
    elif before is not None:
        files.write(path, after, expect=before)
    elif not files.create(path, after):
        raise WriteConflict(f"{path} was created by another process meanwhile; read it.")


def remove_if_exists(files: FileSystem, path: Path) -> None:
    """Delete a file if it exists. Raises StoreError."""
    with contextlib.suppress(FileNotFoundError):
        files.remove(path)


def find_temporary_leftovers(folder: Path, *, before: float | None = None) -> list[Path]:
    """Temporary files that killed writers left in a folder; with `before` (seconds since the epoch)
    only older ones.
    """
    found = []
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_TEMPORARY_PREFIX}*{_TEMPORARY_SUFFIX}"):
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode) and (before is None or facts.st_mtime < before):
                found.append(path)
    return found


def remove_temporary_leftovers(folder: Path, *, before: float | None = None) -> None:
    """Delete what killed writers left in a folder; with `before` (seconds since the epoch) only
    older files. Writers that are at work are waited for. Raises StoreError.
    """
    with (
        contextlib.suppress(FileNotFoundError),
        _translate_os_errors("delete in", folder),
        _lock_folder(folder),
    ):
        for path in find_temporary_leftovers(folder, before=before):
            path.unlink(missing_ok=True)


def _facts_of_stat(found: os.stat_result) -> FileInfo:
    mode = found.st_mode
    return FileInfo(
        found.st_size,
        found.st_mtime_ns,
        stat.S_ISREG(mode),
        stat.S_ISDIR(mode),
        stat.S_ISLNK(mode),
        found.st_nlink,
    )


def _open_for_lock(folder: Path) -> int:
    """A descriptor of the folder or, where folders cannot be opened, of a file that stands for
    it.
    """
    if hasattr(os, "O_DIRECTORY"):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | NON_INHERITED_BINARY_FLAGS)
    name = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()
    path = Path(tempfile.gettempdir()) / f"memorist-{name}.lock"
    return os.open(path, os.O_CREAT | os.O_RDWR | NON_INHERITED_BINARY_FLAGS, 0o600)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; other writers of the folder wait until it is released."""
    descriptor = _open_for_lock(folder)
    try:
        file_locks.block_until_locked(descriptor)
        yield
    finally:
        file_locks.close_locked(descriptor)


def _check_expected(path: Path, expect: bytes) -> None:
    try:
        with open_regular_file(path) as file:
            found: bytes | None = file.read()
    except FileNotFoundError:
        found = None
    if found != expect:
        what = "is gone" if found is None else "changed"
        raise WriteConflict(
            f"{path} {what} since it was read; read it again and repeat the change."
        )


def _file_mode(path: Path) -> int:
    """The permissions of the file being replaced, which are its owner's choice; 0600 for a new
    one.
    """
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return 0o600
    return stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else 0o600


def _write_temporary(folder: Path, data: bytes, *, durable: bool, mode: int = 0o600) -> Path:
    """Write a new temporary file in the folder, whose lock is held, flushed to disk if `durable`;
    nothing is left of it on failure, and nothing of what a killed writer left under its name.
    """
    path = folder / f"{_TEMPORARY_PREFIX}write{_TEMPORARY_SUFFIX}"
    try:
        path.unlink(missing_ok=True)
    except OSError:  # not ours to delete, as in a folder of many users
        path = path.with_name(f"{_TEMPORARY_PREFIX}{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}")
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS | NON_INHERITED_BINARY_FLAGS, 0o600
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode != 0o600:
                path.chmod(mode)
            if durable:
                os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path


def make_folder_staging_path(folder: Path) -> Path:
    """Where the replacement for a folder is built."""
    return folder.with_name(f".{folder.name}-new")


def _backup_folder(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-old")


def swap_in_staged_folder(folder: Path) -> None:
    """Move the folder built in `make_folder_staging_path` into place (none if none was built),
    and delete the old one. Raises StoreError.
    """
    with raise_os_errors_as_store_errors("replace", folder):
        shutil.rmtree(_backup_folder(folder), ignore_errors=True)
        if folder.exists():
            folder.rename(_backup_folder(folder))
        elif make_folder_staging_path(folder).exists():
            make_folder_staging_path(folder).rename(folder)
    finish_or_undo_folder_replacement(folder)


def finish_or_undo_folder_replacement(folder: Path) -> None:
    """Finish a replacement that was killed half-way, or undo one that had not begun; no copy
    remains. Raises StoreError.
    """
    old, new = _backup_folder(folder), make_folder_staging_path(folder)
    with raise_os_errors_as_store_errors("replace", folder):
        if old.exists():
            if new.exists() and not folder.exists():
                new.rename(folder)
            shutil.rmtree(old)
        if new.exists():
            shutil.rmtree(new)
