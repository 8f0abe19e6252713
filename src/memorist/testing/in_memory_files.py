"""Files in memory, with links and the faults of a real disk."""

from __future__ import annotations

import os
from pathlib import Path
from threading import RLock

from msgspec import Struct

from memorist.errors import StoreError, WriteConflict
from memorist.ports import FileInfo
from memorist.store.disk_files import read_if_exists

MAX_LINKS = 40
"""Links followed in one path before it counts as a loop (Linux)."""


class _File(Struct, frozen=True):
    data: bytes
    modified_ns: int


class _Link(Struct, frozen=True):
    target: Path
    modified_ns: int


class InMemoryFiles:
    """`Files` in memory, for any thread. Folders exist when something is in them, and when they
    were made with `folder`. A relative path begins at the root.

    Faults: paths in `read_only` and below cannot be changed, paths in `unreadable` and below cannot
    be read, and `capacity` (bytes of all files together; None: no limit) makes the disk full. A
    refused write changes nothing. Every write moves the modification time forward by one second.
    """

    def __init__(
        self, content: dict[str, bytes] | None = None, *, capacity: int | None = None
    ) -> None:
        self._entries: dict[Path, _File | _Link] = {}
        self._folders: set[Path] = {Path("/")}
        self._lock = RLock()
        self._time = 1_700_000_000_000_000_000
        self.capacity = capacity
        self.read_only: set[Path] = set()
        self.unreadable: set[Path] = set()
        for name, data in (content or {}).items():
            self.write(Path(name), data)

    def link(self, path: Path, target: Path) -> None:
        """Create a symbolic link. The target may be relative, and need not exist."""
        self._make_parents(path)
        self._entries[path] = _Link(target, self._tick())

    def folder(self, path: Path) -> None:
        """Create a folder."""
        self._make_parents(path / "x")

    def touch(self, path: Path, modified_ns: int) -> None:
        """Set the modification time of a file, in nanoseconds. Raises FileNotFoundError."""
        target, found = self._find_file(path)
        self._entries[target] = _File(found.data, modified_ns)

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` of them. Raises FileNotFoundError and StoreError."""
        target, found = self._find_file(path)
        self._check_allowed(
            self.unreadable,
            target,
            f"Cannot read {path}: permission is denied; give yourself access to it.",
        )
        return found.data if limit is None else found.data[:limit]

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """Replace the file; a link at the path is replaced, not followed. Raises StoreError and
        WriteConflict.
        """
        with self._lock:
            location = self._resolve_parent(path)
            self._check_capacity(location, path, data)
            if expect is not None:
                self._check_unchanged(path, expect)
            self._make_parents(location)
            self._entries[location] = _File(data, self._tick())

    def _check_unchanged(self, path: Path, expect: bytes) -> None:
        try:
            there: bytes | None = self._find_file(path)[1].data
        except FileNotFoundError:
            there = None
        if there != expect:
            what = "is gone" if there is None else "changed"
            raise WriteConflict(
                f"{path} {what} since it was read; read it again and repeat the change."
            )

    def create(self, path: Path, data: bytes) -> bool:
        """Create the file; False when something exists at the path. Raises StoreError."""
        location = self._resolve_parent(path)
        self._check_allowed(
            self.read_only,
            location,
            f"Cannot write {path}: the file system is read-only; choose another folder.",
        )
        with self._lock:
            if location in self._entries or location in self._folders:
                return False
            self.write(path, data)
            return True

    def lstat(self, path: Path) -> FileInfo | None:
        """Facts of what is at the path, links not followed; None when nothing is there."""
        location = self._resolve_parent(path)
        found = self._entries.get(location)
        match found:
            case _File():
                return FileInfo(
                    len(found.data), found.modified_ns, is_file=True, is_folder=False, is_link=False
                )
            case _Link():
                return FileInfo(
                    len(str(found.target)),
                    found.modified_ns,
                    is_file=False,
                    is_folder=False,
                    is_link=True,
                )
            case None:
                if location in self._folders:
                    return FileInfo(0, self._time, is_file=False, is_folder=True, is_link=False)
                return None

    def resolve(self, path: Path) -> Path:
        """Return the real path: links followed as far as the path exists, `..` removed.

        Raises StoreError for a loop of links.
        """
        return self._follow(path, [MAX_LINKS])

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """Every file and link below the folder, sorted, links not followed; at most `limit`.

        Raises FileNotFoundError.
        """
        location = self.resolve(folder)
        if location not in self._folders:
            raise FileNotFoundError(f"There is no folder {folder}.")
        with self._lock:
            return sorted(
                folder / entry.relative_to(location)
                for entry in self._entries
                if entry.is_relative_to(location)
            )[:limit]

    def append(self, path: Path, data: bytes) -> None:
        """Append to a file, which is created if it is missing."""
        with self._lock:
            self.write(path, (read_if_exists(self, path) or b"") + data)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileInfo]]:
        """Path relative to the folder and facts of every file and link below it, sorted; hidden
        ones are skipped; at most `limit`.

        Raises FileNotFoundError.
        """
        found = []
        for path in self.walk(folder):
            name = path.relative_to(folder).as_posix()
            facts = self.lstat(path)
            if facts is not None and not any(part.startswith(".") for part in name.split("/")):
                found.append((name, facts))
        return found[:limit]

    def remove(self, path: Path) -> None:
        """Delete a file or a link. Raises FileNotFoundError and StoreError."""
        location = self._resolve_parent(path)
        if location in self._folders:
            raise StoreError(f"Cannot delete {path}: it is a folder, not a file; move it away.")
        if location not in self._entries:
            raise FileNotFoundError(f"There is no file {path}.")
        self._check_allowed(
            self.read_only,
            location,
            f"Cannot delete {path}: the file system is read-only; choose another folder.",
        )
        del self._entries[location]

    def _tick(self) -> int:
        self._time += 1_000_000_000
        return self._time

    def _resolve_parent(self, path: Path) -> Path:
        """The path with its folders resolved, its last part left as it is."""
        return self.resolve(path.parent) / path.name

    def _find_file(self, path: Path) -> tuple[Path, _File]:
        location = self.resolve(path)
        if location in self._folders:
            raise StoreError(f"Cannot read {path}: it is a folder, not a file; move it away.")
        found = self._entries.get(location)
        if not isinstance(found, _File):
            raise FileNotFoundError(f"There is no file {path}.")
        return location, found

    def _follow(self, path: Path, left: list[int]) -> Path:
        """Follow links. `left` holds the number of links that may still be followed."""
        real = Path("/")
        for part in (real / path).parts[1:]:
            if part == "..":
                real = real.parent
                continue
            real = real / part
            found = self._entries.get(real)
            if isinstance(found, _Link):
                left[0] -= 1
                if left[0] < 0:
                    raise StoreError(
                        f"Cannot follow {path}: its links lead in a loop; remove one of them."
                    )
                real = self._follow(real.parent / found.target, left)
        return real

    def _check_capacity(self, folder: Path, path: Path, data: bytes) -> None:
        self._check_allowed(
            self.read_only,
            folder,
            f"Cannot write {path}: the file system is read-only; choose another folder.",
        )
        if folder in self._folders:
            raise StoreError(f"Cannot write {path}: it is a folder, not a file; move it away.")
        used = sum(
            len(entry.data)
            for at, entry in self._entries.items()
            if isinstance(entry, _File) and at != folder
        )
        if self.capacity is not None and used + len(data) > self.capacity:
            raise StoreError(f"Cannot write {path}: the disk is full; free space and try again.")

    def _check_allowed(self, folders: set[Path], folder: Path, why: str) -> None:
        if any(folder.is_relative_to(refused) for refused in folders):
            raise StoreError(why)

    def _make_parents(self, path: Path) -> None:
        for folder in path.parents:
            if isinstance(self._entries.get(folder), _File):
                raise StoreError(
                    f"Cannot make {folder}: a part of the path is a file, not a folder; move "
                    f"it away."
                )
            self._folders.add(Path(os.path.normpath(folder)))
