"""Bring the memories of this machine and of the user's others in line.

First the memory folders are written, each change with its entry in the folder's history, then this
machine's file: killed between the two, the next run finds the texts alike and goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, find_memory_path_problem
from memorist.auto_memory.memory_location import read_remote_identity
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.auto_memory.team_memory import TEAM_PREFIX
from memorist.errors import InputError
from memorist.machines.machine_identity import MachineIdentity, load_machine_identity
from memorist.machines.machine_merge import (
    MachineSnapshot,
    ProjectEntries,
    VersionedMemory,
    compute_memory_checksum,
    merge_project_entries,
)
from memorist.machines.machine_remote import draw_random_bytes, open_machine_remote
from memorist.machines.snapshot_cipher import NONCE_BYTES, decrypt_snapshot, encrypt_snapshot
from memorist.machines.synced_checksums import SyncedChecksums
from memorist.store.disk_files import DiskFiles, check_folder_is_usable
from memorist.store.home_layout import Layout
from memorist.store.process_lock import hold_lock
from memorist.team.team_protocol import derive_space_name_from_remote


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
    memory, else by its folder's name.
    """
    remotes = read_remote_identity(root).split()
    return derive_space_name_from_remote(remotes[0]) if remotes else f"{_FOLDER}{root.name}"


def is_folder_name(project: str) -> bool:
    """Whether a project is called by its folder, for want of a remote."""
    return project.startswith(_FOLDER)


def sync_machines(layout: Layout, memories: Mapping[str, AutoMemory]) -> ReceivedMemoriesReport:
    """Take in what the others changed in these projects, and publish what is here.

    Raises NothingToDo, InputError for a wrong key, RemoteUnavailable, StoreError.
    """
    own = load_machine_identity(layout)
    with hold_lock(layout.machines / "lock"):
        remote = open_machine_remote(own.location, layout.machines / "mirror")
        snapshots, troubles = _read_snapshots(own, remote.read_files())
        published = snapshots.pop(own.machine, MachineSnapshot(machine=own.machine)).projects
        projects, received, synced = dict(published), {}, SyncedChecksums(layout)
        for name, memory in memories.items():
            mine = published.get(name, {})
            others = [each.projects.get(name, {}) for each in snapshots.values()]
            had = synced.find_checksums(name, memory.layout.folder, mine)
            projects[name], received[name] = _merge_project(memory, mine, others, had)
            synced.set_checksums(name, memory.layout.folder, projects[name])
        now = MachineSnapshot(machine=own.machine, projects=projects)
        if projects != published or own.machine not in snapshots:
            remote.write_file(
                own.machine, encrypt_snapshot(own.key, now, draw_random_bytes(NONCE_BYTES))
            )
        synced.save()
    return ReceivedMemoriesReport(
        received={name: paths for name, paths in received.items() if paths},
        machines=len(snapshots),
        troubles=troubles,
    )


def _read_snapshots(
    own: MachineIdentity, files: Mapping[str, bytes]
) -> tuple[dict[str, MachineSnapshot], tuple[str, ...]]:
    found, troubles = {}, []
    for machine, data in files.items():
        try:
            found[machine] = decrypt_snapshot(own.key, machine, data)
        except InputError as error:
            troubles.append(str(error))
    if files and not found:
        raise InputError(troubles[0])
    return found, tuple(troubles)


def _merge_project(
    memory: AutoMemory,
    published: ProjectEntries,
    others: Sequence[ProjectEntries],
    had: Mapping[str, str],
) -> tuple[ProjectEntries, tuple[str, ...]]:
    """The entries after the merge, and the paths that were written here. `had` are the checksums of
    what this folder had at its last sync: what another clone on this machine published since is
    another's to it. A file that is no text, or that a link hides, stays as it is, and what is known
    of it.
    """
    check_folder_is_usable(memory.layout.folder)
    here, hidden = _read_texts(memory)
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
    entries = merge_project_entries(known, here, usable)
    changes = [
        MemoryChange(path=path, before=_encode(here.get(path)), after=_encode(entry.text))
        for path, entry in sorted(entries.items())
        if entry.text != here.get(path)
    ]
    if changes:
        why = ChangeReason(actor="memorist", what="from another machine of yours")
        memory.folder.apply_changes(changes, why)
    kept = {path: published[path] for path in unreadable if path in published}
    return entries | kept, tuple(each.path for each in changes)


def _read_texts(memory: AutoMemory) -> tuple[dict[str, str], dict[str, str]]:
    """The memories of a folder; and the paths of what is no text, as after a power cut, and of
    links, which are not followed, each with the beginning of what would be below it. What the team
    shares has a way of its own.
    """
    texts: dict[str, str] = {}
    hidden: dict[str, str] = {}
    for path, facts in memory.folder.list_entries():
        if facts.is_link:
            hidden[path] = f"{path}/"
        elif path.endswith(".md") and not is_index_file(path) and not path.startswith(TEAM_PREFIX):
            with contextlib.suppress(FileNotFoundError):
                data = DiskFiles().read(memory.layout.folder / path)
                try:
                    texts[path] = data.decode("utf-8")
                except UnicodeDecodeError:
                    hidden[path] = f"{path}/"
                if not data.strip() or b"\0" in data:
                    texts.pop(path, None)
                    hidden[path] = f"{path}/"
    return texts, hidden


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8")
