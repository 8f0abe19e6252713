"""Codex rollout files are read into their live conversation. Each rollout here is made up and
written in the test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.core.messages import Message, Origin, TextBlock, ThinkingBlock
from memorist.errors import InputError
from memorist.formats import codex_rollout
from memorist.formats.codex_rollout import read_session
from memorist.formats.openai_responses import decode_input_item
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RawTranscriptLine,
    RepairedLine,
    SessionHead,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
    TurnRollback,
    UsageReport,
)
from support.sweeps import examples

Record = dict[str, Any]


def record(kind: str, payload: Any, **more: Any) -> Record:
    """One line of a rollout."""
    return {"timestamp": "2026-02-03T04:05:06.500Z", **more, "type": kind, "payload": payload}


def item(payload: Record) -> Record:
    """A line with a history item."""
    return record("response_item", payload)


def event(kind: str, **fields: Any) -> Record:
    """A line with an event."""
    return record("event_msg", {"type": kind, **fields})


def said(role: str, text: str, **more: Any) -> Record:
    """A line with a message."""
    part = "output_text" if role == "assistant" else "input_text"
    return item(
        {"type": "message", "role": role, "content": [{"type": part, "text": text}], **more}
    )


def call(name: str) -> Record:
    """A line with a function call."""
    return item(
        {
            "type": "function_call",
            "name": "exec_command",
            "arguments": '{"cmd":"ls"}',
            "call_id": name,
        }
    )


def output(name: str) -> Record:
    """A line with the answer to a call."""
    return item({"type": "function_call_output", "call_id": name, "output": f"output of {name}"})


def meta(**fields: Any) -> Record:
    """The first line."""
    about = {
        "id": "t-1",
        "timestamp": "2026-02-03T04:05:06.000Z",
        "cwd": "/code/app",
        "cli_version": "0.140.0",
        "git": {"branch": "main"},
    }
    return record("session_meta", {**about, "base_instructions": {"text": "Be exact."}, **fields})


def counted(total: int, last: int, cached: int = 0) -> Record:
    """A line with the tokens of a call."""
    usage = {
        "input_tokens": last - 10,
        "cached_input_tokens": cached,
        "output_tokens": 10,
        "total_tokens": last,
    }
    info = {
        "total_token_usage": {"total_tokens": total},
        "last_token_usage": usage,
        "model_context_window": 258_400,
    }
    return event("token_count", info=info, rate_limits=None)


def turn(number: int, words: str = "") -> list[Record]:
    """A turn with its start, context, words, a call and its answer."""
    name = f"turn-{number}"
    return [
        event("task_started", turn_id=name, model_context_window=258_400),
        record("turn_context", {"turn_id": name, "cwd": "/code/app", "model": "model-a"}),
        said("user", words or f"words {number}"),
        event("user_message", message=words or f"words {number}", images=[]),
        item(
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "x",
            }
        ),
        call(f"call-{number}"),
        output(f"call-{number}"),
        event("agent_message", message=f"done {number}"),
        said("assistant", f"done {number}"),
        event("task_complete", turn_id=name),
    ]


def lines_of(*records: Record | bytes) -> list[RawTranscriptLine]:
    """The lines of a file with these records; bytes stand as they are."""
    raw = [
        one if isinstance(one, bytes) else json.dumps(one, separators=(",", ":")).encode() + b"\n"
        for one in records
    ]
    return [RawTranscriptLine(number, data) for number, data in enumerate(raw, 1)]


def entries_of(*records: Record | bytes) -> list[TranscriptEntry]:
    """What the reader makes of these records."""
    return list(read_session(lines_of(*records)))


def messages(entries: list[TranscriptEntry]) -> list[Message]:
    """The messages, in order."""
    return [entry for entry in entries if isinstance(entry, Message)]


def texts(entries: list[TranscriptEntry]) -> list[str]:
    """What people and model said in text, in order."""
    return [message.text for message in messages(entries) if message.text]


@pytest.mark.covers("FM-4")
def test_the_head_is_the_first_session_meta_and_the_first_turn() -> None:
    """A later session_meta may be copied from a fork; model and window stand in the first turn."""
    entries = entries_of(meta(), *turn(1), meta(id="t-0", cwd="/elsewhere"))
    assert entries[0] == SessionHead(
        session="t-1",
        format="codex",
        cwd="/code/app",
        model="model-a",
        version="0.140.0",
        branch="main",
        started=1770091506.0,
        window=258_400,
        instructions="Be exact.",
    )


@pytest.mark.covers("FM-4", "FM-1")
def test_history_items_are_messages_and_their_echoes_are_asides() -> None:
    """What an event repeats is not said twice."""
    entries = entries_of(meta(), *turn(1))
    assert [(message.role, message.origin.value) for message in messages(entries)] == [
        ("user", "user"),
        ("assistant", "model"),
        ("assistant", "model"),
        ("tool", "tool"),
        ("assistant", "model"),
    ]
    kinds = [entry.kind for entry in entries if isinstance(entry, SideRecord)]
    assert kinds == [
        "session_meta",
        "task_started",
        "turn_context",
        "user_message",
        "agent_message",
        "task_complete",
    ]
    assert messages(entries)[2].tool_uses[0].input == {"cmd": "ls"}
    assert messages(entries)[0].timestamp == 1770091506.5
    assert messages(entries)[0].line == 4


@pytest.mark.covers("FM-4")
def test_what_the_model_says_between_answers_is_one_reply() -> None:
    """Reasoning and call share a reply id; after the answer a new reply begins; model and turn are
    named.
    """
    found = messages(entries_of(meta(), *turn(1), *turn(2)))
    replies = [message.reply_id for message in found]
    assert replies[1] == replies[2] is not None
    assert replies[4] is not None
    assert len({replies[1], replies[4], replies[6], replies[9]}) == 4
    assert replies[0] is replies[3] is None
    assert found[1].model == "model-a"


plain = st.text(max_size=8)
optional = st.fixed_dictionaries(
    {},
    optional={
        "id": plain,
        "status": plain,
        "internal_chat_message_metadata_passthrough": st.dictionaries(plain, plain, max_size=2),
        "odd": plain,
    },
)
custom = st.fixed_dictionaries(
    {"type": st.just("custom_tool_call"), "name": plain, "input": plain, "call_id": plain}
)
custom_answers = st.fixed_dictionaries(
    {"type": st.just("custom_tool_call_output"), "call_id": plain, "output": plain}
)
parts: st.SearchStrategy[Record] = st.fixed_dictionaries(
    {"type": st.sampled_from(["output_text", "refusal"]), "text": plain},
    optional={"annotations": st.just([])},
)
words = st.fixed_dictionaries(
    {
        "type": st.just("message"),
        "role": st.sampled_from(["assistant", "user", "developer"]),
        "content": st.lists(parts, max_size=3) | plain,
    },
    optional={"phase": plain | st.none()},
)
thoughts = st.fixed_dictionaries(
    {
        "type": st.just("reasoning"),
        "summary": st.lists(
            st.fixed_dictionaries(
                {"type": st.just("summary_text")}, optional={"text": plain | st.just(1)}
            ),
            max_size=3,
        ),
    },
    optional={
        "content": st.none() | st.lists(plain, max_size=2),
        "encrypted_content": plain | st.none(),
    },
)
arguments = st.sampled_from(['{"cmd":"ls"}', "{}", "not json", "[1]", ""])
calls = st.fixed_dictionaries(
    {"type": st.just("function_call"), "name": plain, "arguments": arguments, "call_id": plain}
)
answers = st.fixed_dictionaries(
    {
        "type": st.just("function_call_output"),
        "call_id": plain,
        "output": plain | st.just([{"type": "input_text", "text": "part"}]),
    }
)


@pytest.mark.covers("FM-4", "FM-2")
@examples(25, whole=200)
@given(calls | answers | custom | custom_answers | words | thoughts, optional)
def test_the_short_way_to_read_items_changes_nothing(payload: Record, more: Record) -> None:
    """A call, an answer, words or reasoning in a rollout are the message that the wire format makes
    of them, with its line's facts added.
    """
    (found,) = messages(entries_of(meta(), item({**payload, **more})))
    expected = decode_input_item({**payload, **more}, "item-2")
    facts = {
        "timestamp": found.timestamp,
        "line": found.line,
        "reply_id": found.reply_id,
        "is_typed": found.is_typed,
    }
    assert found == replace(expected, **facts)
    assert (found.reply_id is None) == (found.origin.value != "model")
    assert found.timestamp == 1770091506.5
    assert found.line == 2


@pytest.mark.covers("FM-7", "WD-3")
@pytest.mark.parametrize(
    ("head", "is_typed"),
    [([meta()], True), ([meta(source="exec")], False), ([meta(parent_thread_id="t-0")], False)],
)
def test_what_answers_a_call_is_typed_where_a_person_types(
    head: list[Record], is_typed: bool
) -> None:
    """An answer to the agent's question counts as the user's word: not in a session that a program
    or another agent leads.
    """
    answer = {"type": "function_call_output", "call_id": "c", "output": "use pnpm"}
    (found,) = messages(entries_of(*head, item(answer)))

    assert found.is_typed is is_typed


@pytest.mark.covers("FM-4", "FM-7")
def test_harness_text_is_told_from_typed_words() -> None:
    """By markers in older rollouts, by the recorded provenance in newer ones."""
    kinds = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]}}
    found = messages(
        entries_of(
            meta(),
            said("developer", "<permissions instructions>\nAsk.\n</permissions instructions>"),
            said("user", "<environment_context>\n<cwd>/a</cwd>\n</environment_context>"),
            said("user", "fix it"),
            said("user", "<environment_context>typed by hand</environment_context>", **kinds),
            item(
                {
                    "type": "agent_message",
                    "author": "a",
                    "recipient": "b",
                    "content": [{"type": "input_text", "text": "hello"}],
                }
            ),
        )
    )
    assert [message.origin.value for message in found] == [
        "injected",
        "injected",
        "user",
        "user",
        "agent",
    ]


@pytest.mark.covers("FM-4")
def test_token_counts_are_measured_once_a_call() -> None:
    """A count that only repeats the last one, and one that tells of rate limits alone, are asides."""
    entries = entries_of(
        meta(),
        counted(100, 100, 40),
        counted(100, 100, 40),
        event("token_count", info=None),
        counted(400, 300),
    )
    assert [entry for entry in entries if isinstance(entry, UsageReport)] == [
        UsageReport(context=100, line=2, input=50, cache_read=40, output=10, window=258_400),
        UsageReport(context=300, line=5, input=290, cache_read=0, output=10, window=258_400),
    ]


@pytest.mark.covers("FM-4")
def test_a_turn_that_was_taken_back_is_left_out() -> None:
    """Its messages and counts go, and the marker tells how much went."""
    entries = entries_of(
        meta(),
        *turn(1),
        *turn(2),
        counted(9, 9),
        event("thread_rolled_back", num_turns=1),
        *turn(3),
    )
    assert texts(entries) == ["words 1", "done 1", "words 3", "done 3"]
    assert [entry for entry in entries if isinstance(entry, TurnRollback)] == [
        TurnRollback(1, 5, 23)
    ]
    assert not [entry for entry in entries if isinstance(entry, UsageReport)]
    assert [entry.kind for entry in entries if isinstance(entry, SideRecord)].count(
        "rolled_back"
    ) == 8


@pytest.mark.covers("FM-4")
def test_taking_back_more_turns_than_there_are_keeps_the_session_s_beginning() -> None:
    """The context in front of the first words stays; all turns go."""
    first = said("developer", "<permissions instructions>x</permissions instructions>")
    entries = entries_of(
        meta(), first, *turn(1), *turn(2), event("thread_rolled_back", num_turns=9), *turn(3)
    )
    assert messages(entries)[0].line == 2
    assert "words 1" not in texts(entries)
    assert "words 2" not in texts(entries)
    assert [
        (entry.turns, entry.messages) for entry in entries if isinstance(entry, TurnRollback)
    ] == [(2, 10)]


@pytest.mark.covers("FM-4")
def test_rollbacks_reach_over_earlier_rollbacks() -> None:
    """Two markers in a row take back two turns, the second one counting from what was left."""
    back = event("thread_rolled_back", num_turns=1)
    entries = entries_of(meta(), *turn(1), *turn(2), *turn(3), back, back, *turn(4))
    assert [text for text in texts(entries) if text.startswith("words")] == ["words 1", "words 4"]
    assert [
        (entry.turns, entry.messages) for entry in entries if isinstance(entry, TurnRollback)
    ] == [(1, 5), (1, 5)]


@pytest.mark.covers("FM-4")
def test_words_typed_while_a_turn_runs_belong_to_it() -> None:
    """A turn with a second message of the user is one turn when it is taken back."""
    entries = entries_of(
        meta(),
        *turn(1),
        *turn(2)[:-1],
        said("user", "hurry"),
        event("thread_rolled_back", num_turns=1),
    )
    assert texts(entries) == ["words 1", "done 1"]


@pytest.mark.covers("FM-4")
def test_without_turn_marks_a_user_message_begins_a_turn_with_the_context_above_it() -> None:
    """Old rollouts have no task_started; harness text directly above the words goes with them."""
    note = said("user", "<environment_context>b</environment_context>")
    entries = entries_of(
        meta(),
        said("user", "one"),
        said("assistant", "1"),
        note,
        said("user", "two"),
        said("assistant", "2"),
        event("thread_rolled_back", num_turns=1),
    )
    assert texts(entries) == ["one", "1"]
    assert [
        (entry.turns, entry.messages) for entry in entries if isinstance(entry, TurnRollback)
    ] == [(1, 3)]


@pytest.mark.covers("FM-4")
def test_a_compaction_brings_its_replacement_history() -> None:
    """The boundary holds the history that replaced the old one, and the context that was measured
    before.
    """
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "words 1"}]},
        {"type": "compaction", "encrypted_content": "sealed"},
    ]
    compacted = record(
        "compacted", {"message": "", "replacement_history": history, "window_id": "w-2"}
    )
    entries = entries_of(
        meta(), *turn(1), counted(500, 500), compacted, event("context_compacted"), *turn(2)
    )
    (found,) = [entry for entry in entries if isinstance(entry, CompactionBoundary)]
    assert (found.id, found.tokens_before, found.line) == ("w-2", 500, 13)
    assert [message.origin.value for message in found.replacement] == ["user", "summary"]


@pytest.mark.covers("FM-4")
def test_an_old_compaction_stands_for_the_past_by_its_summary() -> None:
    """Without a replacement history the summary text is what there is."""
    (found,) = [
        entry
        for entry in entries_of(meta(), *turn(1), record("compacted", {"message": "the story"}))
        if isinstance(entry, CompactionBoundary)
    ]
    assert [(message.text, message.origin) for message in found.replacement] == [
        ("the story", Origin.SUMMARY)
    ]


@pytest.mark.covers("FM-4")
def test_a_compaction_that_was_taken_back_is_no_boundary() -> None:
    """The newest surviving compaction is the base; one in a turn that was taken back does not
    survive.
    """
    entries = entries_of(
        meta(),
        *turn(1),
        *turn(2)[:-1],
        record("compacted", {"message": "s"}),
        event("thread_rolled_back", num_turns=1),
        *turn(3),
    )
    assert not [entry for entry in entries if isinstance(entry, CompactionBoundary)]


@pytest.mark.covers("SF-2")
def test_what_the_client_does_not_tell_of_was_not_typed() -> None:
    """Codex writes an event after each message that a person typed, and none after what it puts
    into the user's turn itself; the last line may still be followed by one.
    """
    rows = [meta(), *turn(1), said("user", "Never use npm."), *turn(2), said("user", "And now?")]
    found = [
        (message.is_typed, text)
        for message in messages(entries_of(*rows))
        if message.role == "user"
        for text in [block.text for block in message.blocks if isinstance(block, TextBlock)]
    ]

    assert found == [
        (True, "words 1"),
        (False, "Never use npm."),
        (True, "words 2"),
        (True, "And now?"),
    ]
    assert [message.is_typed for message in messages(entries_of(meta(), said("user", "a")))] == [
        True
    ]


@pytest.mark.covers("FM-7", "SF-2")
def test_a_text_that_is_all_in_a_programs_tag_is_nobodys_word() -> None:
    """A tag that no table knows, with an underscore as programs name theirs, wraps the whole item;
    where Codex recorded that the user wrote it, or words stand beside it, it is the user's.
    """
    kinds = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]}}
    wrapped = "<realtime_delegation id='1'>\nNever use npm.\n</realtime_delegation>"
    rows = [
        said("user", wrapped),
        said("user", wrapped, **kinds),
        said("user", f"{wrapped}\nSum it up."),
        said("user", "<my-button>a</my-button>"),
    ]

    assert [each.origin for each in messages(entries_of(meta(), *rows))] == [
        Origin.INJECTED,
        Origin.USER,
        Origin.USER,
        Origin.USER,
    ]


@pytest.mark.covers("FM-4")
def test_a_file_of_events_alone_is_read_from_its_events() -> None:
    """The oldest recordings have no history items; a rollback counts there as well."""
    entries = entries_of(
        meta(),
        event("user_message", message="one"),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="1"),
        event("user_message", message="two"),
        event("thread_rolled_back", num_turns=1),
    )
    assert [(message.role, message.origin) for message in messages(entries)] == [
        ("user", Origin.USER),
        ("assistant", Origin.MODEL),
        ("assistant", Origin.MODEL),
    ]
    assert messages(entries)[1].blocks == (ThinkingBlock("hm"),)


@pytest.mark.covers("FM-4")
def test_bare_items_of_the_first_clients_are_read() -> None:
    """A line may be the item itself, after a first line without a type."""
    entries = entries_of(
        {"id": "t-9", "timestamp": "2026-02-03T04:05:06.000Z", "instructions": "Be kind."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]},
    )
    assert entries[0] == SessionHead(
        session="t-9", format="codex", started=1770091506.0, instructions="Be kind."
    )
    assert texts(entries) == ["one", "1"]


@pytest.mark.covers("FM-4")
def test_new_records_and_items_that_clients_do_not_keep_are_asides() -> None:
    """Unknown records and ghost snapshots survive as they came, and are no messages."""
    entries = entries_of(
        meta(),
        record("world_state", {"full": True, "state": {}}, ordinal=1),
        record("token_usage_record", {"a": 1}, ordinal=2),
        item({"type": "ghost_snapshot", "ghost_commit": {}}),
        record("from_the_future", ["anything"]),
        said("user", "one"),
    )
    kinds = [entry.kind for entry in entries if isinstance(entry, SideRecord)]
    assert kinds == ["session_meta", "token_usage_record", "ghost_snapshot", "from_the_future"]
    assert texts(entries) == ["one"]


@pytest.mark.covers("FM-4")
@pytest.mark.parametrize(
    "line",
    [
        b"7",
        b'{"timestamp":"2026","type":"response_item","payl',
        b"\0\0\0\0",
        b"[1]",
        b"\x80\x00\x80",
        b'{"a":' * 5000,
    ],
)
def test_bad_lines_are_skipped_with_a_reason(line: bytes) -> None:
    """Corrupt lines cost themselves only."""
    entries = entries_of(meta(), said("user", "one"), line, said("assistant", "1"))
    assert texts(entries) == ["one", "1"]
    (found,) = [entry for entry in entries if isinstance(entry, SkippedLine)]
    assert found.line == 3
    assert found.why


@pytest.mark.covers("FM-4")
@pytest.mark.parametrize(
    ("bad", "good"),
    [(b"caf\xff", "caf\ufffd"), (b"\\ud83d half", "\ufffd half"), (b"tab\there", "tab\there")],
)
def test_text_that_is_not_valid_is_mended(bad: bytes, good: str) -> None:
    """A broken character costs a character."""
    line = json.dumps(said("user", "TEXT")).encode().replace(b"TEXT", bad)
    entries = entries_of(meta(), line)
    assert texts(entries) == [good]
    assert [entry.line for entry in entries if isinstance(entry, RepairedLine)] == [2]


@pytest.mark.covers("FM-4")
@pytest.mark.parametrize("time", ["soon", 5, None])
def test_a_message_with_an_odd_time_is_kept(time: Any) -> None:
    """A time that cannot be read is no reason to lose a message."""
    (found,) = messages(entries_of(meta(), said("user", "one") | {"timestamp": time}))
    assert (found.text, found.timestamp) == ("one", None)


@pytest.mark.covers("FM-4")
@given(st.data())
def test_a_damaged_rollout_is_read_and_no_sound_message_is_lost(data: st.DataObject) -> None:
    """Lines cut or overwritten are reported; every message on an undamaged line is still there."""
    raw = [
        json.dumps(one, separators=(",", ":")).encode() + b"\n"
        for one in (meta(), *turn(1), *turn(2))
    ]
    alive = {
        message.line
        for message in messages(
            list(
                read_session(
                    [RawTranscriptLine(number, line) for number, line in enumerate(raw, 1)]
                )
            )
        )
    }
    hurt = data.draw(st.sets(st.integers(1, len(raw)), max_size=6))
    for number in hurt:
        cut = data.draw(st.integers(0, len(raw[number - 1]) - 3))
        raw[number - 1] = raw[number - 1][:cut] + data.draw(st.binary(max_size=8))
    entries = list(
        read_session([RawTranscriptLine(number, line) for number, line in enumerate(raw, 1)])
    )
    assert alive - hurt <= {message.line for message in messages(entries)}


@pytest.mark.covers("FM-4")
@given(
    st.lists(
        st.binary(max_size=80)
        | st.sampled_from([line.data for line in lines_of(meta(), *turn(1))]),
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


@pytest.mark.covers("FM-4")
@given(st.lists(st.integers(0, 3), max_size=12))
def test_what_survives_rollbacks_is_what_a_list_of_turns_would_hold(steps: list[int]) -> None:
    """0 is a new turn, n takes back n turns: the reader and a plain list of turns agree."""
    records, expected, number = [meta()], list[str](), 0
    for step in steps:
        if step == 0:
            number += 1
            records += turn(number)
            expected.append(f"words {number}")
        else:
            records.append(event("thread_rolled_back", num_turns=step))
            expected = expected[:-step]
    assert [text for text in texts(entries_of(*records)) if text.startswith("words")] == expected


@pytest.mark.covers("FM-6")
def test_a_file_larger_than_what_is_kept_is_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory for the lines they are gone through again."""
    records = [meta(), *turn(1), *turn(2), event("thread_rolled_back", num_turns=1), *turn(3)]
    expected = entries_of(*records)
    monkeypatch.setattr(codex_rollout, "FIRST_PASS_CACHE_BYTES", 0)
    assert entries_of(*records) == expected


SESSIONS = Path(__file__).parents[3] / "shared" / "data" / "sessions" / "codex"


@pytest.mark.covers("FM-4")
@pytest.mark.skipif(
    not SESSIONS.is_dir(), reason="needs the recorded sessions of the shared data folder"
)
def test_recorded_rollouts_pair_every_answer_with_its_call() -> None:
    """In real rollouts no answer stands before its call, no line is lost, and the typed words are
    those of the events.
    """
    for path in sorted(SESSIONS.glob("*.jsonl")):
        raw = path.read_bytes().splitlines(keepends=True)
        entries = list(
            read_session([RawTranscriptLine(number, data) for number, data in enumerate(raw, 1)])
        )
        calls: set[str] = set()
        for message in messages(entries):
            assert all(result.tool_use_id in calls for result in message.tool_results), path.name
            calls.update(use.id for use in message.tool_uses)
        assert {entry.line for entry in entries if not isinstance(entry, SessionHead)} == set(
            range(1, len(raw) + 1)
        ), path.name
        typed = [
            block.text
            for message in messages(entries)
            if message.origin is Origin.USER
            for block in message.blocks
            if isinstance(block, TextBlock)
        ]
        echoed = [
            json.loads(line)["payload"]["message"]
            for line in raw
            if b'"type":"user_message"' in line[:120]
        ]
        assert len(typed) == len(echoed), path.name
