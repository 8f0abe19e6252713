"""Claude Code session files are read into their live conversation. Each session here is made up and
written in the test.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import Message, Origin, TextBlock, UnknownBlock
from memorist.errors import InputError
from memorist.formats import claude_code
from memorist.formats.claude_code import read_session
from memorist.formats.claude_code_tree import _RecordTree
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RawTranscriptLine,
    RepairedLine,
    SessionHead,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
)

Record = dict[str, Any]


def _common(uuid: str, parent: str | None, **more: Any) -> Record:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s-1",
        "cwd": "/code/app",
        "version": "2.1.0",
        "gitBranch": "main",
        "uuid": uuid,
        "timestamp": "2026-02-03T04:05:06.500Z",
        **more,
    }


def user(uuid: str, parent: str | None, content: Any = "do it", **more: Any) -> Record:
    """A user record."""
    return _common(uuid, parent, type="user", message={"role": "user", "content": content}, **more)


def reply(uuid: str, parent: str | None, *blocks: Record, of: str = "", **more: Any) -> Record:
    """An assistant record; `of` is the id of its reply."""
    message = {
        "id": of or f"msg-{uuid}",
        "role": "assistant",
        "model": "claude-made-up",
        "content": list(blocks) or [{"type": "text", "text": f"said {uuid}"}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 7,
            "output_tokens": 11,
        },
    }
    return _common(uuid, parent, type="assistant", message=message, **more)


def call(name: str) -> Record:
    """A tool_use block."""
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": "/a"}}


def answer(uuid: str, parent: str | None, *names: str, **more: Any) -> Record:
    """A user record with tool results."""
    blocks = [
        {"type": "tool_result", "tool_use_id": name, "content": f"result of {name}"}
        for name in names
    ]
    return user(uuid, parent, blocks, toolUseResult={"bulky": ["copy"] * 3}, **more)


def progress(uuid: str, parent: str | None) -> Record:
    """A progress record, which only links others."""
    return _common(uuid, parent, type="progress", data={"type": "hook_progress"})


def boundary(uuid: str, before: str, segment: Record | None = None) -> Record:
    """A compact boundary."""
    about: Record = {"trigger": "auto", "preTokens": 158_105}
    if segment is not None:
        about["preservedSegment"] = segment
    more = {
        "type": "system",
        "subtype": "compact_boundary",
        "logicalParentUuid": before,
        "compactMetadata": about,
    }
    return _common(uuid, None, **more)


def lines_of(*records: Record | bytes) -> list[RawTranscriptLine]:
    """The lines of a file with these records; bytes stand as they are."""
    raw = [
        record if isinstance(record, bytes) else json.dumps(record).encode() for record in records
    ]
    return [RawTranscriptLine(number, data) for number, data in enumerate(raw, 1)]


def entries_of(*records: Record | bytes) -> list[TranscriptEntry]:
    """What the reader makes of these records."""
    return list(read_session(lines_of(*records)))


def ids(entries: list[TranscriptEntry]) -> list[str]:
    """Ids of the messages and boundaries, in order."""
    return [entry.id for entry in entries if isinstance(entry, Message | CompactionBoundary)]


def messages(entries: list[TranscriptEntry]) -> dict[str, Message]:
    """The messages by id."""
    return {entry.id: entry for entry in entries if isinstance(entry, Message)}


def asides(entries: list[TranscriptEntry]) -> list[str]:
    """Kinds of the asides, in order."""
    return [entry.kind for entry in entries if isinstance(entry, SideRecord)]


@pytest.mark.covers("FM-3")
def test_the_head_tells_the_session_first() -> None:
    """The head comes first and holds what the records repeat; the custom title beats the others."""
    head = entries_of(
        {"type": "summary", "summary": "an older title", "leafUuid": "b"},
        user("a", None),
        reply("b", "a"),
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "s-1"},
        {"type": "ai-title", "aiTitle": "Guessed", "sessionId": "s-1"},
    )[0]
    assert head == SessionHead(
        session="s-1",
        format="claude_code",
        cwd="/code/app",
        model="claude-made-up",
        version="2.1.0",
        branch="main",
        title="Mine",
        started=1770091506.5,
    )


@pytest.mark.covers("FM-3", "FM-1")
def test_records_of_one_reply_share_its_id_and_count_its_usage_once() -> None:
    """Several records, one reply: each is a message, and only the last has the usage."""
    entries = entries_of(
        user("a", None),
        reply("b", "a", of="m"),
        reply("c", "b", call("t"), of="m"),
        answer("d", "c", "t"),
    )
    found = messages(entries)
    assert [found["b"].reply_id, found["c"].reply_id] == ["m", "m"]
    assert found["b"].usage is None
    assert found["c"].usage is not None
    assert found["c"].usage.context_tokens == 26
    assert found["c"].timestamp == 1770091506.5
    assert found["c"].line == 3


@pytest.mark.covers("FM-3", "FM-7")
def test_every_message_says_who_spoke() -> None:
    """Typed words, tool answers, injected text, summaries, notices and the client's own error
    replies are told apart.
    """
    entries = entries_of(
        user("a", None),
        reply("b", "a", call("t")),
        answer("c", "b", "t"),
        user("d", "c", "note to the model", isMeta=True),
        user("e", "d", "<task-notification>\n<task-id>1</task-id>\n</task-notification>"),
        user("f", "e", "carry on", origin={"kind": "task-notification"}),
        user("g", "f", "typed after all", origin={"kind": "human"}),
        user("h", "g", "never seen before", origin={"kind": "a-new-kind"}),
        reply("i", "h", isApiErrorMessage=True),
        user("j", "i", "the story so far", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        user("k", "j", "go on"),
    )
    origins = {name: message.origin.value for name, message in messages(entries).items()}
    assert origins == {
        "a": "user",
        "b": "model",
        "c": "tool",
        "d": "injected",
        "e": "notification",
        "f": "notification",
        "g": "user",
        "h": "injected",
        "i": "injected",
        "j": "summary",
        "k": "user",
    }


@pytest.mark.covers("FM-3")
def test_progress_records_are_bridged() -> None:
    """A child of progress records hangs on the nearest other ancestor."""
    entries = entries_of(user("a", None), progress("p", "a"), progress("q", "p"), reply("b", "q"))
    assert ids(entries) == ["a", "b"]
    assert asides(entries) == ["progress", "progress"]


@pytest.mark.covers("FM-3")
def test_the_newest_branch_is_the_live_one() -> None:
    """After a rewind the older branch is dead, also where it is the longer one (fixed upstream in
    2.1.101).
    """
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        user("c", "b", "first try"),
        reply("d", "c"),
        user("e", "b", "second try"),
        reply("f", "e"),
    )
    assert ids(entries) == ["a", "b", "e", "f"]
    assert asides(entries) == ["branch", "branch"]


@pytest.mark.covers("FM-3")
def test_a_dead_end_with_injected_text_last_does_not_win() -> None:
    """Text that a hook added at the end belongs to the live branch; it stays, and makes no dead
    branch live.
    """
    entries = entries_of(
        user("a", None),
        reply("x", "a"),
        user("b", "a", "again"),
        reply("c", "b"),
        user("d", "c", "hook says", isMeta=True),
    )
    assert ids(entries) == ["a", "b", "c", "d"]


@pytest.mark.covers("FM-3")
def test_side_chains_stay_out() -> None:
    """Records of a subagent are asides, and a main record that hangs on one is linked to the main
    line (2.1.101).
    """
    side = {"isSidechain": True, "agentId": "g"}
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        user("s", None, "warm up") | side,
        reply("t", "s") | side,
        user("c", "t", "go on"),
        reply("d", "c"),
    )
    assert ids(entries) == ["a", "b", "c", "d"]
    assert asides(entries) == ["sidechain", "sidechain"]


@pytest.mark.covers("FM-3")
def test_the_file_of_a_subagent_is_read_as_its_own_conversation() -> None:
    """Where every record is of a side chain, that chain is the conversation."""
    side = {"isSidechain": True, "agentId": "g"}
    entries = entries_of(user("a", None) | side, reply("b", "a") | side)
    assert ids(entries) == ["a", "b"]
    assert isinstance(entries[0], SessionHead)
    assert entries[0].session == "s-1"


@pytest.mark.covers("FM-3")
def test_parallel_results_are_put_back() -> None:
    """Of two parallel calls only one lies on the walk; the other call and its answer come back
    (2.1.80).
    """
    entries = entries_of(
        user("a", None),
        reply("b", "a", call("t1"), of="m"),
        reply("c", "b", call("t2"), of="m"),
        answer("d", "b", "t1"),
        answer("e", "c", "t2"),
        reply("f", "d"),
    )
    assert ids(entries) == ["a", "b", "c", "d", "e", "f"]
    found = messages(entries)
    assert found["c"].usage is not None
    assert found["b"].usage is None


@pytest.mark.covers("FM-3")
def test_a_dead_prompt_that_speaks_of_tool_results_is_not_put_back() -> None:
    """Only real answers return; typed words that mention the marker stay on their dead branch."""
    entries = entries_of(
        user("a", None),
        reply("b", "a", of="m"),
        user("c", "b", "what is a tool_result block?"),
        user("d", "b", "never mind"),
        reply("e", "d"),
    )
    assert ids(entries) == ["a", "b", "d", "e"]


@pytest.mark.covers("FM-3")
def test_a_compaction_keeps_what_was_before_in_the_stream() -> None:
    """The walk goes on before a boundary, so that a replay follows the session from its start."""
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        boundary("x", "b"),
        user("s", "x", "summary", isCompactSummary=True),
        user("c", "s", "next"),
        reply("d", "c"),
    )
    assert ids(entries) == ["a", "b", "x", "s", "c", "d"]
    found = next(entry for entry in entries if isinstance(entry, CompactionBoundary))
    assert (found.trigger, found.tokens_before, found.kept, found.line) == ("auto", 158_105, 0, 3)


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize("on", ["c", "s"])
def test_a_preserved_segment_stands_before_its_boundary(on: str) -> None:
    """Kept messages are not written again: whether the talk goes on from their tail or from the
    summary, all come once, in order.
    """
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        user("k", "b", "kept"),
        reply("c", "k"),
        boundary("x", "c", {"headUuid": "k", "anchorUuid": "s", "tailUuid": "c"}),
        user("s", "x", "summary", isCompactSummary=True),
        user("d", on, "next"),
        reply("e", "d"),
    )
    assert ids(entries) == ["a", "b", "k", "c", "x", "s", "d", "e"]
    found = next(entry for entry in entries if isinstance(entry, CompactionBoundary))
    assert found.kept == 2


@pytest.mark.covers("FM-3")
def test_a_broken_preserved_segment_is_left_as_it_is() -> None:
    """A tail that does not lead to the head keeps nothing, and loses nothing."""
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        boundary("x", "b", {"headUuid": "nowhere", "anchorUuid": "s", "tailUuid": "b"}),
        user("s", "x", "summary", isCompactSummary=True),
        reply("c", "s"),
    )
    assert ids(entries) == ["a", "b", "x", "s", "c"]


@pytest.mark.covers("FM-3")
def test_snipped_messages_are_taken_out_and_the_gap_is_closed() -> None:
    """A snip lists uuids; what stands after the gap hangs on what stands before it."""
    snip = _common(
        "n", "e", type="system", subtype="snip_boundary", snipMetadata={"removedUuids": ["b", "c"]}
    )
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        user("c", "b"),
        reply("d", "c"),
        user("e", "d"),
        snip,
        reply("f", "n"),
    )
    assert ids(entries) == ["a", "d", "e", "f"]


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize("parent", ["b", "c"])
def test_a_circle_ends_the_walk_and_keeps_what_was_found(parent: str) -> None:
    """A record that is its own ancestor does not hang the reader (2.1.108)."""
    entries = entries_of(user("a", None), user("b", parent), reply("c", "b"))
    assert set(ids(entries)) == {"b", "c"}


@pytest.mark.covers("FM-3")
def test_a_missing_parent_is_bridged_by_the_file_s_order() -> None:
    """A session resumed after a loss goes on after the message that stands before it in the file."""
    entries = entries_of(user("a", None), reply("b", "a"), user("c", "lost"), reply("d", "c"))
    assert ids(entries) == ["a", "b", "c", "d"]


@pytest.mark.covers("FM-3")
def test_a_corrupt_line_is_skipped_and_costs_nothing_else() -> None:
    """Torn lines, in the middle and at the end, are reported; the messages around them stay
    (2.1.121).
    """
    entries = entries_of(
        user("a", None),
        reply("b", "a"),
        b'{"type":"assistant","uuid":"c","parentUu',
        user("d", "c"),
        reply("e", "d"),
        b'{"ty',
    )
    assert ids(entries) == ["a", "b", "d", "e"]
    assert [entry for entry in entries if isinstance(entry, SkippedLine)] == [
        SkippedLine(3, "it is not a JSON object"),
        SkippedLine(6, "it is cut off"),
    ]


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize(
    "line",
    [
        b"7",
        b"[]",
        b"null",
        b'"text"',
        b"\0\0\0",
        b"\x1f\x8b\0\x01\xff",
        b'{"type":"user","uuid":5}',
        b"{" * 5000,
        b'{"a":' * 5000,
    ],
)
def test_garbage_is_skipped_with_a_reason(line: bytes) -> None:
    """Whatever a line holds instead of a record, it is named and passed over."""
    entries = entries_of(user("a", None), line, reply("b", "a"))
    assert ids(entries) == ["a", "b"]
    skipped = [entry for entry in entries if isinstance(entry, SkippedLine)]
    assert [entry.line for entry in skipped] == [2]
    assert skipped[0].why


@pytest.mark.covers("FM-3")
def test_unknown_records_survive() -> None:
    """Kinds that are not known, also with fields of other shapes, are kept byte for byte."""
    raw = b'{"type":"api-request","message":"text","uuid":"z","hash":1}'
    entries = entries_of(user("a", None), raw, {"no": "type"}, reply("b", "a"))
    kept = [entry for entry in entries if isinstance(entry, SideRecord)]
    assert kept == [SideRecord("api-request", 2, raw), SideRecord("unknown", 3, b'{"no": "type"}')]


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (b"caf\xff", "caf\ufffd"),
        (b"\\ud83d half", "\ufffd half"),
        (b"tab\there", "tab\there"),
        (b"a\0b", "a\0b"),
    ],
)
def test_text_that_is_not_valid_is_mended(bad: bytes, good: str) -> None:
    """Broken UTF-8, half an emoji and raw control characters cost a character, not the message
    (2.1.132).
    """
    line = json.dumps(user("a", None, "TEXT")).encode().replace(b"TEXT", bad)
    entries = entries_of(line, reply("b", "a"))
    assert messages(entries)["a"].text == good
    assert [entry.line for entry in entries if isinstance(entry, RepairedLine)] == [1]


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize(
    "content",
    [
        None,
        7,
        {"type": "text", "text": "one"},
        ["plain", {"type": "text"}, {"type": "text", "text": None}, 3],
    ],
)
def test_a_malformed_block_does_not_lose_its_message(content: Any) -> None:
    """Odd content is kept as unknown blocks (2.1.105, 2.1.217, 2.1.223)."""
    entries = entries_of(user("a", None, content), reply("b", "a", timestamp=5, requestId=None))
    assert ids(entries) == ["a", "b"]
    assert all(
        isinstance(block, TextBlock | UnknownBlock) for block in messages(entries)["a"].blocks
    )


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize(
    "odd",
    [
        {"timestamp": "yesterday"},
        {"timestamp": 5},
        {"isMeta": "no"},
        {"origin": "human"},
        {"isApiErrorMessage": 1},
    ],
)
def test_a_field_of_another_shape_does_not_lose_its_message(odd: Record) -> None:
    """A record keeps its place and its words when one of its other fields cannot be read."""
    entries = entries_of(user("a", None), reply("b", "a") | odd, user("c", "b"))
    expected = ["a", "c"] if odd == {"isMeta": "no"} else ["a", "b", "c"]
    assert ids(entries) == expected


@pytest.mark.covers("FM-3")
def test_words_typed_while_the_agent_works_are_kept() -> None:
    """A queued prompt stands in an attachment (2.1.97); other attachments are asides."""
    queued = _common(
        "q",
        "b",
        type="attachment",
        attachment={"type": "queued_command", "prompt": "and the docs", "commandMode": "prompt"},
    )
    notice = _common(
        "n",
        "q",
        type="attachment",
        attachment={
            "type": "queued_command",
            "prompt": "job done",
            "commandMode": "task-notification",
        },
    )
    other = _common(
        "o", "n", type="attachment", attachment={"type": "skill_listing", "content": "…"}
    )
    broken = _common("z", "o", type="attachment", attachment=["not", "an", "object"])
    entries = entries_of(
        user("a", None), reply("b", "a"), queued, notice, other, broken, reply("c", "z")
    )
    assert ids(entries) == ["a", "b", "q", "n", "c"]
    found = messages(entries)
    assert (found["q"].origin, found["q"].text) == (Origin.USER, "and the docs")
    assert found["n"].origin is Origin.NOTIFICATION
    assert asides(entries) == ["attachment"]
    assert [entry.line for entry in entries if isinstance(entry, SkippedLine)] == [6]


def queue(operation: str, text: str | None = None) -> Record:
    """A record of the queue."""
    done = {"type": "queue-operation", "operation": operation, "sessionId": "s-1"}
    at = {"timestamp": "2026-02-03T04:05:06.500Z"}
    return {**done, **at} if text is None else {**done, **at, "content": text}


def read_sent(*operations: Record, **more: Any) -> list[Message]:
    """What is read besides the records of a session in which this happens to the queue while a
    tool works.
    """
    entries = entries_of(
        user("a", None, **more),
        reply("b", "a", call("one"), of="first"),
        *operations,
        answer("c", "b", "one"),
        reply("d", "c", of="second", **more),
    )
    assert [each for each in ids(entries) if not each.startswith("queued-")] == ["a", "b", "c", "d"]
    return [each for key, each in messages(entries).items() if key.startswith("queued-")]


@pytest.mark.covers("FM-3")
def test_what_was_sent_within_a_turn_and_stands_in_the_queue_alone_is_the_users() -> None:
    """Before 2.1.97 there is no other record. It comes behind the results that the model had."""
    sent = (queue("enqueue", "and the docs"), queue("remove"))
    entries = entries_of(
        user("a", None),
        reply("b", "a", call("one"), of="first"),
        *sent,
        answer("c", "b", "one"),
        reply("d", "c", of="second"),
    )
    (found,) = read_sent(*sent)
    assert ids(entries) == ["a", "b", "c", found.id, "d"]
    assert (found.role, found.origin, found.text) == ("user", Origin.USER, "and the docs")
    assert found.is_typed
    (of_a_program,) = read_sent(*sent, entrypoint="sdk-cli")
    assert not of_a_program.is_typed


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize(
    "operations",
    [
        [queue("enqueue", "wait")],
        [queue("enqueue", "wait"), queue("popAll", "wait")],
        [queue("enqueue", "wait"), queue("dequeue"), queue("remove")],
        [queue("enqueue", '{"task_id": "1"}'), queue("remove")],
        [queue("enqueue", "<task-notification>done</task-notification>"), queue("remove")],
        [queue("enqueue", "/compact"), queue("remove")],
        [queue("enqueue", ""), queue("remove")],
        [queue("remove")],
        [{**queue("enqueue", "wait"), "operation": 7}, queue("remove")],
    ],
    ids=["waits", "taken back", "a prompt", "notice", "mark", "command", "empty", "none", "odd"],
)
def test_what_was_not_sent_from_the_queue_or_has_a_record_is_not_read_from_it(
    operations: list[Record],
) -> None:
    """What is sent at the end of a turn is a prompt of its own, what was taken back is nobody's."""
    assert read_sent(*operations) == []


@pytest.mark.covers("FM-3")
@pytest.mark.parametrize("version", ["2.1.97", "2.2.0", "3.0.1", "next", "", "1." + "9" * 5_000])
def test_the_queue_is_not_read_where_each_prompt_has_a_record(version: str) -> None:
    """Since 2.1.97 it would be there twice; a version of which nothing is known counts as newer."""
    assert read_sent(queue("enqueue", "and the docs"), queue("remove"), version=version) == []


@pytest.mark.covers("FM-3")
def test_an_attachment_of_a_dead_branch_is_told_from_a_live_one() -> None:
    """What was rewound is no part of the conversation; both are kept byte for byte."""
    dead = _common(
        "o", "a", type="attachment", attachment={"type": "skill_listing", "content": "…"}
    )
    live = _common(
        "p", "b", type="attachment", attachment={"type": "skill_listing", "content": "…"}
    )
    entries = entries_of(user("a", None), dead, reply("b", "a"), live, user("c", "p"))
    assert asides(entries) == ["branch", "attachment"]
    assert [json.loads(entry.raw) for entry in entries if isinstance(entry, SideRecord)] == [
        dead,
        live,
    ]


@pytest.mark.covers("FM-3")
def test_a_slash_command_kept_as_a_system_record_is_the_user_s() -> None:
    """Newer clients write local commands as system records; other system records are asides."""
    command = _common(
        "l",
        "b",
        type="system",
        subtype="local_command",
        content="<command-name>/model</command-name>",
    )
    spent = _common("t", "l", type="system", subtype="turn_duration", durationMs=5)
    entries = entries_of(user("a", None), reply("b", "a"), command, spent, user("c", "t"))
    assert ids(entries) == ["a", "b", "l", "c"]
    assert messages(entries)["l"].origin is Origin.USER
    assert asides(entries) == ["system"]


@pytest.mark.covers("FM-3")
def test_a_record_written_twice_counts_once() -> None:
    """A resume that wrote records again does not double them (2.1.199)."""
    first, second = user("a", None), reply("b", "a")
    entries = entries_of(first, second, first, second, user("c", "b"))
    assert ids(entries) == ["a", "b", "c"]


@pytest.mark.covers("FM-3")
def test_a_file_without_messages_yields_its_head_and_nothing_live() -> None:
    """An empty or metadata-only file is no error of this reader."""
    assert [type(entry) for entry in entries_of()] == [SessionHead]
    assert [type(entry) for entry in entries_of({"type": "mode", "mode": "plan"})] == [
        SessionHead,
        SideRecord,
    ]


def conversation(turns: int) -> list[Record]:
    """A session with parallel calls, progress, a side chain and a compaction in the middle."""
    records: list[Record] = []
    last: str | None = None
    for turn in range(turns):
        if turn == turns // 2 and last is not None:
            records += [boundary("x", last), user("xs", "x", "summary", isCompactSummary=True)]
            last = "xs"
        names = [f"{kind}{turn}" for kind in ("u", "r", "s", "p", "a", "b", "e")]
        ask, one, two, step, first, second, end = names
        records += [
            user(ask, last, f"turn {turn}"),
            reply(one, ask, call(f"x{turn}"), of=f"m{turn}"),
            reply(two, one, call(f"y{turn}"), of=f"m{turn}"),
            progress(step, two),
            answer(first, one, f"x{turn}"),
            answer(second, step, f"y{turn}"),
            reply(f"side{turn}", None, isSidechain=True),
            reply(end, second),
        ]
        last = end
    for number, record in enumerate(records):
        record["timestamp"] = f"2026-02-03T04:{number // 60:02}:{number % 60:02}.000Z"
    return records


@pytest.mark.covers("FM-3")
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_the_order_of_the_lines_does_not_matter(seed: int, turns: int) -> None:
    """A shuffled file holds the same conversation, with every call before its answer."""
    records = conversation(turns)
    plain = entries_of(*records)
    random.Random(seed).shuffle(records)
    shuffled = entries_of(*records)
    assert set(ids(shuffled)) == set(ids(plain))
    spine = [name for name in ids(plain) if name[0] in "urex"]
    assert [name for name in ids(shuffled) if name in spine] == spine
    seen: set[str] = set()
    for message in messages(shuffled).values():
        assert all(result.tool_use_id in seen for result in message.tool_results)
        seen.update(use.id for use in message.tool_uses)


@pytest.mark.covers("FM-3")
@given(st.data())
def test_a_damaged_file_is_read_and_no_sound_live_message_is_lost(data: st.DataObject) -> None:
    """Lines cut, overwritten or replaced are reported; every message on an undamaged line of the
    live conversation is still there.
    """
    records = conversation(4)
    alive = set(ids(entries_of(*records)))
    raw = [json.dumps(record).encode() for record in records]
    hurt = data.draw(st.sets(st.integers(0, len(raw) - 1), max_size=6))
    for number in hurt:
        cut = data.draw(st.integers(0, len(raw[number]) - 2))
        raw[number] = raw[number][:cut] + data.draw(st.binary(max_size=8))
    found = set(ids(entries_of(*raw)))
    kept = {record["uuid"] for number, record in enumerate(records) if number not in hurt}
    gone = {str(records[number]["uuid"]) for number in hurt}
    assert alive & kept - _behind(gone) <= found


def _behind(gone: set[str]) -> set[str]:
    """Answers beside the walk whose call was destroyed cannot be told from a dead branch."""
    return {f"a{name[1:]}" for name in gone if name[0] == "r"} | {
        f"b{name[1:]}" for name in gone if name[0] in "ps"
    }


@pytest.mark.covers("FM-3")
@given(
    st.lists(
        st.binary(max_size=60)
        | st.sampled_from([json.dumps(record).encode() for record in conversation(2)]),
        max_size=30,
    )
)
def test_no_file_breaks_the_reader(raw: list[bytes]) -> None:
    """Any bytes at all give a head and entries, or a clear error."""
    try:
        entries = list(
            read_session([RawTranscriptLine(number, data) for number, data in enumerate(raw, 1)])
        )
    except InputError:
        return
    assert isinstance(entries[0], SessionHead)


@pytest.mark.covers("FM-6")
@pytest.mark.parametrize("held", [1, 64, 2000])
def test_small_bounds_change_nothing_but_the_passes(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hardly any memory to hold lines back, a reversed file still gives the whole conversation
    in order.
    """
    records = list(reversed(conversation(5)))
    expected = ids(entries_of(*records))
    monkeypatch.setattr(claude_code, "MAX_OUT_OF_ORDER_BYTES", held)
    assert ids(entries_of(*records)) == expected


@pytest.mark.covers("FM-3")
def test_lines_too_long_to_take_are_skipped_by_their_problem() -> None:
    """What the file gave no bytes of is named with the file's own reason."""
    lines = [
        *lines_of(user("a", None)),
        RawTranscriptLine(2, b"", "it is longer than 64 MiB"),
        RawTranscriptLine(3, json.dumps(reply("b", "a")).encode()),
    ]
    entries = list(read_session(lines))
    assert ids(entries) == ["a", "b"]
    assert [entry for entry in entries if isinstance(entry, SkippedLine)] == [
        SkippedLine(2, "it is longer than 64 MiB")
    ]


@pytest.mark.covers("FM-3")
def test_a_file_that_grows_between_the_passes_is_read_as_it_was() -> None:
    """A session that is being written while it is read gives what was there at first."""
    records = lines_of(user("a", None), reply("b", "a"))

    class Growing:
        def __init__(self) -> None:
            self.passes = 0

        def __iter__(self) -> Any:
            self.passes += 1
            more = (
                []
                if self.passes == 1
                else [RawTranscriptLine(3, json.dumps(user("c", "b")).encode())]
            )
            return iter([*records, *more])

    assert ids(list(read_session(Growing()))) == ["a", "b"]


SESSIONS = Path(__file__).parents[3] / "shared" / "data" / "sessions" / "claude-code"


@pytest.mark.covers("FM-3")
@pytest.mark.skipif(
    not SESSIONS.is_dir(), reason="needs the recorded sessions of the shared data folder"
)
def test_recorded_sessions_pair_every_call_with_its_answer() -> None:
    """In real sessions no answer stands before its call, and no line is lost."""
    for path in sorted(SESSIONS.glob("*.jsonl")):
        raw = path.read_bytes().splitlines()
        entries = list(
            read_session([RawTranscriptLine(number, data) for number, data in enumerate(raw, 1)])
        )
        calls: set[str] = set()
        for entry in entries:
            if isinstance(entry, Message):
                assert all(result.tool_use_id in calls for result in entry.tool_results), path.name
                calls.update(use.id for use in entry.tool_uses)
        assert len({entry.line for entry in entries if not isinstance(entry, SessionHead)}) == len(
            raw
        ), path.name


@pytest.mark.covers("FM-3")
def test_a_run_of_records_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file out of order, each record is asked for its nearest message: a hundred in a row cost
    a hundred steps, not the square of that.
    """
    looks = 0
    is_message = _RecordTree.is_message

    def count(tree: _RecordTree, number: int, *, meta: bool) -> bool:
        nonlocal looks
        looks += 1
        return is_message(tree, number, meta=meta)

    monkeypatch.setattr(_RecordTree, "is_message", count)
    run = [
        {"type": "attachment", "uuid": f"a{at}", "parentUuid": f"a{at + 1}", "attachment": {}}
        for at in range(400)
    ]
    assert ids(entries_of(reply("c", "b"), user("b", "a0"), *run)) == ["b", "c"]
    assert looks < 10 * len(run)
