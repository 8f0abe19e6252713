"""Files in memory keep the rules of the port, and so do those on the disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import StoreError
from memorist.ports import FileSystem
from memorist.store.disk_files import DiskFiles
from memorist.testing import InMemoryFiles, check_files
from support.sweeps import examples

ROOT = Path("/project")


def link_in_memory(files: FileSystem, path: Path, target: Path) -> None:
    assert isinstance(files, InMemoryFiles)
    files.link(path, target)


def link_on_disk(_: FileSystem, path: Path, target: Path) -> None:
    path.symlink_to(target)


@pytest.mark.covers("SF-4", "FK-4")
def test_memory_files_pass_the_conformance_checks() -> None:
    """Every rule of the port, links among them."""
    check_files(InMemoryFiles, ROOT, link=link_in_memory)


@pytest.mark.covers("SF-4", "FK-4")
def test_disk_files_pass_the_same_checks(tmp_path: Path) -> None:
    """One suite for both, so that a test in memory says something about the disk."""
    check_files(DiskFiles, tmp_path.resolve(), link=link_on_disk)


@pytest.mark.covers("SF-4")
@given(
    st.lists(
        st.tuples(st.sampled_from(["a.md", "d/b.md", "d/e/c.md"]), st.binary(max_size=4)),
        max_size=8,
    )
)
@examples(15, whole=40)
def test_what_was_written_last_is_read(writes: list[tuple[str, bytes]]) -> None:
    """As a dictionary would say it, and every write is newer than the one before."""
    files = InMemoryFiles()
    expected: dict[Path, bytes] = {}
    newest = 0
    for name, data in writes:
        files.write(ROOT / name, data)
        expected[ROOT / name] = data
        facts = files.lstat(ROOT / name)
        assert facts is not None
        assert facts.modified_ns > newest
        newest = facts.modified_ns

    assert {path: files.read(path) for path in expected} == expected
    if expected:
        assert files.walk(ROOT) == sorted(expected)


@pytest.mark.covers("SF-5")
def test_a_full_disk_refuses_and_keeps_the_old_file() -> None:
    """Nothing is half written."""
    files = InMemoryFiles({"/project/a.md": b"12345"}, capacity=8)
    for path in (ROOT / "a.md", ROOT / "b.md"):
        with pytest.raises(StoreError, match="disk is full"):
            files.write(path, b"x" * 9)

    assert files.read(ROOT / "a.md") == b"12345"
    assert files.lstat(ROOT / "b.md") is None
    files.write(ROOT / "a.md", b"12345678")


@pytest.mark.covers("SF-5")
def test_read_only_places_refuse_every_change() -> None:
    """Write, create and remove below the place; reading goes on."""
    files = InMemoryFiles({"/project/a.md": b"1"})
    files.read_only.add(ROOT)
    for change in (
        lambda: files.write(ROOT / "a.md", b"2"),
        lambda: files.create(ROOT / "new.md", b"2"),
        lambda: files.remove(ROOT / "a.md"),
    ):
        with pytest.raises(StoreError, match="read-only"):
            change()

    assert files.read(ROOT / "a.md") == b"1"


@pytest.mark.covers("SF-5")
def test_an_unreadable_file_raises_a_store_error() -> None:
    """As a file without permission does."""
    files = InMemoryFiles({"/project/a.md": b"1"})
    files.unreadable.add(ROOT / "a.md")
    with pytest.raises(StoreError, match="permission"):
        files.read(ROOT / "a.md")


@pytest.mark.covers("SF-4")
def test_times_and_folders_can_be_set() -> None:
    """For tests about age and empty folders."""
    files = InMemoryFiles({"/project/a.md": b"1"})
    files.touch(ROOT / "a.md", 5)
    files.folder(ROOT / "empty")
    facts, folder = files.lstat(ROOT / "a.md"), files.lstat(ROOT / "empty")

    assert facts is not None
    assert facts.modified_ns == 5
    assert folder is not None
    assert folder.is_folder
    assert files.walk(ROOT / "empty") == []


class Forgetful(InMemoryFiles):
    """Loses what it is told to create."""

    def create(self, path: Path, data: bytes) -> bool:
        """Claim to have made the file."""
        return self.lstat(path) is None and bool(data)


@pytest.mark.covers("SF-4")
def test_the_checks_find_a_file_system_that_breaks_a_rule() -> None:
    """A suite that cannot fail would prove nothing."""
    with pytest.raises(AssertionError, match="not made again"):
        check_files(Forgetful, ROOT)


def test_threads_that_write_at_once_lose_nothing() -> None:
    """As on the disk: each piece that four threads append is there in the end."""
    files = InMemoryFiles()

    def write(_: int) -> None:
        for _ in range(500):
            files.append(Path("/log"), b"x")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))

    assert files.read(Path("/log")) == b"x" * 2_000


def test_relative_paths_are_told_apart_by_their_folders() -> None:
    """They begin at the root; the first folder of each was left out, so that the second file took
    the place of the first.
    """
    files = InMemoryFiles({"a/notes.md": b"one", "b/notes.md": b"two"})

    assert files.read(Path("a/notes.md")) == b"one"
    assert files.read(Path("/b/notes.md")) == b"two"
