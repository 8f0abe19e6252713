"""Bring the memories of this machine and of the user's others in line.

First the memory folders are written, each change with its entry in the folder's history, then this
machine's file: killed between the two, the next run finds the texts alike and goes on. What each
folder had when it was last in line is kept beside it, as checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, find_memory_path_problem
from memorist.auto_memory.memory_file import MemoryFile, Trust, parse_memory_file, with_provenance
from memorist.auto_memory.memory_location import read_remote_identity
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.auto_memory.merge_conflict import is_conflicted_copy
from memorist.auto_memory.removed_memories import find_deliberately_deleted_paths
from memorist.auto_memory.team_memory import TEAM_PREFIX
from memorist.core.json_decoding import decode_json
from memorist.errors import InputError, StoreError
from memorist.machines.machine_identity import MachineIdentity, load_machine_identity
from memorist.machines.machine_merge import (
    MachineSnapshot,
    ProjectEntries,
    VersionedMemory,
    compute_memory_checksum,
    merge_machine_memories_without_loss,
)
from memorist.machines.machine_remote import draw_random_bytes, open_machine_remote
from memorist.machines.snapshot_cipher import NONCE_BYTES, decrypt_snapshot, encrypt_snapshot
from memorist.platforms.storage_errors import describe_storage_error
from memorist.platforms.user_home import expand_user
from memorist.store.disk_files import DiskFiles, check_folder_readable_or_missing, read_if_exists
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.store.process_lock import hold_lock
from memorist.team.team_protocol import derive_space_name_from_remote

# What a memory folder had when it was last in line with the other machines, kept beside it: only
# that can have been changed or deleted there. Two clones of a project are one project to other
# machines, and the one may never have had what the other has.


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


class ReceivedMemoriesReport(Struct, frozen=True, kw_only=True):
    """What became of one run: paths by project, and the machines that could not be read."""

    received: dict[str, tuple[str, ...]] = {}
    machines: int = 0
    """The user's other machines that were read."""
    troubles: tuple[str, ...] = ()


_FOLDER = "folder:"
EVERY_PROJECT = "user:"
"""What holds in every project of the user is called on every machine."""


def build_cross_machine_project_key(root: Path) -> str:
    """What a project is called on every machine: by its remotes, so that a second clone finds its
    memory, else by its folder, from the user's home on. Folders of one name are not one project.
    """
    remotes = read_remote_identity(root).split()
    if remotes:
        return derive_space_name_from_remote(remotes[0])
    home = Path(expand_user()).resolve()
    is_below = root.is_relative_to(home)
    return f"{_FOLDER}{Path('~') / root.relative_to(home) if is_below else root}"


def sync_machines(
    layout: Layout, memories: Mapping[str, Sequence[AutoMemory]]
) -> ReceivedMemoriesReport:
    """Take in what the others changed in these projects, and publish what is here.

    Raises NothingToDo, InputError for a wrong key, RemoteUnavailable, StoreError.
    """
    own = load_machine_identity(layout)
    with hold_lock(layout.machines / "lock"):
        remote = open_machine_remote(own.location, layout.machines / "mirror")
        snapshots, troubles = _read_snapshots(own, remote.read_files())
        published = snapshots.pop(own.machine, MachineSnapshot(machine=own.machine)).projects
        projects = dict(published)
        received: dict[str, tuple[str, ...]] = {}
        for name, clones in memories.items():
            others = [each.projects.get(name, {}) for each in snapshots.values()]
            # What a later clone brings, the earlier ones receive.
            for memory in (*clones, *clones[:-1]):
                projects[name], paths = _merge_project(memory, name, projects, others)
                received[name] = tuple(dict.fromkeys((*received.get(name, ()), *paths)))
        now = MachineSnapshot(machine=own.machine, projects=projects)
        if projects != published or own.machine not in snapshots:
            remote.write_file(
                own.machine, encrypt_snapshot(own.key, now, draw_random_bytes(NONCE_BYTES))
            )
        for name, clones in memories.items():
            for memory in clones:
                save_synced_checksums(memory.layout, name, projects[name])
    return ReceivedMemoriesReport(
        received={name: paths for name, paths in received.items() if paths},
        machines=len(snapshots),
        troubles=(*troubles, *_describe_namesakes(memories, snapshots)),
    )


def _read_snapshots(
    own: MachineIdentity, files: Mapping[str, bytes | OSError]
) -> tuple[dict[str, MachineSnapshot], tuple[str, ...]]:
    """What the machines published, and which could not be read. Raises InputError where none could,
    and StoreError where this machine's own could not: what it knows to be deleted stands there.
    """
    found, troubles = {}, []
    for machine, data in files.items():
        if isinstance(data, OSError):
            why = f"what the machine {machine} left cannot be read: {describe_storage_error(data)}"
            if machine == own.machine:
                raise StoreError(why) from data
            troubles.append(why)
            continue
        try:
            found[machine] = decrypt_snapshot(own.key, machine, data)
        except InputError as error:
            troubles.append(str(error))
    if files and not found:
        raise InputError(troubles[0])
    return found, tuple(troubles)


def _describe_namesakes(
    here: Collection[str], snapshots: Mapping[str, MachineSnapshot]
) -> Iterator[str]:
    """Name the folders of this machine that have the name, but not the location, of another one's:
    nothing tells whether they are one project.
    """
    there = {name for each in snapshots.values() for name in each.projects} - {*here}
    for name in sorted(filter(_is_folder, here)):
        for other in sorted(filter(_is_folder, there)):
            if name.rpartition("/")[2] == other.rpartition("/")[2]:
                yield (
                    f"{name.removeprefix(_FOLDER)} and, on another machine, "
                    f"{other.removeprefix(_FOLDER)} have no Git remote: their memories are not "
                    "shared unless both have the same one, or the same location"
                )


def _is_folder(project: str) -> bool:
    return project.startswith(_FOLDER)


def _find_synced(
    memory: AutoMemory, name: str, projects: Mapping[str, ProjectEntries]
) -> tuple[ProjectEntries, dict[str, str]]:
    """What this machine published of a project, and the checksums of what this folder had of it at
    its last sync and has kept, changed or deleted since. What is only missing is none: its folder
    was away. Where the project has another remote now, that of the former name.
    """
    synced = load_synced_checksums(memory.layout)
    published = projects.get(name) or projects.get(synced.project, {})
    had = synced.find_checksums(published)
    present = memory.folder.headers_by_path().keys()
    absent = {path for path in had if published[path].text is not None} - present
    missing = absent - find_deliberately_deleted_paths(memory.folder.history, absent)
    return published, {path: each for path, each in had.items() if path not in missing}


def _merge_project(
    memory: AutoMemory,
    name: str,
    projects: Mapping[str, ProjectEntries],
    others: Sequence[ProjectEntries],
) -> tuple[ProjectEntries, tuple[str, ...]]:
    """The entries after the merge, and the paths that were written here. What this folder did not
    have at its last sync, as another clone on this machine published it since, is another's to it.
    A file that is no text or was cut off, or that a link hides, stays as it is, and what is known
    of it.
    """
    check_folder_readable_or_missing(memory.layout.folder)
    published, had = _find_synced(memory, name, projects)
    here, hidden = _read_texts(memory, published)
    paths = {path for each in (published, *others) for path in each}
    unreadable = {
        path for path in paths if path in hidden or any(map(path.startswith, hidden.values()))
    } | hidden.keys()
    known = {
        path: each
        for path, each in published.items()
        if had.get(path) == compute_memory_checksum(each.text)
    }
    unseen = {path: each for path, each in published.items() if path not in known}
    for path in unseen.keys() & had.keys():
        known[path] = VersionedMemory(here.get(path), former=(had[path],))
    usable = [
        {
            path: each
            for path, each in other.items()
            if path not in unreadable and not find_memory_path_problem(path)
        }
        for other in (unseen, *others)
    ]
    for path in unreadable:
        known.pop(path, None)
    entries = merge_machine_memories_without_loss(known, here, usable)
    changes = [
        MemoryChange(
            path=path,
            before=read_if_exists(DiskFiles(), memory.layout.folder / path),
            after=_encode(entry.text),
        )
        for path, entry in sorted(entries.items())
        if entry.text != here.get(path)
    ]
    if changes:
        why = ChangeReason(actor="memorist", what="from another machine of yours")
        memory.folder.apply_changes(changes, why)
    kept = {path: published[path] for path in unreadable if path in published}
    return entries | kept, tuple(each.path for each in changes)


def _read_texts(
    memory: AutoMemory, published: ProjectEntries
) -> tuple[dict[str, str], dict[str, str]]:
    """The memories of a folder; and the paths of what is no text or cut off, as after a power cut,
    of what was forgotten and only put back by another program, of second versions that a program
    left which keeps folders alike, and of links, which are not followed, each with the beginning
    of what would be below it. What the team shares has a way of its own. A claim to be the user's
    word that is not believed here is none on another machine.
    """
    texts: dict[str, str] = {}
    hidden: dict[str, str] = {}
    for path, facts in memory.folder.list_entries():
        if facts.is_link:
            hidden[path] = f"{path}/"
        elif path.endswith(".md") and not is_index_file(path) and not path.startswith(TEAM_PREFIX):
            with contextlib.suppress(FileNotFoundError):
                data = DiskFiles().read(memory.layout.folder / path)
                topic = parse_memory_file(path, data)
                trust = memory.folder.determine_trust(topic)
                former = published.get(path)
                if (
                    not _is_text(data)
                    or _is_cut_off(topic)
                    or _came_back(topic, trust, former)
                    or is_conflicted_copy(path)
                ):
                    hidden[path] = f"{path}/"
                    continue
                if topic.provenance.trust is not trust:
                    topic = with_provenance(topic, replace(topic.provenance, trust=trust))
                texts[path] = topic.text()
    return texts, hidden


def _is_cut_off(topic: MemoryFile) -> bool:
    """Whether a file is empty, or ends within its header."""
    text = topic.text()
    return not text.strip() or (text.startswith("---\n") and topic.document.front is None)


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _came_back(topic: MemoryFile, trust: Trust, published: VersionedMemory | None) -> bool:
    """Whether a memory was deleted on all machines, and another program put it back."""
    return (
        published is not None
        and published.text is None
        and trust is not topic.provenance.trust
        and compute_memory_checksum(topic.text()) in published.former
    )


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8")
