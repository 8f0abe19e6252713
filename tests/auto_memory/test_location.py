"""Where a project's memory is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memorist.auto_memory.memory_location import (
    find_moved_projects,
    locate_memory,
    locate_project_root,
    parse_directory_setting,
    read_project_record,
    read_remote_identity,
    rebind_memory,
    record_project,
)
from memorist.config import load_settings
from memorist.errors import InputError, SettingsError
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout


def git(*words: str, cwd: Path) -> None:
    settings = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "init.defaultBranch=main",
    ]
    subprocess.run(["git", *settings, *words], cwd=cwd, check=True, capture_output=True, timeout=30)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src" / "deep").mkdir(parents=True)
    git("init", cwd=root)
    (root / "a").write_text("a")
    git("add", "a", cwd=root)
    git("commit", "-m", "a", cwd=root)
    return root


@pytest.mark.covers("AM-4")
def test_worktrees_and_subfolders_share_one_memory(repository: Path, tmp_path: Path) -> None:
    """Every worktree and every subfolder leads to the main repository's root; links are followed
    first.
    """
    git("worktree", "add", str(tmp_path / "feature"), cwd=repository)
    (tmp_path / "feature" / "inner").mkdir()
    (tmp_path / "link").symlink_to(repository / "src")

    roots = {
        locate_project_root(folder)
        for folder in (
            repository,
            repository / "src" / "deep",
            tmp_path / "feature" / "inner",
            tmp_path / "link",
        )
    }

    assert roots == {repository.resolve()}


@pytest.mark.covers("AM-4")
def test_a_worktree_of_a_bare_repository_belongs_to_it(repository: Path, tmp_path: Path) -> None:
    """Where there is no main worktree, the bare repository itself is the root."""
    git("clone", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    git("worktree", "add", str(tmp_path / "one"), "main", cwd=tmp_path / "bare.git")

    assert locate_project_root(tmp_path / "one") == (tmp_path / "bare.git").resolve()


@pytest.mark.covers("AM-4")
def test_other_projects_have_other_folders(repository: Path, tmp_path: Path) -> None:
    """A neighbour, a repository inside a repository, and a folder in no repository each have their
    own.
    """
    (repository / "vendored").mkdir()
    git("init", cwd=repository / "vendored")
    (tmp_path / "loose" / "folder").mkdir(parents=True)
    layout, settings = Layout(tmp_path / "home"), AutoMemorySettings()

    folders = {
        locate_memory(layout, str(place), settings).folder
        for place in (repository, repository / "vendored", tmp_path / "loose" / "folder")
    }

    assert len(folders) == 3


@pytest.mark.parametrize(
    "text", ["", "gitdir:", "gitdir: ../nowhere", "\0\0", "gitdir: " + "x" * 10_000, "no such line"]
)
def test_a_broken_git_file_is_a_project_of_its_own(tmp_path: Path, text: str) -> None:
    """Whatever stands in `.git`, the folder is its own root; nothing fails."""
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_text(text)

    assert locate_project_root(tmp_path / "odd") == (tmp_path / "odd").resolve()


@pytest.mark.covers("AM-4")
@pytest.mark.parametrize(
    "given",
    [
        "relative",
        "/",
        "~",
        "~/",
        "~/..",
        "//server/share",
        "\\\\server\\share",
        "/a/../b",
        "/x\0y",
        "~other/x",
    ],
)
def test_an_unsafe_folder_is_refused(given: str) -> None:
    """A folder that is not one of its own is refused with a sentence that names the setting."""
    with pytest.raises(SettingsError, match=r"auto_memory\.directory"):
        parse_directory_setting(given)


@pytest.mark.covers("AM-4")
def test_a_checked_in_file_cannot_choose_the_folder(tmp_path: Path) -> None:
    """A cloned repository's own settings file must not aim our writes elsewhere; the environment
    and the user's file may.
    """
    (tmp_path / ".memorist").mkdir()
    (tmp_path / ".memorist" / "config.toml").write_text(
        '[auto_memory]\ndirectory = "/home/dev/.ssh"\n'
    )

    found = load_settings({"MEMORIST_HOME": str(tmp_path / "home")}, project=tmp_path)
    chosen = load_settings(
        {
            "MEMORIST_HOME": str(tmp_path / "home"),
            "MEMORIST_AUTO_MEMORY__DIRECTORY": str(tmp_path / "mine"),
        }
    )

    assert found.settings.auto_memory.directory == ""
    assert any("auto_memory" in line for line in found.ignored)
    assert (
        locate_memory(Layout(tmp_path / "home"), str(tmp_path), chosen.settings.auto_memory).folder
        == tmp_path / "mine"
    )


@pytest.mark.covers("AM-4")
def test_a_moved_repository_is_found_and_bound_again(repository: Path, tmp_path: Path) -> None:
    """After a move the old memory is named, and taken over in one step; a second one is not
    overwritten.
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
    after = rebind_memory(files, layout, old, str(moved))

    assert after.folder == locate_memory(layout, str(moved), settings).folder
    assert (after.folder / "a.md").read_bytes() == b"x\n"
    assert not before.folder.exists()
    assert find_moved_projects(files, layout, str(moved)) == []
    with pytest.raises(InputError, match="there is no memory"):
        rebind_memory(files, layout, old, str(moved))


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
            rebind_memory(files, layout, old, str(moved))

    after = rebind_memory(files, layout, old, str(moved))
    record_project(files, after, str(moved))

    assert (after.folder / "a.md").read_bytes() == b"x\n"
    found = read_project_record(files, after)
    assert found is not None
    assert found.root == str(moved)


def test_no_password_is_written_down(repository: Path) -> None:
    """The addresses by which a repository is known again are kept without name and password."""
    git("remote", "add", "origin", "https://me:word@example.test/shop.git", cwd=repository)
    git("remote", "add", "other", "git@example.test:shop.git", cwd=repository)

    assert read_remote_identity(repository) == "example.test:shop.git https://example.test/shop.git"


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
        rebind_memory(files, layout, str(repository.resolve()), str(tmp_path / "other"))
    with pytest.raises(InputError, match="belongs to"):
        record_project(files, mine, str(tmp_path / "other"))
    found = read_project_record(files, mine)
    assert found is not None
    assert found.root == str(repository.resolve())
