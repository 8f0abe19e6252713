"""What the model was told of its surroundings, and what it is told because it changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.turn_rollback import drop_rolled_back_entries
from memorist.context.world_state import (
    EMPTY_WORLD_STATE,
    UNKNOWN_WORLD_STATE,
    LastSentValue,
    WorldSection,
    apply_merge_patch,
    build_merge_patch,
    build_sent_world_state,
    build_world_change_messages,
    diff_world_state,
    encode_canonical_json,
    hash_text,
    make_title_renderer,
    restore_world_state,
    to_patchable_object,
)
from memorist.core.messages import Message, Origin, TextBlock
from memorist.formats.codex_rollout import read_session as import_codex_memory
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RawTranscriptLine,
    SessionHead,
    SkippedLine,
    TranscriptEntry,
    TurnRollback,
    WorldStateRecord,
    encode_transcript_entry,
)
from memorist.formats.transcript_format import read_session as read_own

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
KEYS = st.sampled_from(["a", "b", "c"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)


def sections(values: dict[str, Any]) -> list[WorldSection]:
    return [WorldSection(key, value, make_title_renderer(key)) for key, value in values.items()]


def user(text: str) -> Message:
    return Message(
        id=text, role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )


def reply(text: str) -> Message:
    return Message(id=text, role="assistant", blocks=(TextBlock(text),), origin=Origin.MODEL)


def full(**values: Any) -> WorldStateRecord:
    return WorldStateRecord(full=True, state=values)


def patch(**values: Any) -> WorldStateRecord:
    return WorldStateRecord(full=False, state=values)


@pytest.mark.covers("CX-3")
@given(before=OBJECTS.map(to_patchable_object), now=OBJECTS.map(to_patchable_object))
def test_a_patch_makes_one_state_into_the_other(
    before: dict[str, Any], now: dict[str, Any]
) -> None:
    """Whatever the two states, the patch on the first gives the second; and it is empty exactly
    when they are the same.
    """
    made = build_merge_patch(before, now)

    assert encode_canonical_json(apply_merge_patch(before, made)) == encode_canonical_json(now)
    assert (not made) == (encode_canonical_json(before) == encode_canonical_json(now))


@pytest.mark.covers("CX-3")
@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"a": "foo"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ],
)
def test_patches_are_those_of_the_rfc(
    before: dict[str, Any], change: dict[str, Any], after: dict[str, Any]
) -> None:
    """Null takes out, objects are merged, all else is put in place (RFC 7386, appendix A)."""
    assert apply_merge_patch(before, change) == after


@pytest.mark.covers("CX-3")
@given(turns=st.lists(OBJECTS, max_size=6))
def test_a_transcript_gives_back_the_state(turns: list[dict[str, Any]]) -> None:
    """The records of any course of events, written and read again, rebuild the state at its end."""
    state = EMPTY_WORLD_STATE
    lines = [encode_transcript_entry(SessionHead(session="s", format="memorist"))]
    for values in turns:
        step = diff_world_state(state, sections(values))
        state = step.state
        if step.record is not None:
            lines.append(encode_transcript_entry(step.record))

    rebuilt = restore_world_state(
        read_own([RawTranscriptLine(number, data) for number, data in enumerate(lines, 1)])
    )

    # A line of the file is JSON: surrogates that stand alone, and a whole number written as a
    # float, come back as JSON has them.
    if all(b"\\ud" not in mark for mark in state.marks.values()):
        assert rebuilt.marks == state.marks


@pytest.mark.covers("CX-3")
@given(values=OBJECTS)
def test_nothing_is_said_when_nothing_changed(values: dict[str, Any]) -> None:
    """The same values, their keys in another order, give no text and no record."""
    state = diff_world_state(EMPTY_WORLD_STATE, sections(values)).state

    step = diff_world_state(state, sections(turned(values)))

    assert step.changes == ()
    assert step.record is None


def turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: turned(each) for key, each in reversed(value.items())}
    return [turned(each) for each in value] if isinstance(value, list) else value


@pytest.mark.covers("CX-3")
def test_only_what_changed_is_told() -> None:
    """A new folder is told, the date is not; the record holds the change alone, the first one all."""
    first = diff_world_state(
        EMPTY_WORLD_STATE,
        sections({"cwd": "/a", "date": "today", "model": {"name": "m", "effort": "low"}}),
    )
    second = diff_world_state(
        first.state,
        sections({"cwd": "/b", "date": "today", "model": {"name": "m", "effort": "high"}}),
    )

    assert [change.text.partition(":")[0] for change in first.changes] == ["cwd", "date", "model"]
    assert first.record == full(cwd="/a", date="today", model={"name": "m", "effort": "low"})
    assert [change.text for change in second.changes] == [
        "cwd is now: /b",
        'model is now: {"effort":"high","name":"m"}',
    ]
    assert second.record == patch(cwd="/b", model={"effort": "high"})


@pytest.mark.covers("CX-3")
def test_true_is_not_one() -> None:
    """Python takes True for 1; a switch that became a number has changed."""
    assert diff_world_state(
        build_sent_world_state({"a": True}), sections({"a": 1})
    ).record == patch(a=1)


@pytest.mark.covers("CX-3")
@pytest.mark.parametrize("gone", [sections({"cwd": "/a", "date": None}), sections({"cwd": "/a"})])
def test_what_is_gone_is_said(gone: list[WorldSection]) -> None:
    """A section without a value, and one that is not there at all, are no longer in force; a second
    time there is nothing to say.
    """
    step = diff_world_state(build_sent_world_state({"cwd": "/a", "date": "today"}), gone)

    assert [change.text for change in step.changes] == ["date: no longer in force."]
    assert step.record == patch(date=None)
    assert diff_world_state(step.state, gone).record is None


@pytest.mark.covers("CX-3")
def test_a_renderer_knows_what_was_told_before() -> None:
    """Nothing, something unknown, or the value; with it a text can say only what differs."""
    seen: list[LastSentValue] = []

    def render(value: Any, before: LastSentValue) -> str:
        seen.append(before)
        return str(value)

    for state in (EMPTY_WORLD_STATE, UNKNOWN_WORLD_STATE, build_sent_world_state({"x": 1})):
        diff_world_state(state, [WorldSection("x", 2, render)])

    assert seen == [LastSentValue(), LastSentValue("unknown"), LastSentValue("known", 1)]


@pytest.mark.covers("CX-3")
def test_each_family_is_told_in_its_manner() -> None:
    """Rollout: a message for each run of one role; file-native: reminders in one user message.
    Nothing is no message.
    """
    told = [
        WorldSection("a", 1, make_title_renderer("a")),
        WorldSection("b", 2, make_title_renderer("b")),
        WorldSection("c", 3, make_title_renderer("c"), role="user"),
    ]
    changes = diff_world_state(EMPTY_WORLD_STATE, told).changes

    assert [
        (m.role, len(m.blocks)) for m in build_world_change_messages(changes, "rollout", "1")
    ] == [("developer", 2), ("user", 1)]
    (reminders,) = build_world_change_messages(changes, "file-native", "1")
    assert reminders.role == "user"
    assert reminders.text.count("<system-reminder>") == 3
    assert (
        build_world_change_messages((), "file-native", "2")
        == build_world_change_messages((), "rollout", "2")
        == ()
    )


@pytest.mark.covers("CX-3")
def test_a_long_text_is_compared_by_its_digest() -> None:
    """The kind of line ends makes no difference."""
    assert hash_text("a\r\nb") == hash_text("a\nb") != hash_text("a b")


@pytest.mark.covers("CX-3")
@pytest.mark.parametrize(
    "last",
    [
        WorldStateRecord(full=True, state=None, line=7),
        WorldStateRecord(full=False, state=None, line=7),
    ],
)
def test_a_snapshot_that_cannot_be_read_is_as_none(last: WorldStateRecord) -> None:
    """The state is unknown then, so that all is told again; changes on it are passed over until a
    full record.
    """
    broken = restore_world_state([full(cwd="/a"), last])

    assert broken == UNKNOWN_WORLD_STATE
    assert diff_world_state(broken, sections({"cwd": "/a"})).record == full(cwd="/a")
    assert restore_world_state([full(cwd="/a"), last, patch(cwd="/b")]) == UNKNOWN_WORLD_STATE
    assert restore_world_state([full(cwd="/a"), last, full(cwd="/b")]) == build_sent_world_state(
        {"cwd": "/b"}
    )


@pytest.mark.covers("CX-3")
def test_a_change_without_a_state_is_passed_over_and_a_compaction_resets() -> None:
    """As in the rollouts that memorist reads."""
    assert restore_world_state([patch(cwd="/b")]) == EMPTY_WORLD_STATE
    assert (
        restore_world_state([full(cwd="/a"), CompactionBoundary(id="c", line=2)])
        == EMPTY_WORLD_STATE
    )
    assert (
        restore_world_state([full(cwd="/a"), CompactionBoundary(id="c", line=2), patch(cwd="/b")])
        == EMPTY_WORLD_STATE
    )


@pytest.mark.covers("CX-3")
@pytest.mark.parametrize(
    "data", [b'{"type":"world_state","entry":{"full":1}}', b'{"type":"world_state"}']
)
def test_a_damaged_record_in_a_transcript_is_one_that_cannot_be_read(data: bytes) -> None:
    """Its line says that there was a record, so that the state before it is not trusted."""
    lines = [
        encode_transcript_entry(SessionHead(session="s", format="memorist")),
        encode_transcript_entry(full(cwd="/a")),
        data + b"\n",
    ]

    assert (
        restore_world_state(
            read_own([RawTranscriptLine(number, line) for number, line in enumerate(lines, 1)])
        )
        == UNKNOWN_WORLD_STATE
    )


@pytest.mark.covers("CX-3", "FM-4")
def test_the_records_of_a_codex_rollout_are_read() -> None:
    """Full and patches, those of turns taken back left out, and a broken one that resets."""

    def world(inner: str) -> str:
        return f'{{"timestamp":"2026-11-01T10:00:00Z","type":"world_state","payload":{inner}}}'

    def says(role: str, text: str) -> str:
        item = (
            f'{{"type":"message","role":"{role}","content":[{{"type":"input_text",'
            f'"text":"{text}"}}]}}'
        )
        return f'{{"timestamp":"2026-11-01T10:00:00Z","type":"response_item","payload":{item}}}'

    texts = [
        world('{"full":true,"state":{"cwd":"/a","tools":{"x":1,"y":2}}}'),
        says("user", "one"),
        world('{"full":false,"state":{"tools":{"y":null}}}'),
        says("user", "two"),
        world('{"full":false,"state":{"cwd":"/b"}}'),
        '{"timestamp":"2026-11-01T10:00:00Z","type":"event_msg",'
        '"payload":{"type":"thread_rolled_back","num_turns":1}}',
    ]
    lines = [
        RawTranscriptLine(number, text.encode() + b"\n") for number, text in enumerate(texts, 1)
    ]

    entries = list(import_codex_memory(lines))

    assert not [entry for entry in entries if isinstance(entry, SkippedLine)]
    # The change above "two" belongs to the turn that was taken back.
    assert restore_world_state(entries) == build_sent_world_state(
        {"cwd": "/a", "tools": {"x": 1, "y": 2}}
    )
    broken = [*lines, RawTranscriptLine(7, (world('{"full":"?"}') + "\n").encode())]
    assert restore_world_state(import_codex_memory(broken)) == UNKNOWN_WORLD_STATE


STORY: list[TranscriptEntry] = [
    full(cwd="/a"), user("one"), reply("1"), patch(cwd="/b"), user("two"), patch(cwd="/c"), reply("2"), user("three"), reply("3"),
]  # fmt: skip


@pytest.mark.covers("CX-7", "CX-3")
@pytest.mark.parametrize(
    ("turns", "said", "cwd"),
    [(1, ["one", "1", "two", "2"], "/c"), (2, ["one", "1"], "/a"), (3, [], "/a"), (99, [], "/a")],
)
def test_taking_back_turns_is_a_marker(turns: int, said: list[str], cwd: str) -> None:
    """What is read after the marker is as it was before those turns, the surroundings included;
    beyond the start is the start.
    """
    entries = [*STORY, TurnRollback(turns, 6 - len(said), 0, kept=True)]

    assert [
        entry.text for entry in drop_rolled_back_entries(entries) if isinstance(entry, Message)
    ] == said
    assert restore_world_state(entries) == build_sent_world_state({"cwd": cwd})


@pytest.mark.covers("CX-7")
def test_taking_back_twice_counts_from_what_is_left() -> None:
    """A second marker takes back what the first one left, and a turn begun after a marker is one
    like any other.
    """
    entries = list(STORY)
    entries += [TurnRollback(1, 0, 0, kept=True)] * 2
    entries += [user("four"), reply("4")]

    assert [
        entry.text for entry in drop_rolled_back_entries(entries) if isinstance(entry, Message)
    ] == ["one", "1", "four", "4"]
    assert len(entries) == len(STORY) + 4


@pytest.mark.covers("CX-7")
def test_a_marker_of_a_codex_file_takes_nothing_twice() -> None:
    """Its reader has left the messages out already."""
    assert drop_rolled_back_entries([*STORY, TurnRollback(2, 4, 9)]) == [
        *STORY,
        TurnRollback(2, 4, 9),
    ]


@pytest.mark.covers("CX-7")
@given(steps=st.lists(st.sampled_from(["ask", "answer", "world", "back 1", "back 2"]), max_size=25))
def test_a_rolled_back_transcript_reads_as_one_that_never_went_there(steps: list[str]) -> None:
    """Whatever the course of a session, the surviving messages are those of a list from which the
    turns are simply taken off.
    """
    entries: list[TranscriptEntry] = []
    turns: list[list[str]] = [[]]
    for number, step in enumerate(steps):
        if step == "ask":
            entries.append(user(f"u{number}"))
            turns.append([f"u{number}"])
        elif step == "answer":
            entries.append(reply(f"r{number}"))
            turns[-1].append(f"r{number}")
        elif step == "world":
            entries.append(full(n=number))
        else:
            entries.append(TurnRollback(int(step[-1]), 0, 0, kept=True))
            turns = turns[: max(1, len(turns) - int(step[-1]))]

    assert [
        entry.text for entry in drop_rolled_back_entries(entries) if isinstance(entry, Message)
    ] == [text for turn in turns for text in turn]
