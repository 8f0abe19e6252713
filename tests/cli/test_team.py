"""`memorist team` from the command line: two clones of one repository share by Git, and by a server
(TM-1, TM-2, TM-4).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist.team.remote_location import prefix_git_only_address
from support.program import run_program
from team.conftest import TOKEN

MONDAYS = (
    "---\nname: release\ndescription: when\ntype: project\n---\n\nWe release on "
    "Mondays.\n\nWhy: the shop is quiet.\n"
)


class Clone:
    """One person's clone and home."""

    def __init__(self, place: Path, bare: Path, **environment: str) -> None:
        self.project, self.home = place / "shop", place / "home"
        self.home.mkdir(parents=True)
        subprocess.run(
            ["git", "clone", "--quiet", str(bare), str(self.project)],
            check=True,
            capture_output=True,
            timeout=60,
        )
        self.environment = (
            os.environ
            | {"HOME": str(self.home), "MEMORIST_HOME": str(self.home / ".memorist")}
            | environment
        )

    def run(self, *words: str, status: int = 0) -> str:
        found = run_program(*words, cwd=self.project, environment=self.environment)
        assert found.returncode == status, found.stdout + found.stderr
        return found.stdout + found.stderr

    def json(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*words, "--json"))
        return found


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "shop.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True, timeout=60)
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Address and token of `memorist team serve`."""
    environment = os.environ | {"MEMORIST_HOME": str(tmp_path / "server")}
    command = [sys.executable, "-m", "memorist", "team"]
    token = subprocess.run(
        [*command, "token", "shop team"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    running = subprocess.Popen(
        [*command, "serve", "--port", "0"],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    yield line.split()[-1], token.stdout.strip()
    running.send_signal(signal.SIGTERM)
    running.wait(30)
    running.stdout.close()


def shares(a: Clone, b: Clone) -> None:
    """What is shown of both back ends: share, push, pull, a change on both sides, a deletion, and a
    secret that stays.
    """
    a.run(
        "memory",
        "add",
        "We release on Tuesdays.\n\nWhy: the shop is quiet.",
        "--kind",
        "project",
        "--name",
        "release",
    )
    a.run("memory", "add", "Answer in short sentences.", "--kind", "feedback", "--name", "short")
    assert "--convention" in a.run("team", "share", "short.md", status=1)
    a.run("team", "share", "release.md")
    assert a.json("team", "push")["sent"] == ["release.md"]
    assert b.json("team", "pull")["taken"] == ["release.md"]
    assert "We release on Tuesdays." in b.run("memory", "show", "team/release.md")

    b.run("memory", "edit", "team/release.md", "--text", MONDAYS)
    folder = next((a.home / ".memorist" / "projects").glob("*/memory/team"))
    (folder / "release.md").write_text(
        (folder / "release.md")
        .read_text()
        .replace("\n\nWhy: the shop is quiet", "\n\nWhy: the shop is calm")
    )
    (folder / "deploy.md").write_text(
        f"---\nname: deploy\ntype: project\n---\n\nThe token is {TOKEN}.\n"
    )
    assert b.json("team", "push")["sent"] == ["release.md"]
    told = a.json("team", "push")
    assert told["merged"] == ["release.md"]
    assert list(told["staying"]) == ["deploy.md"]
    assert TOKEN not in str(told)
    b.run("team", "pull")
    shown = b.run("memory", "show", "team/release.md")
    assert "Mondays" in shown
    assert "calm" in shown

    b.run("memory", "forget", "team/release.md", "--yes")
    assert b.json("team", "push")["removed"] == ["release.md"]
    assert a.json("team", "pull")["dropped"] == ["release.md"]
    status = a.json("team", "status")
    assert list(status["staying"]) == ["deploy.md"]
    assert status["to_send"] == []


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("origin", "git:origin"),
        ("git:origin", "git:origin"),
        ("git@forge.invalid:shop/memory.git", "git:git@forge.invalid:shop/memory.git"),
        ("forge.invalid:shop/memory", "git:forge.invalid:shop/memory"),
        ("ssh://git@forge.invalid/shop", "git:ssh://git@forge.invalid/shop"),
        ("git://forge.invalid/shop", "git:git://forge.invalid/shop"),
        ("https://forge.invalid/shop.git", "git:https://forge.invalid/shop.git"),
        ("https://team.invalid", "https://team.invalid"),
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("no such folder/at all", "no such folder/at all"),
    ],
)
def test_an_address_is_taken_as_git_takes_it(typed: str, kept: str) -> None:
    """What only Git can read needs no prefix; the rest is a server's, or refused."""
    assert prefix_git_only_address(typed) == kept


@pytest.mark.covers("TM-1")
def test_a_team_may_keep_its_memories_in_a_folder(tmp_path: Path, bare: Path) -> None:
    """Named as people name it: a path, also of a project that is no clone of it."""
    project = tmp_path / "other"
    project.mkdir()
    a = Clone(tmp_path / "a", bare)
    for address in (str(bare), os.path.relpath(bare, a.project), "origin"):
        assert "shop.git" in a.run("team", "init", address)
        assert "0 memories" in a.run("team", "status")


@pytest.mark.covers("TM-1")
def test_a_push_by_git_is_a_commit_of_its_user(tmp_path: Path, bare: Path) -> None:
    """By the name that the user has in this project, and a link is named among what stays."""
    a = Clone(tmp_path / "a", bare)
    for key, value in (("user.name", "Ann"), ("user.email", "ann@shop.test")):
        subprocess.run(["git", "-C", str(a.project), "config", key, value], check=True, timeout=60)
    a.run("team", "init", "origin")
    a.run("memory", "add", "We release on Tuesdays.", "--kind", "project", "--name", "release")
    a.run("team", "share", "release.md")
    (folder,) = a.home.glob(".memorist/projects/*/memory/team")
    (folder / "elsewhere.md").symlink_to(a.project)
    staying = a.json("team", "status")["staying"]
    a.run("team", "push")
    found = subprocess.run(
        ["git", "-C", str(bare), "log", "--format=%cn <%ce>", "memorist-team"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert found.stdout == "Ann <ann@shop.test>\n"
    assert staying == {"elsewhere.md": "it is a link"}


@pytest.mark.slow
@pytest.mark.covers("TM-1", "TM-2", "TM-4")
def test_two_clones_share_by_git(tmp_path: Path, bare: Path) -> None:
    """By the project's own remote: nothing is set up but `init`."""
    a, b = Clone(tmp_path / "a", bare), Clone(tmp_path / "b", bare)
    assert "memorist team init" in a.run("team", "status", status=1)
    for each in (a, b):
        each.run("team", "init", "git:origin")

    shares(a, b)


@pytest.mark.slow
@pytest.mark.covers("TM-1", "TM-2", "TM-4", "SF-6")
def test_two_clones_share_by_a_server(tmp_path: Path, bare: Path, server: tuple[str, str]) -> None:
    """By `memorist team serve` with a token; without the token nothing is given."""
    url, token = server
    a, b = Clone(tmp_path / "a", bare, MEMORIST_TEAM_TOKEN=token), Clone(tmp_path / "b", bare)
    for each in (a, b):
        each.run("team", "init", url)
    assert "MEMORIST_TEAM_TOKEN" in b.run("team", "pull", status=1)
    secret = tmp_path / "token"
    secret.write_text(token)
    secret.chmod(0o644)
    b.environment["MEMORIST_TEAM__TOKEN_FILE"] = str(secret)
    assert "chmod 600" in b.run("team", "pull", status=2)
    secret.chmod(0o600)

    shares(a, b)


@pytest.mark.covers("TM-2")
def test_a_place_that_cannot_be_is_refused_at_once(tmp_path: Path, bare: Path) -> None:
    """Exit status 2 and one sentence, and nothing is chosen: for a variable that is not set the
    project's own folder was.
    """
    a = Clone(tmp_path / "a", bare)
    for remote in ("http://team.example", "team.example", "git:nowhere", "git:ext::sh"):
        a.run("team", "init", remote, status=2)
    for remote in ("", " ", "~nobody-of-that-name/team.git", f"/{'x' * 300}", "https://[::1"):
        a.run("team", "init", remote, "--space", "shop", status=2)
    a.run("team", "serve", "--host", ".".join("0000"), status=2)
    a.run("team", "status", status=1)


@pytest.mark.covers("TM-2", "SF-6")
def test_tokens_are_given_listed_and_taken_back_by_name(tmp_path: Path, bare: Path) -> None:
    """A name that nobody has is an error, since whose token was meant still has one; a token of
    nobody, or for a team that cannot be, is none.
    """
    a = Clone(tmp_path / "a", bare)
    token = a.run("team", "token", "jo").strip()
    a.run("team", "token", "kim", "--space", "shop", "--read-only")

    listed = a.run("team", "token", "--list")
    assert listed.splitlines() == ["jo  all teams", "kim  shop, read only"]
    assert token not in listed
    assert "--list" in a.run("team", "token", "joe", "--revoke", status=1)
    assert "1 taken back" in a.run("team", "token", "jo", "--revoke")
    assert a.run("team", "token", "--list").splitlines() == ["kim  shop, read only"]
    a.run("team", "token", " ", status=2)
    a.run("team", "token", "jo", "--space", "../shop", status=2)
