"""Whatever stands on the wire, reading it gives messages or WireFormatError, and what was read is
written back as it was.
"""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec

NAMES = ["anthropic", "openai_chat", "openai_responses"]
BY_NAME = pytest.mark.parametrize("name", NAMES)

KEYS = st.sampled_from([
    "type", "role", "content", "text", "id", "name", "input", "arguments", "call_id", "output", "tool_use_id", "tool_calls",
    "tool_call_id", "function", "custom", "source", "signature", "thinking", "data", "summary", "encrypted_content", "is_error",
    "refusal", "reasoning", "reasoning_content", "image_url", "namespace", "action", "tools", "status", "usage", "messages", "system",
    "instructions", "choices", "message", "value",
])  # fmt: skip
WORDS = st.text(st.characters(), max_size=4) | st.sampled_from([
    "user", "assistant", "system", "developer", "tool", "function", "message", "text", "input_text", "output_text", "refusal",
    "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "reasoning", "function_call",
    "function_call_output", "custom_tool_call", "custom_tool_call_output", "custom", "local_shell_call", "local_shell_call_output",
    "computer_call", "tool_search_call", "tool_search_output", "agent_message", "easy_message", "unknown", "not_an_object",
    "message_refusal", "input_image", "image_url", "file", "{}", "{", "[", "c1",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
ENTRY = JSON | st.dictionaries(KEYS, JSON, max_size=7)
TYPED = st.one_of(
    st.fixed_dictionaries(
        {"type": WORDS},
        optional=dict.fromkeys(
            ("id", "call_id", "name", "arguments", "input", "output", "content"), JSON
        ),
    ),
    st.fixed_dictionaries(
        {
            "role": WORDS,
            "content": st.lists(
                st.fixed_dictionaries({"type": WORDS, "text": JSON}) | JSON, max_size=3
            ),
        }
    ),
    st.fixed_dictionaries(
        {"role": WORDS}, optional={"content": JSON, "tool_calls": JSON, "tool_call_id": WORDS}
    ),
)


@pytest.mark.covers("FM-2")
@BY_NAME
@given(entries=st.lists(ENTRY | TYPED, max_size=4))
def test_any_history_is_kept(name: str, entries: list[Any]) -> None:
    """Entries of any shape are read without an error and written as they stood."""
    wire = find_codec(name)
    body = {wire.history_key(): entries}
    assert wire.encode_request(wire.decode_request(body)) == body


@pytest.mark.covers("FM-2")
@BY_NAME
@given(body=JSON | st.dictionaries(KEYS, JSON, max_size=8))
def test_any_body_is_read_or_refused(name: str, body: Any) -> None:
    """A body of any shape is kept whole, or refused with WireFormatError; so is a reply."""
    wire = find_codec(name)
    with suppress(WireFormatError):
        assert wire.encode_request(wire.decode_request(body)) == body
    with suppress(WireFormatError):
        reply = wire.decode_reply(body)
        assert reply.body == body
    with suppress(WireFormatError):
        wire.append_reply_and_messages(body, body, ())


@pytest.mark.covers("FM-2")
@BY_NAME
@given(entries=st.lists(ENTRY | TYPED, max_size=4), data=st.data())
def test_any_history_can_be_translated(name: str, entries: list[Any], data: st.DataObject) -> None:
    """What was read from any entry can be written in every other format, which then reads it."""
    messages = [
        message
        for place, entry in enumerate(entries)
        for message in find_codec(name).decode_item(entry, id=str(place))
    ]
    other = find_codec(data.draw(st.sampled_from(NAMES)))
    written = other.encode_messages(messages)
    assert (
        other.encode_messages(
            [message for entry in written for message in other.decode_item(entry, id="m")]
        )
        == written
    )


@pytest.mark.covers("FM-2")
@BY_NAME
@pytest.mark.parametrize(
    "arguments", ["[" * 100_000, '{"a":' * 100_000, "\ud800", '{"a": 1e999}', "9" * 5_000, "\x00"]
)
def test_hostile_arguments_are_only_text(name: str, arguments: str) -> None:
    """Arguments that break a parser are kept as text, and the call stays a call."""
    entry = {
        "anthropic": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c", "name": "n", "input": {"arguments": arguments}}
            ],
        },
        "openai_chat": {
            "role": "assistant",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "n", "arguments": arguments}}
            ],
        },
        "openai_responses": {
            "type": "function_call",
            "call_id": "c",
            "name": "n",
            "arguments": arguments,
        },
    }[name]
    messages = find_codec(name).decode_item(entry, id="m")
    assert [block.id for block in messages[0].tool_uses] == ["c"]
    assert find_codec(name).encode_messages(messages) == [entry]
    for other in NAMES:
        assert len(find_codec(other).encode_messages(messages)) == 1


@pytest.mark.covers("FM-2")
@BY_NAME
@pytest.mark.parametrize("body", [None, [], "x", 3, {}, {"messages": {}, "input": {}}])
def test_what_is_no_request_is_refused(name: str, body: Any) -> None:
    """The error says what is missing, in one sentence."""
    with pytest.raises(WireFormatError, match=r"\.$"):
        find_codec(name).decode_request(body)
    with pytest.raises(WireFormatError, match=r"\.$"):
        find_codec(name).append_reply_and_messages(body, None, ())
