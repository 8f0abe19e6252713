"""Files on the disk: atomic writes, and lines streamed in bounded memory."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import StoreError, UnreadableSession, WriteConflict
from memorist.formats.transcript_format import RawTranscriptLine
from memorist.platforms import file_locks
from memorist.ports import FileSystem
from memorist.store.disk_files import DiskFiles, convert_os_error_to_store_error, make_folders
from memorist.store.transcript_reader import UnpackedUtf8Lines

FILES: FileSystem = DiskFiles()


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.covers("SF-4")
def test_a_write_makes_private_folders_and_a_private_file(tmp_path: Path) -> None:
    """Missing folders are 0700 and the file 0600, whatever the umask; nothing else is left beside
    it.
    """
    path = tmp_path / "a" / "b" / "notes.md"
    old = os.umask(0)
    try:
        FILES.write(path, b"one")
    finally:
        os.umask(old)
    assert FILES.read(path) == b"one"
    assert (mode(path), mode(path.parent), mode(path.parent.parent)) == (0o600, 0o700, 0o700)
    assert [entry.name for entry in path.parent.iterdir()] == ["notes.md"]


@pytest.mark.covers("SF-4")
def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    """A name that the system refuses costs nothing of what was there."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="folder"):
        FILES.write(tmp_path / "folder", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(StoreError, match="too long"):
        FILES.write(tmp_path / ("n" * 300), b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.covers("SF-4")
def test_a_longest_name_can_be_written(tmp_path: Path) -> None:
    """The temporary name does not grow with the name."""
    path = tmp_path / ("n" * 255)
    FILES.write(path, b"x")
    assert FILES.read(path, limit=5) == b"x"


@pytest.mark.covers("SF-4")
def test_a_changed_file_is_not_overwritten(tmp_path: Path) -> None:
    """With `expect` the present bytes decide; a file that is gone counts as changed."""
    path = tmp_path / "f"
    FILES.write(path, b"one")
    FILES.write(path, b"two", expect=b"one")
    with pytest.raises(WriteConflict, match="read it again"):
        FILES.write(path, b"three", expect=b"one")
    assert FILES.read(path) == b"two"
    FILES.remove(path)
    with pytest.raises(WriteConflict, match="is gone"):
        FILES.write(path, b"three", expect=b"two")
    assert FILES.lstat(path) is None


def _race(path: Path, start: threading.Barrier, wins: list[int], me: int) -> None:
    start.wait()
    try:
        DiskFiles().write(path, b"%d" % me, expect=b"start")
    except WriteConflict:
        return
    wins.append(me)


@pytest.mark.covers("SF-4")
def test_of_many_writers_that_expect_the_same_one_wins(tmp_path: Path) -> None:
    """Compare and write are one step."""
    path = tmp_path / "f"
    for _ in range(5):
        FILES.write(path, b"start")
        wins: list[int] = []
        start = threading.Barrier(8)
        writers = [threading.Thread(target=_race, args=(path, start, wins, me)) for me in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(timeout=30)
        assert len(wins) == 1
        assert FILES.read(path) == b"%d" % wins[0]


ADD_ONE = """
import sys
from pathlib import Path
from memorist.errors import WriteConflict
from memorist.store.disk_files import DiskFiles
files, path, left = DiskFiles(), Path(sys.argv[1]), 25
while left:
    before = files.read(path)
    try:
        files.write(path, b"%d" % (int(before) + 1), expect=before)
    except WriteConflict:
        continue
    left -= 1
"""


@pytest.mark.covers("SF-4")
def test_two_processes_lose_no_update(tmp_path: Path) -> None:
    """Each repeats on a conflict; the sum is right at the end."""
    path = tmp_path / "count"
    FILES.write(path, b"0")
    workers = [subprocess.Popen([sys.executable, "-c", ADD_ONE, str(path)]) for _ in range(2)]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    assert FILES.read(path) == b"50"


@pytest.mark.covers("SF-4")
@pytest.mark.parametrize("refusal", [None, errno.EPERM, errno.EOPNOTSUPP])
def test_create_takes_only_a_free_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int | None
) -> None:
    """The second of two is told that there is one already, also where a link that leads nowhere has
    the name; and where the disk has no hard links.
    """

    def refuse(*_: object) -> None:
        raise OSError(refusal, "no hard links")

    if refusal is not None:
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "sub" / "f"
    assert FILES.create(path, b"one")
    assert not FILES.create(path, b"two")
    assert FILES.read(path) == b"one"
    assert mode(path) == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert not FILES.create(tmp_path / "link", b"x")
    assert sorted(each.name for each in path.parent.iterdir()) == ["f"]


@pytest.mark.covers("SF-4")
def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    """Whoever plants a link cannot turn a write elsewhere."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"safe")
    link.symlink_to(target)
    FILES.write(link, b"new")
    assert target.read_bytes() == b"safe"
    assert not link.is_symlink()


@pytest.mark.covers("SF-4")
def test_facts_tell_what_is_there_without_following_links(tmp_path: Path) -> None:
    """Size, time and kind of a file, a folder and a link; None for nothing, also below a file."""
    (tmp_path / "f").write_bytes(b"abc")
    (tmp_path / "l").symlink_to(tmp_path / "f")
    found = FILES.lstat(tmp_path / "f")
    assert found is not None
    assert (found.size, found.is_file, found.is_folder, found.is_link) == (3, True, False, False)
    assert found.modified_ns == (tmp_path / "f").stat().st_mtime_ns
    folder, link = FILES.lstat(tmp_path), FILES.lstat(tmp_path / "l")
    assert folder is not None
    assert folder.is_folder
    assert link is not None
    assert link.is_link
    assert FILES.lstat(tmp_path / "none") is None
    assert FILES.lstat(tmp_path / "f" / "below") is None


@pytest.mark.covers("SF-4")
def test_paths_are_resolved_as_far_as_they_exist(tmp_path: Path) -> None:
    """Links and `..` go; what does not exist stays; a loop of links is an error."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert FILES.resolve(tmp_path / "link" / "new" / "x") == tmp_path / "real" / "new" / "x"
    assert FILES.resolve(tmp_path / "link" / ".." / "other") == tmp_path / "other"
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(StoreError, match="loop"):
        FILES.resolve(tmp_path / "a" / "x")


class _Killed(BaseException):
    """The process ends here."""


@pytest.mark.covers("SF-4")
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from(["write", "create"]),
            st.sampled_from([None, "fsync", "replace", "link"]),
        ),
        max_size=8,
    )
)
def test_the_next_write_takes_what_a_killed_one_left(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str | None]]
) -> None:
    """At any step and for any file of the folder; a file holds what was written last or before."""
    folder = tmp_path_factory.mktemp("kills")
    content: dict[str, bytes] = {}

    def kill(*_: object, **__: object) -> None:
        raise _Killed

    for number, (name, way, killed_at) in enumerate(steps):
        data = str(number).encode()
        with pytest.MonkeyPatch.context() as patch:
            if killed_at == "replace":
                patch.setattr(Path, "replace", kill)
            elif killed_at:
                patch.setattr(os, killed_at, kill)
            with contextlib.suppress(_Killed):
                if way == "write":
                    FILES.write(folder / name, data)
                    content[name] = data
                elif FILES.create(folder / name, data):
                    content[name] = data
    FILES.write(folder / "last", b"")

    found = {each.name: each.read_bytes() for each in folder.iterdir()}
    assert found == content | {"last": b""}


@pytest.mark.covers("SF-4")
def test_walk_lists_files_sorted_and_leaves_out_unfinished_writes(tmp_path: Path) -> None:
    """Links are listed and not entered."""
    for name in ("b/2", "b/1", "a", ".memorist-0a.tmp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in FILES.walk(tmp_path)] == [
        "a",
        "b/1",
        "b/2",
        "loop",
    ]
    with pytest.raises(FileNotFoundError):
        FILES.walk(tmp_path / "none")


@pytest.mark.covers("SF-4")
def test_what_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    """Reading and deleting nothing is FileNotFoundError; a folder in a file's place is StoreError."""
    with pytest.raises(FileNotFoundError):
        FILES.read(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        FILES.remove(tmp_path / "none")
    with pytest.raises(StoreError, match="folder"):
        FILES.read(tmp_path)
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(StoreError, match="Cannot make"):
        make_folders(tmp_path / "f" / "sub")
    with pytest.raises(StoreError, match="too long"):
        make_folders(tmp_path / ("x" * 5_000))


@pytest.mark.covers("SF-4", "SF-5")
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free space"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission is denied"),
        (errno.EPIPE, "Broken pipe"),
    ],
)
def test_what_the_system_refuses_is_one_sentence_with_advice(number: int, advice: str) -> None:
    """The path, the cause and what to do."""
    sentence = str(
        convert_os_error_to_store_error(
            "write", Path("/some/file"), OSError(number, os.strerror(number))
        )
    )
    assert sentence.startswith("Cannot write /some/file: ")
    assert advice in sentence


def raw_lines(path: Path, limit: int = 1000) -> list[RawTranscriptLine]:
    """What UnpackedUtf8Lines yields."""
    return list(UnpackedUtf8Lines(path, limit))


@pytest.mark.covers("FM-6")
@given(
    st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=10),
    st.booleans(),
)
def test_lines_are_those_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool
) -> None:
    """Whatever the bytes, plain and compressed, bounded and not, the lines joined are the file."""
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    if data.startswith(
        (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x28\xb5\x2f\xfd", b"\0\0\xfe\xff")
    ):
        return
    folder = tmp_path_factory.mktemp("lines")
    (folder / "plain").write_bytes(data)
    (folder / "packed").write_bytes(zstandard.compress(data))
    expected = [RawTranscriptLine(number, line) for number, line in enumerate(data.split(b"\n"), 1)]
    for found in (
        raw_lines(folder / "plain"),
        raw_lines(folder / "plain", 40),
        raw_lines(folder / "packed"),
    ):
        assert b"".join(line.data for line in found) == data
        assert [line.number for line in found] == list(range(1, len(found) + 1))
        assert [line.data.rstrip(b"\n") for line in found] == [
            line.data for line in expected[: len(found)]
        ]


@pytest.mark.covers("FM-6")
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_over_the_limit_is_named_and_its_neighbours_are_read(
    tmp_path: Path, packed: bool
) -> None:
    """Too long a line has no bytes and a reason; the limit itself still fits."""
    path = tmp_path / "f"
    data = b"a\n" + b"x" * 100 + b"\r\n" + b"y" * 101 + b"\n" + b"z" * 5000 + b"\nb"
    path.write_bytes(zstandard.compress(data) if packed else data)
    assert raw_lines(path, 100) == [
        RawTranscriptLine(1, b"a\n"),
        RawTranscriptLine(2, b"x" * 100 + b"\r\n"),
        RawTranscriptLine(3, b"", "it is longer than 100 bytes"),
        RawTranscriptLine(4, b"", "it is longer than 100 bytes"),
        RawTranscriptLine(5, b"b"),
    ]


@pytest.mark.covers("FM-3", "FM-4")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_a_byte_order_mark_decides_the_encoding(tmp_path: Path, encoding: str) -> None:
    """UTF-8, UTF-16 and UTF-32 with a mark all come as UTF-8 without one."""
    path = tmp_path / "f"
    mark = "\ufeff" if encoding.endswith("-be") else ""
    path.write_bytes(f"{mark}één\nzwei".encode(encoding))
    assert [line.data.decode() for line in UnpackedUtf8Lines(path)] == ["één\n", "zwei"]


@pytest.mark.covers("FM-4")
def test_a_damaged_compressed_file_gives_what_is_sound(tmp_path: Path) -> None:
    """The lines before the damage come, then the reason; several frames are one file."""
    path = tmp_path / "f"
    path.write_bytes(zstandard.compress(b"one\n") + zstandard.compress(b"two\n"))
    assert [line.data for line in UnpackedUtf8Lines(path)] == [b"one\n", b"two\n"]
    lines = [random.Random(number).randbytes(500).hex().encode() + b"\n" for number in range(1000)]
    packed = bytearray(zstandard.compress(b"".join(lines)))
    packed[len(packed) * 3 // 4] ^= 0xFF
    packed[len(packed) * 3 // 4 + 1 :] = b"\xff" * 100_000
    path.write_bytes(packed)
    found = list(UnpackedUtf8Lines(path))
    assert found[-1].problem == "the compressed data is damaged from here on"
    assert len(found) > 300
    assert [line.data for line in found[:-2]] == lines[: len(found) - 2]
    path.write_bytes(zstandard.compress(b"one\n")[:6] + b"rubbish")
    with pytest.raises(UnreadableSession, match="damaged compressed file"):
        list(UnpackedUtf8Lines(path))


@pytest.mark.covers("FM-3")
def test_a_file_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    """A missing file, a folder, and a part of the path that is a file."""
    (tmp_path / "f").write_bytes(b"")
    for path, said in (
        (tmp_path / "none", "no file"),
        (tmp_path, "is a folder"),
        (tmp_path / "f" / "x", "cannot be read"),
    ):
        with pytest.raises(UnreadableSession, match=said) as caught:
            list(UnpackedUtf8Lines(path))
        assert str(path) in str(caught.value)


@pytest.mark.covers("FM-6")
def test_lines_can_be_gone_through_again(tmp_path: Path) -> None:
    """Every pass starts at the beginning, also after one that was left in the middle."""
    path = tmp_path / "f"
    path.write_bytes(b"a\nb\n")
    lines = UnpackedUtf8Lines(path)
    first = iter(lines)
    assert next(first).data == b"a\n"
    assert [line.data for line in lines] == [b"a\n", b"b\n"]
    assert next(first).data == b"b\n"


@pytest.mark.skipif(not file_locks.HAS_FLOCK, reason="the lock is held by what POSIX has")
def test_a_write_does_not_wait_for_a_stopped_process_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says who may hold the lock, and the next write works once it is released."""
    monkeypatch.setattr(file_locks, "MAX_LOCK_WAIT_SECONDS", 0.05)
    holder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert file_locks.try_lock(holder)
        with pytest.raises(StoreError, match="another process, perhaps a stopped one"):
            FILES.write(tmp_path / "notes.md", b"one")
    finally:
        os.close(holder)
    FILES.write(tmp_path / "notes.md", b"two")
    assert (tmp_path / "notes.md").read_bytes() == b"two"


def test_a_line_that_the_disk_takes_half_of_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that has room for a part says so by a number alone; the half would run into the next
    line.
    """
    path = tmp_path / "ids"
    FILES.append(path, b"one\n")
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda to, data: write(to, data[:2]))
        with pytest.raises(StoreError, match="ids"):
            FILES.append(path, b"two\n")
    FILES.append(path, b"three\n")

    assert path.read_bytes() == b"one\nthree\n"
