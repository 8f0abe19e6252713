"""What a scan says of a memory folder, by path: headers, marks and names. What changed of it is
taken in by itself, since a prompt that writes one memory of ten thousand waits for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from types import MappingProxyType

from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.memory_scan import FolderScan, ScannedFile
from memorist.forks.fork_permissions import fold_file_name

_NO_HEADERS: Mapping[str, MemoryHeader] = MappingProxyType({})
_NO_MARKS: Mapping[str, str] = MappingProxyType({})


class FolderListing:
    """The memories of the last scan that it was given."""

    def __init__(self) -> None:
        self._scan: FolderScan | None = None
        self.headers: Mapping[str, MemoryHeader] = _NO_HEADERS
        """By path, sorted; another mapping whenever a memory changed."""
        self.marks: Mapping[str, str] = _NO_MARKS
        """By the same paths, a mark that changes when the memory's file does."""
        self.version = 0
        """Changes with them."""
        self._edits: list[str] = []
        """The memory that each of the last versions changed."""
        self._by_folded_name: dict[str, str] | None = None
        """Paths of all files by what a file system that ignores case may take them for."""

    def set_scan(self, scan: FolderScan) -> None:
        """List the memories of this scan, unless it is the last one."""
        if self._scan is scan:
            return
        heads: dict[str, MemoryHeader] = {}
        marks: dict[str, str] = {}
        for path in sorted(scan.files):
            seen = scan.files[path]
            if seen.head is not None:
                heads[path], marks[path] = seen.head, _mark(seen)
        self._scan, self.headers, self.marks = scan, heads, marks
        self.version += 1
        self._edits, self._by_folded_name = [], None

    def take_edit(self, before: FolderScan, scan: FolderScan, path: str) -> None:
        """List the memories of a scan that differs from the one `before` in one file."""
        if self._scan is not before:
            return
        self._scan = scan
        seen = scan.files.get(path)
        if self._by_folded_name is not None:
            if seen is None:
                self._by_folded_name = None
            else:
                self._by_folded_name[fold_file_name(path)] = path
        head = None if seen is None else seen.head
        if head is None and path not in self.headers:
            return
        self.headers = _put(self.headers, path, head)
        marks = dict(self.marks)
        if seen is None or head is None:
            del marks[path]
        else:
            marks[path] = _mark(seen)
        self.marks = marks
        self.version += 1
        self._edits.append(path)

    def list_edits_since(self, version: int) -> Collection[str] | None:
        """Paths of the memories that changed since a version; None where that is not known."""
        edits = self.version - version
        if not 0 <= edits <= len(self._edits):
            return None
        return frozenset(self._edits[len(self._edits) - edits :])

    def find_same_names(self, path: str) -> frozenset[str]:
        """The file at a path, and one that some file systems take for it; none where there are
        none.
        """
        if self._scan is None:
            return frozenset()
        files = self._scan.files
        if self._by_folded_name is None:
            self._by_folded_name = {fold_file_name(each): each for each in files}
        other = self._by_folded_name.get(fold_file_name(path))
        return frozenset(each for each in (path, other) if each is not None and each in files)


def _mark(seen: ScannedFile) -> str:
    return seen.blob or f"{seen.size}-{seen.modified_ns}"


def _put(
    known: Mapping[str, MemoryHeader], path: str, head: MemoryHeader | None
) -> Mapping[str, MemoryHeader]:
    """A copy with this header under a path, None for none, in the order of the paths."""
    if head is None or path in known:
        changed = dict(known)
        if head is None:
            del changed[path]
        else:
            changed[path] = head
        return changed
    # Half the time of sorting the copy.
    paths, heads = list(known), list(known.values())
    at = bisect_left(paths, path)
    paths.insert(at, path)
    heads.insert(at, head)
    return dict(zip(paths, heads, strict=True))
