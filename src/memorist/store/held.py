"""Files that are held back in memory, for folders that nobody looks into yet."""

from __future__ import annotations

from pathlib import Path

from memorist.ports import FileFacts
from memorist.store.files import DiskFiles

MOST_HELD = 4_000_000
"""Bytes held at most; what goes beyond is written."""


class HeldFiles:
    """The Files port where the disk sees the last state of a file only: a replay changes its notes hundreds of times before anyone reads them.

    What is written reaches the disk with `settle`, and before anything is asked that only the disk can tell. One writer: others are not seen.
    """

    def __init__(self, disk: DiskFiles) -> None:
        self._disk = disk
        self._held: dict[Path, bytes] = {}
        self._bytes = 0

    def settle(self) -> None:
        """Write what is held. Raises StoreError."""
        while self._held:
            path, data = self._held.popitem()
            self._disk.write(path, data)
        self._bytes = 0

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """As `DiskFiles.read`."""
        held = self._held.get(path)
        return self._disk.read(path, limit=limit) if held is None else held[:limit]

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """As `DiskFiles.write`, but held."""
        if expect is not None and self._held.get(path) != expect:
            self.settle()
            self._disk.write(path, data, expect=expect)
        else:
            self._hold(path, data)

    def create(self, path: Path, data: bytes) -> bool:
        """As `DiskFiles.create`, but held."""
        if path in self._held or self._disk.facts(path) is not None:
            return False
        self._hold(path, data)
        return True

    def _hold(self, path: Path, data: bytes) -> None:
        self._bytes += len(data) - len(self._held.get(path, b""))
        self._held[path] = data
        if self._bytes > MOST_HELD:
            self.settle()

    def facts(self, path: Path) -> FileFacts | None:
        """As `DiskFiles.facts`."""
        self.settle()
        return self._disk.facts(path)

    def resolve(self, path: Path) -> Path:
        """As `DiskFiles.resolve`."""
        self.settle()
        return self._disk.resolve(path)

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """As `DiskFiles.walk`."""
        self.settle()
        return self._disk.walk(folder, limit=limit)

    def append(self, path: Path, data: bytes) -> None:
        """As `DiskFiles.append`."""
        self.settle()
        self._disk.append(path, data)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileFacts]]:
        """As `DiskFiles.scan`."""
        self.settle()
        return self._disk.scan(folder, limit=limit)

    def remove(self, path: Path) -> None:
        """As `DiskFiles.remove`."""
        self.settle()
        self._disk.remove(path)
