"""Files that are held back in memory until somebody looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.errors import WriteConflict
from memorist.ports import FileSystem
from memorist.store.disk_files import DiskFiles
from memorist.store.write_back_files import MAX_HELD_BYTES, WriteBackFiles


def held() -> WriteBackFiles:
    """Over the real disk."""
    return WriteBackFiles(DiskFiles(durable=False))


def test_what_is_written_can_be_read_and_reaches_the_disk_when_it_settles(tmp_path: Path) -> None:
    """The reader sees the newest bytes at once, the disk the last ones only."""
    files, path = held(), tmp_path / "a" / "notes.md"

    files.write(path, b"one")
    files.write(path, b"two", expect=b"one")
    read, before = files.read(path), path.exists()
    files.flush()

    assert (read, files.read(path, limit=2), before, path.read_bytes()) == (
        b"two",
        b"tw",
        False,
        b"two",
    )


def test_a_file_is_made_once(tmp_path: Path) -> None:
    """Held or on the disk: what is there stays."""
    files, path = held(), tmp_path / "notes.md"

    made = [files.create(path, b"one"), files.create(path, b"two")]
    files.flush()
    made.append(files.create(path, b"three"))

    assert (made, files.read(path)) == ([True, False, False], b"one")


@pytest.mark.parametrize("settled", [False, True])
def test_an_expectation_that_fails_is_a_conflict(tmp_path: Path, *, settled: bool) -> None:
    """As on the disk, and the file keeps what it had."""
    files, path = held(), tmp_path / "notes.md"
    files.write(path, b"one")
    if settled:
        files.flush()

    with pytest.raises(WriteConflict):
        files.write(path, b"three", expect=b"two")

    assert files.read(path) == b"one"


def test_what_is_on_the_disk_is_held_again_once_it_is_changed(tmp_path: Path) -> None:
    """A folder that was asked for in between costs one write, not one for each change after it."""
    files, path, other = held(), tmp_path / "notes.md", tmp_path / "memory" / "rule.md"
    files.write(path, b"one")
    files.write(other, b"rule")

    files.walk(other.parent)
    asked = path.exists(), other.read_bytes()
    files.flush()
    files.write(path, b"two", expect=b"one")

    assert (asked, path.read_bytes(), files.read(path)) == ((False, b"rule"), b"one", b"two")


def test_what_only_the_disk_can_tell_is_told_of_what_is_held(tmp_path: Path) -> None:
    """Facts, lists and deletions see every file."""
    files: FileSystem = held()
    one, two = tmp_path / "one", tmp_path / "two"
    files.write(one, b"1")
    files.write(two, b"22")

    facts, found = files.lstat(two), files.walk(tmp_path)
    files.remove(one)

    assert facts is not None
    assert (facts.size, found, files.walk(tmp_path), files.resolve(two)) == (
        2,
        [one, two],
        [two],
        two.resolve(),
    )


def test_much_is_not_held(tmp_path: Path) -> None:
    """Beyond the limit the disk gets it, so that memory stays bounded."""
    files, path = held(), tmp_path / "large"

    files.write(path, bytes(MAX_HELD_BYTES + 1))

    assert path.stat().st_size == MAX_HELD_BYTES + 1
