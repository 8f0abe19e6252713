"""A file system that remembers what it was asked about, so that asking again whether anything changed costs one look at each name."""

from __future__ import annotations

from pathlib import Path

from memorist.errors import StoreError
from memorist.ports import FileFacts, ReadableFiles


class WatchedFiles:
    """Reads like the `ReadableFiles` that it stands before, and remembers what was there and what was not."""

    def __init__(self, files: ReadableFiles) -> None:
        self._files = files
        self._seen: dict[Path, FileFacts | None] = {}

    def changed(self) -> bool:
        """Whether any name that was asked about is another file now, is gone, or has come; a name that cannot be looked at any more has changed."""
        try:
            return any(self._files.facts(path) != before for path, before in self._seen.items())
        except StoreError:
            return True

    def facts(self, path: Path) -> FileFacts | None:
        """As `ReadableFiles.facts`."""
        found = self._seen[path] = self._files.facts(path)
        return found

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """As `ReadableFiles.read`."""
        self.facts(path)
        return self._files.read(path, limit=limit)

    def resolve(self, path: Path) -> Path:
        """As `ReadableFiles.resolve`."""
        return self._files.resolve(path)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileFacts]]:
        """As `ReadableFiles.scan`. A name that comes or goes changes its folder."""
        found = self._files.scan(folder, limit=limit)
        for below in {folder, *((folder / name).parent for name, _ in found)}:
            self.facts(below)
        return found
