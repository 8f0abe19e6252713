"""What each memory folder of this machine had when it was last in line with the other machines:
only that can have been changed or deleted there. Two clones of a project are one project to other
machines, and the one may never have had what the other has.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from memorist.machines.machine_merge import VersionedMemory, compute_memory_checksum
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout

_Checksums = dict[str, str]
"""Digest of the path to the checksum of the text; empty for a deleted one."""


class SyncedChecksums:
    """The record of one home, by the name of the project and its memory folder. Of a path only a
    digest is kept: the path of what is forgotten for good is taken out of every file. A record that
    cannot be read counts as none.
    """

    def __init__(self, layout: Layout) -> None:
        self._path = layout.machines / "synced.json"
        self._folders: dict[str, dict[str, _Checksums]] = {}
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            self._folders = msgspec.json.decode(
                DiskFiles().read(self._path), type=dict[str, dict[str, _Checksums]]
            )
        self._loaded = msgspec.json.encode(self._folders)

    def find_checksums(
        self, project: str, folder: Path, published: Mapping[str, VersionedMemory]
    ) -> dict[str, str]:
        """Checksum by path of what this folder had, or the one from which it was moved, of the
        published paths. None where the folder is not there at all; where nothing was recorded of
        the project yet, all that was published, unless the folder is empty.
        """
        if not folder.is_dir():
            return {}
        known = self._folders.get(project)
        if known is None:
            return (
                {path: compute_memory_checksum(each.text) for path, each in published.items()}
                if any(folder.rglob("*.md"))
                else {}
            )
        moved = (had for other, had in known.items() if not Path(other).exists())
        had = known.get(str(folder)) or next(moved, {})
        digests = {path: _hash_path(path) for path in published}
        return {path: had[digest] for path, digest in digests.items() if digest in had}

    def set_checksums(
        self, project: str, folder: Path, entries: Mapping[str, VersionedMemory]
    ) -> None:
        """This folder has these entries now."""
        there = {
            other: had
            for other, had in self._folders.get(project, {}).items()
            if Path(other).exists()
        }
        now = {
            _hash_path(path): compute_memory_checksum(each.text) for path, each in entries.items()
        }
        self._folders[project] = there | {str(folder): now}

    def save(self) -> None:
        """Write what was set. Raises StoreError."""
        data = msgspec.json.encode(self._folders)
        if data != self._loaded:
            DiskFiles().write(self._path, data)


def _hash_path(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]
