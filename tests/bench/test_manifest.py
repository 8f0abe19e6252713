"""The measure of looking at a memory folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import manifest as bench
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout

pytestmark = pytest.mark.covers("AM-6")


def test_the_table_has_every_size_and_a_goal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Eight rows for each size, one of them with a goal; no recorded session is needed."""
    monkeypatch.setattr(bench, "SIZES", (20, 40))
    monkeypatch.setattr(bench, "ROUNDS", 1)

    result = bench.measure(tmp_path / "nothing")

    assert len(result.rows) == 16
    assert [row.what for row in result.rows if row.goal] == [
        f"{size} files: nothing changed, share of reading all" for size in (20, 40)
    ]
    assert all(row.figure > 0 for row in result.rows)


def test_looks_cost_in_what_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing changed: no memory is read. Ten changed: each of the ten is read once, of however
    many.
    """
    read: list[str] = []
    plain = DiskFiles.read

    def noted(self: DiskFiles, path: Path, *, limit: int | None = None) -> bytes:
        read.append(path.name)
        return plain(self, path, limit=limit)

    where = Layout(tmp_path).memory_layout("/x")
    where.folder.mkdir(parents=True)
    for number in range(60):
        bench.write_memory(where.folder / f"part-{number:05}.md", number, "new")
    bench._opened(where).headers()
    monkeypatch.setattr(DiskFiles, "read", noted)
    folder = bench._opened(where)
    folder.headers()
    assert not [name for name in read if name.startswith("part-")]

    for number in range(10):
        bench.write_memory(where.folder / f"part-{number:05}.md", number, "changed")
    folder.headers()
    assert sorted(name for name in read if name.startswith("part-")) == [
        f"part-{number:05}.md" for number in range(10)
    ]
