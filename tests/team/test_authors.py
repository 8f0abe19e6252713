"""Who changed what in a team: told by both kinds of remote, shown to the person who reads, and
never believed for anything else.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.cli.main import memorist_group
from memorist.errors import InputError, RemoteRefused
from memorist.store.disk_files import DiskFiles
from memorist.team import team_store
from memorist.team.git_remote import parse_revisions
from memorist.team.shared_memory_form import compute_text_checksum
from memorist.team.team_remote import (
    MAX_CHANGES_PER_MEMORY,
    ChangeAuthor,
    LastSeenRemoteState,
    MemoryRevision,
    RemoteListing,
    TeamMemoryAuthorsFile,
)
from memorist.team.team_store import TeamMemoryWrite, open_team_store
from team.conftest import Machine, MemoryRemote, note
from team.test_git import checkout, commit, machine
from team.test_server import client, serving


def names(machine: Machine) -> dict[str, list[str]]:
    """Who changed each memory, as the machine knows it, newest first."""
    return {
        key: [by.name for by in each]
        for key, each in TeamMemoryAuthorsFile(machine.where.team_layout, machine.files)
        .load()
        .items()
    }


@pytest.mark.covers("TM-2")
def test_a_server_tells_whose_token_changed_what(tmp_path: Path) -> None:
    """By the token's name, of what is there and of what was deleted; one's own changes are among
    them.
    """
    store = open_team_store(str(tmp_path / "team.sqlite"), most=20)
    jo, kim = store.add_token("Jo"), store.add_token("Kim")
    with serving(store) as port:
        a, b = (
            Machine(tmp_path / "a", client(port, token=jo)),
            Machine(tmp_path / "b", client(port, token=kim)),
        )
        for name in ("one.md", "two.md", "three.md"):
            a.write(name, note("We release on Tuesdays."))
        a.sync.pull_and_push()
        b.sync.pull()
        b.write("two.md", note("We release on Mondays."))
        (b.team / "three.md").unlink()
        b.sync.pull_and_push()
        look, log, of_two = (
            a.sync.remote.fetch_listing(LastSeenRemoteState()),
            a.sync.remote.list_revisions(),
            a.sync.remote.list_revisions("two.md"),
        )
        a.sync.pull()
    store.close()

    assert look is not None
    assert {key: by.name for key, by in look.by.items()} == {
        "one.md": "Jo",
        "two.md": "Kim",
        "three.md": "Kim",
    }
    assert [(each.key, each.by.name, each.deleted) for each in log] == [
        ("three.md", "Kim", True),
        ("two.md", "Kim", False),
        ("one.md", "Jo", False),
        ("three.md", "Jo", False),
        ("two.md", "Jo", False),
    ]
    assert of_two == tuple(each for each in log if each.key == "two.md")
    assert names(b) == {"one.md": ["Jo"], "two.md": ["Kim", "Jo"]}
    assert names(a) == {"one.md": ["Jo"], "two.md": ["Kim", "Jo"]}


@pytest.mark.covers("TM-2")
def test_git_tells_who_committed_what(tmp_path: Path) -> None:
    """Every commit of each file, a deletion too, newest first; of all files or of one."""
    bare = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True, timeout=60)
    a = machine(tmp_path / "a", bare)
    for name in ("one.md", "sub folder/two.md", "three.md"):
        a.write(name, note("We release on Tuesdays."))
    a.sync.pull_and_push()
    place = checkout(tmp_path, bare)
    (place / "team" / "sub folder" / "two.md").write_text(note("We release on Mondays."), "utf-8")
    (place / "team" / "three.md").unlink()
    commit(place)

    assert len(a.sync.remote.list_revisions()) == 3  # as it was looked at last
    a.sync.pull()
    log = a.sync.remote.list_revisions()

    assert {(each.key, each.by.name == "Jo", each.deleted) for each in log} == {
        ("one.md", False, False),
        ("sub folder/two.md", False, False),
        ("three.md", False, False),
        ("sub folder/two.md", True, False),
        ("three.md", True, True),
    }
    assert [each.by.name == "Jo" for each in a.sync.remote.list_revisions("sub folder/two.md")] == [
        True,
        False,
    ]
    assert a.sync.remote.list_revisions("*.md") == ()
    assert all(each.by.at > 1_700_000_000 for each in log)
    assert len({each.version for each in log}) == 2
    assert [name == "Jo" for name in names(a)["sub folder/two.md"]] == [True, False]


@pytest.mark.covers("TM-2", "SF-4")
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a.md": 1}', b"\xff"])
def test_a_torn_file_of_names_tells_of_nobody(tmp_path: Path, data: bytes) -> None:
    """It is derived: the next look that finds news makes it again."""
    own = Machine(tmp_path, MemoryRemote())
    own.where.team_layout.authors.parent.mkdir(parents=True)
    own.where.team_layout.authors.write_bytes(data)
    authors = TeamMemoryAuthorsFile(own.where.team_layout, own.files)

    assert authors.load() == {}
    authors.record_listing(
        RemoteListing(
            state=LastSeenRemoteState(),
            checksums={"a.md": "x"},
            by={"a.md": ChangeAuthor("Jo", 1.0), "gone.md": ChangeAuthor("Jo", 1.0)},
        ),
        (),
    )
    assert authors.load() == {"a.md": [ChangeAuthor("Jo", 1.0)]}


def by_kim(key: str, at: float) -> MemoryRevision:
    return MemoryRevision(key=key, version="7", by=ChangeAuthor("Kim", at))


@pytest.mark.covers("TM-2", "SF-4")
def test_what_a_remote_tells_of_authors_is_bounded_and_of_memories_that_are_there(
    tmp_path: Path,
) -> None:
    """The newest twenty changes of each memory, none of what is not there; a remote that tells of
    no changes is taken by its look.
    """
    own = Machine(tmp_path, MemoryRemote())
    authors = TeamMemoryAuthorsFile(own.where.team_layout, own.files)
    log = [by_kim("a.md", at) for at in range(5_000, 0, -1)] + [by_kim("../../evil.md", 1.0)]

    authors.record_listing(
        RemoteListing(
            state=LastSeenRemoteState(),
            checksums={"a.md": "x", "b.md": "x"},
            by={"a.md": ChangeAuthor("Jo", 9.0), "b.md": ChangeAuthor("Jo", 9.0)},
        ),
        log,
    )

    assert authors.load() == {
        "a.md": [
            ChangeAuthor("Kim", at) for at in range(5_000, 5_000 - MAX_CHANGES_PER_MEMORY, -1)
        ],
        "b.md": [ChangeAuthor("Jo", 9.0)],
    }


@pytest.mark.covers("TM-2")
def test_what_is_known_of_a_memory_stays_where_the_log_no_longer_reaches_it(tmp_path: Path) -> None:
    """While its last change is the one that is known; after another, only that one is."""
    own = Machine(tmp_path, MemoryRemote())
    authors = TeamMemoryAuthorsFile(own.where.team_layout, own.files)
    authors.record_listing(
        RemoteListing(state=LastSeenRemoteState(), checksums={"a.md": "x"}),
        [by_kim("a.md", 2.0), by_kim("a.md", 1.0)],
    )

    authors.record_listing(
        RemoteListing(
            state=LastSeenRemoteState(),
            checksums={"a.md": "x"},
            by={"a.md": ChangeAuthor("Kim", 2.0)},
        ),
        (),
    )
    assert authors.load() == {"a.md": [ChangeAuthor("Kim", 2.0), ChangeAuthor("Kim", 1.0)]}
    authors.record_listing(
        RemoteListing(
            state=LastSeenRemoteState(),
            checksums={"a.md": "y"},
            by={"a.md": ChangeAuthor("Jo", 3.0)},
        ),
        (),
    )
    assert authors.load() == {"a.md": [ChangeAuthor("Jo", 3.0)]}


class Silent(MemoryRemote):
    """A remote that does not tell who changed what."""

    def log(self, key: str = "") -> tuple[MemoryRevision, ...]:
        raise RemoteRefused(f"there is no log of {key!r}")


@pytest.mark.covers("TM-2")
def test_a_remote_that_tells_nothing_of_authors_is_pulled_from_all_the_same(tmp_path: Path) -> None:
    """Who wrote it is shown to a person, and stops nothing."""
    remote = Silent()
    remote.texts["release.md"] = note("We release on Tuesdays.")
    own = Machine(tmp_path, remote)

    assert own.sync.pull().received == ("release.md",)


@pytest.mark.covers("TM-2")
def test_a_store_made_before_there_were_revisions_knows_the_last_of_each(tmp_path: Path) -> None:
    """Opened again, it takes the last change of each memory as the first one that it knows, once."""
    path = tmp_path / "team.sqlite"
    store = open_team_store(str(path), most=20)
    store.apply_writes(
        "shop", {"a.md": TeamMemoryWrite("one\n", compute_text_checksum("one\n"), "")}, "Jo"
    )
    store.close()
    with closing(sqlite3.connect(path)) as old:
        old.execute("drop table team_revisions")
    for _ in range(2):
        store = open_team_store(str(path), most=20)
        assert [
            (each.key, each.by, each.version) for each in store.list_revisions("shop", most=9)
        ] == [("a.md", "Jo", 1)]
        store.close()


@pytest.mark.covers("TM-2")
@given(
    writes=st.lists(
        st.tuples(
            st.sampled_from(["a.md", "b.md", "c.md"]), st.sampled_from(["Jo", "Kim"]), st.booleans()
        ),
        max_size=12,
    )
)
@example(writes=[("a.md", "Jo", False)] * 6)
def test_the_newest_changes_of_each_memory_are_kept_in_order(
    writes: list[tuple[str, str, bool]],
) -> None:
    """Whatever is written and deleted: of each memory the newest `most` changes, in order; another
    memory's changes push none out. A deletion of what is not there is none.
    """
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(team_store, "MAX_STORED_REVISIONS", 3)
        store = open_team_store(str(Path(folder) / "team.sqlite"), most=20)
        now: dict[str, str] = {}
        done: list[tuple[str, str, bool]] = []
        for number, (key, author, deletes) in enumerate(writes):
            text = None if deletes else f"{number}\n"
            write = TeamMemoryWrite(
                text, compute_text_checksum(text) if text else "", now.get(key, "")
            )
            assert store.apply_writes("shop", {key: write}, author) == {}
            if not deletes or now.get(key):
                done.insert(0, (key, author, deletes))
            now[key] = write.new_hash
        log = [(each.key, each.by, each.deleted) for each in store.list_revisions("shop", most=99)]
        kept = [
            each
            for place, each in enumerate(done)
            if sum(other[0] == each[0] for other in done[:place]) < 3
        ]
        one = [
            (each.key, each.by, each.deleted)
            for each in store.list_revisions("shop", "a.md", most=2)
        ]
        store.close()

    assert log == kept
    assert one == [each for each in kept if each[0] == "a.md"][:2]


@pytest.mark.covers("SF-4")
@given(
    told=st.binary(max_size=300)
    | st.text("\1\0\nADM0123456789teamJo/.-", max_size=200).map(str.encode)
)
def test_whatever_git_says_of_its_commits_is_read_or_left_out(told: bytes) -> None:
    """Names of files and authors are others' words: nothing raises, and every change that is told
    of is one of a Markdown file.
    """
    assert all(
        each.key.endswith(".md") and each.by.at >= 0 for each in parse_revisions(told, "team/")
    )


@pytest.mark.covers("TM-2", "SF-4")
def test_a_reader_sees_who_changed_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`team log` and `memory show`, for people and programs; a name that would move the cursor is
    made harmless.
    """
    bare, project = tmp_path / "shop.git", tmp_path / "shop"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True, timeout=60)
    subprocess.run(
        ["git", "clone", "--quiet", str(bare), str(project)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    monkeypatch.chdir(project)

    def run(*words: str) -> str:
        done = CliRunner().invoke(memorist_group, list(words), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    run("team", "init", f"git:{bare}")
    assert "tells of no change" in run("team", "log")
    mate = machine(tmp_path / "mate", bare)
    mate.write("release.md", note("We release on Tuesdays."))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "ignored, as a hook's variables are")
    settings = tmp_path / "gitconfig"
    settings.write_text(
        '[user]\n\tname = "Jo \\\\e[2J Miller"\n\temail = jo@shop.example\n'.replace(
            "\\\\e", "\x1b"
        ),
        "utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    mate.sync.pull_and_push()
    run("team", "pull")

    told = json.loads(run("team", "log", "--json"))["changes"]
    shown = json.loads(run("memory", "show", "team/release.md", "--json"))["by"]

    assert [(row["path"], row["deleted"]) for row in told] == [("team/release.md", False)]
    assert told[0]["by"] == shown["name"]
    assert told[0]["by"].startswith("Jo")
    assert "\x1b" not in run("team", "log") + run("memory", "show", "team/release.md")
    assert "last changed by Jo" in run("memory", "show", "team/release.md")
    for day in ("Mondays", "Thursdays", "Fridays", "Sundays", "Wednesdays"):
        mate.write("release.md", note(f"We release on {day}."))
        mate.sync.pull_and_push()
    run("team", "pull")
    assert len(json.loads(run("memory", "show", "team/release.md", "--json"))["authors"]) == 6
    assert "memorist team log team/release.md" in run("memory", "show", "team/release.md")
    assert len(json.loads(run("team", "log", "team/release.md", "--json"))["changes"]) == 6
    assert json.loads(run("team", "log", "release.md", "--limit", "2", "--json"))["changes"][0][
        "version"
    ]
    assert "tells of no change" in run("team", "log", "other.md")
    refused = CliRunner().invoke(memorist_group, ["team", "log", "../other.md"])
    assert isinstance(refused.exception, InputError)
    (folder,) = (Path(os.environ["MEMORIST_HOME"]) / "projects").iterdir()
    (folder / "memory" / "team" / "release.md").write_text(
        note("We release on Saturdays."), "utf-8"
    )
    run("team", "push")
    assert len(json.loads(run("memory", "show", "team/release.md", "--json"))["authors"]) == 7
    assert DiskFiles().lstat(folder / "memory-state" / "team" / "authors.json") is not None
