"""The place that all of a user's machines reach, with one file for each: a folder that some program
keeps alike, or a branch of a private Git remote.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from memorist.errors import RemoteUnavailable
from memorist.machines.snapshot_cipher import MAX_SNAPSHOT_BYTES
from memorist.platforms.regular_files import read_regular_file
from memorist.store.disk_files import DiskFiles, make_folders
from memorist.team.git_command import (
    find_git_failure_reason,
    run_git,
    strip_url_credentials_in_text,
)

SUFFIX = ".memorist"
BRANCH = "memorist-machines"
GIT_TIMEOUT_SECONDS = 60.0
"""Longest wait for Git. Our choice."""
_IDENTITY = ("-c", "user.name=memorist", "-c", "user.email=memorist@localhost")
MAX_PUSH_ATTEMPTS = 5
"""Pushes that other machines may overtake before it is given up. Our choice."""


def draw_random_bytes(count: int) -> bytes:
    """Random bytes that nobody can foretell."""
    return os.urandom(count)


class MachineRemote(Protocol):
    """Holds one file for each machine."""

    def read_files(self) -> dict[str, bytes | OSError]:
        """Machine to content, or to why that cannot be read. Raises RemoteUnavailable,
        StoreError.
        """
        ...

    def write_file(self, machine: str, data: bytes) -> None:
        """Replace this machine's file in one step. Raises RemoteUnavailable, StoreError."""
        ...


class SharedMachineFolder:
    """A folder that a program such as Syncthing keeps alike."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read_files(self) -> dict[str, bytes | OSError]:
        """As the port says."""
        if not self._folder.is_dir():
            raise RemoteUnavailable(
                f"{self._folder} is not there: connect its drive, or start what keeps it alike"
            )
        found: dict[str, bytes | OSError] = {}
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            try:
                found[path.stem] = read_regular_file(path, MAX_SNAPSHOT_BYTES)
            except (
                FileNotFoundError
            ):  # it was taken away meanwhile, or is a link that leads nowhere
                continue
            except OSError as error:
                found[path.stem] = error
        return found

    def write_file(self, machine: str, data: bytes) -> None:
        """As the port says."""
        DiskFiles().write(self._folder / f"{machine}{SUFFIX}", data)


class SharedMachinesGitBranch:
    """A branch of a Git remote, always one commit without a parent: what is forgotten is gone."""

    def __init__(self, mirror: Path, url: str, environment: Mapping[str, str]) -> None:
        self._mirror = mirror
        self._url = url
        self._environment = environment

    def read_files(self) -> dict[str, bytes | OSError]:
        """As the port says."""
        tip = self._fetch()
        if not tip:
            return {}
        names = self._git("ls-tree", "--name-only", tip).decode().split("\n")
        return {
            name.removesuffix(SUFFIX): self._git("cat-file", "blob", f"{tip}:{name}")
            for name in names
            if name.endswith(SUFFIX)
        }

    def write_file(self, machine: str, data: bytes) -> None:
        """As the port says; repeated while other machines are faster."""
        for _ in range(MAX_PUSH_ATTEMPTS):
            tip = self._fetch()
            blob = self._git("hash-object", "-w", "--stdin", given=data).decode().strip()
            kept = self._git("ls-tree", tip).decode().splitlines() if tip else []
            name = f"{machine}{SUFFIX}"
            lines = [line for line in kept if line.partition("\t")[2] != name]
            lines.append(f"100644 blob {blob}\t{name}")
            tree = self._git("mktree", given="\n".join(lines).encode() + b"\n").decode().strip()
            commit = self._git("commit-tree", tree, "-m", "memories").decode().strip()
            if self._push(commit, tip):
                return
        raise RemoteUnavailable("other machines kept being faster; try again")

    def _push(self, commit: str, tip: str) -> bool:
        """Whether nobody was faster."""
        ref = f"refs/heads/{BRANCH}"
        lease = f"--force-with-lease={ref}:{tip}"
        try:
            self._git("push", "--quiet", lease, self._url, f"{commit}:{ref}")
        except RemoteUnavailable:
            if self._fetch() == tip:
                raise
            return False
        return True

    def _fetch(self) -> str:
        """The newest commit of the branch; empty where there is none."""
        if not (self._mirror / "HEAD").exists():
            make_folders(self._mirror)
            self._git("init", "--quiet", "--bare")
        listing = self._git("ls-remote", self._url, f"refs/heads/{BRANCH}").split()
        if not listing:
            return ""
        self._git("fetch", "--quiet", "--no-tags", self._url, listing[0].decode())
        return listing[0].decode()

    def _git(self, *words: str, given: bytes = b"") -> bytes:
        done = run_git(
            (*_IDENTITY, *words),
            self._environment,
            git_dir=self._mirror,
            given=given,
            seconds=GIT_TIMEOUT_SECONDS,
            remote=strip_url_credentials_in_text(self._url),
        )
        if done.returncode:
            reason = find_git_failure_reason((done.stdout + done.stderr).decode("utf-8", "replace"))
            raise RemoteUnavailable(f"git {words[0]} failed: {reason}")
        return done.stdout


def open_machine_remote(address: str, mirror: Path) -> MachineRemote:
    """A folder by its path, or a Git remote by `git:URL`."""
    if address.startswith("git:"):
        return SharedMachinesGitBranch(mirror, address.removeprefix("git:"), os.environ)
    return SharedMachineFolder(Path(address).expanduser().absolute())
