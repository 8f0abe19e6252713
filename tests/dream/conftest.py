"""A memory on the real disk, and dreams of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from memorist.auto_memory.changes import Actor, Change, Why
from memorist.auto_memory.kinds import Kind, Trust
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.topic import Provenance, encode, new_topic
from memorist.context.settings import ContextSettings
from memorist.dream.gates import Host
from memorist.dream.look.run import Past
from memorist.dream.run import Dream, DreamMeans
from memorist.dream.settings import DreamSettings
from memorist.dream.writing.run import Place
from memorist.events import Event
from memorist.forks.governor import Ungoverned
from memorist.forks.spec import ForkLimits, Receipt
from memorist.ports import Files, Model
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout, MemoryLayout
from memorist.testing import FrozenClock

HOUR, DAY = 3_600.0, 86_400.0


def data(body: str, *, name: str = "", kind: str = "project", trust: Trust = Trust.DERIVED, description: str = "") -> bytes:
    """A memory's bytes as memorist writes them."""
    provenance = Provenance(trust=trust, quote=body if trust is Trust.STATED else "")
    topic = new_topic("x.md", kind=Kind(kind), name=name or body[:40], description=description or body, body=body, provenance=provenance)
    return encode(topic.text())


class World:
    """One project's memory with a clock that is moved by hand; dreams of it with any model."""

    def __init__(self, home: Path) -> None:
        self.clock = FrozenClock()
        self.where = Layout(home).memory("/home/dev/shop")
        self.files: Files = DiskFiles(durable=False)
        self.memory = AutoMemory(self.where, files=self.files, clock=self.clock, settings=AutoMemorySettings())
        self.settings = DreamSettings()
        self.limits = ForkLimits()
        self.project = ""
        self.past: Sequence[Past] = ()
        self.told: list[Event] = []
        self.receipts: list[Receipt] = []

    def put(self, path: str, body: bytes | None, *, actor: Actor = "extraction") -> str:
        """Write or forget a memory past the gate, as this writer."""
        present = self.where.folder / path
        before = present.read_bytes() if present.exists() else None
        return self.memory.folder.apply([Change(path=path, before=before, after=body)], Why(actor=actor, what=f"put {path}"))

    def paths(self) -> list[str]:
        return [head.path for head in self.memory.heads()]

    def body(self, path: str) -> str:
        return self.memory.folder.read(path).body

    def state(self) -> dict[str, bytes]:
        """Every byte of the folder."""
        return {path.name: path.read_bytes() for path in sorted(self.where.folder.glob("*.md"))}

    def dream(self, model: Model | None = None, *, policy: AutoMemorySettings | None = None, host: Host | None = None) -> Dream:
        place = Place(
            where=self.where,
            project=self.project,
            files=self.files,
            clock=self.clock,
            memory=policy or AutoMemorySettings(),
            dream=self.settings,
            context=ContextSettings(user_folder=str(self.where.state / "no-user"), agents_folder=str(self.where.state / "no-user")),
        )
        return Dream(
            DreamMeans(
                place=place,
                settings=lambda: self.settings,
                session="now",
                host=host or Host(),
                model=model,
                limits=self.limits,
                governor=Ungoverned(),
                past=lambda: self.past,
                uses=dict,
                tell=self.told.append,
                record=self.receipts.append,
            )
        )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "home")
    yield made
    made.memory.close()


Lock = Callable[[], MemoryLayout]
