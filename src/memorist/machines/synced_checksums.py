"""What a memory folder had when it was last in line with the other machines, kept beside it: only
that can have been changed or deleted there. Two clones of a project are one project to other
machines, and the one may never have had what the other has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.machines.machine_merge import VersionedMemory, compute_memory_checksum
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import MemoryLayout


class SyncedChecksums(Struct, frozen=True):
    """The record of one folder, which a restored copy of the home takes along. Of a path only a
    digest is kept: the path of what is forgotten for good is taken out of every file.
    """

    project: str = ""
    """What the project was called on every machine."""
    checksums: dict[str, str] = {}
    """Digest of the path to the checksum of the text; empty for a deleted one."""

    def find_checksums(self, published: Mapping[str, VersionedMemory]) -> dict[str, str]:
        """Checksum by path of what the folder had, of the published paths."""
        digests = {path: _hash_path(path) for path in published}
        return {
            path: self.checksums[digest]
            for path, digest in digests.items()
            if digest in self.checksums
        }


def load_synced_checksums(layout: MemoryLayout) -> SyncedChecksums:
    """Load the record; an empty one where there is none, or none that can be read."""
    try:
        data = read_if_exists(DiskFiles(), layout.synced_checksums)
        return decode_json(data or b"{}", as_type=SyncedChecksums)
    except msgspec.DecodeError:
        return SyncedChecksums()


def save_synced_checksums(
    layout: MemoryLayout, project: str, entries: Mapping[str, VersionedMemory]
) -> None:
    """The folder has these entries now. Raises StoreError."""
    now = SyncedChecksums(
        project,
        {_hash_path(path): compute_memory_checksum(each.text) for path, each in entries.items()},
    )
    if entries and now != load_synced_checksums(layout):
        DiskFiles().write(layout.synced_checksums, msgspec.json.encode(now))


def _hash_path(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]
