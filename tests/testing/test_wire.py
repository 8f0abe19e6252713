"""The scripted streams hold the same reply as the unstreamed body, whatever the script says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import JsonObject, Usage
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import CallFailure
from memorist.models.reply_assembly import (
    assemble_anthropic_reply,
    assemble_chat_reply,
    assemble_responses_reply,
)
from memorist.testing.request_checks import WIRES
from memorist.testing.steps import CallTool, ReplyParts, Say, Think
from memorist.testing.wire_formats import ReplyMetadata, ScriptedEvent, split_text

ASSEMBLE: dict[str, Callable[..., Any]] = {
    "anthropic": assemble_anthropic_reply,
    "openai_responses": assemble_responses_reply,
    "openai_chat": assemble_chat_reply,
}
FORMATS = sorted(ASSEMBLE)
TEXT = st.text(max_size=200)
INPUT = st.dictionaries(
    st.text(max_size=4),
    st.integers() | TEXT | st.none() | st.lists(st.booleans(), max_size=2),
    max_size=3,
)
PART = st.one_of(
    st.builds(Say, text=TEXT),
    st.builds(Think, text=TEXT, signature=TEXT),
    st.builds(CallTool, name=st.just("Read"), input=INPUT),
    st.builds(
        CallTool, name=st.just("Read"), input=INPUT, id=st.text("abc", min_size=3, max_size=5)
    ),
)
STEP = st.builds(ReplyParts, parts=st.lists(PART, min_size=1, max_size=4).map(tuple))
FACTS = ReplyMetadata(number=1, model="m", usage=Usage(input=3, cache_read=2, output=1), request={})


def objects(events: list[ScriptedEvent]) -> list[dict[str, Any]]:
    """The events as a client decodes them from the bytes."""
    lines = b"".join(event.encode() for event in events).decode().split("\n\n")
    data = [line.partition("data: ")[2] for line in lines if line]
    return [json.loads(one) for one in data if one != "[DONE]"]


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize("name", FORMATS)
@given(step=STEP)
def test_a_stream_gives_the_body_it_was_made_of(name: str, step: ReplyParts) -> None:
    """Assembled events say what the body says, and the codec reads the same reply from both."""
    body = WIRES[name].reply(step, FACTS)
    made = ASSEMBLE[name](objects(WIRES[name].events(body)))
    whole, streamed = find_codec(name).decode_reply(body), find_codec(name).decode_reply(made)

    assert streamed.messages == whole.messages
    assert (streamed.usage, streamed.stop_reason) == (whole.usage, whole.stop_reason)
    assert whole.usage == FACTS.usage
    if name == "openai_responses":
        assert made == body


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("name", FORMATS)
@given(step=STEP, share=st.floats(0, 1))
def test_a_stream_that_is_not_whole_gives_no_reply(
    name: str, step: ReplyParts, share: float
) -> None:
    """However many events are missing at the end, the outcome is a fault and never half a reply."""
    events = objects(WIRES[name].events(WIRES[name].reply(step, FACTS)))
    kept = events[: int(share * (len(events) - 2))]

    assert isinstance(ASSEMBLE[name](kept), CallFailure)


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("name", FORMATS)
def test_an_error_event_ends_the_stream_as_a_passing_fault(name: str) -> None:
    """The scripted overload is one that clients try again."""
    made = ASSEMBLE[name](objects([WIRES[name].error_event("Overloaded")]))

    assert isinstance(made, CallFailure)
    assert made.status in {500, 503, 529}


@pytest.mark.covers("FM-2")
@given(st.text(max_size=2_000))
def test_pieces_make_the_text_again(text: str) -> None:
    """Nothing is lost or doubled where a stream is cut, and the number of pieces is bounded."""
    cut = list(split_text(text))

    assert "".join(cut) == text
    assert all(cut)
    assert len(cut) <= 51


@pytest.mark.covers("FM-2")
def test_unknown_blocks_and_fields_of_a_stream_are_kept() -> None:
    """What a newer provider adds does not get lost on the way."""
    body = {
        **WIRES["anthropic"].reply(Say(text="x"), FACTS),
        "content": [
            {"type": "compaction", "content": "c", "new": 1},
            {"type": "server_tool_use", "id": "s", "name": "n", "input": {"q": 1}},
        ],
        "context_management": {"applied_edits": []},
        "new_field": [1],
    }

    assert assemble_anthropic_reply(objects(WIRES["anthropic"].events(body))) == body


@pytest.mark.covers("FM-2")
def test_a_closing_event_without_items_takes_those_of_the_stream() -> None:
    """Some Responses servers leave the output out of the last event."""
    wire = WIRES["openai_responses"]
    body = wire.reply(ReplyParts(parts=(Say(text="a"), CallTool(name="n"))), FACTS)
    events = objects(wire.events(body))
    events[-1] = events[-1] | {"response": events[-1]["response"] | {"output": []}}

    assert assemble_responses_reply(events) == body


@pytest.mark.covers("FM-2")
def test_chat_chunks_of_other_servers_are_understood() -> None:
    """Ids and names in every piece, calls without an index, empty choices, usage with the last
    chunk.
    """
    chunks: list[dict[str, Any]] = [
        {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {
            "id": "c",
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "t", "function": {"name": "f", "arguments": "{"}}
                        ]
                    },
                }
            ],
        },
        {
            "id": "c",
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "t", "function": {"name": "f", "arguments": "}"}}
                        ]
                    },
                }
            ],
        },
        {"id": "c", "choices": [], "usage": None},
        {
            "id": "c",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        },
    ]
    made = assemble_chat_reply(chunks)

    assert not isinstance(made, CallFailure)
    assert made["choices"][0]["message"]["tool_calls"] == [
        {"type": "function", "id": "t", "function": {"name": "f", "arguments": "{}"}}
    ]
    assert made["usage"] == {"prompt_tokens": 1, "completion_tokens": 2}


def test_a_chat_stream_without_ids_or_a_finish_reason_is_whole_once_it_was_counted() -> None:
    """Some servers give their calls no ids and end without a reason; a stream that ends before the
    counts is still cut off.
    """
    call = {"function": {"name": "Edit", "arguments": "{}"}}
    events: list[JsonObject] = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call, call]}, "finish_reason": None}]},
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
    ]
    made = assemble_chat_reply(events)

    assert isinstance(made, dict)
    calls = made["choices"][0]["message"]["tool_calls"]
    assert [each["id"] for each in calls] == ["call_0", "call_1"]
    assert isinstance(assemble_chat_reply(events[:1]), CallFailure)


def test_calls_of_a_chat_stream_that_share_an_index_stay_apart_by_their_ids() -> None:
    """Some servers give every call of a reply the index 0; what follows belongs to the newest."""

    def chunk(**call: object) -> JsonObject:
        return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}}]}

    made = assemble_chat_reply(
        [
            chunk(id="a", function={"name": "Read", "arguments": '{"path": '}),
            chunk(function={"arguments": '"x"}'}),
            chunk(id="b", function={"name": "Grep", "arguments": "{"}),
            chunk(id="b", function={"name": "Grep", "arguments": "}"}),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        ]
    )

    assert isinstance(made, dict)
    assert made["choices"][0]["message"]["tool_calls"] == [
        {"type": "function", "id": "a", "function": {"name": "Read", "arguments": '{"path": "x"}'}},
        {"type": "function", "id": "b", "function": {"name": "Grep", "arguments": "{}"}},
    ]
