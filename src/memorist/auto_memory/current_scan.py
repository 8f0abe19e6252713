"""The last scan of a memory folder as one process knows it: loaded when it is asked for, changed
file by file, and saved. Saving needs the folder's lock.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.auto_memory.folder_listing import FolderListing
from memorist.auto_memory.memory_scan import ABSENT_FILE, FolderScan, ScannedFile
from memorist.auto_memory.scan_cache import ScanCache
from memorist.ports import FileSystem
from memorist.store.home_layout import MemoryLayout


class CurrentScan:
    """Used from one thread. What reads or saves it raises StoreError when the disk refuses."""

    def __init__(self, files: FileSystem, layout: MemoryLayout, lines: int) -> None:
        self._cache = ScanCache(files, layout)
        self._lines = lines
        """How many lines of a file are read for its header."""
        self._scan: FolderScan | None = None
        self._edited: set[str] | None = set()
        """Files that it has otherwise than the one on disk; None for unknown ones."""
        self._listing = FolderListing()

    @property
    def is_loaded(self) -> bool:
        """Whether there is one in memory."""
        return self._scan is not None

    @property
    def scan(self) -> FolderScan:
        """The scan itself."""
        if self._scan is None:
            self._scan, self._edited = self._cache.load(self._lines), set()
        return self._scan

    @property
    def files(self) -> dict[str, ScannedFile]:
        """Its files, by path."""
        return self.scan.files

    @property
    def listing(self) -> FolderListing:
        """What it says of the memories."""
        self._listing.set_scan(self.scan)
        return self._listing

    def get_file(self, path: str) -> ScannedFile:
        """A file as it was seen; `ABSENT_FILE` for none."""
        return self.files.get(path, ABSENT_FILE)

    def list_edited_files(self, former: FolderScan) -> Iterable[str]:
        """Paths of the files that may be otherwise than in a former scan, at least."""
        return former.files if self._edited is None else self._edited

    def set_files(self, files: dict[str, ScannedFile], *, is_complete: bool) -> None:
        """Put other files in the place of all."""
        self._scan = FolderScan(self._lines, files=files, is_complete=is_complete)
        self._edited = None

    def set_file(self, path: str, seen: ScannedFile | None) -> None:
        """Put another file at a path, or none."""
        before = self.scan
        files = dict(before.files)
        if seen is None:
            files.pop(path, None)
        else:
            files[path] = seen
        self._scan = FolderScan(before.lines, files=files, is_complete=before.is_complete)
        self._listing.take_edit(before, self._scan, path)
        if self._edited is not None:
            self._edited.add(path)

    def save(self) -> None:
        """Write it to the disk."""
        self._cache.save(self.scan, self._edited)
        self._edited = set()

    def discard(self) -> None:
        """Load it from the disk when it is asked for next."""
        self._scan = None

    def force_rescan(self) -> None:
        """Have every file read again; whose origin was believed stays known."""
        self._cache.force_rescan(self._lines)
        self._scan = None

    def remove_from_disk(self) -> None:
        """Forget the scan, and with it whose origin was believed; the one in memory stays."""
        self._cache.remove()
