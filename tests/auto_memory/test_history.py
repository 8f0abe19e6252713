"""The history: what it costs, what a kill or a power cut leaves of it, and what is taken back in
which order.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from dulwich.objects import Commit
from dulwich.repo import Repo

from auto_memory.conftest import memory, put
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.history_rewrite import HistoryRewrite
from memorist.auto_memory.inbox import Inbox
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_history import FolderHistory
from memorist.auto_memory.memory_undo import find_newest_change_to_undo, undo_recorded_change
from memorist.errors import NothingToDo, StoreError
from memorist.settings import AutoMemorySettings
from memorist.store import disk_files
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import MemoryLayout
from memorist.testing import FrozenClock


@pytest.fixture
def auto(where: MemoryLayout, clock: FrozenClock) -> AutoMemory:
    return AutoMemory(where, files=DiskFiles(), clock=clock, settings=AutoMemorySettings())


def on_disk(folder: Path, words: bytes) -> bool:
    """Whether any file below holds these words as they are, or as Git packs them."""
    history = [
        FolderHistory(found)
        for found in folder.rglob("*history*")
        if found.is_dir() and (found / "objects").is_dir()
    ]
    kept = [
        data
        for one in history
        for each in one.list_changes()
        for path in each.paths
        if (data := one.read_file(path, each.id))
    ]
    return any(
        words in data
        for data in [*kept, *(path.read_bytes() for path in folder.rglob("*") if path.is_file())]
    )


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.covers("AM-10")
def test_looking_at_a_history_that_is_not_there_makes_none(where: MemoryLayout) -> None:
    """A reader must not begin an empty history in the place where a writer is about to put the real
    one.
    """
    history = FolderHistory(where.history)

    assert (history.list_changes(), history.map_paths_to_blob_ids()) == ([], {})
    assert history.find_changes("abc") == []
    assert not where.history.exists()


@pytest.mark.covers("SF-5", "RO-5")
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 6])
def test_a_purge_that_is_killed_at_any_step_loses_no_history_and_leaves_no_copy(
    folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """What was half-way is finished by whoever writes next; asked again, nothing of the forgotten
    text is left and the rest is whole.
    """
    put(folder, "keep.md", memory("keep"), what="first")
    put(folder, "secret.md", memory("secret", "the-hidden-words"))
    put(folder, "keep.md", memory("keep", "Newer."), before=memory("keep"), what="third")
    steps = 0

    def killing(plain: object) -> object:
        def wrapped(*given: object, **named: object) -> object:
            nonlocal steps
            steps += 1
            if steps == step:
                raise Killed
            assert callable(plain)
            return plain(*given, **named)

        return wrapped

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killing(Path.rename))
        patched.setattr(shutil, "rmtree", killing(shutil.rmtree))
        with contextlib.suppress(Killed):
            folder.purge(["secret.md"])
    folder.close()

    again = MemoryFolder(
        folder.layout, files=DiskFiles(), clock=FrozenClock(), settings=AutoMemorySettings()
    )
    again.headers()
    assert {"first", "third"} <= {each.why.what for each in again.history.list_changes()}
    again.purge(["secret.md"])
    assert {"first", "third"} <= {each.why.what for each in again.history.list_changes()}
    assert not on_disk(folder.layout.state.parent, b"the-hidden-words")
    assert (
        sorted(path.name for path in folder.layout.state.iterdir() if path.name.startswith("."))
        == []
    )


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("built", [True, False])
def test_a_replacement_is_finished_or_undone(tmp_path: Path, built: bool) -> None:
    """Between the two renames there is no folder in the place: the one that was built takes it; one
    that is half-built never does.
    """
    place = tmp_path / "history"
    if built:
        (tmp_path / ".history-old").mkdir()
        disk_files.make_folder_staging_path(place).mkdir()
        (disk_files.make_folder_staging_path(place) / "new").touch()
    else:
        place.mkdir()
        (place / "old").touch()
        disk_files.make_folder_staging_path(place).mkdir()

    disk_files.finish_or_undo_folder_replacement(place)

    assert [path.name for path in place.iterdir()] == ["new" if built else "old"]
    assert [path.name for path in tmp_path.iterdir()] == ["history"]


@pytest.mark.covers("SF-4")
def test_another_process_writes_on_after_the_history_was_rewritten(folder: MemoryFolder) -> None:
    """A session that has the old history open records into the new one, and brings nothing of the
    old one back.
    """
    put(folder, "a.md", memory("a", "the-hidden-words"))
    other = MemoryFolder(
        folder.layout, files=DiskFiles(), clock=FrozenClock(), settings=AutoMemorySettings()
    )
    put(other, "b.md", memory("b"))

    folder.purge(["a.md"])
    put(other, "c.md", memory("c"), what="after")

    assert other.history.list_changes(limit=1)[0].why.what == "after"
    assert sorted(other.history.map_paths_to_blob_ids()) == ["MEMORY.md", "b.md", "c.md"]
    assert not on_disk(folder.layout.state.parent, b"the-hidden-words")


@pytest.mark.covers("AM-10")
def test_what_was_taken_back_stays_so_after_another_memory_is_forgotten_for_good(
    auto: AutoMemory,
) -> None:
    """The changes get new ids when the history is written anew; which one took back which is
    carried over.
    """
    put(auto.folder, "a.md", memory("a"), what="a")
    put(auto.folder, "b.md", memory("b"), what="b")
    put(auto.folder, "c.md", memory("c"), what="c")
    assert auto.undo().why.what == "c"

    auto.purge(["a.md"])

    assert auto.undo().why.what == "b"
    with pytest.raises(NothingToDo):
        auto.undo()


@pytest.mark.covers("AM-10")
def test_an_undo_that_is_taken_back_counts_no_more(auto: AutoMemory) -> None:
    """Undone, redone: the change stands again, and is the next to be taken back."""
    put(auto.folder, "a.md", memory("a"), what="a")
    put(auto.folder, "b.md", memory("b"), what="b")
    auto.undo()
    auto.undo(auto.folder.history.list_changes(limit=1)[0].id)
    assert [head.path for head in auto.headers()] == ["a.md", "b.md"]

    assert auto.undo().why.what == "b"
    assert auto.undo().why.what == "a"
    assert auto.headers() == []


@pytest.mark.covers("AM-10", "SF-5")
def test_an_undo_that_is_killed_before_it_is_recorded_is_recorded_as_one(
    auto: AutoMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next scan records it with what it took back, so that the next undo goes on from there and
    does not do it again.
    """
    put(auto.folder, "a.md", memory("a"), what="a")
    put(auto.folder, "b.md", memory("b"), what="b")

    def killed(*_: object, **__: object) -> str:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(FolderHistory, "record_change", killed)
        with pytest.raises(Killed):
            auto.undo()
    again = AutoMemory(
        auto.layout, files=DiskFiles(), clock=FrozenClock(), settings=AutoMemorySettings()
    )

    assert again.undo().why.what == "a"
    assert again.headers() == []


@pytest.mark.covers("AM-10")
def test_an_import_and_a_deletion_are_taken_back_whole(auto: AutoMemory) -> None:
    """Many files in one change come back in one step, and so does what was deleted."""
    many = [
        MemoryChange(path=f"m{number}.md", before=None, after=memory(f"m{number}"))
        for number in range(30)
    ]
    auto.folder.apply_changes(many, ChangeReason(actor="import", what="import"))
    auto.forget(["m1.md", "m2.md"], ChangeReason(actor="user", what="forget"))

    auto.undo()
    assert len(auto.headers()) == 30
    auto.undo()
    assert auto.headers() == []


@pytest.mark.covers("AM-10")
def test_a_log_looks_at_no_tree(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which files a change touched stands in its message: two thousand changes of two thousand
    files are not compared file by file.
    """
    for number in range(5):
        put(folder, f"m{number}.md", memory(f"m{number}"))
    put(folder, "ä b.md", memory("umlaut"))
    expected = [each.paths for each in folder.history.list_changes()]
    folder.close()

    def no_look(*_: object) -> dict[str, str]:
        raise AssertionError("a tree was read")

    monkeypatch.setattr("memorist.auto_memory.memory_history.map_tree_paths_to_blob_ids", no_look)

    assert [each.paths for each in folder.history.list_changes()] == expected
    assert expected[0] == ("MEMORY.md", "ä b.md")
    assert len(folder.history.list_changes("m3.md")) == 1


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO])
def test_a_history_that_cannot_be_read_for_a_while_is_not_moved_aside(
    folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As where a server has too many files open: the change fails and can be repeated, and the
    history still says what the user's own word is.
    """
    put(folder, "a.md", memory("a"))
    folder.close()

    def refuse(_path: str) -> object:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr("memorist.auto_memory.memory_history.repo.Repo", refuse)
        with pytest.raises(StoreError):
            put(folder, "b.md", memory("b"))
    put(folder, "b.md", memory("b"))

    assert len(folder.history.list_changes()) == 2
    assert not folder.layout.history.with_name("history.damaged").exists()
    assert not folder.has_untrusted_origin("a.md")


@pytest.mark.covers("SF-5", "AM-10")
def test_where_a_history_was_deleted_all_is_recorded_again_and_no_undo_takes_it_out(
    folder: MemoryFolder,
) -> None:
    """A later process knew nothing of the loss: it recorded its own change alone. What another
    program changed meanwhile is its own, since nothing tells what was there.
    """
    stated = memory("x").replace(b"type: project", b"type: project\nmemorist:\n  trust: stated")
    for name in ("a", "b"):
        put(folder, f"{name}.md", stated)
    folder.close()
    shutil.rmtree(folder.layout.history)
    (folder.layout.folder / "b.md").write_bytes(stated.replace(b"Text.", b"Other words."))
    later = folder.clone_for_thread()
    put(later, "c.md", memory("c"))

    assert set(later.history.map_paths_to_blob_ids()) >= {"a.md", "b.md", "c.md"}
    assert [later.has_untrusted_origin(f"{name}.md") for name in "abc"] == [False, True, False]
    inbox = Inbox(later.layout, DiskFiles())
    for _ in "cb":
        newest = find_newest_change_to_undo(later.history)
        assert newest is not None
        undo_recorded_change(later, None, newest, inbox=inbox, now=0.0)
    assert find_newest_change_to_undo(later.history) is None
    assert (folder.layout.folder / "a.md").is_file()


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("harm", ["empty objects", "no objects", "bad branch"])
def test_a_damaged_history_is_moved_aside_and_memory_goes_on(
    folder: MemoryFolder, harm: str
) -> None:
    """A power cut may leave empty files. Reading says so in a sentence; the next change begins a
    new history with everything that is there, and what the user stated is their word still.
    """
    put(folder, "a.md", memory("a"))
    folder.close()
    if harm == "bad branch":
        (folder.layout.history / "refs/heads/main").write_bytes(b"\0garbage")
    for path in (folder.layout.history / "objects").rglob("*"):
        if path.is_file() and harm != "bad branch":
            path.chmod(0o600)
            path.write_bytes(b"") if harm == "empty objects" else path.unlink()

    with pytest.raises(StoreError, match="damaged"):
        folder.history.list_changes()
    put(folder, "b.md", memory("b"))

    assert sorted(folder.history.map_paths_to_blob_ids()) == ["MEMORY.md", "a.md", "b.md"]
    assert [folder.has_untrusted_origin(path) for path in ("a.md", "b.md")] == [False, False]
    assert folder.layout.history.with_name("history.damaged").is_dir()
    folder.purge(["a.md"])
    assert not any(
        path.is_file() for path in folder.layout.history.with_name("history.damaged").rglob("*")
    )


@pytest.mark.covers("SF-4", "RO-5")
def test_others_write_on_while_a_history_is_written_anew(
    folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's lock is free while the changes are copied; what comes meanwhile is in the new
    history, the forgotten file in none of it.
    """
    put(folder, "keep.md", memory("keep"), what="first")
    put(folder, "a.md", memory("a", "the-hidden-words"))
    other = folder.clone_for_thread()
    write, calls = HistoryRewrite.copy_new_changes, 0

    def interrupted(self: HistoryRewrite) -> None:
        nonlocal calls
        write(self)
        calls += 1
        if calls == 1:
            put(other, "b.md", memory("b"), what="meanwhile")
            put(
                other,
                "a.md",
                memory("a", "the-hidden-words, again"),
                before=memory("a", "the-hidden-words"),
            )

    monkeypatch.setattr(HistoryRewrite, "copy_new_changes", interrupted)
    assert folder.purge(["a.md"]) == 2

    assert {"first", "meanwhile"} <= {each.why.what for each in folder.history.list_changes()}
    assert sorted(folder.history.map_paths_to_blob_ids()) == ["MEMORY.md", "b.md", "keep.md"]
    assert not (folder.layout.folder / "a.md").exists()
    assert not on_disk(folder.layout.state.parent, b"the-hidden-words")


@pytest.mark.covers("SF-5", "RO-5")
def test_a_rewriting_that_is_killed_is_thrown_away_by_the_next(
    folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the lock is taken nothing is touched: the old history is whole, and what was built of
    the new one goes.
    """
    for number in range(7):
        put(folder, f"m-{number}.md", memory(f"m-{number}"), what=f"change {number}")
    put(folder, "a.md", memory("a", "the-hidden-words"))
    before = [each.id for each in folder.history.list_changes()]
    monkeypatch.setattr("memorist.auto_memory.history_rewrite.CHANGES_PER_PACK", 3)
    write, calls = HistoryRewrite._write_batch, 0

    def killing(self: HistoryRewrite, commits: Sequence[Commit]) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Killed
        write(self, commits)

    with monkeypatch.context() as patched:
        patched.setattr(HistoryRewrite, "_write_batch", killing)
        with pytest.raises(Killed):
            folder.purge(["a.md"])

    assert [each.id for each in folder.clone_for_thread().history.list_changes()] == before
    assert folder.clone_for_thread().headers() == folder.headers()
    assert folder.purge(["a.md"]) == 1
    assert {f"change {number}" for number in range(7)} <= {
        each.why.what for each in folder.history.list_changes()
    }
    assert [path.name for path in folder.layout.state.iterdir() if path.name.startswith(".")] == []
    assert not on_disk(folder.layout.state.parent, b"the-hidden-words")


@pytest.mark.covers("AM-10", "RO-5")
def test_a_rewritten_history_is_sound_git(folder: MemoryFolder) -> None:
    """Every object is as Git wants it and under its right name, folders included; a folder that
    held nothing else is gone.
    """
    put(folder, "rules/deep/keep.md", memory("keep"), what="first")
    put(folder, "rules/gone.md", memory("gone"))
    put(folder, "lone/gone.md", memory("gone"))
    put(folder, "z.md", memory("z"))

    assert folder.purge(["rules/gone.md", "lone/gone.md"]) == 2

    repository = Repo(str(folder.layout.history))
    for id in repository.object_store:
        repository.object_store[id].check()
    repository.close()
    assert sorted(folder.history.map_paths_to_blob_ids()) == [
        "MEMORY.md",
        "rules/deep/keep.md",
        "z.md",
    ]
    assert not [
        each for each in folder.history.list_changes() if any("gone" in path for path in each.paths)
    ]


@pytest.mark.covers("RO-5")
def test_forgetting_for_good_judges_no_other_file_again(
    folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the lock the other files are looked at, and not read."""
    for number in range(3):
        put(folder, f"m-{number}.md", memory(f"m-{number}"))
    monkeypatch.setattr(
        "memorist.auto_memory.memory_scan.find_memory_suspicions",
        lambda *given: pytest.fail(f"judged {given[0].path}"),
    )

    folder.purge(["m-1.md"])

    assert [head.path for head in folder.headers()] == ["m-0.md", "m-2.md"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full disk")
def test_a_full_disk_is_one_error_and_leaves_no_lock(
    folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of the Git library wrote on when they were collected: a traceback was printed below
    the message, and a lock stayed.
    """
    put(folder, "a.md", memory("a"))
    printed: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", printed.append)
    with monkeypatch.context() as full:
        flags = os.O_WRONLY
        fdopen = os.fdopen
        full.setattr(
            "dulwich.file.os.fdopen", lambda _, *given: fdopen(os.open("/dev/full", flags), *given)
        )
        with pytest.raises(StoreError, match="full"):
            folder.history.record_change({"b.md": b"b"}, ChangeReason(actor="user", what="b"), 1.0)
    gc.collect()
    assert not printed
    assert not [*folder.history.path.rglob("*.lock")]
    put(folder, "c.md", memory("c"))
    assert folder.history.read_file("c.md", folder.history.find_newest_change_id())
