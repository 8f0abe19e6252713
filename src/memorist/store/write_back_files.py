"""Files whose changes are kept in memory until they are written back."""

from __future__ import annotations

from pathlib import Path

from memorist.ports import FileInfo
from memorist.store.disk_files import DiskFiles, read_if_exists

MAX_HELD_BYTES = 4_000_000
"""Bytes held at most; what goes beyond is written."""


class WriteBackFiles:
    """The Files port where the disk sees the last state of a file only: a replay changes its notes
    hundreds of times before anyone reads them.

    What is written reaches the disk with `flush`, and before anything is asked of a held file or a
    folder above it that only the disk can tell. One writer: others are not seen.
    """

    def __init__(self, disk: DiskFiles) -> None:
        self._disk = disk
        self._held: dict[Path, bytes] = {}
        self._bytes = 0

    def flush(self) -> None:
        """Write everything held back. Raises StoreError."""
        self._write_back(list(self._held))

    def _write_back(self, paths: list[Path]) -> None:
        for path in paths:
            data = self._held.pop(path)
            self._bytes -= len(data)
            self._disk.write(path, data)

    def _flush_below(self, path: Path) -> None:
        """Write what is held back and may change what the disk tells of this path."""
        self._write_back([each for each in self._held if path == each or path in each.parents])

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """As `DiskFiles.read`."""
        content = self._held.get(path)
        return self._disk.read(path, limit=limit) if content is None else content[:limit]

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """As `DiskFiles.write`, but held back."""
        if expect is not None and read_if_exists(self, path) != expect:
            self._flush_below(path)
            self._disk.write(path, data, expect=expect)
        else:
            self._hold_back(path, data)

    def create(self, path: Path, data: bytes) -> bool:
        """As `DiskFiles.create`, but held back."""
        if path in self._held or self._disk.lstat(path) is not None:
            return False
        self._hold_back(path, data)
        return True

    def _hold_back(self, path: Path, data: bytes) -> None:
        self._bytes += len(data) - len(self._held.get(path, b""))
        self._held[path] = data
        if self._bytes > MAX_HELD_BYTES:
            self.flush()

    def lstat(self, path: Path) -> FileInfo | None:
        """As `DiskFiles.lstat`."""
        self._flush_below(path)
        return self._disk.lstat(path)

    def resolve(self, path: Path) -> Path:
        """As `DiskFiles.resolve`."""
        self._flush_below(path)
        return self._disk.resolve(path)

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """As `DiskFiles.walk`."""
        self._flush_below(folder)
        return self._disk.walk(folder, limit=limit)

    def append(self, path: Path, data: bytes) -> None:
        """As `DiskFiles.append`."""
        self._flush_below(path)
        self._disk.append(path, data)

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileInfo]]:
        """As `DiskFiles.scan`."""
        self._flush_below(folder)
        return self._disk.scan(folder, limit=limit)

    def remove(self, path: Path) -> None:
        """As `DiskFiles.remove`."""
        self._flush_below(path)
        self._disk.remove(path)
