"""The last accepted state of the folder, the difference to it, and the folder itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.errors import StoreError, WriteConflict
from memorist.rollouts.accepted_folder_state import AcceptedFolderState
from memorist.rollouts.folder_changes import (
    PendingFolderChange,
    apply_recorded_folder_change,
    compare_folders,
    record_pending_folder_change,
    render_difference,
)
from memorist.rollouts.rollout_folder import MAX_FILE_BYTES, read_memory_folder, write_user_note
from memorist.store.disk_files import DiskFiles, remove_if_exists

FILES = {
    "MEMORY.md": b"one\n",
    "rollout_summaries/a.md": b"two\n",
    "skills/x/SKILL.md": b"\xff three",
}
DISK = DiskFiles(durable=False)


def raw_bytes(folder: Path) -> bytes:
    import zlib

    found = b""
    for path in sorted(folder.parent.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found += data
            try:
                found += zlib.decompress(data)
            except zlib.error:
                continue
    return found


@pytest.mark.covers("RO-5")
def test_what_was_accepted_is_there_again(tmp_path: Path) -> None:
    """Any bytes, any depth; a new state takes the place of the old one, and none is none."""
    baseline = AcceptedFolderState(tmp_path / "state" / "baseline")

    assert baseline.read_files() == {}
    baseline.save_accepted_files(FILES, 1.0)
    assert AcceptedFolderState(baseline.path).read_files() == FILES
    baseline.save_accepted_files({}, 2.0)
    assert AcceptedFolderState(baseline.path).read_files() == {}


@pytest.mark.covers("RO-5")
def test_text_that_was_taken_out_stands_nowhere_any_more(tmp_path: Path) -> None:
    """Neither plain nor packed, in any file beside the folder."""
    baseline = AcceptedFolderState(tmp_path / "state" / "baseline")
    baseline.save_accepted_files({"MEMORY.md": b"a telling word: rhubarb\n"}, 1.0)
    assert b"rhubarb" in raw_bytes(baseline.path)

    baseline.save_accepted_files({"MEMORY.md": b"another\n"}, 2.0)

    assert b"rhubarb" not in raw_bytes(baseline.path)


@pytest.mark.covers("RO-5", "SF-5")
@pytest.mark.parametrize("harm", ["empty", "noise", "gone"])
def test_a_damaged_state_is_made_anew_and_said(tmp_path: Path, harm: str) -> None:
    """Whichever file of it is torn, the next look finds none, says why, and leaves no damaged copy
    with old text beside it.
    """
    for number in range(12):
        baseline = AcceptedFolderState(tmp_path / str(number) / "baseline")
        baseline.save_accepted_files(FILES, 1.0)
        files = sorted(path for path in baseline.path.rglob("*") if path.is_file())
        torn = files[number % len(files)]
        torn.chmod(0o600)
        if harm == "gone":
            torn.unlink()
        else:
            torn.write_bytes(b"" if harm == "empty" else b"\x00garbage")

        found = baseline.read_files()

        assert found == ({} if baseline.damaged else FILES)
        assert not (tmp_path / str(number) / "baseline.damaged").exists()
        baseline.save_accepted_files(FILES, 2.0)
        assert AcceptedFolderState(baseline.path).read_files() == FILES


TREES = st.dictionaries(
    st.sampled_from(["a.md", "b/c.md", "d.md"]),
    st.binary(max_size=60) | st.sampled_from([b"a\nb\nc\n", b"a\nx\nc\n"]),
)


@pytest.mark.covers("RO-5")
@settings(deadline=None)
@given(TREES, TREES, st.integers(0, 400))
def test_the_difference_names_every_file_and_stays_within_its_bound(
    before: dict[str, bytes], after: dict[str, bytes], most: int
) -> None:
    """Added, changed, removed, each once; nothing where nothing differs; never more bytes than
    asked for.
    """
    found = compare_folders(before, after)
    text = render_difference(before, after)

    assert found.paths == {
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    }
    assert [
        line[2:] for line in text.split("\n") if line[:4] in ("- A ", "- M ", "- D ")
    ] == sorted(
        f"{'A' if path in found.added else 'M' if path in found.changed else 'D'} {path}"
        for path in found.paths
    ) or len(found.paths) > 1
    assert bool(found) == ("- none" not in text.split("\n"))
    assert len(render_difference(before, after, max_bytes=most).encode()) <= most


@pytest.mark.covers("RO-5", "SF-5")
def test_a_huge_difference_is_cut_and_says_so() -> None:
    """Ten megabytes of new lines come to four; a file with very many lines is told by their number."""
    text = render_difference({}, {f"{n}.md": b"y" * 100_000 + b"\n" for n in range(100)})

    assert len(text.encode()) <= 4 * 1024 * 1024
    assert "cut here" in text
    assert "too many to show" in render_difference({}, {"a.md": b"x\n" * 30_000})


@pytest.mark.covers("RO-5", "SF-4")
@pytest.mark.parametrize("where", ["folder", "file", "below", "broken"])
def test_links_are_refused(tmp_path: Path, where: str) -> None:
    """A link in the folder's place, to a file, to a folder, to nothing: the sentence says what to
    remove, and nothing is read.
    """
    folder, other = tmp_path / "memories", tmp_path / "other"
    other.mkdir()
    (other / "secret.md").write_text("secret")
    if where == "folder":
        folder.symlink_to(other)
    else:
        folder.mkdir()
        target = {"file": other / "secret.md", "below": other, "broken": tmp_path / "none"}[where]
        (folder / "rollout_summaries").mkdir()
        (folder / "rollout_summaries" / "x.md").symlink_to(target)

    with pytest.raises(StoreError, match=r"link"):
        read_memory_folder(DISK, folder)


@pytest.mark.covers("RO-5")
def test_only_markdown_of_a_sane_size_is_read(tmp_path: Path) -> None:
    """Hidden files and others are no part of it; a huge one is passed over and named."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("x")
    (tmp_path / "run.sh").write_text("x")
    (tmp_path / "big.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "MEMORY.md").write_text("x")

    tree = read_memory_folder(DISK, tmp_path)

    assert tree.files == {"MEMORY.md": b"x"}
    assert tree.skipped[0].startswith("big.md")
    assert read_memory_folder(DISK, tmp_path / "none").files == {}


def test_notes_of_the_same_moment_do_not_overwrite_each_other(tmp_path: Path) -> None:
    """Each has a file of its own."""
    names = [
        write_user_note(
            DISK, tmp_path, "use pnpm", now="2025-11-22T10:00:00Z", group_title="everywhere"
        )
        for _ in range(3)
    ]

    assert len(set(names)) == 3
    assert set(read_memory_folder(DISK, tmp_path).files) == set(names)


@pytest.mark.covers("SF-4", "SF-5")
@pytest.mark.parametrize("broken_off", range(5))
def test_a_change_that_was_broken_off_is_finished(tmp_path: Path, broken_off: int) -> None:
    """After any number of its files: whoever comes next makes the rest, and the state to accept is
    the new one.
    """
    folder, journal = tmp_path / "m", tmp_path / "swap.json"
    before = {"a.md": b"1", "b.md": b"2", "c.md": None, "d.md": b"4"}
    after = {"a.md": b"11", "b.md": None, "c.md": b"33", "d.md": b"44"}
    for path, data in before.items():
        if data is not None:
            DISK.write(folder / path, data)
    accepted = {path: data for path, data in after.items() if data is not None}
    record_pending_folder_change(
        DISK, folder, journal, PendingFolderChange(before=before, after=after, accepted=accepted)
    )
    for path in sorted(after)[:broken_off]:
        data = after[path]
        if data is None:
            DISK.remove(folder / path)
        else:
            DISK.write(folder / path, data)

    assert apply_recorded_folder_change(DISK, folder, journal) == accepted
    assert read_memory_folder(DISK, folder).files == accepted
    remove_if_exists(DISK, journal)
    assert apply_recorded_folder_change(DISK, folder, journal) is None


@pytest.mark.covers("SF-4")
def test_somebody_elses_change_is_left_and_seen_as_theirs(tmp_path: Path) -> None:
    """Before the change begins it is a conflict, and nothing is written. After that, theirs stays,
    and the state before is what is accepted of it.
    """
    folder, journal = tmp_path / "m", tmp_path / "swap.json"
    swap = PendingFolderChange(
        before={"a.md": b"1", "b.md": b"2"},
        after={"a.md": b"11", "b.md": b"22"},
        accepted={"a.md": b"11", "b.md": b"22"},
    )
    DISK.write(folder / "a.md", b"1")
    DISK.write(folder / "b.md", b"theirs")

    with pytest.raises(WriteConflict):
        record_pending_folder_change(DISK, folder, journal, swap)
    assert not journal.exists()
    assert (folder / "a.md").read_bytes() == b"1"

    DISK.write(folder / "b.md", b"2")
    record_pending_folder_change(DISK, folder, journal, swap)
    DISK.write(folder / "b.md", b"theirs")
    assert apply_recorded_folder_change(DISK, folder, journal) == {"a.md": b"11", "b.md": b"2"}
    assert (folder / "b.md").read_bytes() == b"theirs"


@pytest.mark.covers("SF-5")
def test_a_torn_record_of_a_change_is_thrown_away(tmp_path: Path) -> None:
    """It was never whole, so nothing was begun."""
    journal = tmp_path / "swap.json"
    journal.write_bytes(b'{"before": {"a.md": null}, "aft')

    assert apply_recorded_folder_change(DISK, tmp_path / "m", journal) is None
    assert not journal.exists()
