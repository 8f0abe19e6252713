"""Where a project's memory is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memorist.auto_memory.memory_location import (
    locate_project_root,
    parse_memory_folder_setting,
    read_remote_identity,
    resolve_project_memory_layout,
)
from memorist.config import load_settings
from memorist.errors import SettingsError
from memorist.settings import AutoMemorySettings
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
def test_a_folder_around_a_bare_repository_is_the_project_of_its_worktrees(
    repository: Path, tmp_path: Path
) -> None:
    """`.git` is a file there that names the bare repository: the folder was a project of its own,
    which was to take over the memory of the worktrees.
    """
    around = tmp_path / "around"
    git("clone", "--bare", str(repository), str(around / ".bare"), cwd=tmp_path)
    (around / ".git").write_text("gitdir: ./.bare\n", encoding="utf-8")
    git("worktree", "add", "one", "main", cwd=around)

    found = {locate_project_root(each) for each in (around, around / ".bare", around / "one")}

    assert found == {(around / ".bare").resolve()}


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
        resolve_project_memory_layout(layout, str(place), settings).folder
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
        parse_memory_folder_setting(given)


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
        resolve_project_memory_layout(
            Layout(tmp_path / "home"), str(tmp_path), chosen.settings.auto_memory
        ).folder
        == tmp_path / "mine"
    )


def test_no_password_is_written_down(repository: Path) -> None:
    """The addresses by which a repository is known again are kept without name and password."""
    git("remote", "add", "origin", "https://me:word@example.test/shop.git", cwd=repository)
    git("remote", "add", "other", "git@example.test:shop.git", cwd=repository)

    assert read_remote_identity(repository) == "example.test:shop.git https://example.test/shop.git"


@pytest.mark.covers("AM-4")
def test_a_remote_behind_hundreds_of_branches_is_read_whole(repository: Path) -> None:
    """Only the first page of Git's configuration was read, and an address was cut within a word:
    a clone with many branches was not recognised once it moved.
    """
    branches = "".join(
        f'[branch "topic-{number}"]\n\tremote = origin\n\tmerge = refs/heads/topic-{number}\n'
        for number in range(500)
    )
    remote = '[remote "fork"]\n\turl = https://example.test/fork.git\n'
    (repository / ".git" / "config").write_text(f"[core]\n\tbare = false\n{branches}{remote}")

    assert read_remote_identity(repository) == "https://example.test/fork.git"
