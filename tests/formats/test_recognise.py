"""Session files are told by their content."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import Message, Origin, TextBlock
from memorist.errors import InputError, UnreadableSession
from memorist.formats.format_detection import detect_format, read_session
from memorist.formats.transcript_format import (
    RawTranscriptLine,
    SessionHead,
    encode_transcript_entry,
)

CLAUDE = {
    "type": "user",
    "uuid": "a",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "hi"},
}
CODEX = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "t"}}
SUMMARY = {"type": "summary", "summary": "x", "leafUuid": "y"}
ITEM = {"type": "message", "role": "user", "content": []}


def lines_of(*raw: bytes) -> list[RawTranscriptLine]:
    """Numbered lines."""
    return [RawTranscriptLine(number, data) for number, data in enumerate(raw, 1)]


@pytest.mark.covers("FM-3", "FM-4", "FM-5")
@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([json.dumps(CLAUDE).encode()], "claude_code"),
        ([json.dumps(SUMMARY).encode()] * 60, "claude_code"),
        ([b"", b"garbage", b"\0\0", json.dumps(CLAUDE).encode()], "claude_code"),
        ([json.dumps(CODEX).encode()], "codex"),
        (
            [
                json.dumps({"id": "t", "timestamp": "2026", "git": {}}).encode(),
                json.dumps(ITEM).encode(),
            ],
            "codex",
        ),
        ([encode_transcript_entry(SessionHead(session="s", format="codex"))], "memorist"),
        ([json.dumps(CLAUDE).encode().replace(b"hi", b"h\xff")], "claude_code"),
    ],
)
def test_each_format_is_known_by_its_records(lines: list[bytes], name: str) -> None:
    """The first record that tells decides, whatever stands before it."""
    assert detect_format(lines_of(*lines)) == name


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is binary"),
        (b"name,age\nada,36\n", "is text, not JSON lines"),
        (b"<!DOCTYPE html>\n<html></html>\n", "is a web page"),
        (b'[{"type":"user"}]\n', "is one JSON array"),
        (b'{"level":"info","msg":"started"}\n', "JSON lines of an unknown kind"),
        (b'{\n  "type": "user"\n}\n', "spread over several lines"),
    ],
)
def test_a_foreign_file_is_refused_by_what_it_is(data: bytes, said: str) -> None:
    """One sentence says what the file seems to be and what to give instead."""
    with pytest.raises(UnreadableSession, match=said) as caught:
        detect_format(lines_of(*data.splitlines(keepends=True)))
    assert "give a session" in str(caught.value)
    assert str(caught.value).count(". ") == 0


@pytest.mark.covers("FM-3", "FM-4", "FM-5")
def test_the_right_reader_reads_the_file() -> None:
    """Each format comes back with its own name in the head."""
    own = encode_transcript_entry(
        SessionHead(session="s", format="memorist")
    ) + encode_transcript_entry(
        Message(id="a", role="user", blocks=(TextBlock("x"),), origin=Origin.USER, is_typed=True)
    )
    for raw, name in (
        (json.dumps(CLAUDE).encode(), "claude_code"),
        (json.dumps(CODEX).encode(), "codex"),
        (own, "memorist"),
    ):
        first = next(iter(read_session(lines_of(*raw.splitlines(keepends=True)))))
        assert isinstance(first, SessionHead)
        assert first.format == name


@pytest.mark.covers("FM-3")
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_raise_anything_but_an_input_error(raw: list[bytes]) -> None:
    """Any file is recognised or refused."""
    try:
        entries = list(read_session(lines_of(*raw)))
    except InputError:
        return
    assert isinstance(entries[0], SessionHead)
