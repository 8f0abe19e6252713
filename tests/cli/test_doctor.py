"""`memorist doctor`: each thing that can be wrong is made wrong, named, and mended from the files
without a loss.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.cli.doctor import home_check as home_module
from memorist.cli.doctor import installation_check
from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.cli.doctor.clock_check import check_system_clock
from memorist.cli.doctor.doctor_command import CHECKS, run_doctor_checks
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.errors import NothingToDo
from memorist.recall.memory_search import MemoryFolderSearch
from memorist.rollouts.session_sources import (
    SourceFolder,
    save_skipped_files,
    scan_for_changed_rollouts,
)
from memorist.settings import AutoMemorySettings, RecallSettings, ResolvedSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.store.sqlite_database import open_database
from memorist.system import SystemClock

Found = dict[str, str]
MESSAGES = [{"role": "user", "content": "Say hello."}]


def examine(*arguments: str) -> tuple[int, list[Found]]:
    """Exit status and findings."""
    done = CliRunner().invoke(
        memorist_group, ["doctor", "--json", *arguments], catch_exceptions=False
    )
    findings: list[Found] = json.loads(done.stdout)["findings"]
    return done.exit_code, findings


def of(findings: list[Found], *states: str) -> list[str]:
    return [finding["what"] for finding in findings if finding["state"] in states]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder that is no lock; SQLite's own files beside a database come and go
    with a reader.
    """
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("lock", "-wal", "-shm"))
    }


def expect_fixed(what: str) -> None:
    """The fault is named and is 1; it stays without --fix; with it, it is mended and is 0
    afterwards.
    """
    home = Layout(Path(os.environ["MEMORIST_HOME"])).home
    before = contents(home)
    status, found = examine()
    assert status == 1
    assert any(what in text for text in of(found, "wrong")), found
    assert contents(home) == before
    status, fixed = examine("--fix")
    assert any(what in text for text in of(fixed, "fixed")), fixed
    assert (status, of(fixed, "wrong")) == (0, [])
    status, again = examine()
    assert (status, of(again, "wrong")) == (0, []), again


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one session of one project and two memories."""
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)

    async def talk() -> None:
        async with Memorist(model="structural") as engine:
            session = await engine.open("talk-1", project=str(project))
            for words in (
                "Remember that the staging database runs on port 5433.",
                "Remember that releases are cut on Tuesdays.",
            ):
                await session.prepare(
                    {
                        "model": "m",
                        "max_tokens": 10,
                        "messages": [{"role": "user", "content": words}],
                    }
                )
            await session.close()

    asyncio.run(talk())
    return Path(os.environ["MEMORIST_HOME"])


@pytest.fixture
def where(home: Path) -> MemoryLayout:
    (folder,) = [path for path in (home / "projects").iterdir() if (path / "memory").is_dir()]
    return MemoryLayout(folder / "memory", folder / "memory-state")


def memory(where: MemoryLayout) -> AutoMemory:
    return AutoMemory(where, files=DiskFiles(), clock=SystemClock(), settings=AutoMemorySettings())


@pytest.mark.covers("OP-1")
def test_a_sound_home_is_sound_and_nothing_is_touched(home: Path, where: MemoryLayout) -> None:
    """Every area says so; looking changes no byte; with --fix there is nothing to mend."""
    before = contents(home)
    status, found = examine()

    assert (status, of(found, "wrong", "fixed")) == (0, [])
    assert {finding["area"] for finding in found} >= {
        "settings",
        "home",
        "locks",
        "database",
        "clock",
        "memory",
        "texts",
        "model",
        "flags",
    }
    assert any("files, history and index agree" in text for text in of(found, "good"))
    assert contents(home) == before
    assert of(examine("--fix")[1], "wrong", "fixed") == []
    assert contents(home) == before


@pytest.mark.covers("OP-1")
def test_an_open_home_is_closed(home: Path) -> None:
    """Others can look in: named with its cure, closed by --fix."""
    home.chmod(0o755)
    expect_fixed("others on this machine can look into")

    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.covers("OP-1")
def test_a_home_that_is_a_file_is_wrong_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the person's to move away."""
    (tmp_path / "home").write_text("mine", "utf-8")
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))

    status, found = examine("--fix")

    assert status == 1
    assert any("is not a folder" in text for text in of(found, "wrong"))
    assert (tmp_path / "home").read_text("utf-8") == "mine"


@pytest.mark.covers("OP-1")
def test_a_full_disk_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less room than a session may want is wrong, and nothing that we may mend."""
    monkeypatch.setattr(home_module, "MIN_FREE_BYTES", shutil.disk_usage(home).total + 1)

    status, found = examine("--fix")

    assert status == 1
    assert any("MB free" in text for text in of(found, "wrong"))


def test_a_check_that_may_not_look_says_where_and_why(home: Path) -> None:
    """As in a home that was copied, whose database names folders of another user; the number of the
    system's error was shown, and the other checks run.
    """

    def look(_context: DoctorContext) -> Iterator[CheckResult]:
        raise PermissionError(errno.EACCES, "Permission denied", "/home/ann/s1")

    first, *others = run_doctor_checks([("sessions", look), *CHECKS])

    assert first.what == (
        "this could not be checked: /home/ann/s1: permission is denied; give yourself access to it"
    )
    assert len(others) > 5


@pytest.mark.covers("OP-1")
def test_files_of_another_user_are_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read or written, as after a run as root, is the person's to mend."""
    (home / "config.toml").write_text("", "utf-8")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "config.toml")

    status, found = examine("--fix")

    assert status == 1
    assert [
        text
        for text in of(found, "wrong")
        if "cannot be read and written" in text and "config.toml" in text
    ]


@pytest.mark.covers("OP-1")
def test_what_killed_writers_left_is_moved_aside(home: Path) -> None:
    """An old temporary file goes into the folder put-aside with its bytes; a new one may belong to
    a write under way.
    """
    old, new = home / "projects" / ".memorist-0011.tmp", home / ".memorist-0022.tmp"
    old.write_bytes(b"half")
    new.write_bytes(b"now")
    os.utime(old, (time.time() - 7_200,) * 2)
    expect_fixed("1 temporary file")

    assert [path.read_bytes() for path in (home / "put-aside").iterdir()] == [b"half"]
    assert new.exists()


@pytest.mark.covers("OP-1")
def test_what_stands_in_the_place_of_a_folder_is_moved_aside(home: Path) -> None:
    """A file called hooks stops every hook."""
    for name in ("hooks", "memories"):
        shutil.rmtree(home / name, ignore_errors=True)
        (home / name).write_bytes(b"mine")
    expect_fixed("hooks is not a folder")

    kept = sorted(path.name for path in (home / "put-aside").iterdir())
    assert kept == ["hooks-1", "memories-1"]


@pytest.mark.covers("OP-1")
def test_second_versions_that_a_sync_program_left_are_named(home: Path) -> None:
    """Of the databases too; nothing reads or removes them."""
    names = (
        "state (Ana's conflicted copy 2026-11-27).sqlite",
        "state.sync-conflict-20261127-101112-ABCDEFG.sqlite",
        "state.sqlite-wal (conflicted copy)",
    )
    for name in names:
        (home / name).write_bytes(b"x")

    status, found = examine("--fix")

    assert status == 0
    (note,) = [text for text in of(found, "note") if "in step" in text]
    assert "3 second versions of files" in note
    assert all((home / name).exists() for name in names)


def test_a_damaged_session_file_is_named(home: Path, tmp_path: Path) -> None:
    """One that was cut off in its first line, or holds no text; not one that is empty, or of another
    program, nor one that is gone.
    """
    texts = {"cut": b'{"type":"user","mess', "noise": b"\x00\x9f\xff" * 99, "other": b'{"a":1}\n'}
    for name, data in texts.items():
        (tmp_path / f"{name}.jsonl").write_bytes(data)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "gone.jsonl").write_bytes(b"{")
    found = scan_for_changed_rollouts([SourceFolder(tmp_path)])
    (tmp_path / "gone.jsonl").unlink()
    save_skipped_files(DiskFiles(), Layout(home).rollouts_state / "passed.json", found.skipped)

    noted = [each for each in of(examine()[1], "note") if "is damaged" in each]

    assert sorted(Path(each.split()[2]).name for each in noted) == ["cut.jsonl", "noise.jsonl"]


def test_a_memory_that_is_too_large_or_holds_a_secret_is_named(
    home: Path, where: MemoryLayout
) -> None:
    """With its file and what to do; the secret itself is not shown."""
    head = "---\nname: k\ntype: project\ndescription: d\n---\n\n"
    secret = "ghp_" + "1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwXyZ"
    (where.folder / "large.md").write_text(head + "a" * 3_000_000, "utf-8")
    (where.folder / "key.md").write_text(f"{head}The token is {secret}.\n", "utf-8")

    status, found = examine()

    wrong = "\n".join(of(found, "wrong"))
    assert status == 1
    assert re.search(r"large\.md has 3,000,\d+ bytes", wrong)
    assert "key.md holds what looks like a secret (github-token)" in wrong
    assert secret not in str(found)


def test_a_damaged_list_of_what_is_being_forgotten_is_named(where: MemoryLayout) -> None:
    """It counted as empty: what was to go for good stayed without a word."""
    where.purge_journal.write_text('[{"path":"x.md","na', "utf-8")

    status, found = examine()

    assert status == 1
    assert any("purge.json is damaged" in each for each in of(found, "wrong"))


def test_a_memory_with_a_hostile_header_is_named(home: Path, where: MemoryLayout) -> None:
    """Endless nesting and aliases in a header are named with their file; nothing hangs or dies."""
    (where.folder / "deep.md").write_text("---\nname: " + "[" * 40_000 + "\n---\nx\n", "utf-8")
    (where.folder / "bomb.md").write_text("---\na: &a [x]\nb: [*a, *a]\n---\nx\n", "utf-8")

    _, found = examine()

    noted = "\n".join(of(found, "note"))
    assert "deep.md: the header is no valid YAML: it is deeper than" in noted
    assert "bomb.md: the header is no valid YAML: it has anchors or aliases" in noted


@pytest.mark.covers("OP-1", "MD-2")
def test_what_killed_writers_left_beside_a_magic_doc_is_moved_aside(
    home: Path, tmp_path: Path
) -> None:
    """In the person's own project, where the home's look does not reach; only our own temporary
    files, only an hour old.
    """
    project = tmp_path / "shop"
    (project / "SHOP.md").write_text("# MAGIC DOC: The shop\n", "utf-8")
    (session,) = home.glob("projects/*/*/transcript.jsonl")
    (session.parent / "magic-docs.json").write_text(json.dumps([str(project / "SHOP.md")]), "utf-8")
    left, fresh = project / ".memorist-0a.tmp", project / ".memorist-0b.tmp"
    for path in (left, fresh):
        path.write_text("half", "utf-8")
    os.utime(left, (time.time() - 7_200,) * 2)
    expect_fixed("beside Magic Docs")

    assert (home / "put-aside" / ".memorist-0a.tmp-1").read_text("utf-8") == "half"
    assert fresh.exists()


@pytest.mark.covers("OP-1")
def test_times_in_the_future_are_put_right(home: Path, where: MemoryLayout) -> None:
    """A file from a clock that ran ahead would close every gate that counts by it."""
    ahead = time.time() + 400_000
    os.utime(where.index, (ahead, ahead))
    before = where.index.read_bytes()
    status, found = examine()
    assert status == 1
    assert any("lie in the future" in text for text in of(found, "wrong"))
    assert examine("--fix")[0] == 0

    assert where.index.stat().st_mtime <= time.time()
    assert where.index.read_bytes() == before


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize(
    "damage", [b"not a database" * 400, b"SQLite format 3\0" + b"\xff" * 5_000]
)
def test_a_damaged_database_is_started_anew_and_knows_the_sessions(
    home: Path, damage: bytes
) -> None:
    """It is put aside with its bytes, and what the disk knows of sessions is taken in again."""
    for tail in ("-wal", "-shm"):
        (home / f"state.sqlite{tail}").unlink(missing_ok=True)
    (home / "state.sqlite").write_bytes(damage)
    assert examine()[0] == 1
    status, fixed = examine("--fix")
    again = examine("--fix")[1]

    assert status == 0
    assert any("database" in text for text in of(fixed, "fixed"))
    assert of(again, "wrong") == []
    assert [path.read_bytes() for path in home.glob("state.sqlite.damaged*")] == [damage]
    database = open_database(home / "state.sqlite")
    assert [row["id"] for row in database.execute("select id from sessions")] == ["talk-1"]
    database.close()


@pytest.mark.covers("OP-1")
def test_a_database_that_is_only_out_of_reach_stays(home: Path) -> None:
    """What is not damage is not mended by beginning anew: here a folder has its name."""
    for path in home.glob("state.sqlite*"):
        path.unlink()
    (home / "state.sqlite").mkdir()
    (home / "state.sqlite" / "mine").write_text("x", "utf-8")

    status, found = examine("--fix")

    assert any("is a folder, not a file" in text for text in of(found, "wrong"))
    assert status == 1
    assert any("the database cannot be read" in text for text in of(found, "wrong"))
    assert (home / "state.sqlite" / "mine").read_text("utf-8") == "x"


@pytest.mark.covers("OP-1")
def test_a_session_that_the_database_does_not_know_is_taken_in(home: Path) -> None:
    """The database against the files, and the files win; a transcript that cannot be read is left
    and not lost.
    """
    database = open_database(home / "state.sqlite")
    (folder,) = [Path(row["folder"]) for row in database.execute("select folder from sessions")]
    database.execute("delete from sessions")
    database.close()
    expect_fixed("does not know 1 session")
    shutil.rmtree(folder)
    status, found = examine()

    assert status == 0
    assert any("gone from the disk" in text for text in of(found, "note"))


@pytest.mark.covers("OP-1", "SG-1")
def test_dead_leases_are_released(home: Path) -> None:
    """A reservation of a process that died is noted, and released by --fix; one that runs stays."""
    database = open_database(home / "state.sqlite")
    now = time.time()
    row = (
        "insert into reservations (session, label, made, expires, requests, tokens, "
        "cost_usd, seconds) values ('s', 'recall', ?, ?, 1, 1, 0, 1)"
    )
    database.execute(row, (now - 900, now - 600))
    database.execute(row, (now, now + 600))
    database.close()
    status, found = examine()
    assert status == 0
    assert any("1 reservation" in text for text in of(found, "note"))
    fixed = examine("--fix")[1]

    assert any("1 reservation" in text for text in of(fixed, "fixed"))
    database = open_database(home / "state.sqlite")
    assert database.execute("select count(*) from reservations").fetchone()[0] == 1
    database.close()


@pytest.mark.covers("OP-1", "RO-2")
def test_jobs_of_dead_workers_and_jobs_given_up_are_noted(home: Path) -> None:
    """A lease that ran out and a job without retries are told, with what becomes of them; a job
    that runs is not.
    """
    database = open_database(home / "state.sqlite")
    row = (
        "insert into jobs (kind, key, status, watermark, retries_left, lease_until) values "
        "('extract', ?, ?, 0, ?, ?)"
    )
    now = int(time.time())
    database.executemany(
        row,
        [
            ("a", "running", 3, now - 60),
            ("b", "running", 3, now + 600),
            ("c", "error", 0, None),
            ("d", "error", 2, None),
        ],
    )
    database.close()

    status, found = examine()

    assert status == 0
    assert of([finding for finding in found if finding["area"] == "jobs"], "note") == [
        "workers that died left 1 lease",
        "1 job failed as often as may be tried",
    ]


@pytest.mark.covers("OP-1")
def test_a_missing_model_for_meaning_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `embed` recall goes by words alone, and so it does for other languages
    where an upgrade did not bring their model; with both nothing is said.
    """
    said = "recall goes by words alone: the extra `embed` (225 MB) is not installed"
    foreign = "recall in languages other than English goes by words alone: its model is missing"
    of_others = "is_multilingual_embedder_installed"
    monkeypatch.setattr(installation_check, of_others, lambda: False)
    monkeypatch.setenv("MEMORIST_RECALL__EMBEDDINGS", "true")
    monkeypatch.setattr(installation_check, "is_embedder_installed", lambda: False)
    bare = of(examine()[1], "note")
    monkeypatch.setattr(installation_check, "is_embedder_installed", lambda: True)
    english = of(examine()[1], "note")
    monkeypatch.setattr(installation_check, of_others, lambda: True)
    whole = of(examine()[1], "note")

    assert [said in notes for notes in (bare, english, whole)] == [True, False, False]
    assert [foreign in notes for notes in (bare, english, whole)] == [False, True, False]


def test_open_sessions_are_counted_by_their_process(home: Path) -> None:
    """One line, however many sessions the process behind the hooks has open."""

    async def examine_beside_open_sessions() -> list[Found]:
        async with Memorist(home=home) as engine:
            for name in ("a", "b", "c"):
                session = await engine.open(name, project=str(home))
                await session.prepare({"model": "m", "max_tokens": 1, "messages": MESSAGES})
            return (await asyncio.to_thread(examine))[1]

    notes = of(asyncio.run(examine_beside_open_sessions()), "note")

    assert f"3 sessions are open in process {os.getpid()}" in notes


def test_a_clock_that_was_set_back_is_told(home: Path) -> None:
    """By what was recorded under it; and a clock of before our beginning."""
    place = DoctorContext(
        resolved=ResolvedSettings(Settings(), {}), layout=Layout(home), now=time.time() - 86_400
    )
    ancient = DoctorContext(
        resolved=ResolvedSettings(Settings(), {}), layout=Layout(home), now=86_400.0
    )

    assert [(each.state, "set back" in each.what) for each in check_system_clock(place)] == [
        ("wrong", True)
    ]
    assert [(each.state, "1970-01-02" in each.what) for each in check_system_clock(ancient)] == [
        ("wrong", True)
    ]


@pytest.mark.covers("OP-1", "AM-10")
def test_a_damaged_history_is_moved_aside_and_begun_anew(where: MemoryLayout) -> None:
    """Its bytes stay beside it, and the new one has every file as it is."""
    objects = [path for path in (where.history / "objects").rglob("*") if path.is_file()]
    for path in objects:
        path.chmod(0o600)
        path.write_bytes(b"garbage")
    files = contents(where.folder)
    status, found = examine()
    assert status == 1
    assert any("history" in text and "damaged" in text for text in of(found, "wrong"))
    status, fixed = examine("--fix")

    assert (status, of(fixed, "wrong")) == (0, [])
    assert contents(where.folder) == files
    assert list(where.state.glob("history.damaged*"))
    assert of(examine()[1], "wrong") == []
    kept = memory(where)
    assert set(kept.folder.history.map_paths_to_blob_ids()) >= {
        head.path for head in kept.headers()
    }
    kept.close()


@pytest.mark.covers("OP-1", "AM-10")
def test_what_was_changed_past_memorist_is_noted_and_recorded(where: MemoryLayout) -> None:
    """A person's edit is no fault; --fix records it now, and the text is the person's."""
    path = max(where.folder.glob("*.md"))
    path.write_text(path.read_text("utf-8") + "By hand.\n", "utf-8")
    status, found = examine()
    assert status == 0
    assert any("changed past memorist" in text for text in of(found, "note"))
    fixed = examine("--fix")[1]

    assert any("recorded" in text for text in of(fixed, "fixed"))
    assert path.read_text("utf-8").endswith("By hand.\n")
    assert not any("changed past memorist" in text for text in of(examine()[1], "note"))


@pytest.mark.covers("OP-1", "AM-10")
def test_a_history_that_lacks_a_file_gets_it(where: MemoryLayout) -> None:
    """The history was deleted: a copy of it would bring former versions back, and without one the
    files are recorded as found. The user's word stays theirs, and `undo` deletes no memory.
    """
    shutil.rmtree(where.history)
    backup = [each["remedy"] for each in examine()[1] if str(where.history) in each["remedy"]]
    assert "from a backup" in backup[0]
    expect_fixed("is gone, and with it what memories said before")

    kept = memory(where)
    assert not any(kept.folder.has_untrusted_origin(head.path) for head in kept.headers())
    with pytest.raises(NothingToDo):
        kept.undo()
    assert set(kept.folder.history.map_paths_to_blob_ids()) >= {
        head.path for head in kept.headers()
    }
    kept.close()


@pytest.mark.covers("OP-1", "AM-6")
def test_an_index_that_is_not_the_folders_is_made_anew(where: MemoryLayout) -> None:
    """A dead pointer and a memory without one, in an index that the last look took for good."""
    kept = memory(where)
    good = where.index.read_text("utf-8")
    dead = (
        "\n".join(line for line in good.splitlines() if "(" not in line)
        + "\n- [Gone](gone.md) — nothing\n"
    )
    kept.folder.refresh()
    facts = where.index.stat()
    where.index.write_text(dead, "utf-8")
    os.utime(where.index, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    scan = json.loads(where.scan_state.read_text("utf-8"))
    scan["files"]["MEMORY.md"]["size"] = len(dead.encode())
    where.scan_state.write_text(json.dumps(scan), "utf-8")
    kept.close()
    status, found = examine()
    assert status == 1, found
    assert any("gone.md, which is not there" in text for text in of(found, "wrong"))
    assert examine("--fix")[0] == 0

    assert of(examine()[1], "wrong") == []
    for head in memory(where).headers():
        assert head.path in where.index.read_text("utf-8")
    assert "gone.md" not in where.index.read_text("utf-8")


@pytest.mark.covers("OP-1", "RC-3")
def test_a_damaged_index_of_recall_is_made_anew(where: MemoryLayout) -> None:
    """It is put aside, and the next search finds what it found."""
    where.recall_index.write_bytes(b"no index at all" * 500)
    expect_fixed("the index of recall")

    search = MemoryFolderSearch(memory(where).folder, RecallSettings())
    assert search.search("staging database port", 5)
    search.close()


@pytest.mark.covers("OP-1")
def test_a_memory_whose_project_is_gone_is_noted(
    home: Path, where: MemoryLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have moved; nothing is done by itself."""
    project = Path.cwd()
    monkeypatch.chdir(project.parent)
    project.rename(project.with_name("moved"))

    status, found = examine("--fix")

    assert status == 0
    assert any("which is gone" in text for text in of(found, "note"))
    assert where.folder.is_dir()


@pytest.mark.covers("OP-1")
def test_what_stands_in_the_place_of_a_lock_is_moved_aside(where: MemoryLayout) -> None:
    """A folder there means that nobody can ever write."""
    where.lock.unlink(missing_ok=True)
    where.lock.mkdir()
    (where.lock / "mine").write_text("x", "utf-8")
    expect_fixed("nobody can take the lock")

    assert (Path(os.environ["MEMORIST_HOME"]) / "put-aside" / "lock-1" / "mine").read_text(
        "utf-8"
    ) == "x"


@pytest.mark.covers("OP-1")
def test_a_stuck_lock_is_named_and_never_broken(where: MemoryLayout, home: Path) -> None:
    """A lock that is held far longer than its work takes is wrong; an open session's is not, and
    says which process has it.
    """
    lock = os.open(where.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    status, found = examine("--fix")
    os.close(lock)
    (transcript,) = home.glob("projects/*/*/transcript.jsonl.lock")
    session = os.open(transcript, os.O_RDWR)
    fcntl.flock(session, fcntl.LOCK_EX)
    os.pwrite(session, b"4711\n", 0)
    open_status, open_found = examine()
    os.close(session)

    assert status == 1
    assert any("has held" in text for text in of(found, "wrong"))
    assert where.lock.exists()
    assert open_status == 0
    assert any("open in process 4711" in text for text in of(open_found, "note"))


@pytest.fixture
def server() -> Iterator[socket.socket]:
    listening = socket.create_server(("127.0.0.1", 0))
    yield listening
    listening.close()


@pytest.mark.covers("OP-1")
def test_the_models_server_is_connected_to_only_when_asked(
    server: socket.socket, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --reach no connection is made; with it a server that answers is good, and one that is
    away is wrong.
    """
    port = server.getsockname()[1]
    monkeypatch.setenv("MEMORIST_MODEL", f"openai-chat:m@http://127.0.0.1:{port}/v1")
    quiet = examine()
    reached = examine("--reach")
    server.close()
    away = examine("--reach")

    assert (quiet[0], reached[0], away[0]) == (0, 0, 1)
    assert not any("the model's server" in text for text in of(quiet[1], "good", "wrong"))
    assert f"the model's server 127.0.0.1:{port} answers" in of(reached[1], "good")
    assert any("cannot be reached" in text for text in of(away[1], "wrong"))


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize(
    ("name", "data"), [("magic-docs", b"caf\xe9"), ("session-memory", b"caf\xe9")]
)
def test_an_own_text_that_cannot_be_used_is_named(home: Path, name: str, data: bytes) -> None:
    """The person's prompt of either kind must be UTF-8; it is the person's to correct."""
    own = home / name / "config" / "prompt.md"
    own.parent.mkdir(parents=True)
    own.write_bytes(data)

    status, found = examine("--fix")

    assert status == 1
    assert any(str(own) in text for text in of(found, "wrong"))
    assert own.read_bytes() == data


@pytest.mark.covers("OP-1")
def test_settings_that_cannot_be_read_stop_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with the cure, and no other finding."""
    monkeypatch.setenv("MEMORIST_NO_SUCH", "1")
    status, found = examine("--fix")

    assert status == 1
    assert [finding["area"] for finding in found] == ["settings"]


@pytest.mark.covers("OP-1")
def test_one_check_that_fails_does_not_hide_the_others(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that refuses one look is a finding, and every other area is still looked at."""

    def refused(place: DoctorContext) -> Iterator[Any]:
        raise PermissionError(13, "Permission denied", str(place.layout.home))

    monkeypatch.setattr(
        "memorist.cli.doctor.doctor_command.CHECKS", (("home", refused), *CHECKS[2:])
    )
    status, found = examine()

    assert status == 1
    assert [finding["area"] for finding in found if finding["state"] == "wrong"] == ["home"]
    assert any(finding["area"] == "memory" for finding in found)


@pytest.mark.covers("OP-1")
def test_the_text_shows_each_finding_with_its_cure(home: Path) -> None:
    """For people: a word for the state, what it is, and below it what to do."""
    home.chmod(0o750)
    shown = CliRunner().invoke(memorist_group, ["doctor"]).stdout
    fixed = CliRunner().invoke(memorist_group, ["doctor", "--fix"]).stdout

    assert f"WRONG  others on this machine can look into {home}\n       chmod 700 {home}\n" in shown
    assert f"FIXED  others on this machine can look into {home}: closed to others\n" in fixed


@pytest.mark.covers("WD-7")
def test_a_memory_that_waits_is_named_with_the_command_that_shows_it(
    home: Path, tmp_path: Path
) -> None:
    """Who does not know of the inbox would think that what they said was forgotten."""
    reviewing = Settings(home=str(home), auto_memory=AutoMemorySettings(policy="review"))

    async def talk() -> None:
        async with Memorist(model="structural", settings=reviewing) as engine:
            session = await engine.open("talk-2", project=str(tmp_path / "shop"))
            said = {"role": "user", "content": "Remember that we always indent with tabs."}
            await session.prepare({"model": "m", "max_tokens": 10, "messages": [said]})
            await session.close()

    asyncio.run(talk())

    status, found = examine()

    (waiting,) = [each for each in found if "waits for your yes or no" in each["what"]]
    assert (status, waiting["state"]) == (0, "note")
    assert waiting["remedy"] == f"in {tmp_path / 'shop'}: memorist memory inbox"
