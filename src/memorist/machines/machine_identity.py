"""What a machine is called among the user's machines, and how it joins them."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import msgspec
from msgspec import Struct, field

from memorist.errors import InputError, NothingToDo, UsageError
from memorist.machines.machine_merge import MachineSnapshot
from memorist.machines.machine_remote import draw_random_bytes
from memorist.machines.snapshot_cipher import NONCE_BYTES, decrypt_snapshot, encrypt_snapshot
from memorist.store.disk_files import DiskFiles, make_folders, read_json_if_valid
from memorist.store.home_layout import Layout
from memorist.team.git_command import check_git_url


class MachineIdentity(Struct, frozen=True, kw_only=True):
    """What this machine is called among the user's, the location they share, and their key."""

    machine: str
    location: str = field(name="place")
    key: str


def load_machine_identity(layout: Layout) -> MachineIdentity:
    """Raises NothingToDo before `memorist machines init` or `join`."""
    own = read_json_if_valid(DiskFiles(), layout.machines / "own", MachineIdentity)
    if own is None:
        raise NothingToDo("this machine shares with no other yet: memorist machines init LOCATION")
    return own


def save_machine_identity(layout: Layout, own: MachineIdentity) -> None:
    """Write the file with the key, which only the user can read. Raises StoreError."""
    DiskFiles().write(layout.machines / "own", msgspec.json.encode(own))


def create_machine_identity(
    layout: Layout, location: str, key: str, *, joins: bool = False
) -> MachineIdentity:
    """Give this machine a name and keep with it the location (a folder, or `git:URL`) and the key.
    The folder is made, unless this machine `joins` others.

    Raises InputError for what is no key or no folder of others, SettingsError for what is no
    address of a remote, UsageError where this machine shares already, StoreError.
    """
    name = re.sub(r"[^A-Za-z0-9-]+", "-", platform.node()).strip("-")[:30] or "machine"
    machine = f"{name}-{draw_random_bytes(3).hex()}"
    probe = encrypt_snapshot(key, MachineSnapshot(machine=machine), draw_random_bytes(NONCE_BYTES))
    decrypt_snapshot(key, machine, probe)
    if (layout.machines / "own").exists():
        raise UsageError(
            f"this machine shares already, by {layout.machines / 'own'}; remove that file to "
            f"start again"
        )
    if location.startswith("git:"):
        check_git_url(location.removeprefix("git:"))
    else:
        folder = Path(location).expanduser().absolute()
        if joins and not folder.is_dir():
            raise InputError(f"{folder} is not there, so no machine shares it yet")
        make_folders(folder)
        location = str(folder)
    own = MachineIdentity(machine=machine, location=location, key=key)
    save_machine_identity(layout, own)
    return own
