"""The last scan of a folder on disk: of a large one, a change is written by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from memorist.auto_memory import scan_cache
from memorist.auto_memory.memory_scan import FolderScan, ScannedFile
from memorist.auto_memory.scan_cache import ScanCache
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout

LINES = 30
WHOLE = FolderScan(LINES, files={f"{name}.md": ScannedFile(1, 1, name) for name in "abcdef"})


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryLayout:
    """A folder of six files, which count as many."""
    monkeypatch.setattr(scan_cache, "MIN_SPLIT_FILES", 5)
    layout = Layout(tmp_path).memory_layout("/p")
    layout.state.mkdir(parents=True)
    ScanCache(DiskFiles(), layout).save(WHOLE)
    return layout


def load(layout: MemoryLayout) -> FolderScan:
    """What another process reads."""
    return ScanCache(DiskFiles(), layout).load(LINES)


def change(scan: FolderScan, name: str, blob: str) -> FolderScan:
    """A scan in which one file has other bytes; none with an empty one."""
    files = {path: each for path, each in scan.files.items() if path != name}
    return replace(scan, files={**files, name: ScannedFile(1, 2, blob)} if blob else files)


def test_a_change_of_many_files_leaves_the_whole_as_it_is(layout: MemoryLayout) -> None:
    """One memory of ten thousand writes no eight megabytes."""
    before = layout.scan_state.read_bytes()
    file = ScanCache(DiskFiles(), layout)
    changed = change(change(file.load(LINES), "a.md", "new"), "b.md", "")
    file.save(changed)

    assert load(layout) == file.load(LINES) == changed
    assert layout.scan_state.read_bytes() == before


def test_a_second_change_keeps_the_first(layout: MemoryLayout) -> None:
    """Also where another process made it."""
    for name in ("a.md", "b.md"):
        file = ScanCache(DiskFiles(), layout)
        file.save(change(file.load(LINES), name, "new"))

    assert [load(layout).files[name].blob for name in ("a.md", "b.md")] == ["new", "new"]


def test_many_changes_write_the_whole_anew(
    layout: MemoryLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second file stays small, and is gone where the first says all."""
    monkeypatch.setattr(scan_cache, "MAX_CHANGED_FILES", 1)
    file = ScanCache(DiskFiles(), layout)
    file.save(change(file.load(LINES), "a.md", "new"))
    file.save(change(file.load(LINES), "b.md", "new"))

    assert not layout.scan_changes.exists()
    assert load(layout).files["a.md"].blob == "new"


@pytest.mark.covers("SF-5")
def test_changes_of_another_whole_count_for_nothing(layout: MemoryLayout) -> None:
    """A kill between the two writes leaves changes that belong to no file; each file of the folder
    is compared with the scan anyway.
    """
    file = ScanCache(DiskFiles(), layout)
    file.save(change(file.load(LINES), "a.md", "new"))
    changes = layout.scan_changes.read_bytes()
    layout.scan_state.unlink()
    ScanCache(DiskFiles(), layout).save(replace(WHOLE, files={}))
    layout.scan_changes.write_bytes(changes)

    assert load(layout).files == {}


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("torn", [b"", b'{"size":1', b"\xff"])
def test_torn_changes_are_left_out(layout: MemoryLayout, torn: bytes) -> None:
    """The whole scan stands."""
    layout.scan_changes.write_bytes(torn)

    assert load(layout) == WHOLE


def test_nothing_is_left_of_a_removed_scan(layout: MemoryLayout) -> None:
    """What is forgotten for good stands in neither file."""
    file = ScanCache(DiskFiles(), layout)
    file.save(change(file.load(LINES), "a.md", "new"))
    file.remove()

    assert not layout.scan_state.exists()
    assert not layout.scan_changes.exists()
    assert file.load(LINES) == FolderScan(LINES)
