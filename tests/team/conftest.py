"""Machines with a memory folder each, and a team's store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.settings import AutoMemorySettings, Policy
from memorist.errors import RemoteMoved, RemoteWentBack
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout
from memorist.team.remote import Look, Put, Remote, Revision, Seen
from memorist.team.run import TeamSync
from memorist.team.settings import TeamSettings
from memorist.team.wire import digest
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
        self.puts: list[dict[str, Put]] = []
        self.told: list[Revision] = []
        """Who changed what, as a test says; newest first."""

    def look(self, seen: Seen) -> Look | None:
        version = f"{self.version}"
        if seen.id == self.id and seen.tag == version:
            return None
        if seen.id == self.id and int(seen.version or 0) > self.version:
            raise RemoteWentBack("it shows an older state")
        there = {key: digest(text) for key, text in self.texts.items()}
        return Look(seen=Seen(id=self.id, version=version, tag=version), there=there, gone=frozenset(self.gone))

    def read(self, keys: Sequence[str], _: Mapping[str, int]) -> dict[str, str]:
        return {key: self.texts[key] for key in keys if key in self.texts}

    def put(self, changes: Mapping[str, Put], seen: Seen) -> Seen:
        doing = self.before_put
        self.before_put = int
        doing()
        for key, change in changes.items():
            found = self.texts.get(key)
            if (digest(found) if found is not None else "") != change.was:
                raise RemoteMoved(key)
        self.puts.append(dict(changes))
        for key, change in changes.items():
            if change.text is None:
                del self.texts[key]
                self.gone.add(key)
            else:
                self.texts[key] = change.text
                self.gone.discard(key)
        self.version += 1
        alone = seen.version.isdigit() and int(seen.version) + 1 == self.version
        return Seen(id=self.id, version=f"{self.version}", tag=f"{self.version}" if alone else "")

    def log(self, key: str = "") -> tuple[Revision, ...]:
        return tuple(each for each in self.told if key in ("", each.key))

    def close(self) -> None:
        pass


class Machine:
    """One person's machine with a project's memory."""

    def __init__(
        self, home: Path, remote: Remote, *, settings: TeamSettings | None = None, policy: Policy = "auto", now: float = 1_790_000_000.0
    ) -> None:
        self.where = Layout(home).memory("/home/dev/shop")
        self.files = DiskFiles(durable=False)
        memory = AutoMemorySettings(policy=policy)
        self.memory = AutoMemory(self.where, files=self.files, clock=FrozenClock(now), settings=memory)
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
        return self.memory.folder.read(f"team/{key}").body

    def names(self) -> list[str]:
        return sorted(path.relative_to(self.team).as_posix() for path in self.team.rglob("*.md") if path.name != "MEMORY.md")


@pytest.fixture
def remote() -> MemoryRemote:
    return MemoryRemote()


@pytest.fixture
def machines(tmp_path: Path, remote: MemoryRemote) -> Iterator[tuple[Machine, Machine]]:
    pair = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote, now=1_790_000_000.0 - 7 * 3_600)
    yield pair
    for machine in pair:
        machine.memory.close()


def note(body: str, *, kind: str = "project", name: str = "Release") -> str:
    return f"---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n\n{body}\n"
