"""The last scan of a memory folder, as it is kept on disk.

All of it is in one file, which has eight megabytes for ten thousand memories. Of a large folder a
change is therefore written to a second, small one, which names the state of the first that it
belongs to; when many have come together, the first is written anew.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_scan import RULES_VERSION, FolderScan, ScannedFile
from memorist.ports import FileInfo, FileSystem
from memorist.store.disk_files import read_json_if_valid, remove_if_exists
from memorist.store.home_layout import MemoryLayout

MIN_SPLIT_FILES = 500
"""Files of a folder from which changes are written by themselves: fewer are written in a few
milliseconds.
"""
MAX_CHANGED_FILES = 200
"""Changed files from which the whole scan is written anew."""

_NO_SIZE = -1
"""Size in the scan of a file that is to be read again."""


class _ScanChanges(Struct, frozen=True):
    """What a scan has otherwise than the whole one that was written when the file of that had this
    size and time.
    """

    size: int
    modified_ns: int
    changed: dict[str, ScannedFile]
    missing: tuple[str, ...]


class ScanCache:
    """Loads and saves the scan. What is unchanged on disk is not read again. Saving needs the
    folder's lock. Every method raises StoreError when the disk refuses.
    """

    def __init__(self, files: FileSystem, layout: MemoryLayout) -> None:
        self._files = files
        self._layout = layout
        self._whole: tuple[FileInfo, FolderScan] | None = None
        """The file of the whole scan, and what it says."""
        self._latest: tuple[FileInfo | None, FolderScan] | None = None
        """The file of its changes, and the scan with them."""
        self._changes: _ScanChanges | None = None
        """What that scan has otherwise than the whole one; None where it is not known."""

    def load(self, lines: int) -> FolderScan:
        """The scan on disk; an empty one where there is none, or one under other rules."""
        whole = self._load_whole()
        if whole is None or (whole[1].lines, whole[1].rules) != (lines, RULES_VERSION):
            return FolderScan(lines)
        facts = self._files.lstat(self._layout.scan_changes)
        if self._latest is None or self._latest[0] != facts:
            self._changes = None
            self._latest = (facts, self._apply_changes(*whole))
        return self._latest[1]

    def _load_whole(self) -> tuple[FileInfo, FolderScan] | None:
        facts = self._files.lstat(self._layout.scan_state)
        if facts is None:
            self._whole = None
        elif self._whole is None or self._whole[0] != facts:
            self._whole = self._latest = None
            scan = read_json_if_valid(self._files, self._layout.scan_state, FolderScan)
            self._whole = None if scan is None else (facts, scan)
        return self._whole

    def _apply_changes(self, facts: FileInfo, whole: FolderScan) -> FolderScan:
        found = read_json_if_valid(self._files, self._layout.scan_changes, _ScanChanges)
        if found is None or (found.size, found.modified_ns) != (facts.size, facts.modified_ns):
            return whole
        self._changes = found
        left = {path: each for path, each in whole.files.items() if path not in found.missing}
        return replace(whole, files={**left, **found.changed})

    def save(self, scan: FolderScan, edited: Collection[str] | None = None) -> None:
        """Write a scan, or what is otherwise than in the whole one that was written last. With
        `edited`, only these files are otherwise than in the one that was loaded or saved last.
        """
        whole = self._load_whole()
        known = None if edited is None or self._latest is None else self._changes
        if whole is not None and (changes := _find_changes(*whole, scan, known, edited or ())):
            self._files.write(self._layout.scan_changes, msgspec.json.encode(changes))
            self._latest = (self._files.lstat(self._layout.scan_changes), scan)
            self._changes = changes
            return
        self._changes = None
        self._files.write(self._layout.scan_state, msgspec.json.encode(scan))
        facts = self._files.lstat(self._layout.scan_state)
        if self._files.lstat(self._layout.scan_changes) is not None:
            remove_if_exists(self._files, self._layout.scan_changes)
        self._whole = None if facts is None else (facts, scan)
        self._latest = (None, scan)

    def force_rescan(self, lines: int) -> None:
        """Have every file read again; whose origin was believed stays known."""
        known = self.load(lines)
        unread = {path: replace(each, size=_NO_SIZE) for path, each in known.files.items()}
        self.save(replace(known, files=unread))

    def remove(self) -> None:
        """Forget the scan, and with it whose origin was believed."""
        for path in (self._layout.scan_state, self._layout.scan_changes):
            remove_if_exists(self._files, path)
        self._whole = self._latest = None


def _find_changes(
    facts: FileInfo,
    whole: FolderScan,
    scan: FolderScan,
    known: _ScanChanges | None,
    edited: Collection[str],
) -> _ScanChanges | None:
    """What a scan has otherwise than the whole one; None where all of it is to be written. `known`
    is what a former one had, which differs in the `edited` files.
    """
    comparable = (scan.lines, scan.rules, scan.is_complete) == (
        whole.lines,
        whole.rules,
        whole.is_complete,
    )
    if not comparable or len(whole.files) < MIN_SPLIT_FILES:
        return None
    if known is None:
        edited = [
            *(path for path, each in scan.files.items() if whole.files.get(path) is not each),
            *(path for path in whole.files if path not in scan.files),
        ]
        known = _ScanChanges(facts.size, facts.modified_ns, {}, ())
    paths = {*known.changed, *known.missing, *edited}
    if len(paths) > MAX_CHANGED_FILES:
        return None
    return _ScanChanges(
        facts.size,
        facts.modified_ns,
        {path: scan.files[path] for path in sorted(paths) if path in scan.files},
        tuple(path for path in sorted(paths) if path not in scan.files and path in whole.files),
    )
