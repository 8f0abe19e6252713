"""Chat Completions messages are read and written without loss."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import (
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
    Usage,
)
from memorist.errors import WireFormatError
from memorist.formats.openai_chat import CODEC
from support.sweeps import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
OBJECT = st.dictionaries(st.text(max_size=5), JSON, max_size=3)
WORD = st.text(max_size=12)
ARGUMENTS = st.sampled_from(['{"a": 1}', "{}", "", "[1]", "{broken"])


def part(kind: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Content parts of one type."""
    return st.fixed_dictionaries(
        {"type": st.just(kind), **fields}, optional={"key": WORD, "prompt_cache_breakpoint": OBJECT}
    )


PART = st.one_of(
    part("text", text=WORD),
    part("refusal", refusal=WORD),
    part("image_url", image_url=st.fixed_dictionaries({"url": WORD})),
    part("input_audio", input_audio=OBJECT),
    part("file", file=OBJECT),
    part("message_refusal", refusal=WORD),
    part("made_up", value=JSON),
    OBJECT,
)
CONTENT = WORD | st.none() | st.lists(PART, max_size=3)
CALL = st.one_of(
    st.fixed_dictionaries(
        {
            "id": WORD,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": WORD, "arguments": ARGUMENTS | OBJECT}),
        },
        optional={"index": st.integers()},
    ),
    st.fixed_dictionaries(
        {
            "id": WORD,
            "function": st.fixed_dictionaries(
                {"name": WORD, "arguments": ARGUMENTS}, optional={"x": JSON}
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "id": WORD,
            "type": st.just("custom"),
            "custom": st.fixed_dictionaries({"name": WORD, "input": ARGUMENTS}),
        }
    ),
    OBJECT,
)
MESSAGE = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": CONTENT},
        optional={"name": WORD},
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant")},
        optional={
            "content": CONTENT,
            "tool_calls": st.lists(CALL, max_size=3) | st.none(),
            "refusal": WORD | st.none(),
            "name": WORD,
            "function_call": OBJECT | st.none(),
            "reasoning_content": WORD | st.none(),
            "reasoning": WORD,
            "reasoning_details": st.lists(OBJECT, max_size=1),
            "annotations": st.just([]),
            "audio": st.none(),
        },
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": WORD},
        optional={"name": WORD, "content": CONTENT | st.none()},
    ),
    st.fixed_dictionaries({"role": st.just("function"), "name": WORD, "content": CONTENT}),
    st.fixed_dictionaries({"role": st.just("made_up")}, optional={"content": CONTENT}),
)
TOOL = st.fixed_dictionaries(
    {
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": WORD}, optional={"parameters": OBJECT}),
    }
)
BODY = st.fixed_dictionaries(
    {"model": WORD, "messages": st.lists(MESSAGE, max_size=6)},
    optional={
        "tools": st.lists(
            TOOL | st.just({"type": "custom", "custom": {"name": "c"}}) | OBJECT, max_size=2
        ),
        "max_completion_tokens": st.integers(),
        "system": JSON,
        "anything": JSON,
    },
)
REPLY: dict[str, Any] = {
    "id": "chatcmpl-1",
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "reasoning_content": "hm",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "ls", "arguments": '{"p":1}'},
                    }
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 60},
    },
}


@pytest.mark.parametrize("content", [{"content": None}, {}])
def test_a_result_without_content_is_the_answer_to_its_call(content: dict[str, Any]) -> None:
    """A tool that returns nothing: programs send its None as it is, or no content at all."""
    item = {"role": "tool", "tool_call_id": "c1", "name": "f", **content}
    results = CODEC.decode_history_item(item, "").tool_results
    assert [each.tool_use_id for each in results] == ["c1"]


@pytest.mark.covers("FM-2")
@given(BODY)
def test_a_request_is_written_as_it_was_read(body: dict[str, Any]) -> None:
    """encode(decode(body)) is body, for every generated body, and reading changes nothing."""
    before = json.dumps(body)
    prompt = CODEC.decode_request(body)
    assert CODEC.encode_request(prompt) == body
    assert json.dumps(body) == before


@pytest.mark.covers("FM-2")
@given(MESSAGE)
def test_one_entry_is_one_message(item: dict[str, Any]) -> None:
    """Each entry of the history gives one message, called by the given id, that is written back as
    it stood.
    """
    messages = CODEC.decode_item(item, id="here")
    assert [message.id for message in messages] == ["here"]
    assert CODEC.encode_messages(messages) == [item]


def read(entry: dict[str, Any]) -> Message:
    """One entry, read."""
    (message,) = CODEC.decode_item(entry, id="here")
    return message


@pytest.mark.covers("FM-1", "FM-2")
def test_an_assistant_message_is_read_in_order() -> None:
    """Reasoning, content, refusal, calls; custom calls and broken arguments keep their exact text."""
    broken = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"p":'}}
    custom = {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    message = read(
        {
            "role": "assistant",
            "content": "hi",
            "reasoning_content": "hm",
            "refusal": "no",
            "tool_calls": [broken, custom],
        }
    )
    assert message.blocks == (
        ThinkingBlock("hm", None, {"key": "reasoning_content"}),
        TextBlock("hi"),
        TextBlock("no", None, {"type": "message_refusal"}),
        ToolUse("a", "ls", {}, '{"p":'),
        ToolUse("b", "patch", {}, "*** Begin", extra=custom),
    )


@pytest.mark.covers("FM-1", "FM-7")
def test_roles_and_origins_are_told_apart() -> None:
    """System and developer keep their role; tool answers and typed text are named as such; unknown
    roles are kept as they came.
    """
    assert (
        read({"role": "developer", "content": "x"}).role,
        read({"role": "system", "content": "x"}).origin,
    ) == ("developer", Origin.INJECTED)
    answer = read({"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "r"}]})
    assert answer.blocks == (ToolResult("a", (TextBlock("r"),), plain=False),)
    assert answer.origin is Origin.TOOL
    assert read({"role": "user", "content": "go"}).origin is Origin.USER
    assert (
        read({"role": "user", "content": "<system-reminder>x</system-reminder>"}).origin
        is Origin.INJECTED
    )
    assert isinstance(read({"role": "critic", "content": "x"}).blocks[0], UnknownBlock)


@pytest.mark.covers("FM-2")
def test_the_system_prompt_is_the_head_of_the_messages() -> None:
    """Leading system and developer messages are the prompt's system; later ones stay where they
    are.
    """
    roles = ["system", "developer", "user", "system", "assistant"]
    prompt = CODEC.decode_request({"messages": [{"role": role, "content": role} for role in roles]})
    assert [message.role for message in prompt.system] == ["system", "developer"]
    assert [message.role for message in prompt.messages] == ["user", "system", "assistant"]


@pytest.mark.covers("FM-2")
def test_a_reply_is_read_whole() -> None:
    """The first choice is the message; cached and written tokens are taken out of the prompt's."""
    reply = CODEC.decode_reply(REPLY)
    (message,) = reply.messages
    assert reply.usage == Usage(input=40, cache_read=900, cache_write=60, output=50)
    assert (message.id, message.reply_id, message.model, message.stop_reason) == (
        "chatcmpl-1",
        "chatcmpl-1",
        "m-1",
        "tool_calls",
    )
    assert CODEC.encode_messages(reply.messages) == [REPLY["choices"][0]["message"]]
    assert (
        CODEC.decode_reply({"choices": [{"message": {"role": "assistant", "content": "x"}}]}).usage
        == Usage()
    )


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    "body",
    [{"error": {"message": "no"}}, {"choices": []}, {"choices": [{"delta": {}}]}, {"choices": "x"}],
)
def test_what_is_no_reply_is_refused(body: dict[str, Any]) -> None:
    """An error object or a streamed piece is not read as a reply."""
    with pytest.raises(WireFormatError):
        CODEC.decode_reply(body)


@pytest.mark.covers("FK-1")
@examples(15, whole=40)
@given(BODY)
def test_a_longer_request_begins_with_the_bytes_of_the_old_one(body: dict[str, Any]) -> None:
    """extend() shares every earlier entry and parameter, in the same order, and adds the reply and
    the tail.
    """
    longer = CODEC.append_reply_and_messages(
        body,
        REPLY,
        CODEC.build_user_messages(
            "write the notes", [CODEC.build_tool_result_message("c1", "not run")]
        ),
    )
    old = body["messages"]
    assert json.dumps({**longer, "messages": []}) == json.dumps({**body, "messages": []})
    assert json.dumps(longer["messages"]).startswith(json.dumps(old)[:-1])
    assert all(new is entry for new, entry in zip(longer["messages"], old, strict=False))
    assert longer["messages"][len(old) :] == [
        REPLY["choices"][0]["message"],
        {"role": "tool", "tool_call_id": "c1", "content": "not run"},
        {"role": "user", "content": "write the notes"},
    ]
