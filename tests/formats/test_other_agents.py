"""Sessions of Copilot CLI, Gemini CLI, opencode and pi are read for what they say."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.core.messages import Message, Origin, TextBlock
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import detect_format, read_session
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RawTranscriptLine,
    SessionHead,
    SkippedLine,
    TranscriptEntry,
    encode_transcript_entry,
)
from memorist.transcript_analysis.tool_actions import CommandAction, parse_tool_action
from support.other_agents import (
    ANSWERED,
    ASKED,
    COMMAND,
    FAILED,
    RECORDED,
    opencode_export,
    pi_session,
)
from support.sweeps import examples

FORMATS = sorted(RECORDED)


def lines_of(data: bytes) -> list[RawTranscriptLine]:
    """The numbered lines of a file."""
    return [RawTranscriptLine(n, line) for n, line in enumerate(data.splitlines(keepends=True), 1)]


def read(data: bytes) -> list[TranscriptEntry]:
    """Every entry of a file."""
    return list(read_session(lines_of(data)))


def messages(data: bytes) -> list[Message]:
    """The messages of a file."""
    return [each for each in read(data) if isinstance(each, Message)]


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize("name", FORMATS)
def test_a_session_of_another_agent_is_read_for_what_was_said_and_done(name: str) -> None:
    """The user's words are the user's alone, the command is one, and its failure is a failure;
    what was taken back, hidden or added by the client is not the conversation.
    """
    data = RECORDED[name]("/home/dev/shop")
    found = messages(data)
    head = read(data)[0]

    assert detect_format(lines_of(data)) == name.split(maxsplit=1)[0]
    assert isinstance(head, SessionHead)
    assert head.format == name.split(maxsplit=1)[0]
    assert head.cwd == ("" if "gemini" in name else "/home/dev/shop")
    assert head.session
    assert [
        block.text
        for each in found
        if each.origin is Origin.USER
        for block in each.blocks
        if isinstance(block, TextBlock) and block.origin is None
    ] == [ASKED]
    assert [each.text for each in found if each.origin is Origin.MODEL][-1] == ANSWERED
    (call,) = (call for each in found for call in each.tool_uses)
    (result,) = (result for each in found for result in each.tool_results)
    action = parse_tool_action(call)
    assert isinstance(action, CommandAction)
    assert action.command == COMMAND
    assert (result.tool_use_id, result.text, result.is_error) == (call.id, FAILED, True)
    assert "left branch" not in " ".join(each.text for each in found)
    assert "hidden" not in " ".join(each.text for each in found)
    assert all(each.line for each in found)


@pytest.mark.covers("FM-3")
@pytest.mark.hypothesis
@examples(15, whole=60)
@given(st.sampled_from(FORMATS), st.data())
def test_a_torn_file_gives_what_stands_before_the_tear(name: str, data: st.DataObject) -> None:
    """However a file is cut off: no message that stands whole before the cut is lost, none is
    invented, and the tear is told; a file cut to nothing that can be told is refused clearly.
    """
    whole = RECORDED[name]("/home/dev/shop").rstrip(b"}\n ") + b"}" * (name != "pi") + b"\n"
    cut = data.draw(st.integers(0, len(whole) - 3))
    torn = whole[:cut]
    try:
        entries = read(torn)
    except UnreadableSession:
        assert cut < 400
        return
    found = [each for each in entries if isinstance(each, Message)]

    if name == "pi":  # its newest entry decides which branch is live
        assert {each.id for each in found} <= {"a0", "a1", "a2", "a3", "a4"}
    elif name == "gemini_cli":  # a message may be recorded again, and taken back
        assert len(found) <= len(messages(RECORDED[name](""))) + 1
    else:
        same = [a.id == b.id for a, b in zip(found, messages(RECORDED[name]("")), strict=False)]
        assert len(list(takewhile(bool, same))) == len(found)
    if not torn.rstrip().endswith(b"}"):
        assert any(isinstance(each, SkippedLine) for each in entries)


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(["user", "assistant", "gemini", "message", "\ud800", 10**30]),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=4), each, max_size=3)
    ),
    max_leaves=4,
)


def _with_anything(value: object, data: st.DataObject) -> object:
    """The value with any part of it replaced by anything."""
    if data.draw(st.integers(0, 14)) == 0:
        return data.draw(ANY)
    if isinstance(value, dict):
        return {key: _with_anything(each, data) for key, each in value.items()}
    return [_with_anything(each, data) for each in value] if isinstance(value, list) else value


@pytest.mark.covers("FM-3")
@pytest.mark.hypothesis
@examples(15, whole=60)
@given(st.sampled_from(FORMATS), st.data())
def test_a_hostile_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """Whatever stands in a field, the file is read, or refused with a clear reason, and each entry
    can be written into a transcript.
    """
    raw = RECORDED[name]("/home/dev/shop")
    records = [json.loads(raw)] if raw.startswith(b"{\n") else map(json.loads, raw.splitlines())
    hostile = b"".join(json.dumps(_with_anything(each, data)).encode() + b"\n" for each in records)
    try:
        for entry in read(hostile):
            encode_transcript_entry(entry, redacts=True)
    except UnreadableSession:
        return


HEADLESS = {"permission": [{"permission": "question", "pattern": "*", "action": "deny"}]}


@pytest.mark.covers("WD-3")
@pytest.mark.parametrize(
    ("info", "is_typed"),
    [
        ({}, True),
        ({"permission": [{"permission": "bash", "pattern": "rm *", "action": "deny"}]}, True),
        ({"parentID": "ses_0"}, False),
        (HEADLESS, False),
    ],
)
def test_of_an_opencode_session_only_what_was_typed_to_the_main_agent_is_the_users(
    info: dict[str, Any], is_typed: bool
) -> None:
    """What a plugin shows among the user's words, and all of a session that has a parent, or in
    which nobody can be asked (`opencode run`), nobody typed.
    """
    export = opencode_export("/x")
    export["info"] |= info
    export["messages"][0]["parts"].append({"type": "text", "text": "a tip", "ignored": True})
    asked = next(each for each in read(json.dumps(export).encode()) if isinstance(each, Message))

    assert asked.is_typed is is_typed
    assert extract_redacted_user_text(asked) == ASKED


@pytest.mark.covers("WD-3")
@pytest.mark.parametrize(
    ("info", "recorded", "expected"),
    [
        (HEADLESS, '"Count the rows"', "Count the rows"),
        (HEADLESS, '"Rename \\"rows\\" to lines"\n', 'Rename "rows" to lines'),
        (HEADLESS, "Count", "Count"),
        (HEADLESS, '"rows" and "lines"', '"rows" and "lines"'),
        (HEADLESS, '"', '"'),
        ({}, '"Count the rows"', '"Count the rows"'),
    ],
)
def test_the_prompt_of_opencode_run_is_read_without_the_quotation_marks_around_it(
    info: dict[str, Any], recorded: str, expected: str
) -> None:
    """An argument with a space is recorded in quotation marks; what a user typed stays as it is."""
    export = opencode_export("/x")
    export["info"] |= info
    export["messages"][0]["parts"] = [{"type": "text", "text": recorded}]
    asked = next(each for each in read(json.dumps(export).encode()) if isinstance(each, Message))

    assert asked.text == expected


@pytest.mark.covers("WD-3")
@pytest.mark.parametrize(
    ("revert", "left"),
    [
        ({"messageID": "m1"}, []),
        ({"messageID": "m3"}, ["m1", "m2"]),
        ({"messageID": "m3", "partID": "p5"}, ["m1", "m2", "m3"]),
        ({"messageID": "m2", "partID": "p3"}, ["m1"]),
        ({}, ["m1", "m2", "m3"]),
    ],
)
def test_of_an_opencode_session_what_the_user_took_back_was_not_said(
    revert: dict[str, str], left: list[str]
) -> None:
    """All from the message that the user went back to, or from the part of it that is named."""
    export = opencode_export("/x")
    export["info"]["revert"] = revert
    export["messages"][-1]["parts"].append({"type": "text", "text": "Undone.", "id": "p5"})
    found = messages(json.dumps(export).encode())

    assert list(dict.fromkeys(each.id.partition("-")[0] for each in found)) == left
    assert any("Undone." in each.text for each in found) is (revert == {})


def test_a_fork_of_pi_names_its_parent() -> None:
    """By the file of the parent, on any system."""
    head, *rest = pi_session("/x").splitlines(keepends=True)
    for parent in ("/home/dev/.pi/agent/sessions/--x--/t_pi-0.jsonl", "C:\\pi\\t_pi-0.jsonl"):
        forked = json.dumps({**json.loads(head), "parentSession": parent}).encode() + b"\n"
        (first, *_) = read(forked + b"".join(rest))

        assert isinstance(first, SessionHead)
        assert first.forked_from == "pi-0"


def test_a_compaction_of_pi_stands_before_its_summary() -> None:
    """What pi sums up is a boundary and a summary, not words of the user."""
    compaction = {"type": "compaction", "id": "k", "parentId": "a4", "summary": "## Goal\nCount."}
    found = read(pi_session("/x") + json.dumps(compaction).encode() + b"\n")

    assert isinstance(found[-2], CompactionBoundary)
    assert isinstance(found[-1], Message)
    assert found[-1].origin is Origin.SUMMARY


def test_messages_of_gemini_without_ids_are_all_read() -> None:
    """A history that is set anew may name none."""
    head = {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-02T03:04:05Z"}
    said = [{"type": "user", "content": text} for text in ("one", "two")]
    data = "\n".join(map(json.dumps, (head, {"$set": {"messages": said}}))).encode() + b"\n"

    assert [each.text for each in messages(data)] == ["one", "two"]
