"""A session file that is read while its agent writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from hooks.recordings import ClaudeFile, CodexFile, Recording, a_session
from memorist.core.messages import Message
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import SESSION_READERS
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RecordedLines,
    TranscriptEntry,
    TurnRollback,
    UsageReport,
)
from memorist.hooks import session_file_tail as tail
from memorist.hooks.session_file_tail import SessionFileTail
from support.sweeps import examples

FILES = (ClaudeFile, CodexFile)


class Reader:
    """Takes in what is new, as a session does."""

    def __init__(self, path: Path) -> None:
        self.tail = SessionFileTail(path)
        self.taken: list[object] = []

    @property
    def known(self) -> set[str]:
        return {entry.id for entry in self.taken if isinstance(entry, Message)}

    def read(self) -> None:
        self.taken += self.tail.read_new_entries(self.known).entries


def told(entries: list[object]) -> list[str]:
    """What was taken in, in order."""
    return [
        entry.id
        if isinstance(entry, Message | CompactionBoundary)
        else f"{type(entry).__name__} {getattr(entry, 'line', '')}"
        for entry in entries
    ]


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("always_from_a_turn", [False, True])
@given(
    held=st.integers(0, 40),
    cuts=st.lists(st.integers(0, 100_000), max_size=8),
    ends=st.sets(st.integers(0, 7)),
)
@examples(10, whole=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.covers("IN-2")
def test_a_file_that_grows_is_taken_in_once(
    kind: type[Recording],
    always_from_a_turn: bool,
    held: int,
    cuts: list[int],
    ends: set[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever the file ended at each reading, in the middle of a line too, all of it together is
    what one reading of the whole gives, however many entries are held.
    """
    if always_from_a_turn:
        monkeypatch.setattr(tail, "MAX_FULL_READ_BYTES", 0)
    data = b"".join(a_session(kind()).lines)
    path = tmp_path / "session.jsonl"
    monkeypatch.setattr(tail, "MAX_HELD_ENTRIES", held)
    reader = Reader(path)
    for number, cut in enumerate(sorted({min(cut, len(data)) for cut in cuts})):
        path.write_bytes(data[:cut])
        reader.read()
        if number in ends and data[:cut].endswith(b"\n"):
            reader.tail.skip_turns_before_last()
    path.write_bytes(data)
    reader.read()

    monkeypatch.setattr(tail, "MAX_HELD_ENTRIES", 500)
    at_once = Reader(path)
    at_once.read()

    assert told(reader.taken) == told(at_once.taken)
    assert len(at_once.known) > 10


@pytest.mark.parametrize("kind", FILES)
def test_a_long_session_is_read_from_the_last_turn_but_one(
    kind: type[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the size up to which a file is read whole, a reading begins where the turn before the
    newest ended.
    """
    monkeypatch.setattr(tail, "MAX_FULL_READ_BYTES", 0)
    file = kind()
    path = tmp_path / "session.jsonl"
    reader = Reader(path)
    sizes = []
    for turn in range(5):
        file.user(f"Question {turn}?")
        file.says("word " * 200)
        path.write_bytes(b"".join(file.lines))
        found = reader.tail.read_new_entries(reader.known)
        reader.taken += found.entries
        sizes.append(len(found.message_ids))
        reader.tail.skip_turns_before_last()

    # of the first reading no turns are known: the second begins near its end
    assert sizes == [2, 2, 4, 4, 4]
    assert len(reader.known) == 10


@pytest.mark.parametrize("kind", FILES)
def test_a_session_that_is_first_met_late_is_read_in_full_once(
    kind: type[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events of the turn in which it is met go through its end only, not all of it again."""
    monkeypatch.setattr(tail, "MAX_FULL_READ_BYTES", 2_000)
    file = a_session(kind(), 60)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(file.lines))
    reader = Reader(path)
    reader.read()
    met = len(reader.known)
    file.user("And now?")
    path.write_bytes(b"".join(file.lines))

    found = reader.tail.read_new_entries(reader.known)

    assert met > 60
    assert not found.from_start
    assert 1 <= len(found.message_ids) < met / 4
    assert len([each for each in found.entries if isinstance(each, Message)]) == 1


@pytest.mark.parametrize("kind", FILES)
def test_large_new_entries_are_not_held(
    kind: type[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few entries may be large; they come from the file while they are taken."""
    monkeypatch.setattr(tail, "MAX_HELD_BYTES", 10_000)
    file = kind()
    for size in (10, 20_000, 20_000):
        file.user("word " * size)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(file.lines))

    found = SessionFileTail(path).read_new_entries(())

    assert not isinstance(found.entries, tuple)
    assert len([each for each in found.entries if isinstance(each, Message)]) == 3


@pytest.mark.parametrize("kind", FILES)
def test_few_entries_of_a_long_file_are_held_at_once(
    kind: type[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that is first met when it is long comes entry by entry, without what its client
    writes meanwhile, which the next reading finds.
    """
    monkeypatch.setattr(tail, "MAX_HELD_ENTRIES", 5)
    file = a_session(kind(), 60)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(file.lines))
    reader = Reader(path)
    produced = 0

    def count(
        read: Callable[[RecordedLines], Iterator[TranscriptEntry]], lines: RecordedLines
    ) -> Iterator[TranscriptEntry]:
        nonlocal produced
        for entry in read(lines):
            produced += isinstance(entry, Message)
            yield entry

    for name, read in SESSION_READERS.items():
        monkeypatch.setitem(SESSION_READERS, name, partial(count, read))
    found = reader.tail.read_new_entries(set())
    surveyed, produced = produced, 0
    file.user("One more?")
    path.write_bytes(b"".join(file.lines))
    for entry in found.entries:
        reader.taken.append(entry)
        assert produced - len(reader.known) <= 1

    assert len(reader.known) == surveyed == len(found.message_ids) > 100
    reader.read()
    assert len(reader.known) == surveyed + 1


@pytest.mark.parametrize("kind", FILES)
def test_few_new_entries_are_read_once(kind: type[Recording], tmp_path: Path) -> None:
    """What is new in a turn is held, so that the file is not read again for it."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(a_session(kind()).lines))
    found = SessionFileTail(path).read_new_entries(set())
    path.unlink()

    assert {each.id for each in found.entries if isinstance(each, Message)} == {*found.message_ids}


def test_a_rewind_is_seen_in_what_is_live(tmp_path: Path) -> None:
    """After the person went back, the messages of the dead branch are no longer in the
    conversation, and the new ones are taken in.
    """
    file = ClaudeFile()
    file.user("First?")
    here = file.says("First.")
    dead = file.user("Second?")
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(file.lines))
    reader = Reader(path)
    reader.read()
    file.back_to(here)
    new = file.user("Another?")
    path.write_bytes(b"".join(file.lines))

    found = reader.tail.read_new_entries(reader.known)

    assert told(list(found.entries)) == [new]
    assert found.from_start
    assert dead not in found.message_ids


def test_turns_that_codex_took_back_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marker concerns lines that were read before, so that the whole is read for it, however
    long it is.
    """
    monkeypatch.setattr(tail, "MAX_FULL_READ_BYTES", 0)
    file = CodexFile()
    path = tmp_path / "rollout-x.jsonl"
    reader = Reader(path)
    for turn in range(3):
        file.user(f"Question {turn}?")
        file.says(f"Answer {turn}.")
        path.write_bytes(b"".join(file.lines))
        reader.read()
        reader.tail.skip_turns_before_last()
    file.takes_back(1)
    file.user("Another?")
    path.write_bytes(b"".join(file.lines))
    before = len(reader.taken)
    reader.read()

    back = [entry for entry in reader.taken[before:] if isinstance(entry, TurnRollback)]
    assert [entry.turns for entry in back] == [1]


def test_a_file_that_was_written_anew_is_read_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shorter file than the one that was read is another one."""
    monkeypatch.setattr(tail, "MAX_FULL_READ_BYTES", 0)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(a_session(ClaudeFile()).lines))
    reader = Reader(path)
    reader.read()
    reader.tail.skip_turns_before_last()
    reader.tail.skip_turns_before_last()
    other = ClaudeFile()
    other.user("Short?")
    path.write_bytes(b"".join(other.lines))

    assert reader.tail.read_new_entries(set()).message_ids == ("u0001",)


@pytest.mark.parametrize("data", [b"junk\n", b'{"a": 1}\n', b"\0\0\0\n", b"[1, 2]\n"])
@pytest.mark.covers("IN-2")
def test_a_file_of_an_unknown_format_is_refused(data: bytes, tmp_path: Path) -> None:
    """An agent that writes its sessions otherwise is told apart, not guessed at."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)

    with pytest.raises(UnreadableSession):
        SessionFileTail(path).read_new_entries(set())


@pytest.mark.parametrize("kind", FILES)
def test_the_folder_is_the_one_that_the_session_began_in(
    kind: type[Recording], tmp_path: Path
) -> None:
    """It comes from the file, since the agent may be elsewhere by now; an empty file says nothing."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(a_session(kind()).lines))

    assert SessionFileTail(path).read_start_folder() == "/home/dev/shop"


def test_sizes_are_measured_once(tmp_path: Path) -> None:
    """A count that Codex wrote between two messages is taken in with the message after it, and not
    again.
    """
    path = tmp_path / "rollout-x.jsonl"
    file = a_session(CodexFile())
    reader = Reader(path)
    for end in range(3, len(file.lines) + 1):
        path.write_bytes(b"".join(file.lines[:end]))
        reader.read()

    lines = [entry.line for entry in reader.taken if isinstance(entry, UsageReport)]
    assert lines == sorted(set(lines))
    assert len(lines) == 3  # the last one waits for the message after it
