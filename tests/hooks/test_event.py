"""Events as agents give them, and as they do not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.hooks.hook_event import (
    HookEvent,
    HookEventProblem,
    detect_hook_client,
    parse_hook_event,
)
from memorist.hooks.hook_protocol import KNOWN_EVENTS

STOP = {
    "session_id": "s1",
    "transcript_path": "/home/dev/.claude/projects/p/s1.jsonl",
    "cwd": "/home/dev/shop",
    "hook_event_name": "Stop",
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(st.binary())
@pytest.mark.covers("IN-2")
def test_any_bytes_are_an_event_or_a_reason(data: bytes) -> None:
    """Broken JSON, other JSON and no JSON give a sentence, never an error."""
    found = parse_hook_event(data, "Stop")

    assert isinstance(found, HookEvent) or found.why


@given(st.dictionaries(st.sampled_from([*HookEvent.__struct_fields__, "new_field"]), VALUES))
@pytest.mark.covers("IN-2")
def test_fields_of_other_shapes_are_left_out(fields: dict[str, object]) -> None:
    """An agent that changes a field that memorist can do without goes on being heard."""
    event = parse_hook_event(
        json.dumps({**fields, "session_id": "s1", "hook_event_name": "Stop"}).encode(), ""
    )

    assert isinstance(event, HookEvent)
    assert (event.session_id, event.hook_event_name) == ("s1", "Stop")


@given(
    st.text(st.characters()),
    st.sampled_from([r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"x\udfffx"]),
    st.text(st.characters()),
)
@pytest.mark.covers("IN-2")
def test_a_prompt_that_was_cut_through_a_sign_is_heard(before: str, half: str, after: str) -> None:
    """JavaScript writes half of an emoji as an escape of its own, which is no text; the rest of the
    event is read as it stands.
    """
    said = json.dumps({**STOP, "prompt": f"{before}HALF{after}"}).replace("HALF", half)

    event = parse_hook_event(said.encode(), "Stop")

    assert isinstance(event, HookEvent)
    assert event.session_id == STOP["session_id"]
    event.prompt.encode()


def test_an_event_that_is_nested_without_end_is_refused_with_the_reason() -> None:
    """It raises nothing: the process behind the hooks answers every line."""
    deep = b'{"session_id": "s", "tool_input": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001

    refused = parse_hook_event(deep, "PreToolUse")

    assert isinstance(refused, HookEventProblem)
    assert "nested" in refused.why


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize("field", ["prompt", "tool_input", "session_id", "new_field"])
def test_a_field_of_another_shape_that_is_nested_without_end_is_refused(field: str) -> None:
    """Where the fields are read one by one, too."""
    data = b'{"cwd":5,"%s":%s}' % (field.encode(), b"[" * 100_000 + b"]" * 100_000)
    found = parse_hook_event(data, "Stop")

    assert isinstance(found, HookEventProblem)
    assert found.why == "what the agent wrote is nested too deeply"


def test_an_event_of_a_newer_agent_is_named() -> None:
    """An event that is not known, or names no session, is told with its name, so that doctor can
    show it.
    """
    new = parse_hook_event(json.dumps({**STOP, "hook_event_name": "MoonRise"}).encode(), "MoonRise")
    bare = parse_hook_event(b'{"hook_event_name": "Stop"}', "Stop")

    assert isinstance(new, HookEventProblem)
    assert "MoonRise" in new.why
    assert isinstance(bare, HookEventProblem)
    assert "newer version" in bare.why


@pytest.mark.parametrize("name", KNOWN_EVENTS)
def test_the_event_that_the_hook_was_installed_for_counts_where_the_json_names_none(
    name: str,
) -> None:
    """The JSON goes before the argument, and the argument before nothing."""
    left_out = {key: value for key, value in STOP.items() if key != "hook_event_name"}

    by_argument = parse_hook_event(json.dumps(left_out).encode(), name)
    by_json = parse_hook_event(json.dumps({**STOP, "hook_event_name": name}).encode(), "Stop")

    assert isinstance(by_argument, HookEvent)
    assert isinstance(by_json, HookEvent)
    assert by_argument.hook_event_name == by_json.hook_event_name == name


@pytest.mark.parametrize(
    ("said", "fields", "client"),
    [
        ("", {}, "claude-code"),
        (
            "",
            {
                "transcript_path": "/home/dev/.codex/sessions/2026/11/22/"
                "rollout-2026-11-22T10-00-00-x.jsonl"
            },
            "codex",
        ),
        ("", {"turn_id": "t1", "model": "m", "transcript_path": None}, "codex"),
        ("claude-code", {"turn_id": "t1", "model": "m"}, "claude-code"),
        ("codex", {}, "codex"),
        ("another", {}, "claude-code"),
    ],
)
def test_the_agent_is_told_by_its_fields(said: str, fields: dict[str, str], client: str) -> None:
    """Without a name the file and the fields tell Codex from Claude Code."""
    event = parse_hook_event(json.dumps({**STOP, **fields}).encode(), "")

    assert isinstance(event, HookEvent)
    assert detect_hook_client(said, event) == client
