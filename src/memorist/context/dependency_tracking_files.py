"""Files whose change between two requests is noticed."""

from __future__ import annotations

from pathlib import Path

from memorist.errors import StoreError
from memorist.ports import FileInfo, ReadableFileSystem


class DependencyTrackingFileReader:
    """Reads like the `ReadableFileSystem` it wraps, and remembers what existed and what did not."""

    def __init__(self, files: ReadableFileSystem) -> None:
        self._files = files
        self._seen: dict[Path, FileInfo | None] = {}

    def has_changed(self) -> bool:
        """Tell whether any name asked for was replaced, removed or created; a name that can no
        longer be examined counts as changed.
        """
        try:
            return any(self._files.lstat(path) != before for path, before in self._seen.items())
        except StoreError:
            return True

    def lstat(self, path: Path) -> FileInfo | None:
        """Same as `ReadableFileSystem.lstat`."""
        found = self._seen[path] = self._files.lstat(path)
        return found

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """Same as `ReadableFileSystem.read`."""
        self.lstat(path)
        return self._files.read(path, limit=limit)

    def resolve(self, path: Path) -> Path:
        """Same as `ReadableFileSystem.resolve`."""
        return self._files.resolve(path)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileInfo]]:
        """Same as `ReadableFileSystem.scan`. A name that comes or goes changes its folder."""
        found = self._files.scan(folder, limit=limit)
        for below in {folder, *((folder / name).parent for name, _ in found)}:
            self.lstat(below)
        return found
