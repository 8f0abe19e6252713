"""A project whose folder was moved or renamed: its memory is offered, and follows in one step."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from auto_memory.conftest import memory, put
from auto_memory.test_location import git
from memorist.auto_memory import memory_folder_merge, moved_projects
from memorist.auto_memory.inbox import DecisionDigests
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_location import (
    locate_project_root,
    read_project_record,
    record_project,
    resolve_project_memory_layout,
)
from memorist.auto_memory.moved_projects import (
    MovedFolders,
    describe_memory_found_elsewhere,
    find_possible_former_projects,
    load_moved_folders,
    rebind_memory,
)
from memorist.auto_memory.purge_journal import PendingPurge, PurgeJournal
from memorist.dream.daily_log import DailyLogs
from memorist.dream.dream_journal import get_journal_path
from memorist.errors import InputError
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.testing import FrozenClock
from support.sweeps import sampled

CLOCK = FrozenClock(1_800_000_000.0)
NOW = CLOCK.now()


def rebind(layout: Layout, old: str, moved: Path, clock: FrozenClock = CLOCK) -> MemoryLayout:
    return rebind_memory(layout, old, str(moved), clock=clock, settings=AutoMemorySettings())


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
    before = resolve_project_memory_layout(layout, old, settings)
    files.write(before.folder / "a.md", b"x\n")
    record_project(files, before, old)
    moved = tmp_path / "store"
    repository.rename(moved)

    assert [found.root for found in find_possible_former_projects(files, layout, str(moved))] == [
        old
    ]
    after = rebind(layout, old, moved)

    assert after.folder == resolve_project_memory_layout(layout, str(moved), settings).folder
    assert (after.folder / "a.md").read_bytes() == b"x\n"
    assert not before.folder.exists()
    assert find_possible_former_projects(files, layout, str(moved)) == []
    assert rebind(layout, old, moved).folder == after.folder
    with pytest.raises(InputError, match="there is no memory"):
        rebind(layout, str(tmp_path / "nowhere"), moved)


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
    before = resolve_project_memory_layout(layout, old, settings)
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
            rebind(layout, old, moved)

    after = rebind(layout, old, moved)
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
    mine = resolve_project_memory_layout(layout, str(repository), AutoMemorySettings())
    files.write(mine.folder / "a.md", b"x\n")
    record_project(files, mine, str(repository))
    (tmp_path / "other").mkdir()

    with pytest.raises(InputError, match="is still there"):
        rebind(layout, str(repository.resolve()), tmp_path / "other")
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
    record_project(files, resolve_project_memory_layout(layout, old, settings), old)
    other = tmp_path / "other"
    git("clone", "-q", str(repository), str(other), cwd=tmp_path)
    git("remote", "remove", "origin", cwd=other)
    (tmp_path / "plain").mkdir()
    moved = tmp_path / "a b"

    assert find_possible_former_projects(files, layout, str(other)) == []
    repository.rename(moved)
    git("commit", "--allow-empty", "-m", "after the move", cwd=moved)
    found = {
        folder.name: [
            each.root for each in find_possible_former_projects(files, layout, str(folder))
        ]
        for folder in (moved, other, tmp_path / "plain")
    }

    assert found == {"a b": [old], "other": [], "plain": []}


@pytest.mark.covers("AM-4")
def test_a_renamed_folder_without_a_repository_is_known_by_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it alone is gone from there; not in the folder for temporary files."""
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    for name in ("notes", "letters"):
        (tmp_path / name).mkdir()
        old = str((tmp_path / name).resolve())
        record_project(files, resolve_project_memory_layout(layout, old, settings), old)
    now = (tmp_path / "letters").rename(tmp_path / "post")

    assert find_possible_former_projects(files, layout, str(now)) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (found,) = find_possible_former_projects(files, layout, str(now))
    assert found.root == old
    (tmp_path / "notes").rmdir()
    assert find_possible_former_projects(files, layout, str(now)) == []


def make_both_places(tmp_path: Path) -> tuple[Layout, str, Path]:
    """A project that moved from the old place to the new one, with memories in both."""
    layout, files = Layout(tmp_path / "home"), DiskFiles()
    old, moved = tmp_path / "shop", tmp_path / "store"
    moved.mkdir(parents=True)
    for root, text in ((old, "old"), (moved, "new")):
        kept = layout.memory_layout(str(root))
        folder = MemoryFolder(kept, files=files, clock=CLOCK, settings=AutoMemorySettings())
        put(folder, "same.md", memory("same", kind="feedback"))
        put(folder, "both.md", memory("both", text))
        put(folder, f"sub/{text}.md", memory(text))
        files.write(kept.folder / "planted.md", memory(f"planted in the {text} place"))
        files.write(kept.index, f"A line of mine, {text}.\n".encode())
        files.write(kept.inbox / "11111111.json", b"{}")
        files.write(kept.inbox / f"{text}.json", b"{}")
        DecisionDigests(kept.reviewed_digests, kept, files).add([text])
        folder.refresh()
        folder.close()
        record_project(files, kept, str(root))
    return layout, str(old), moved


# A file of the history that was open when the process "died" is closed by the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.covers("AM-4", "SF-5")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
def test_what_is_known_in_both_places_is_kept_when_killed_at_any_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    """Memories of either place, also under a name that both use, lines that the user wrote into the
    index, what waits and what was accepted: all is there after the next call, and nothing twice.
    What the old place vouched for is believed in the new one, what another program put there is
    not.
    """
    steps = 0

    def dying(call: Callable[..., object], dies_at: int) -> Callable[..., object]:
        def step(*arguments: object, **named: object) -> object:
            nonlocal steps
            steps += 1
            if steps >= dies_at:
                raise KeyboardInterrupt
            return call(*arguments, **named)

        return step

    finished = False
    for dies_at in itertools.count(1, stride):
        layout, old, moved = make_both_places(tmp_path / str(dies_at))
        steps = 0
        with monkeypatch.context() as patched:
            for name in ("replace", "rename", "unlink", "remove", "rmdir", "link"):
                patched.setattr(os, name, dying(getattr(os, name), dies_at))
            try:
                rebind(layout, old, moved)
                finished = True
            except KeyboardInterrupt:
                pass
        kept = rebind(layout, old, moved)
        rebind(layout, old, moved, FrozenClock(NOW + 9))

        folder = MemoryFolder(kept, files=DiskFiles(), clock=CLOCK, settings=AutoMemorySettings())
        believed = {
            path: not folder.has_untrusted_origin(path) for path in folder.headers_by_path()
        }
        folder.close()
        assert believed == {
            "same.md": True,
            "both.md": True,
            "both-2.md": True,
            "sub/new.md": True,
            "sub/old.md": True,
            "planted.md": False,
            "planted-2.md": False,
        }, dies_at
        assert (kept.folder / "both.md").read_bytes() == memory("both", "new")
        assert (kept.folder / "both-2.md").read_bytes() == memory("both", "old")
        lines = kept.index.read_text().splitlines()
        assert [lines.count(f"A line of mine, {each}.") for each in ("old", "new")] == [1, 1]
        assert {path.stem for path in kept.inbox.iterdir()} == {"11111111", "old", "new"}
        assert set(DecisionDigests(kept.reviewed_digests, kept, DiskFiles()).list_digests()) == {
            "old",
            "new",
        }
        assert not layout.memory_layout(old).folder.exists()
        left = {path.name for path in layout.memory_layout(old).state.rglob("*") if path.is_file()}
        assert left <= {"lock", "purge.lock", "project.json", "scan.json", "scan-changes.json"}
        histories = {path.name for path in kept.state.glob("history*")}
        assert histories == {"history", "history.former"}
        record = read_project_record(DiskFiles(), kept)
        assert record is not None
        assert [(each.root, each.until) for each in record.former] == [(old, NOW)]
        if finished:
            break
    assert dies_at > 20


@pytest.mark.covers("AM-4")
def test_what_the_old_folder_holds_later_is_another_project(
    repository: Path, tmp_path: Path
) -> None:
    """Sessions from before the move belong to the project in its new place, through several moves;
    those of a project that was begun in the old place afterwards do not.
    """
    layout, settings, files = Layout(tmp_path / "home"), AutoMemorySettings(), DiskFiles()
    old = str(repository.resolve())
    record_project(files, resolve_project_memory_layout(layout, old, settings), old)
    files.write(resolve_project_memory_layout(layout, old, settings).folder / "a.md", b"x\n")
    first, second = tmp_path / "first", tmp_path / "second"
    repository.rename(first)
    rebind(layout, old, first)
    first.rename(second)
    rebind(layout, str(first), second, FrozenClock(NOW + 50))

    moved = load_moved_folders(files, layout)
    assert moved.find_root(f"{old}/sub", NOW + 99) == str(second)
    repository.mkdir()
    moved = load_moved_folders(files, layout)
    assert moved.find_root(old, NOW) == str(second)
    assert moved.find_root(str(first), NOW + 20) == str(second)
    assert moved.find_root(old, NOW + 99) == old
    assert moved.find_root(f"{old}-2", NOW) == f"{old}-2"
    assert MovedFolders(()).find_root(old, NOW) == old


@pytest.mark.covers("AM-4", "SF-5")
def test_what_is_written_in_the_new_place_meanwhile_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes a memory under the very name of one that is about to follow: both are
    there afterwards.
    """
    layout, old, moved = make_both_places(tmp_path)
    kept = layout.memory_layout(str(moved))
    before = layout.memory_layout(old).folder / "late.md"
    before.write_bytes(memory("late", "old"))
    plain = memory_folder_merge._join_files

    def join(source: Path, target: Path, names: dict[str, str]) -> None:
        (target / "late.md").write_bytes(memory("late", "new"))
        plain(source, target, names)

    monkeypatch.setattr(memory_folder_merge, "_join_files", join)
    rebind(layout, old, moved)

    found = {path.read_bytes() for path in kept.folder.glob("late*.md")}
    assert found == {memory("late", "old"), memory("late", "new")}


@pytest.mark.covers("AM-4", "SF-5")
def test_what_stands_in_the_old_folder_beside_its_memories_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what is written there while it is joined, and a file with an index's name that is
    none.
    """
    layout, old, moved = make_both_places(tmp_path)
    before, kept = layout.memory_layout(old), layout.memory_layout(str(moved))
    (before.folder / "sub" / "MEMORY.md").write_text("What I noted of sub.")
    plain = memory_folder_merge._join_files

    def join(source: Path, target: Path, names: dict[str, str]) -> None:
        (source / "late.md").write_bytes(memory("late", "old"))
        plain(source, target, names)

    monkeypatch.setattr(memory_folder_merge, "_join_files", join)
    rebind(layout, old, moved)

    assert (kept.folder / "late.md").read_bytes() == memory("late", "old")
    assert (kept.folder / "sub" / "MEMORY.md").read_text() == "What I noted of sub."


@pytest.mark.covers("AM-4", "DR-6")
def test_logs_and_what_is_not_wholly_forgotten_follow(tmp_path: Path) -> None:
    """A project that has logs, a journal and an unfinished removal of its own keeps both."""
    layout, old, moved = make_both_places(tmp_path)
    before, kept = layout.memory_layout(old), layout.memory_layout(str(moved))
    files = DiskFiles()
    for where, said, day in ((before, "old", 0.0), (kept, "new", 0.0), (before, "first", -9e4)):
        DailyLogs(where, files).add_line(f"A line, {said}.", NOW + day)
        files.append(get_journal_path(where), f"## {said}\n".encode())
        PurgeJournal(files, where).merge_with_unfinished([PendingPurge(f"{said}.md")])
    rebind(layout, old, moved)
    rebind(layout, old, moved)

    logs = [text for _, text in DailyLogs(kept, files).read_newest_logs()]
    assert [text.count("A line") for text in logs] == [2, 1]
    assert get_journal_path(kept).read_text() == "## old\n## first\n## new\n"
    pending = PurgeJournal(files, kept).load()
    assert {each.path for each in pending} == {"old.md", "new.md", "first.md"}


@pytest.mark.covers("AM-4", "SF-5")
def test_a_half_moved_memory_outlives_an_agent_that_is_still_in_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it makes by opening the memory is not put over the history that had moved already."""
    layout, files = Layout(tmp_path / "home"), DiskFiles()
    old, moved = tmp_path / "shop", tmp_path / "store"
    moved.mkdir()
    before = layout.memory_layout(str(old))
    folder = MemoryFolder(before, files=files, clock=CLOCK, settings=AutoMemorySettings())
    put(folder, "mine.md", memory("mine"))
    folder.close()
    files.write(before.inbox / "11111111.json", b"{}")
    record_project(files, before, str(old))
    with monkeypatch.context() as patched:
        plain = Path.rename

        def rename(self: Path, target: Path) -> Path:
            if self == before.folder:
                raise KeyboardInterrupt
            return plain(self, target)

        patched.setattr(Path, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            rebind(layout, str(old), moved)
    record_project(files, before, str(old))
    files.write(before.lock, b"")

    kept = rebind(layout, str(old), moved)

    assert (kept.folder / "mine.md").exists()
    assert (kept.inbox / "11111111.json").exists()
    assert kept.history.is_dir()


def write_memory(layout: Layout, folder: Path, name: str) -> MemoryLayout:
    folder.mkdir(parents=True, exist_ok=True)
    where = resolve_project_memory_layout(layout, str(folder), AutoMemorySettings())
    DiskFiles().write(where.folder / name, b"x\n")
    record_project(DiskFiles(), where, str(folder))
    return where


@pytest.mark.covers("AM-4")
@pytest.mark.parametrize("first", ["upper", "lower"])
def test_a_folder_around_or_within_that_has_a_memory_is_named(tmp_path: Path, first: str) -> None:
    """Without Git a folder and one below it are two projects: where a session was once started in
    the other, it is said, with the way to make them one, which works.
    """
    layout, files = Layout(tmp_path / "home"), DiskFiles()
    upper, lower = tmp_path / "shop", tmp_path / "shop" / "my app"
    lower.mkdir(parents=True)
    known, asked = (upper, lower) if first == "upper" else (lower, upper)
    write_memory(layout, known, "a.md")

    (said,) = describe_memory_found_elsewhere(files, layout, str(asked))
    assert said == (
        f"{known} has a memory of its own, which is not shown here; for one memory of both: "
        f"git init {upper}, then there: memorist memory rebind '{lower}'"
    )

    write_memory(layout, asked, "b.md")
    git("init", cwd=upper)
    assert [each.root for each in find_possible_former_projects(files, layout, str(upper))] == [
        str(lower)
    ]
    after = rebind(layout, str(lower), upper)

    assert {each.name for each in after.folder.glob("?.md")} == {"a.md", "b.md"}
    assert (
        resolve_project_memory_layout(layout, str(lower), AutoMemorySettings()).folder
        == after.folder
    )


@pytest.mark.covers("AM-4")
def test_neither_the_home_folder_nor_a_repository_is_a_neighbour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that was once started in the home folder is not named in each folder below it, nor
    a folder beside this one, nor a repository within a plain folder.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    layout, files = Layout(tmp_path / "home"), DiskFiles()
    for folder in (tmp_path, tmp_path / "other", tmp_path / "shop" / "lib"):
        write_memory(layout, folder, "a.md")
    git("init", cwd=tmp_path / "shop" / "lib")

    assert describe_memory_found_elsewhere(files, layout, str(tmp_path / "shop")) == ()
    assert describe_memory_found_elsewhere(files, layout, str(tmp_path / "shop" / "lib")) == ()


@pytest.mark.covers("AM-4")
def test_a_container_is_told_how_it_shares_the_memory_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container sees the project in another place, also one without Git. Taking the memory over
    would take it from the host: one setting has both use it, with one history.
    """
    layout, files = Layout(tmp_path / "home"), DiskFiles()
    host, mount = tmp_path / "shop", tmp_path / "workspaces" / "app"
    where = write_memory(layout, host, "a.md")
    host.rename(tmp_path / "not in the container")
    mount.mkdir(parents=True)
    assert describe_memory_found_elsewhere(files, layout, str(mount)) == ()
    monkeypatch.setattr(moved_projects, "_MOUNTS", (str(mount.parent),))

    (said,) = describe_memory_found_elsewhere(files, layout, str(mount))
    assert said == (
        f"the memory of {host} may be that of this container's project; host and container share "
        f"it with, in the container: MEMORIST_AUTO_MEMORY__DIRECTORY={where.folder}"
    )
    shared = resolve_project_memory_layout(
        layout, str(mount), AutoMemorySettings(directory=str(where.folder))
    )
    assert (shared.folder, shared.state, shared.chosen) == (where.folder, where.state, True)
    record_project(files, shared, str(mount))
    found = read_project_record(files, where)
    assert found is not None
    assert found.root == str(host)


def test_a_home_copied_from_another_machine_counts_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the other machine does not tell upper from lower case, its paths may be written
    otherwise: the memory was not found.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    files, layout = DiskFiles(), Layout(tmp_path / ".memorist")
    folder, former = tmp_path / "Code" / "Shop", "/Users/ann-elsewhere/code/shop"
    folder.mkdir(parents=True)
    before = layout.memory_layout(former)
    record_project(files, before, former)
    files.write(before.folder / "a.md", memory("a"))

    assert [each.root for each in find_possible_former_projects(files, layout, str(folder))] == [
        former
    ]


@pytest.mark.parametrize("former", ["/srv/ann-elsewhere/shop", "/srv/ann-elsewhere/Work/Shop"])
def test_a_clone_elsewhere_on_another_machine_names_what_has_its_name(
    repository: Path, tmp_path: Path, former: str
) -> None:
    """Without a remote nothing but the name tells, and what is found by more comes before it: a
    copied home held the memory, and nothing but `doctor` said so.
    """
    files, layout = DiskFiles(), Layout(tmp_path / "home")
    for root in (former, "/srv/ann-elsewhere/shop-2"):
        before = layout.memory_layout(root)
        record_project(files, before, root)
        files.write(before.folder / "a.md", memory("a"))

    (said,) = describe_memory_found_elsewhere(files, layout, str(repository))
    assert f"the memory of {former} may belong here" in said


@pytest.mark.parametrize("mark", [".jj", ".hg", ".sl", ".svn", "_FOSSIL_"])
@pytest.mark.covers("AM-4")
def test_a_repository_of_another_system_than_git_is_one_project(tmp_path: Path, mark: str) -> None:
    """Each folder below was a project of its own, and `git init` was advised."""
    shop, below = tmp_path / "shop", tmp_path / "shop" / "src" / "cart"
    write_memory(Layout(tmp_path / "home"), below, "a.md")
    (shop / mark).mkdir()

    assert locate_project_root(below) == shop.resolve()
    (said,) = describe_memory_found_elsewhere(DiskFiles(), Layout(tmp_path / "home"), str(shop))
    assert said.endswith(f"memorist memory rebind {below}")
