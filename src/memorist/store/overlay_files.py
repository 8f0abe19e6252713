"""Files with changes kept in memory over the real ones; nothing reaches the disk."""

from __future__ import annotations

import posixpath
from pathlib import Path

from memorist.errors import WriteConflict
from memorist.ports import FileInfo, FileSystem
from memorist.store.disk_files import read_if_exists


class OverlayFiles:
    """The Files port over another one. Reads see the changes; `changed` gives them, to be judged
    and applied by whoever owns the real files.

    A fork that works on an overlay can neither leave a half-done change behind nor write past the
    checks.
    """

    def __init__(self, below: FileSystem) -> None:
        self._below = below
        self._present: dict[Path, bytes | None] = {}
        self._before: dict[Path, bytes | None] = {}
        """What each file was when it was first seen from here."""

    def changes(self) -> dict[Path, tuple[bytes | None, bytes | None]]:
        """What differs from what was seen below, by path: the bytes that the change was made from,
        and the new ones; None where there is no file.

        Whoever writes them compares the first with the disk: what somebody else wrote meanwhile is
        not overwritten.
        """
        found = {path: (self._before[path], data) for path, data in self._present.items()}
        return {path: (before, after) for path, (before, after) in found.items() if before != after}

    def _change(self, path: Path, data: bytes | None) -> None:
        if path not in self._present and path not in self._before:
            self._before[path] = read_if_exists(self._below, path)
        self._present[path] = data

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """The bytes of a file including changes. Raises as the port specifies."""
        if path not in self._present:
            found = self._below.read(path, limit=limit)
            if limit is None or len(found) < limit:
                self._before.setdefault(path, found)
            return found
        data = self._present[path]
        if data is None:
            raise FileNotFoundError(f"There is no file {path}.")
        return data if limit is None else data[:limit]

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """Record the change. Raises WriteConflict when the file is not as expected."""
        if expect is not None and read_if_exists(self, path) != expect:
            raise WriteConflict(
                f"{path} changed since it was read; read it again and repeat the change."
            )
        self._change(path, data)

    def create(self, path: Path, data: bytes) -> bool:
        """Record the new file; False when there is one already."""
        if self.lstat(path) is not None:
            return False
        self._change(path, data)
        return True

    def append(self, path: Path, data: bytes) -> None:
        """Record the addition."""
        self._change(path, (read_if_exists(self, path) or b"") + data)

    def lstat(self, path: Path) -> FileInfo | None:
        """The facts of the path including changes."""
        if path in self._present:
            data = self._present[path]
            if data is None:
                return None
            return FileInfo(len(data), 0, is_file=True, is_folder=False, is_link=False)
        found = self._below.lstat(path)
        inside = any(
            data is not None and other.is_relative_to(path) for other, data in self._present.items()
        )
        if found is None and inside:
            return FileInfo(0, 0, is_file=False, is_folder=True, is_link=False)
        return found

    def resolve(self, path: Path) -> Path:
        """The real path in the underlying files."""
        return self._below.resolve(path)

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """Every file below the folder including changes, sorted."""
        found = {
            path for path in self._walk_below(folder) if self._present.get(path, b"") is not None
        }
        found |= {
            path
            for path, data in self._present.items()
            if data is not None and path.is_relative_to(folder)
        }
        return sorted(found)[:limit]

    def _walk_below(self, folder: Path) -> list[Path]:
        try:
            return self._below.walk(folder)
        except FileNotFoundError:
            return []

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileInfo]]:
        """Relative path and facts of every file including changes, sorted; hidden ones are
        skipped.
        """
        pairs = [
            (posixpath.join(*path.relative_to(folder).parts), self.lstat(path))
            for path in self.walk(folder)
        ]
        shown = [
            (name, facts)
            for name, facts in pairs
            if facts is not None and not any(part.startswith(".") for part in name.split("/"))
        ]
        return shown[:limit]

    def remove(self, path: Path) -> None:
        """Take the removal. Raises FileNotFoundError."""
        self.read(path, limit=0)
        self._change(path, None)
