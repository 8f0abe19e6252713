"""Sessions are found where agents keep them, read in place, and what is left out is told with its
reason.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.recall.session_index import read_passages_from_session_file
from memorist.rollouts import session_sources
from memorist.rollouts.session_location import get_project_name
from memorist.rollouts.session_metadata import find_newest_time, parse_memory_mode
from memorist.rollouts.session_sources import (
    SkippedFile,
    SourceFolder,
    SourceScan,
    list_default_source_folders,
    load_skipped_files,
    save_skipped_files,
    scan_for_changed_rollouts,
)
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from rollouts.conftest import Talk, claude, codex


def named(folder: Path) -> SourceScan:
    return scan_for_changed_rollouts([SourceFolder(folder, is_named=True)])


def why(found: SourceScan) -> dict[str, str]:
    return {Path(each.path).name: each.why for each in found.skipped}


@pytest.mark.covers("RO-1", "RO-6")
def test_the_sessions_of_three_agents_are_found_where_they_keep_them(tmp_path: Path) -> None:
    """Claude Code's, Codex's (live, archived, compressed) and memorist's sessions are found with
    what they say of themselves; nothing is changed.
    """
    layout = Layout(tmp_path / "memorist")
    claude(tmp_path / ".claude/projects/-home-dev-shop/c1.jsonl", ["/clear", "Mend the till."])
    codex(tmp_path / "codex/sessions/2026/05/28/rollout-a.jsonl", ["Write a page."])
    codex(
        tmp_path / "codex/archived_sessions/rollout-b.jsonl",
        ["Old words."],
        session="x2",
        source={"custom": "atlas"},
    )
    packed = codex(
        tmp_path / "codex/sessions/2026/05/01/rollout-c.jsonl",
        ["Packed words."],
        session="x3",
        source="exec",
    )
    packed.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(packed.read_bytes()))
    packed.unlink()
    own = layout.session_layout("/home/dev/shop", "m1").transcript
    own.parent.mkdir(parents=True)
    Talk().user("Ask memorist.").agent("Yes.").thread(own)
    own.with_name("events.jsonl").write_text("{}\n")
    before = {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in tmp_path.rglob("*")
        if path.is_file()
    }

    found = scan_for_changed_rollouts(
        list_default_source_folders(
            layout, {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "codex")}
        )
    )

    assert sorted(
        (each.id, each.format, each.source, each.first_words) for each in found.threads
    ) == [
        ("c1", "claude_code", "", "Mend the till."),
        ("s1", "memorist", "memorist", "Ask memorist."),
        ("x1", "codex", "cli", "Write a page."),
        ("x2", "codex", "atlas", "Old words."),
        ("x3", "codex", "exec", "Packed words."),
    ]
    assert {(each.cwd, each.mode) for each in found.threads} == {("/home/dev/shop", "enabled")}
    assert {each.updated for each in found.threads if each.format == "codex"} == {1_779_966_000}
    assert {each.updated for each in found.threads if each.format == "memorist"} == {1_780_000_003}
    assert found.skipped == ()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


@pytest.mark.covers("RO-1")
def test_what_is_no_session_of_its_own_is_told(tmp_path: Path) -> None:
    """Sub-agents' files, foreign, empty, binary and torn files, and links are left out, each with
    its reason; a pipe is not even opened.
    """
    claude(tmp_path / "main.jsonl", ["Mend the till."], session="c1")
    claude(tmp_path / "agent-1.jsonl", ["Look."], session="c1", side=True)
    codex(
        tmp_path / "review.jsonl",
        ["Review."],
        source={"subagent": {"thread_spawn": {}}},
        session="x9",
    )
    codex(tmp_path / "child.jsonl", ["Look."], session="x8", parent_thread_id="x1")
    (tmp_path / "page.jsonl").write_text("<html></html>")
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "picture.jsonl").write_bytes(b"\x89PNG\0\0" * 10_000)
    (tmp_path / "torn.jsonl").write_bytes(b'{"type": "session_meta", "payload": {"id')
    os.mkfifo(tmp_path / "pipe.jsonl")
    outside = codex(tmp_path.parent / "elsewhere.jsonl", ["Outside."], session="x7")
    (tmp_path / "out.jsonl").symlink_to(outside)
    (tmp_path / "in.jsonl").symlink_to(tmp_path / "main.jsonl")

    found = named(tmp_path)
    reasons = why(found)

    assert [each.id for each in found.threads] == ["c1"]
    assert set(reasons) == {path.name for path in tmp_path.iterdir()} - {"main.jsonl"}
    assert all(
        "sub-agent" in reasons[name] for name in ("agent-1.jsonl", "review.jsonl", "child.jsonl")
    )
    assert reasons["pipe.jsonl"] == "it is no regular file"
    assert "leads out" in reasons["out.jsonl"]
    assert "is a web page" in reasons["page.jsonl"]
    assert "is binary" in reasons["picture.jsonl"]
    assert "is empty" in reasons["empty.jsonl"]


@pytest.mark.covers("RO-1")
def test_a_huge_file_is_told_and_a_torn_session_is_read(tmp_path: Path) -> None:
    """A file over the limit is left out by its size alone; a session whose last line is cut off is
    a session.
    """
    huge = claude(tmp_path / "huge.jsonl", ["Mend the till."], session="c2")
    torn = claude(tmp_path / "torn.jsonl", ["Mend the till.", "And the door."], session="c3")
    torn.write_bytes(torn.read_bytes()[:-40])
    torn_size = torn.stat().st_size
    os.truncate(huge, 4_000_000_001)  # a hole: it takes no room

    found = named(tmp_path)

    assert [(each.id, each.size) for each in found.threads] == [("c3", torn_size)]
    assert "larger than 4,000,000,000 bytes" in why(found)["huge.jsonl"]


@pytest.mark.covers("RO-1")
def test_a_hidden_file_is_told_where_it_is_named_itself(tmp_path: Path) -> None:
    """In a folder it is left alone."""
    path = tmp_path / ".history.md"
    path.write_text("# a chat\n", "utf-8")

    assert not named(tmp_path).skipped
    (told,) = named(path).skipped
    assert told.path == str(path)
    assert "is text" in told.why


def test_of_copies_the_newest_and_longest_counts(tmp_path: Path) -> None:
    """A session that stands in two places is one thread: the newer copy, of equally new ones the
    longer; the other is told.
    """
    codex(tmp_path / "sessions/a.jsonl", ["One.", "Two."])
    codex(tmp_path / "archived_sessions/a.jsonl", ["One."])
    claude(tmp_path / "old/c.jsonl", ["One.", "Two.", "Three."])
    claude(tmp_path / "new/c.jsonl", ["One."], at="2026-05-29T10:00:00.000Z")

    found = named(tmp_path)
    again = scan_for_changed_rollouts(
        [SourceFolder(tmp_path, is_named=True)], [*found.threads, *found.skipped]
    )

    assert sorted(Path(each.path).relative_to(tmp_path).as_posix() for each in found.threads) == [
        "new/c.jsonl",
        "sessions/a.jsonl",
    ]
    assert len(found.skipped) == 2
    assert all("the same session stands newer in" in each.why for each in found.skipped)
    assert not again.threads


@pytest.mark.covers("RO-1")
def test_what_a_replay_keeps_is_no_session(tmp_path: Path) -> None:
    """It is a copy under another name, by which a session would count twice."""
    codex(tmp_path / "a.jsonl", ["One.", "Two."])
    codex(tmp_path / "memorist-replay/a/transcript.jsonl", ["One.", "Two."], session="other")

    assert [Path(each.path).name for each in named(tmp_path).threads] == ["a.jsonl"]


@pytest.mark.covers("RO-1")
def test_an_unchanged_file_is_not_opened(tmp_path: Path) -> None:
    """A second search opens nothing but the file that changed; what was left out before is still
    told.
    """
    claude(tmp_path / "a.jsonl", ["One."], session="c1")
    grown = claude(tmp_path / "b.jsonl", ["One."], session="c2")
    (tmp_path / "page.jsonl").write_text("<html></html>")
    known = named(tmp_path)
    claude(grown, ["One.", "Two."], session="c2")
    opened: list[str] = []
    sys.addaudithook(
        lambda event, given: (
            opened.append(str(given[0]))
            if event == "open" and str(given[0]).startswith(str(tmp_path))
            else None
        )
    )
    found = scan_for_changed_rollouts(
        [SourceFolder(tmp_path, is_named=True)], [*known.threads, *known.skipped]
    )

    assert [(each.id, each.size) for each in found.threads] == [("c2", grown.stat().st_size)]
    assert set(opened) == {str(grown)}
    assert set(why(found)) == {"page.jsonl"}


@pytest.mark.covers("RO-1")
def test_what_was_left_out_is_remembered(tmp_path: Path) -> None:
    """What is written down of a search is read by the next; where it is damaged the files are only
    looked at anew.
    """
    path = tmp_path / "passed.json"
    passed = (
        SkippedFile(path="/srv/a", why="no", size=3, modified_ns=7),
        SkippedFile(path="/srv/pipe", why="it is no regular file"),
    )
    save_skipped_files(DiskFiles(), path, passed)

    assert load_skipped_files(path) == passed[:1]
    path.write_text("[{")
    assert load_skipped_files(path) == ()
    assert load_skipped_files(tmp_path / "none") == ()


@pytest.mark.covers("RO-9")
@pytest.mark.parametrize(
    ("word", "mode"),
    [
        (None, "enabled"),
        ("enabled", "enabled"),
        ("polluted", "polluted"),
        ("disabled", "disabled"),
        ("odd", "disabled"),
    ],
)
def test_the_mode_of_a_rollout_is_kept(word: str | None, mode: str, tmp_path: Path) -> None:
    """What Codex wrote of a session's memory is kept, a later record over an earlier one; an
    unknown word forbids.
    """
    path = codex(tmp_path / "a.jsonl", ["One."], memory_mode=word)
    assert parse_memory_mode(word) == mode
    assert named(tmp_path).threads[0].mode == mode

    with path.open("a") as file:
        file.write(
            '{"type": "session_meta", "timestamp": "2026-05-28T12:00:00.000Z", "payload": '
            '{"id": "x1", "memory_mode": "disabled"}}\n'
        )
    assert named(tmp_path).threads[0].mode == "disabled"


def test_the_newest_time_is_that_of_a_record() -> None:
    """A time inside a tool's output does not count, nor does a line that is no record."""
    lines = [
        b'9", "timestamp": "2031-01-01T00:00:00Z"}',
        b'{"timestamp": "2026-05-28T11:00:00.000Z", "output": {"timestamp": '
        b'"2030-01-01T00:00:00Z"}}',
        b'{"type": "message", "entry": {"timestamp": 1780000000.5}}',
    ]

    assert find_newest_time(b"\n".join(lines)) == 1_780_000_000.5
    assert find_newest_time(b"\n".join(lines[:2])) == 1_779_966_000.0
    assert find_newest_time(b"no record") is None


@pytest.mark.covers("RO-7")
def test_a_session_belongs_to_its_repository(tmp_path: Path) -> None:
    """The root above the session's folder is its repository; a folder that is not on this machine
    is its own.
    """
    (tmp_path / "shop/.git").mkdir(parents=True)
    (tmp_path / "shop/till").mkdir()
    session_sources.find_repository_root_or_folder.cache_clear()

    assert session_sources.find_repository_root_or_folder(str(tmp_path / "shop/till")) == str(
        tmp_path / "shop"
    )
    assert (
        session_sources.find_repository_root_or_folder("/home/nobody/shop/till")
        == "/home/nobody/shop/till"
    )


@pytest.mark.covers("RO-7")
@pytest.mark.parametrize(
    ("folder", "root"),
    [
        ("/home/nobody/shop/.claude/worktrees/brave-otter", "/home/nobody/shop"),
        ("/home/nobody/shop/.worktrees/alex/till/src", "/home/nobody/shop"),
        ("D:\\shop\\.claude\\worktrees\\brave-otter", "D:\\shop"),
        ("/home/nobody/.worktrees", "/home/nobody/.worktrees"),
        ("/home/nobody/.codex/worktrees/1a2b/shop", "/home/nobody/.codex/worktrees/1a2b/shop"),
    ],
)
def test_a_removed_worktree_in_a_repository_belongs_to_it(folder: str, root: str) -> None:
    """Claude Code's and a user's own; a path that names no repository stays as it is."""
    assert session_sources.find_repository_root_or_folder(folder) == root


@pytest.mark.covers("RO-7")
@pytest.mark.parametrize(
    ("remote", "clones", "found"),
    [
        ("git@github.com:dev/Shop.git", ("https://github.com/dev/shop",), "0"),
        ("https://me@github.com/dev/shop.git", ("git@github.com:dev/shop.git", "x"), "0"),
        ("https://github.com/dev/shop", ("https://github.com/other/shop",), ""),
        ("https://github.com/dev/shop", ("https://github.com/dev/shop",) * 2, ""),
        ("", ("https://github.com/dev/shop",), ""),
    ],
)
def test_a_removed_worktree_of_codex_belongs_to_the_clone_with_its_remote(
    tmp_path: Path, remote: str, clones: tuple[str, ...], found: str
) -> None:
    """Codex makes and removes worktrees beside the repository. The one clone of the same remote
    that another session ran in gets what was learned there; of two, neither.
    """
    for number, url in enumerate(clones):
        root = tmp_path / str(number)
        (root / ".git").mkdir(parents=True)
        (root / ".git/config").write_text(f'[remote "origin"]\n\turl = {url}\n')
        codex(tmp_path / f"s/{number}.jsonl", ["Hello."], session=f"c{number}", cwd=str(root))
    gone = str(tmp_path / "home/.codex/worktrees/1a2b/shop")
    git = {"repository_url": remote}
    codex(tmp_path / "s/w.jsonl", ["Mend it."], session="w", cwd=gone, git=git)

    (thread,) = (each for each in named(tmp_path / "s").threads if each.id == "w")

    assert thread.repository == (str(tmp_path / found) if found else gone)
    assert get_project_name(thread) == (found or "shop")


@pytest.mark.covers("RO-7")
def test_a_removed_worktree_elsewhere_stays_of_the_repository_it_was_seen_in(
    tmp_path: Path,
) -> None:
    """A worktree beside its repository names it only as long as it is there; a file that grows
    afterwards, or a second one of the folder, took the session out of the project.
    """
    root, tree = tmp_path / "shop", tmp_path / "shop-fix"
    named = root / ".git/worktrees/shop-fix"
    named.mkdir(parents=True)
    (named / "commondir").write_text("../..")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {named}\n")
    codex(tmp_path / "s/a.jsonl", ["Mend it."], session="a", cwd=str(tree))
    before = session_sources.scan_for_changed_rollouts(
        [session_sources.SourceFolder(tmp_path / "s", is_named=True)]
    ).threads
    assert [each.repository for each in before] == [str(root)]
    shutil.rmtree(tree)
    session_sources.find_repository_root_or_folder.cache_clear()
    codex(tmp_path / "s/a.jsonl", ["Mend it.", "And that."], session="a", cwd=str(tree))
    codex(tmp_path / "s/b.jsonl", ["Go on."], session="b", cwd=str(tree))
    codex(tmp_path / "s/c.jsonl", ["Other."], session="c", cwd=str(tmp_path / "shop-old"))

    after = session_sources.scan_for_changed_rollouts(
        [session_sources.SourceFolder(tmp_path / "s", is_named=True)], before
    ).threads

    assert {each.id: each.repository for each in after} == {
        "a": str(root),
        "b": str(root),
        "c": str(tmp_path / "shop-old"),
    }


@pytest.mark.covers("RO-6")
def test_a_session_is_named_and_quoted_by_what_was_typed_before_a_paste(tmp_path: Path) -> None:
    """Claude Code marks what was pasted; the list of sessions, a search and a hand-over name what
    the user typed beside it, without the marks.
    """
    paste = '<pasted_content id="f336">\n\n10:02 ERROR no rate\n</pasted_content id="f336">'
    path = claude(tmp_path / "a.jsonl", [f"{paste}\n\nMend the till."])
    handed = tmp_path / "handed.md"
    command = ["handoff", str(path), "--to", str(handed)]
    CliRunner().invoke(memorist_group, command, env={"MEMORIST_HOME": str(tmp_path / "home")})

    (passage,) = read_passages_from_session_file(path)
    assert named(tmp_path).threads[0].first_words.startswith("Mend the till.")
    assert passage.said == "Mend the till.\n\n10:02 ERROR no rate"
    assert "Asked last: Mend the till." in handed.read_text("utf-8")


@pytest.mark.covers("SF-1")
def test_a_secret_in_the_first_words_is_not_kept(tmp_path: Path) -> None:
    """What is shown of a session's beginning has no key in it."""
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL2kP5"
    codex(tmp_path / "a.jsonl", [f"Deploy with {key} please."])

    assert key not in named(tmp_path).threads[0].first_words
    assert named(tmp_path).threads[0].first_words.startswith("Deploy with")


def test_folders_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    """A machine without the agents is no error, and a single file may be named like a folder."""
    one = codex(tmp_path / "one.jsonl", ["One."])

    assert (
        scan_for_changed_rollouts(
            [SourceFolder(tmp_path / "none"), SourceFolder(tmp_path / "none", is_named=True)]
        )
        == SourceScan()
    )
    assert [each.id for each in named(one).threads] == ["x1"]


def test_one_odd_file_keeps_no_other_session_from_its_use(tmp_path: Path) -> None:
    """A file in another encoding, a session of a folder whose name this system does not take, and
    one whose clock was off by ages stop neither a search, `memorist import`, the list of sessions
    nor a replay of all of them.
    """
    claude(tmp_path / "good.jsonl", ["Always mend the till with glue."], session="c1")
    claude(
        tmp_path / "long.jsonl", ["Always mend it with tape."], session="c2", cwd="/" + "a" * 300
    )
    wrong = claude(tmp_path / "clock.jsonl", ["Never mend all at once."], session="c3", at="AT")
    first, last = wrong.read_text("utf-8").splitlines()
    broken = last.replace('"AT"', "1e30")
    wrong.write_text(f"{first}\n{broken}\n", "utf-8")
    (tmp_path / "latin.jsonl").write_bytes(b'{"type":"user","note":"caf\xe9"}\n')

    found = named(tmp_path)
    home = {"MEMORIST_HOME": str(tmp_path.parent / "home")}
    ran, listed, replayed = (
        CliRunner().invoke(memorist_group, command, env=home)
        for command in (
            ["import", str(tmp_path), "--mine", "--yes", "--json"],
            ["sessions"],
            ["replay", str(tmp_path), "--out", str(tmp_path.parent / "out")],
        )
    )
    synced = json.loads(ran.stdout)

    assert [each.id for each in found.threads] == ["c3", "c1", "c2"]
    assert [Path(each.path).name for each in found.skipped if each.is_damaged] == ["latin.jsonl"]
    assert [synced[key] for key in ("found", "extracted", "failed")] == [3, 3, []], synced
    assert synced["consolidated"] == 3
    assert listed.exit_code == 0
    assert "is no name of a folder" in replayed.output
    assert (tmp_path.parent / "out" / "good" / "transcript.jsonl").exists()
