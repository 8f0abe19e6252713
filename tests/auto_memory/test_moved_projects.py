"""A project whose folder was moved or renamed: its memory is offered, and follows in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from auto_memory.test_location import git
from memorist.auto_memory.memory_location import locate_memory, read_project_record, record_project
from memorist.auto_memory.moved_projects import (
    MovedFolders,
    find_moved_projects,
    load_moved_folders,
    rebind_memory,
)
from memorist.errors import InputError
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout

NOW = 1_800_000_000.0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git("init", cwd=root)
    git("commit", "--allow-empty", "-m", "a", cwd=root)
    return root


@pytest.mark.covers("AM-4")
def test_a_moved_repository_is_found_and_bound_again(repository: Path, tmp_path: Path) -> None:
    """After a move the old memory is named, and taken over in one step, which may be
    repeated.
    """
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    git("remote", "add", "origin", "https://me:word@example.test/shop.git", cwd=repository)
    old = str(repository.resolve())
    before = locate_memory(layout, old, settings)
    files.write(before.folder / "a.md", b"x\n")
    record_project(files, before, old)
    moved = tmp_path / "store"
    repository.rename(moved)

    assert [found.root for found in find_moved_projects(files, layout, str(moved))] == [old]
    after = rebind_memory(files, layout, old, str(moved), now=NOW)

    assert after.folder == locate_memory(layout, str(moved), settings).folder
    assert (after.folder / "a.md").read_bytes() == b"x\n"
    assert not before.folder.exists()
    assert find_moved_projects(files, layout, str(moved)) == []
    assert rebind_memory(files, layout, old, str(moved), now=NOW).folder == after.folder
    with pytest.raises(InputError, match="there is no memory"):
        rebind_memory(files, layout, str(tmp_path / "nowhere"), str(moved), now=NOW)


@pytest.mark.covers("AM-4", "SF-5")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_rebinding_that_was_killed_is_finished_by_the_next(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Killed before any of its steps, and called again as the message says, it gives the memory
    whole to the new place, which may write then.
    """
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    old = str(repository.resolve())
    before = locate_memory(layout, old, settings)
    files.write(before.folder / "a.md", b"x\n")
    record_project(files, before, old)
    moved = tmp_path / "store"
    repository.rename(moved)
    steps = 0

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        plain = Path.rename

        def rename(self: Path, target: Path) -> Path:
            nonlocal steps
            steps += 1
            if steps == step:
                raise KeyboardInterrupt
            return plain(self, target)

        patched.setattr(Path, "rename", rename)
        if step == 3:
            patched.setattr(DiskFiles, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            rebind_memory(files, layout, old, str(moved), now=NOW)

    after = rebind_memory(files, layout, old, str(moved), now=NOW)
    record_project(files, after, str(moved))

    assert (after.folder / "a.md").read_bytes() == b"x\n"
    found = read_project_record(files, after)
    assert found is not None
    assert found.root == str(moved)


@pytest.mark.covers("AM-4")
def test_the_memory_of_a_project_that_is_still_there_stays_its_own(
    repository: Path, tmp_path: Path
) -> None:
    """Nothing is taken from a repository that has not moved, and a fact is never written into
    another project's folder.
    """
    layout, files = Layout(tmp_path / "home"), DiskFiles()
    mine = locate_memory(layout, str(repository), AutoMemorySettings())
    files.write(mine.folder / "a.md", b"x\n")
    record_project(files, mine, str(repository))
    (tmp_path / "other").mkdir()

    with pytest.raises(InputError, match="is still there"):
        rebind_memory(files, layout, str(repository.resolve()), str(tmp_path / "other"), now=NOW)
    with pytest.raises(InputError, match="belongs to"):
        record_project(files, mine, str(tmp_path / "other"))
    found = read_project_record(files, mine)
    assert found is not None
    assert found.root == str(repository.resolve())


@pytest.mark.covers("AM-4")
def test_a_clone_without_a_remote_is_known_again(repository: Path, tmp_path: Path) -> None:
    """By its reflog, which another clone does not share; nothing is offered while it is in its
    place, nor to a folder that is no repository.
    """
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    old = str(repository.resolve())
    record_project(files, locate_memory(layout, old, settings), old)
    other = tmp_path / "other"
    git("clone", "-q", str(repository), str(other), cwd=tmp_path)
    git("remote", "remove", "origin", cwd=other)
    (tmp_path / "plain").mkdir()
    moved = tmp_path / "a b"

    assert find_moved_projects(files, layout, str(other)) == []
    repository.rename(moved)
    git("commit", "--allow-empty", "-m", "after the move", cwd=moved)
    found = {
        folder.name: [each.root for each in find_moved_projects(files, layout, str(folder))]
        for folder in (moved, other, tmp_path / "plain")
    }

    assert found == {"a b": [old], "other": [], "plain": []}


@pytest.mark.covers("AM-4", "SF-5")
@pytest.mark.parametrize("kills", range(4))
def test_memories_of_both_places_are_kept(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    """What was written in the new place before the old memory followed stays, also under a name
    that both use, and when it was killed between any two files.
    """
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    old = str(repository.resolve())
    before = locate_memory(layout, old, settings)
    for name, text in (("same.md", b"s"), ("both.md", b"old"), ("sub/one.md", b"1")):
        files.write(before.folder / name, text)
    files.write(before.folder / "MEMORY.md", b"old index")
    record_project(files, before, old)
    moved = tmp_path / "store"
    repository.rename(moved)
    after = locate_memory(layout, str(moved), settings)
    for name, text in (("same.md", b"s"), ("both.md", b"new"), ("MEMORY.md", b"index")):
        files.write(after.folder / name, text)
    record_project(files, after, str(moved))
    plain, done = Path.replace, 0

    def replace(self: Path, target: Path) -> Path:
        nonlocal done
        if self.is_relative_to(before.folder):
            done += 1
            if done == kills:
                raise KeyboardInterrupt
        return plain(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        if kills:
            with pytest.raises(KeyboardInterrupt):
                rebind_memory(files, layout, old, str(moved), now=NOW)
    rebind_memory(files, layout, old, str(moved), now=NOW)
    rebind_memory(files, layout, old, str(moved), now=NOW + 9)

    kept = {
        str(path.relative_to(after.folder)): path.read_bytes()
        for path in after.folder.rglob("*.md")
    }
    assert kept == {
        "same.md": b"s",
        "both.md": b"new",
        "both-2.md": b"old",
        "sub/one.md": b"1",
        "MEMORY.md": b"index",
    }
    assert not before.folder.exists()
    record = read_project_record(files, after)
    assert record is not None
    assert [(each.root, each.until) for each in record.former] == [(old, NOW)]


@pytest.mark.covers("AM-4")
def test_what_the_old_folder_holds_later_is_another_project(
    repository: Path, tmp_path: Path
) -> None:
    """Sessions from before the move belong to the project in its new place, through several moves;
    those of a project that was begun in the old place afterwards do not.
    """
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    old = str(repository.resolve())
    record_project(files, locate_memory(layout, old, settings), old)
    files.write(locate_memory(layout, old, settings).folder / "a.md", b"x\n")
    first, second = tmp_path / "first", tmp_path / "second"
    repository.rename(first)
    rebind_memory(files, layout, old, str(first), now=NOW)
    first.rename(second)
    rebind_memory(files, layout, str(first), str(second), now=NOW + 50)

    moved = load_moved_folders(files, layout)
    assert moved.find_root(f"{old}/sub", NOW + 99) == str(second)
    repository.mkdir()
    moved = load_moved_folders(files, layout)
    assert moved.find_root(old, NOW) == str(second)
    assert moved.find_root(str(first), NOW + 20) == str(second)
    assert moved.find_root(old, NOW + 99) == old
    assert moved.find_root(f"{old}-2", NOW) == f"{old}-2"
    assert MovedFolders(()).find_root(old, NOW) == old
