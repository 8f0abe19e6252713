"""Machines with a memory folder each, and a team's store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.errors import RemoteChanged, RemoteRolledBack
from memorist.settings import AutoMemorySettings, Policy, TeamSettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.team.shared_memory_form import compute_text_checksum
from memorist.team.team_remote import (
    LastSeenRemoteState,
    MemoryRevision,
    RemoteChange,
    RemoteListing,
    TeamRemote,
)
from memorist.team.team_sync import TeamSync
from memorist.testing import FrozenClock

TOKEN = "ghp_" + "x7Kq2Lm9Pz4Rt8Vw3Yb6" + "Nc1Hd5Jf0Gs2Ta7Q"
"""A made-up secret, in two parts so that no scanner takes it for a real one."""


class MemoryRemote:
    """A team's store as it should be; a test may make it lie."""

    name = "memory"

    def __init__(self) -> None:
        self.id = "one"
        self.version = 0
        self.texts: dict[str, str] = {}
        self.gone: set[str] = set()
        self.before_put: Callable[[], object] = int
        """What somebody else does before the next put arrives."""
        self.puts: list[dict[str, RemoteChange]] = []
        self.told: list[MemoryRevision] = []
        """Who changed what, as a test says; newest first."""

    def fetch_listing(self, known_state: LastSeenRemoteState) -> RemoteListing | None:
        version = f"{self.version}"
        if known_state.id == self.id and known_state.tag == version:
            return None
        if known_state.id == self.id and int(known_state.version or 0) > self.version:
            raise RemoteRolledBack("it shows an older state")
        there = {key: compute_text_checksum(text) for key, text in self.texts.items()}
        return RemoteListing(
            state=LastSeenRemoteState(id=self.id, version=version, tag=version),
            checksums=there,
            deleted=frozenset(self.gone),
        )

    def read_texts(self, keys: Sequence[str], _: Mapping[str, int]) -> dict[str, str]:
        return {key: self.texts[key] for key in keys if key in self.texts}

    def push_changes(
        self, changes: Mapping[str, RemoteChange], known_state: LastSeenRemoteState
    ) -> LastSeenRemoteState:
        doing = self.before_put
        self.before_put = int
        doing()
        for key, change in changes.items():
            found = self.texts.get(key)
            if (compute_text_checksum(found) if found is not None else "") != change.was:
                raise RemoteChanged(key)
        self.puts.append(dict(changes))
        for key, change in changes.items():
            if change.text is None:
                del self.texts[key]
                self.gone.add(key)
            else:
                self.texts[key] = change.text
                self.gone.discard(key)
        self.version += 1
        alone = known_state.version.isdigit() and int(known_state.version) + 1 == self.version
        return LastSeenRemoteState(
            id=self.id, version=f"{self.version}", tag=f"{self.version}" if alone else ""
        )

    def list_revisions(self, key: str = "") -> tuple[MemoryRevision, ...]:
        return tuple(each for each in self.told if key in ("", each.key))

    def close(self) -> None:
        pass


class Machine:
    """One person's machine with a project's memory."""

    def __init__(
        self,
        home: Path,
        remote: TeamRemote,
        *,
        settings: TeamSettings | None = None,
        policy: Policy = "auto",
        now: float = 1_790_000_000.0,
    ) -> None:
        self.where = Layout(home).memory_layout("/home/dev/shop")
        self.files = DiskFiles(durable=False)
        memory = AutoMemorySettings(policy=policy)
        self.memory = AutoMemory(
            self.where, files=self.files, clock=FrozenClock(now), settings=memory
        )
        self.settings = settings or TeamSettings()
        self.sync = TeamSync(self.memory, remote, files=self.files, settings=self.settings)

    @property
    def team(self) -> Path:
        return self.where.folder / "team"

    def write(self, key: str, text: str) -> None:
        """As an editor does."""
        path = self.team / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def body(self, key: str) -> str:
        return self.memory.folder.read_memory_file(f"team/{key}").body

    def names(self) -> list[str]:
        return sorted(
            path.relative_to(self.team).as_posix()
            for path in self.team.rglob("*.md")
            if path.name != "MEMORY.md"
        )


@pytest.fixture
def remote() -> MemoryRemote:
    return MemoryRemote()


@pytest.fixture
def machines(tmp_path: Path, remote: MemoryRemote) -> Iterator[tuple[Machine, Machine]]:
    pair = (
        Machine(tmp_path / "a", remote),
        Machine(tmp_path / "b", remote, now=1_790_000_000.0 - 7 * 3_600),
    )
    yield pair
    for machine in pair:
        machine.memory.close()


def note(body: str, *, kind: str = "project", name: str = "Release") -> str:
    return f"---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n\n{body}\n"
