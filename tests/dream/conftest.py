"""A memory on the real disk, and dreams of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import Actor, ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import MemoryKind, Provenance, Trust, create_memory_file
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.dream.dream import DreamExtension
from memorist.dream.past_session_evidence import PastSessionLocation
from memorist.events import Event
from memorist.forks.fork_spec import ForkLimits, Receipt
from memorist.ports import FileSystem, HostInfo, Model
from memorist.runtime import Runtime, SessionContext
from memorist.settings import AutoMemorySettings, ContextSettings, DreamSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.testing import FrozenClock

HOUR, DAY = 3_600.0, 86_400.0


def data(
    body: str,
    *,
    name: str = "",
    kind: str = "project",
    trust: Trust = Trust.DERIVED,
    description: str = "",
) -> bytes:
    """A memory's bytes as memorist writes them."""
    provenance = Provenance(trust=trust, quote=body if trust is Trust.STATED else "")
    topic = create_memory_file(
        "x.md",
        kind=MemoryKind(kind),
        name=name or body[:40],
        description=description or body,
        body=body,
        provenance=provenance,
    )
    return encode_file_text_as_utf8(topic.text())


class World:
    """One project's memory with a clock that is moved by hand; dreams of it with any model."""

    def __init__(self, home: Path) -> None:
        self.clock = FrozenClock()
        self.where = Layout(home).memory_layout("/home/dev/shop")
        self.files: FileSystem = DiskFiles(durable=False)
        self.memory = AutoMemory(
            self.where, files=self.files, clock=self.clock, settings=AutoMemorySettings()
        )
        self.settings = DreamSettings()
        self.limits = ForkLimits()
        self.project = ""
        self.past: Sequence[PastSessionLocation] = ()
        self.told: list[Event] = []
        self.receipts: list[Receipt] = []

    def put(self, path: str, body: bytes | None, *, actor: Actor = "extraction") -> str:
        """Write or forget a memory past the gate, as this writer."""
        present = self.where.folder / path
        before = present.read_bytes() if present.exists() else None
        return self.memory.folder.apply_changes(
            [MemoryChange(path=path, before=before, after=body)],
            ChangeReason(actor=actor, what=f"put {path}"),
        )

    def paths(self) -> list[str]:
        return [head.path for head in self.memory.headers()]

    def body(self, path: str) -> str:
        return self.memory.folder.read_memory_file(path).body

    def state(self) -> dict[str, bytes]:
        """Every byte of the folder."""
        return {path.name: path.read_bytes() for path in sorted(self.where.folder.glob("*.md"))}

    def dream(
        self,
        model: Model | None = None,
        *,
        policy: AutoMemorySettings | None = None,
        host: HostInfo | None = None,
    ) -> DreamExtension:
        runtime = Runtime(
            settings=Settings(
                auto_memory=policy or AutoMemorySettings(),
                dream=self.settings,
                forks=self.limits,
                context=ContextSettings(
                    user_folder=str(self.where.state / "no-user"),
                    agents_folder=str(self.where.state / "no-user"),
                ),
            ),
            clock=self.clock,
            files=self.files,
            model=model,
            emit=self.told.append,
            record_receipt=self.receipts.append,
        )
        context = SessionContext(
            runtime=runtime, id="now", project=self.project, host=host or HostInfo()
        )
        return DreamExtension(context, self.where, past_sessions=lambda: self.past)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "home")
    yield made
    made.memory.close()


Lock = Callable[[], MemoryLayout]
