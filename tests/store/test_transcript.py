"""The transcript on disk has one writer and survives a crash."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.core.messages import Message, Origin, TextBlock
from memorist.errors import StoreError
from memorist.formats.transcript_format import (
    SessionHead,
    SideRecord,
    TranscriptEntry,
    read_session,
)
from memorist.store import transcript_writer
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.store.transcript_writer import TranscriptWriter

HEAD = SessionHead(session="s", format="memorist")


def message(name: str) -> Message:
    """A short message."""
    return Message(
        id=name,
        role="user",
        blocks=(TextBlock(f"text of {name}"),),
        origin=Origin.USER,
        is_typed=True,
    )


def written(path: Path) -> list[TranscriptEntry]:
    """The transcript as read, its messages without their lines in it."""
    return [
        replace(each, line=0) if isinstance(each, Message) else each
        for each in read_session(UnpackedUtf8Lines(path))
    ]


@pytest.mark.covers("FM-5")
def test_what_was_appended_is_there_after_closing_and_opening_again(tmp_path: Path) -> None:
    """Two writers, one after the other, make one transcript; remarks on other files leave no line."""
    path = tmp_path / "p" / "transcript.jsonl"
    first = TranscriptWriter(path)
    assert first.is_new
    first.append(HEAD)
    first.append(message("a"))
    first.append(SideRecord("k", 1, b"{}"))
    first.close()
    first.close()
    second = TranscriptWriter(path)
    assert not second.is_new
    second.append(message("b"))
    second.close()
    assert written(path) == [HEAD, message("a"), message("b")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.covers("FM-5")
def test_a_flush_makes_the_entries_readable(tmp_path: Path) -> None:
    """Small appends wait in memory until they are flushed."""
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter(path)
    writer.append(HEAD)
    assert path.read_bytes() == b""
    writer.flush()
    assert written(path) == [HEAD]
    writer.close()


@pytest.mark.covers("FM-5")
def test_a_second_writer_is_refused_and_told_who_writes(tmp_path: Path) -> None:
    """In the same process and in another one; when the first is gone the name is free."""
    path = tmp_path / "t.jsonl"
    first = TranscriptWriter(path)
    with pytest.raises(StoreError, match="this process"):
        TranscriptWriter(path)
    code = (
        "import sys; from pathlib import Path; from memorist.store.transcript_writer import "
        "TranscriptWriter; TranscriptWriter(Path(sys.argv[1]))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert other.returncode == 1
    assert f"is being written by process {os.getpid()}" in other.stderr
    first.close()
    TranscriptWriter(path).close()


@pytest.mark.covers("FM-5")
def test_a_killed_writer_leaves_no_lock(tmp_path: Path) -> None:
    """The lock goes with its process, however that ends."""
    path = tmp_path / "t.jsonl"
    code = (
        "import os, sys; from pathlib import Path; from memorist.store.transcript_writer import "
        "TranscriptWriter\n"
        "writer = TranscriptWriter(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, timeout=60, check=False
    )
    assert killed.returncode == -9
    TranscriptWriter(path).close()


@pytest.mark.covers("FM-5")
@given(st.integers(min_value=1), st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")))
def test_a_torn_last_line_is_moved_aside(
    tmp_path_factory: pytest.TempPathFactory, cut: int, rubbish: bytes
) -> None:
    """Every whole line stays, the torn bytes are kept beside, and the next entry stands on a line
    of its own.
    """
    path = tmp_path_factory.mktemp("torn") / "t.jsonl"
    writer = TranscriptWriter(path)
    for entry in (HEAD, message("a"), message("b")):
        writer.append(entry)
    writer.close()
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    torn = last[: cut % (len(last) - 1)] + rubbish
    path.write_bytes(whole[: -len(last)] + torn)
    writer = TranscriptWriter(path)
    writer.append(message("c"))
    writer.close()
    assert written(path) == [HEAD, message("a"), message("c")]
    beside = path.with_name("t.jsonl.torn")
    assert (beside.read_bytes() if beside.exists() else b"\n") == torn + b"\n"


@pytest.mark.covers("FM-5")
def test_a_whole_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    """Only the end of line was lost: the record stays."""
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter(path)
    writer.append(HEAD)
    writer.append(message("a"))
    writer.close()
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    writer = TranscriptWriter(path)
    writer.append(message("b"))
    writer.close()
    assert written(path) == [HEAD, message("a"), message("b")]


@pytest.mark.covers("FM-5")
def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """A folder in the file's place is named, and the lock is let go."""
    path = tmp_path / "t.jsonl"
    path.mkdir()
    with pytest.raises(StoreError, match=r"t\.jsonl: it is a folder"):
        TranscriptWriter(path)
    path.rmdir()
    TranscriptWriter(path).close()


@pytest.mark.covers("FM-5", "SF-5")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_and_the_lock_is_let_go(tmp_path: Path) -> None:
    """Appending costs nothing yet; the flush and the close tell that the disk is full."""
    path = tmp_path / "t.jsonl"
    path.symlink_to("/dev/full")
    writer = TranscriptWriter(path)
    writer.append(HEAD)
    with pytest.raises(StoreError, match="the disk is full"):
        writer.flush()
    with pytest.raises(StoreError, match="the disk is full"):
        writer.close()
    path.unlink()
    TranscriptWriter(path).close()


@pytest.mark.covers("FM-5")
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), max_size=40))
def test_a_disk_that_refuses_costs_whole_lines_and_a_bounded_part_of_memory(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    """Whatever the disk takes of lines of any length, and when: the file holds whole lines in their
    order, and those that are missing were counted.
    """
    path = tmp_path_factory.mktemp("disk") / "events.jsonl"
    file = transcript_writer.RetryingAppendFile(os.open(path, os.O_RDWR | os.O_CREAT), path)
    room = 0
    whole = os.write

    def write(descriptor: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = whole(descriptor, bytes(data[:room]))
        room -= count
        return count

    lines = [b"%d:" % number + b"x" * length + b"\n" for number, (length, _) in enumerate(steps)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        patch.setattr(transcript_writer, "_WRITE_BUFFER", 20)
        patch.setattr(transcript_writer, "MAX_UNWRITTEN_BYTES", 60)
        for line, (_, more) in zip(lines, steps, strict=True):
            room += more
            file.append(line)
            assert len(file._unwritten) <= 60
        room = sum(map(len, lines))
        file.close()

    kept = path.read_bytes().splitlines(keepends=True)
    assert kept == [line for line in lines if line in kept]
    assert len(kept) + file.dropped_lines == len(lines)


@pytest.mark.covers("FM-5", "SM-14")
def test_the_newest_entry_is_in_no_file_before_the_next_one_or_a_flush(tmp_path: Path) -> None:
    """However long it is: what follows from a message (a memory of what it states) is done before
    the message counts as read, so that a process that is killed in between reads it again.
    """
    path = tmp_path / "transcript.jsonl"
    writer = TranscriptWriter(path)
    writer.append(HEAD)
    for name in ("first", "second"):
        text = f"{name} " * transcript_writer._WRITE_BUFFER
        writer.append(
            Message(
                id=name, role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
            )
        )

        assert f'"id":"{name}"'.encode() not in path.read_bytes()

    assert b'"id":"first"' in path.read_bytes()
    writer.close()
    assert [entry.id for entry in written(path) if isinstance(entry, Message)] == [
        "first",
        "second",
    ]
