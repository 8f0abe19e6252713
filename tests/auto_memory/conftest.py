"""A memory folder on the real disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.testing import FrozenClock


@pytest.fixture
def where(tmp_path: Path) -> MemoryLayout:
    return Layout(tmp_path / "home").memory_layout("/home/dev/shop")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def folder(where: MemoryLayout, clock: FrozenClock) -> Iterator[MemoryFolder]:
    opened = MemoryFolder(where, files=DiskFiles(), clock=clock, settings=AutoMemorySettings())
    yield opened
    opened.close()


def memory(name: str, body: str = "Text.", kind: str = "project") -> bytes:
    return f"---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n\n{body}\n".encode()


def put(
    folder: MemoryFolder,
    path: str,
    data: bytes | None,
    *,
    what: str = "put",
    before: bytes | None = None,
) -> str:
    return folder.apply_changes(
        [MemoryChange(path=path, before=before, after=data)], ChangeReason(actor="user", what=what)
    )
