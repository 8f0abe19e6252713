"""A team's memories on a branch of a Git remote (TM-2)."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from memorist.errors import RemoteRefused, RemoteRolledBack, RemoteUnavailable, SettingsError
from memorist.team.git_command import strip_url_credentials_in_text
from memorist.team.git_remote import GitRemote, TeamBranchConfiguration, is_local_folder_url
from team.conftest import Machine, note


def git(*words: str, cwd: Path) -> str:
    names = {
        "GIT_AUTHOR_NAME": "Jo",
        "GIT_AUTHOR_EMAIL": "jo@shop.example",
        "GIT_COMMITTER_NAME": "Jo",
        "GIT_COMMITTER_EMAIL": "jo@shop.example",
    }
    return subprocess.run(
        ["git", *words],
        cwd=cwd,
        env=os.environ | names,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    git("init", "--quiet", "--bare", str(path), cwd=tmp_path)
    return path


def machine(home: Path, bare: Path) -> Machine:
    return Machine(home, GitRemote(home / "mirror.git", TeamBranchConfiguration(url=str(bare))))


@pytest.fixture
def pair(tmp_path: Path, bare: Path) -> tuple[Machine, Machine]:
    return machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)


def checkout(tmp_path: Path, bare: Path) -> Path:
    """A person's own working copy of the branch."""
    place = tmp_path / "work"
    git("clone", "--quiet", "--branch", "memorist-team", str(bare), str(place), cwd=tmp_path)
    return place


def commit(place: Path, what: str = "by hand") -> None:
    git("add", "--all", cwd=place)
    git("commit", "--quiet", "--message", what, cwd=place)
    git("push", "--quiet", cwd=place)


@pytest.mark.covers("TM-2")
def test_two_machines_share_by_a_branch(pair: tuple[Machine, Machine], bare: Path) -> None:
    """New, merged and deleted memories arrive as plain files of an ordinary branch, one commit a
    push, deletions as deletions.
    """
    a, b = pair
    long = "We release on Tuesdays.\n\nWhy: it is quiet."
    a.write("release.md", note(long))
    a.write("rules/review.md", note("Two people look at a change."))
    a.sync.pull_and_push()
    assert set(b.sync.pull_and_push().received) == {"release.md", "rules/review.md"}
    a.write("release.md", note(long.replace("Tuesdays", "Mondays")))
    b.write("release.md", note(long.replace("quiet", "calm")))
    a.sync.pull_and_push()
    assert b.sync.pull_and_push().merged == ("release.md",)
    (b.team / "rules" / "review.md").unlink()
    b.sync.pull_and_push()
    assert a.sync.pull_and_push().dropped == ("rules/review.md",)

    assert (
        a.body("release.md") == b.body("release.md") == "We release on Mondays.\n\nWhy: it is calm."
    )
    assert git("ls-tree", "-r", "--name-only", "memorist-team", cwd=bare).split() == [
        "team/release.md"
    ]
    assert len(git("log", "--oneline", "memorist-team", cwd=bare).splitlines()) == 4
    git("fsck", "--strict", cwd=bare)


@pytest.mark.covers("TM-2", "SF-4")
def test_two_clones_that_push_at_once_both_arrive(
    pair: tuple[Machine, Machine], bare: Path
) -> None:
    """The first push of a branch, by two at the same time, in threads of their own: no commit of
    either is lost.
    """
    for number, each in enumerate(pair):
        each.write(f"m{number}.md", note(f"By machine {number}."))
    threads = [threading.Thread(target=each.sync.pull_and_push) for each in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    for each in pair:
        each.sync.pull_and_push()

    assert pair[0].names() == pair[1].names() == ["m0.md", "m1.md"]


@pytest.mark.covers("TM-2")
def test_what_people_commit_by_hand_is_taken(
    pair: tuple[Machine, Machine], tmp_path: Path, bare: Path
) -> None:
    """Edits, new files with Windows line ends, and deletions made in a working copy; what is beside
    the folder is left alone.
    """
    a, _ = pair
    for name in ("one.md", "two.md"):
        a.write(name, note(f"Text of {name}."))
    a.sync.pull_and_push()
    place = checkout(tmp_path, bare)
    (place / "README").write_text("about")
    (place / "team" / "two.md").unlink()
    (place / "team" / "three.md").write_bytes(note("Three.").replace("\n", "\r\n").encode())
    commit(place)

    report = a.sync.pull_and_push()

    assert (report.received, report.dropped) == (("three.md",), ("two.md",))
    assert a.body("three.md") == "Three."
    assert not a.sync.pull_and_push().changed
    a.write("four.md", note("Four."))
    a.sync.pull_and_push()
    assert "README" in git("ls-tree", "--name-only", "memorist-team", cwd=bare)


@pytest.mark.covers("TM-2", "TM-3")
def test_links_and_what_is_no_text_are_left_there(
    pair: tuple[Machine, Machine], tmp_path: Path, bare: Path
) -> None:
    """A link, bytes that are no text, a huge file and a hidden name in the branch are told of; the
    rest is taken, and none of them is deleted.
    """
    a, _ = pair
    a.write("one.md", note("One."))
    a.sync.pull_and_push()
    place = checkout(tmp_path, bare)
    (place / "team" / "link.md").symlink_to("/etc/passwd")
    (place / "team" / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (place / "team" / "huge.md").write_text("x" * 600_000)
    (place / "team" / ".hidden.md").write_text("x")
    (place / "team" / "fine.md").write_text(note("Fine."))
    commit(place)

    report = a.sync.pull_and_push()

    assert report.received == ("fine.md",)
    assert set(dict(report.refused)) == {"link.md", "bytes.md", "huge.md", ".hidden.md"}
    assert not a.sync.pull_and_push().changed
    assert "team/link.md" in git("ls-tree", "-r", "--name-only", "memorist-team", cwd=bare)


@pytest.mark.covers("TM-2")
def test_no_hook_is_run(
    pair: tuple[Machine, Machine], tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those of the remote on this machine, nor those of a template or of the person's
    settings.
    """
    mark = tmp_path / "HOOK"
    template = tmp_path / "template"
    for folder in (bare / "hooks", template / "hooks", tmp_path / "own"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in (
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "pre-push",
            "reference-transaction",
            "post-checkout",
        ):
            (folder / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
            (folder / name).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[core]\n\thooksPath = {tmp_path / 'own'}\n[init]\n\ttemplateDir = {template}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    a, b = pair
    a.write("one.md", note("One."))

    a.sync.pull_and_push()
    b.sync.pull_and_push()

    assert b.names() == ["one.md"]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("/srv/team.git", True),
        ("../team.git", True),
        ("shared/team.git", True),
        ("team.git", True),
        ("file:///srv/team.git", True),
        ("C:\\team.git", True),
        ("https://host.example/team.git", False),
        ("ssh://host.example/team.git", False),
        ("git@host.example:team.git", False),
        ("host.example:team.git", False),
        ("h:/srv/team.git", False),
    ],
)
def test_every_folder_is_known_for_one(url: str, is_local: bool) -> None:
    """Hooks of a repository on this machine would run as us, however its folder is written."""
    assert is_local_folder_url(url) is is_local


@pytest.mark.covers("TM-2", "SF-5")
def test_a_rewritten_branch_is_not_followed(
    pair: tuple[Machine, Machine], tmp_path: Path, bare: Path
) -> None:
    """A forced push and a deleted branch are for a person to judge; with their word both sides are
    compared anew and nothing is deleted.
    """
    a, _ = pair
    a.write("one.md", note("One."))
    a.sync.pull_and_push()
    a.write("two.md", note("Two."))
    a.sync.pull_and_push()
    git("update-ref", "refs/heads/memorist-team", "memorist-team~1", cwd=bare)

    with pytest.raises(RemoteRolledBack, match="--from-scratch"):
        a.sync.pull_and_push()
    a.sync.pull(from_scratch=True)
    assert a.sync.pull_and_push().sent == ("two.md",)
    git("update-ref", "-d", "refs/heads/memorist-team", cwd=bare)
    with pytest.raises(RemoteRolledBack, match="--from-scratch"):
        a.sync.pull_and_push()
    a.sync.pull(from_scratch=True)
    assert set(a.sync.pull_and_push().sent) == {"one.md", "two.md"}
    assert a.names() == ["one.md", "two.md"]


@pytest.mark.covers("TM-2", "SF-5")
def test_a_ref_that_another_git_moves_meanwhile_is_read_again(
    tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Git of a process that was killed goes on for a moment; the next one does not fail."""
    tools = tmp_path / "tools"
    tools.mkdir()
    real, seen = shutil.which("git"), tmp_path / "seen"
    (tools / "git").write_text(
        f"""#!/bin/sh
case " $* " in *" fetch "*)
  if [ ! -e {seen} ]; then
    touch {seen}; echo "error: cannot lock ref 'refs/team/there': is at 1 but expected 2" >&2; exit 1
  fi;;
esac
exec {real} "$@"
""",
        "utf-8",
    )
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    a, b = machine(tmp_path / "a", bare), machine(tmp_path / "b", bare)
    a.write("one.md", note("One."))
    a.sync.pull_and_push()

    b.sync.pull()

    assert seen.exists()
    assert b.names() == ["one.md"]


@pytest.mark.covers("TM-2", "SF-5")
def test_a_remote_that_is_away_is_told_of_and_a_lost_mirror_is_made_anew(
    pair: tuple[Machine, Machine], tmp_path: Path, bare: Path
) -> None:
    """What is here stays to be sent; the copy of the branch can be thrown away."""
    a, _ = pair
    a.write("one.md", note("One."))
    a.sync.pull_and_push()
    subprocess.run(["rm", "-rf", str(tmp_path / "a" / "mirror.git")], check=True)
    a.write("two.md", note("Two."))
    a.sync.pull_and_push()
    bare.rename(tmp_path / "away.git")

    a.write("three.md", note("Three."))
    with pytest.raises(RemoteUnavailable):
        a.sync.pull_and_push()

    (tmp_path / "away.git").rename(bare)
    assert a.sync.pull_and_push().sent == ("three.md",)


@pytest.mark.covers("TM-2")
def test_a_branch_that_takes_no_push_is_refused_for_good(
    pair: tuple[Machine, Machine], bare: Path
) -> None:
    """A remote that denies deletes or updates is told of as it says, not tried again."""
    a, _ = pair
    a.write("one.md", note("One."))
    a.sync.pull_and_push()
    git("config", "receive.denyNonFastForwards", "true", cwd=bare)
    git("config", "transfer.hideRefs", "refs/heads/memorist-team", cwd=bare)
    git("config", "uploadpack.hideRefs", "!refs/heads/memorist-team", cwd=bare)
    a.write("two.md", note("Two."))

    with pytest.raises((RemoteRefused, RemoteUnavailable)):
        a.sync.pull_and_push()
    assert a.names() == ["one.md", "two.md"]


@pytest.mark.covers("TM-2")
def test_an_address_or_branch_that_is_an_option_or_a_program_is_refused(tmp_path: Path) -> None:
    """Git would run what some addresses say."""
    for url in ("--upload-pack=touch x", "ext::sh -c touch% x", "", "a\nb"):
        with pytest.raises(SettingsError):
            GitRemote(tmp_path / "m.git", TeamBranchConfiguration(url=url))
    for branch, folder in (
        ("-x", "team"),
        ("a..b", "team"),
        ("a", "../x"),
        ("a", "/x"),
        ("a.lock", "x"),
        ("a@{1}", "x"),
        ("a", ".git"),
    ):
        with pytest.raises(SettingsError):
            GitRemote(
                tmp_path / "m.git",
                TeamBranchConfiguration(url="/r.git", branch=branch, folder=folder),
            )
    assert (
        strip_url_credentials_in_text("cannot reach https://jo:word@git.example/x.git")
        == "cannot reach https://git.example/x.git"
    )
