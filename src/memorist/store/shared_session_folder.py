"""The folder of a session that several machines share: what changed in it since it was the same as
the server's copy, and its replacement by that copy.

A replacement is whole or not at all: the new files are written beside the old ones, and moved into
place once all are there. One that was killed is finished or undone by
`finish_or_undo_shared_replacement`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import msgspec

from memorist.core.json_decoding import decode_json
from memorist.errors import StoreError
from memorist.store.disk_files import (
    DiskFiles,
    make_folders,
    raise_os_errors_as_store_errors,
    read_if_exists,
    remove_if_exists,
)
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_writer import hold_transcript_writer_lock

_RECORD = ".shared.json"
"""File in a session's folder: the state of the server's copy that it was last the same as."""

_STAGED = ".shared-new"
"""Folder in a session's folder: the files that take the place of its own. Whole once it has a
record.
"""

_SKIPPED_SUFFIXES = (".lock", ".tmp")
_END_BYTES = 4_096


class SharedFileStat(msgspec.Struct, frozen=True, array_like=True):
    """What tells whether a file changed: a rewritten one is another file (`inode`, which may be
    that of one before it, or `end`), one that was appended to is longer.
    """

    inode: int
    size: int
    modified_ns: int
    end: int = 0
    """Checksum of its last bytes."""


class FolderSyncRecord(msgspec.Struct, frozen=True):
    """A folder as it was when it was the same as the server's copy. Written to disk."""

    version: int = 0
    files: dict[str, SharedFileStat] = {}
    attempt: str = ""
    """Random name of the next save. The server keeps that of its last one, so that a save whose end
    was not heard of (a kill, a connection that broke) is known as this folder's own.
    """

    def is_own_last_save(self, version: int, attempt: str) -> bool:
        """Whether the server's copy is what was last saved from this folder."""
        return version == self.version + 1 and attempt == self.attempt != ""


def replace_shared_files(
    folder: Path, version: int, contents: Mapping[str, bytes | bytearray]
) -> None:
    """Replace all shared files of a folder by these, by their paths in it, which are those of the
    server's copy of that version. A kill at any step leaves all the old ones or, after
    `finish_or_undo_shared_replacement`, all the new ones.

    Raises SessionInUse where a process of this machine writes the session, and StoreError, also
    for a path that leads out of the folder.
    """
    staged = folder / _STAGED
    for path in contents:
        if not (staged / path).resolve().is_relative_to(staged.resolve()):
            raise StoreError(f"the shared session in {folder} has a file outside its folder")
    disk = DiskFiles(durable=False)
    with hold_transcript_writer_lock(SessionLayout(folder).transcript):
        for path, data in contents.items():
            disk.write(staged / path, bytes(data))
        files = {path: read_file_state(staged / path) for path in contents}
        write_sync_record(staged, FolderSyncRecord(version, files, uuid4().hex))
        _move_staged(folder)


def finish_or_undo_shared_replacement(folder: Path) -> None:
    """Finish a replacement that was killed, or undo it if not all new files were there. Raises
    SessionInUse and StoreError.
    """
    if (folder / _STAGED).exists():
        with hold_transcript_writer_lock(SessionLayout(folder).transcript):
            _move_staged(folder)


def _move_staged(folder: Path) -> None:
    staged, disk = folder / _STAGED, DiskFiles(durable=False)
    with raise_os_errors_as_store_errors("replace", folder):
        if (staged / _RECORD).exists():
            new = read_sync_record(staged).files
            for path in set(list_shared_session_files(folder)) - set(new):
                remove_if_exists(disk, folder / path)
            for path in set(list_shared_session_files(staged)) & set(new):
                make_folders((folder / path).parent)
                (staged / path).replace(folder / path)
            (staged / _RECORD).replace(folder / _RECORD)
        shutil.rmtree(staged, ignore_errors=True)


def list_shared_session_files(folder: Path) -> list[str]:
    """The files of a session's folder that are shared, by their paths in it."""
    found = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        path.as_posix()
        for path in found
        if path.suffix not in _SKIPPED_SUFFIXES
        and path.name != _RECORD
        and path.parts[0] != _STAGED
    ]


def read_file_state(path: Path) -> SharedFileStat:
    """The state of a file. Raises StoreError."""
    with _opened(path) as file:
        return _state_of(file)


def read_appended_or_whole_content(
    path: Path, known: SharedFileStat | None
) -> tuple[int, bytes, SharedFileStat]:
    """What is new in a file and where it begins, and the file's state. Of a log that only grew it
    is what was appended, of a file that changed in another way all of it.
    """
    with _opened(path) as file:
        state, start = _state_of(file), 0
        if known is not None and _is_longer(file, path, known, state):
            start = known.size
        file.seek(start)
        return start, file.read(state.size - start), state


def _is_longer(file: BinaryIO, path: Path, known: SharedFileStat, state: SharedFileStat) -> bool:
    """Whether a file is as it was `known`, or that with something behind it."""
    if state == known:
        return True
    return (
        path.suffix == ".jsonl"
        and known.inode == state.inode
        and known.size <= state.size
        and _end_of(file, known.size) == known.end
    )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with raise_os_errors_as_store_errors("read", path), path.open("rb") as file:
        yield file


def _state_of(file: BinaryIO) -> SharedFileStat:
    """The state of an open file. Others may append to it from now on."""
    found = os.fstat(file.fileno())
    return SharedFileStat(
        found.st_ino, found.st_size, found.st_mtime_ns, _end_of(file, found.st_size)
    )


def _end_of(file: BinaryIO, size: int) -> int:
    """The checksum of the last of the first `size` bytes."""
    file.seek(max(0, size - _END_BYTES))
    return zlib.crc32(file.read(min(size, _END_BYTES)))


def read_sync_record(folder: Path) -> FolderSyncRecord:
    """What was last noted of a folder; that of a new one where nothing was, or not readably."""
    data = read_if_exists(DiskFiles(), folder / _RECORD)
    with contextlib.suppress(msgspec.DecodeError):
        return decode_json(data or b"{}", as_type=FolderSyncRecord)
    return FolderSyncRecord()


def write_sync_record(folder: Path, record: FolderSyncRecord) -> None:
    """Note the state of a folder. Raises StoreError."""
    DiskFiles(durable=False).write(folder / _RECORD, msgspec.json.encode(record))
