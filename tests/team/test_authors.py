"""Who changed what in a team: told by both kinds of remote, shown to the person who reads, and never believed for anything else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.cli.main import commands
from memorist.store.files import DiskFiles
from memorist.store.team import open_team_store
from memorist.team.common.authors.run import Authors
from memorist.team.remote import By, Look, Seen
from team.conftest import Machine, MemoryRemote, note
from team.test_git import checkout, commit, machine
from team.test_server import client, serving


@pytest.mark.covers("TM-2")
def test_a_server_tells_whose_token_changed_what(tmp_path: Path) -> None:
    """By the token's name, of what is there and of what was deleted; a change of one's own takes the other's name away."""
    store = open_team_store(str(tmp_path / "team.sqlite"), most=20)
    jo, kim = store.add_token("Jo"), store.add_token("Kim")
    with serving(store) as port:
        a, b = Machine(tmp_path / "a", client(port, token=jo)), Machine(tmp_path / "b", client(port, token=kim))
        for name in ("one.md", "two.md", "three.md"):
            a.write(name, note("We release on Tuesdays."))
        a.sync.push()
        b.sync.pull()
        b.write("two.md", note("We release on Mondays."))
        (b.team / "three.md").unlink()
        b.sync.push()
        look = a.sync.remote.look(Seen())
        a.sync.pull()
    store.close()

    assert look is not None
    assert {key: by.name for key, by in look.by.items()} == {"one.md": "Jo", "two.md": "Kim", "three.md": "Kim"}
    assert {key: by.name for key, by in Authors(b.where.team, b.files).known().items()} == {"one.md": "Jo"}
    assert {key: by.name for key, by in Authors(a.where.team, a.files).known().items()} == {"one.md": "Jo", "two.md": "Kim"}


@pytest.mark.covers("TM-2")
def test_git_tells_who_committed_what(tmp_path: Path) -> None:
    """The newest commit of each file counts, a deletion too."""
    bare = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True, timeout=60)
    a = machine(tmp_path / "a", bare)
    for name in ("one.md", "sub folder/two.md", "three.md"):
        a.write(name, note("We release on Tuesdays."))
    a.sync.push()
    place = checkout(tmp_path, bare)
    (place / "team" / "sub folder" / "two.md").write_text(note("We release on Mondays."), "utf-8")
    (place / "team" / "three.md").unlink()
    commit(place)

    look = a.sync.remote.look(Seen())

    assert look is not None
    assert {key: by.name == "Jo" for key, by in look.by.items()} == {"one.md": False, "sub folder/two.md": True, "three.md": True}
    assert all(by.at > 1_700_000_000 for by in look.by.values())


@pytest.mark.covers("TM-2", "SF-4")
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a.md": 1}', b"\xff"])
def test_a_torn_file_of_names_tells_of_nobody(tmp_path: Path, data: bytes) -> None:
    """It is derived: the next look that finds news makes it again."""
    own = Machine(tmp_path, MemoryRemote())
    own.where.team.authors.parent.mkdir(parents=True)
    own.where.team.authors.write_bytes(data)
    authors = Authors(own.where.team, own.files)

    assert authors.known() == {}
    authors.told(Look(seen=Seen(), there={"a.md": "x"}, by={"a.md": By("Jo", 1.0), "gone.md": By("Jo", 1.0)}))
    assert authors.known() == {"a.md": By("Jo", 1.0)}


@pytest.mark.covers("TM-2", "SF-4")
def test_a_reader_sees_who_changed_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`team log` and `memory show`, for people and programs; a name that would move the cursor is made harmless."""
    bare, project = tmp_path / "shop.git", tmp_path / "shop"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True, timeout=60)
    subprocess.run(["git", "clone", "--quiet", str(bare), str(project)], check=True, capture_output=True, timeout=60)
    monkeypatch.chdir(project)

    def run(*words: str) -> str:
        done = CliRunner().invoke(commands, list(words), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    run("team", "init", f"git:{bare}")
    assert "tells of no change" in run("team", "log")
    mate = machine(tmp_path / "mate", bare)
    mate.write("release.md", note("We release on Tuesdays."))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "ignored, as a hook's variables are")
    settings = tmp_path / "gitconfig"
    settings.write_text('[user]\n\tname = "Jo \\\\e[2J Miller"\n\temail = jo@shop.example\n'.replace("\\\\e", "\x1b"), "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    mate.sync.push()
    run("team", "pull")

    told = json.loads(run("team", "log", "--json"))["changes"]
    shown = json.loads(run("memory", "show", "team/release.md", "--json"))["by"]

    assert [(row["path"], row["deleted"]) for row in told] == [("team/release.md", False)]
    assert told[0]["by"] == shown["name"]
    assert told[0]["by"].startswith("Jo")
    assert "\x1b" not in run("team", "log") + run("memory", "show", "team/release.md")
    assert "last changed by Jo" in run("memory", "show", "team/release.md")
    (folder,) = (Path(os.environ["MEMORIST_HOME"]) / "projects").iterdir()
    (folder / "memory" / "team" / "release.md").write_text(note("We release on Mondays."), "utf-8")
    run("team", "push")
    assert json.loads(run("memory", "show", "team/release.md", "--json"))["by"] is None
    assert DiskFiles().facts(folder / "memory-state" / "team" / "authors.json") is not None
