"""Anthropic Messages are read and written without loss."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
    Usage,
    WireInfo,
)
from memorist.errors import WireFormatError
from memorist.formats.anthropic_messages import CODEC
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
MARK = {
    "cache_control": st.sampled_from(
        [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, None]
    )
}


def block(
    kind: str, optional: dict[str, Any] | None = None, **fields: Any
) -> st.SearchStrategy[dict[str, Any]]:
    """Content blocks of one type."""
    return st.fixed_dictionaries(
        {"type": st.just(kind), **fields}, optional={**MARK, **(optional or {})}
    )


TEXT = block("text", {"citations": st.none() | st.lists(OBJECT, max_size=1)}, text=WORD)
IMAGE = block(
    "image",
    source=st.sampled_from(
        [{"type": "url", "url": "https://a.b/c.png"}, {"type": "file", "file_id": "f"}]
    ),
)
DOCUMENT = block(
    "document",
    {"title": WORD, "citations": OBJECT},
    source=st.just({"type": "text", "media_type": "text/plain", "data": "x"}),
)
OTHER = st.one_of(
    block("server_tool_use", id=WORD, name=WORD, input=OBJECT),
    block(
        "web_search_tool_result", tool_use_id=WORD, content=st.lists(OBJECT, max_size=2) | OBJECT
    ),
    block("mcp_tool_use", id=WORD, name=WORD, input=OBJECT, server_name=WORD),
    block("compaction", content=st.none() | WORD),
    block("made_up", value=JSON),
    OBJECT,
)
RESULT = block(
    "tool_result",
    {
        "content": WORD | st.lists(TEXT | IMAGE | DOCUMENT | OTHER, max_size=2) | st.none(),
        "is_error": st.booleans(),
    },
    tool_use_id=WORD,
)
BLOCK = st.one_of(
    TEXT,
    IMAGE,
    DOCUMENT,
    OTHER,
    RESULT,
    block("thinking", {"signature": WORD | st.none()}, thinking=WORD),
    block("redacted_thinking", data=WORD),
    block("tool_use", {"caller": OBJECT}, id=WORD, name=WORD, input=OBJECT),
)
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "content": WORD | st.lists(BLOCK, max_size=4),
    },
    optional={"name": JSON},
)
BODY = st.fixed_dictionaries(
    {"model": WORD, "max_tokens": st.integers(), "messages": st.lists(MESSAGE, max_size=5)},
    optional={
        "system": WORD | st.lists(TEXT, max_size=3),
        "tools": st.lists(
            st.fixed_dictionaries({"name": WORD, "input_schema": OBJECT}, optional=MARK) | OBJECT,
            max_size=2,
        ),
        "thinking": OBJECT,
        "context_management": OBJECT,
        "anything": JSON,
    },
)
REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m-1",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": 1}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 7,
        "service_tier": "x",
    },
}


@pytest.mark.covers("FM-2")
@given(BODY)
def test_a_request_is_written_as_it_was_read(body: dict[str, Any]) -> None:
    """encode(decode(body)) is body, for every generated body, and reading changes nothing."""
    before = json.dumps(body)
    prompt = CODEC.decode_request(body)
    assert CODEC.encode_request(prompt) == body
    assert CODEC.encode_messages(prompt.messages) == body["messages"]
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


@pytest.mark.covers("FM-1")
def test_every_known_block_has_its_own_kind() -> None:
    """Text, both thinkings, calls, answers and media become their core blocks; a server-run tool
    stays unknown.
    """
    content: list[dict[str, Any]] = [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "thinking", "thinking": "b", "signature": "s"},
        {"type": "redacted_thinking", "data": "c"},
        {"type": "tool_use", "id": "t", "name": "N", "input": {"x": 1}},
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{"type": "text", "text": "r"}],
            "is_error": True,
        },
        {"type": "image", "source": {"type": "url", "url": "u"}},
        {"type": "document", "source": {"type": "url", "url": "u"}, "title": "T"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    ]
    (message,) = CODEC.decode_item({"role": "assistant", "content": content}, id="m")
    assert message.blocks == (
        TextBlock("a", None, {"cache_control": {"type": "ephemeral"}}),
        ThinkingBlock("b", "s"),
        RedactedThinkingBlock("c"),
        ToolUse("t", "N", {"x": 1}),
        ToolResult("t", (TextBlock("r"),), is_error=True, plain=False),
        ImageBlock({"type": "url", "url": "u"}),
        DocumentBlock({"type": "url", "url": "u"}, {"title": "T"}),
        UnknownBlock("server_tool_use", content[7]),
    )
    assert message.origin is Origin.MODEL


@pytest.mark.covers("FM-1", "FM-7")
@pytest.mark.parametrize(
    ("content", "origin", "blocks"),
    [
        ("do it", Origin.USER, [None]),
        ("<system-reminder>x</system-reminder>", Origin.INJECTED, [None]),
        (
            [
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                {"type": "text", "text": "go"},
            ],
            Origin.USER,
            [Origin.INJECTED, None],
        ),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}], Origin.TOOL, []),
        (
            [
                {"type": "tool_result", "tool_use_id": "t", "content": "ok"},
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
            ],
            Origin.TOOL,
            [Origin.INJECTED],
        ),
        (
            [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "no, stop"}],
            Origin.USER,
            [None],
        ),
        ([{"type": "image", "source": {"type": "url", "url": "u"}}], Origin.USER, []),
    ],
)
def test_what_the_user_typed_is_told_apart(
    content: Any, origin: Origin, blocks: list[Origin | None]
) -> None:
    """The message's origin is USER if any text was typed; texts of another origin carry it
    themselves.
    """
    (message,) = CODEC.decode_item({"role": "user", "content": content}, id="m")
    assert message.origin is origin
    assert [block.origin for block in message.blocks if isinstance(block, TextBlock)] == blocks


@pytest.mark.covers("FM-2")
def test_a_reply_is_read_whole() -> None:
    """Id, model, stop reason, blocks and the four counts come from the reply; the message is
    written as the API takes it back.
    """
    reply = CODEC.decode_reply(REPLY)
    (message,) = reply.messages
    assert reply.usage == Usage(input=3, cache_read=100, cache_write=20, output=7)
    assert (message.id, message.reply_id, message.model, message.stop_reason, message.usage) == (
        "msg_1",
        "msg_1",
        "m-1",
        "tool_use",
        reply.usage,
    )
    assert CODEC.encode_messages(reply.messages) == [
        {"role": "assistant", "content": REPLY["content"]}
    ]


@pytest.mark.covers("FM-2")
def test_a_reply_without_usage_counts_nothing() -> None:
    """Missing or broken counts are zeros."""
    assert CODEC.decode_reply({"content": []}).usage == Usage()
    assert (
        CODEC.decode_reply(
            {"content": [], "usage": {"input_tokens": -1, "output_tokens": "9"}}
        ).usage
        == Usage()
    )


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    "body", [{"type": "error", "error": {"message": "no"}}, {}, {"content": "text"}]
)
def test_what_is_no_reply_is_refused(body: dict[str, Any]) -> None:
    """An error object is not read as an empty reply."""
    with pytest.raises(WireFormatError):
        CODEC.decode_reply(body)


@pytest.mark.covers("FK-1")
@examples(15, whole=40)
@given(BODY)
def test_a_longer_request_begins_with_the_bytes_of_the_old_one(body: dict[str, Any]) -> None:
    """extend() shares every earlier entry and parameter, in the same order, and adds the reply and
    the tail.
    """
    tail = CODEC.build_user_messages(
        "write the notes", [CODEC.build_tool_result_message("t1", "not run")]
    )
    longer = CODEC.append_reply_and_messages(body, REPLY, tail)
    assert list(longer) == list(body)
    assert json.dumps({**longer, "messages": []}) == json.dumps({**body, "messages": []})
    assert json.dumps(longer["messages"]).startswith(json.dumps(body["messages"])[:-1])
    assert all(new is old for new, old in zip(longer["messages"], body["messages"], strict=False))
    assert longer["messages"][-2] == {"role": "assistant", "content": REPLY["content"]}
    assert longer["messages"][-1] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "not run"},
            {"type": "text", "text": "write the notes"},
        ],
    }


@pytest.mark.covers("FK-1")
def test_a_tail_is_not_written_into_the_cache() -> None:
    """Cache marks go from the tail's blocks and the parts of its answers; keys of tool input stay,
    whatever they are called.
    """
    mark = {"type": "ephemeral"}
    tail = CODEC.decode_item(
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "cache_control": mark,
                    "content": [{"type": "text", "text": "r", "cache_control": mark}],
                },
                {"type": "tool_use", "id": "u", "name": "N", "input": {"cache_control": 1}},
                {"type": "text", "text": "go", "cache_control": mark},
            ],
        },
        id="m",
    )
    longer = CODEC.append_reply_and_messages(
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]}
            ]
        },
        None,
        tail,
    )
    assert longer["messages"][0]["content"][0]["cache_control"] == mark
    assert longer["messages"][1]["content"] == [
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}]},
        {"type": "tool_use", "id": "u", "name": "N", "input": {"cache_control": 1}},
        {"type": "text", "text": "go"},
    ]


@pytest.mark.covers("FK-1")
def test_an_empty_reply_leaves_no_entry() -> None:
    """The API refuses an empty assistant message inside a history."""
    assert CODEC.append_reply_and_messages({"messages": []}, {"content": []}, ())["messages"] == []


@pytest.mark.covers("FM-2")
def test_records_of_one_reply_are_joined_again() -> None:
    """Messages of Claude Code's session file, one block each, become one entry with reasoning and
    signature; parallel answers too.
    """
    wire = WireInfo("claude_code")
    pieces: list[Block] = [ThinkingBlock("hm", "s"), ToolUse("a", "N", {}), ToolUse("b", "N", {})]
    records = [
        Message(
            id=str(place),
            role="assistant",
            blocks=(piece,),
            origin=Origin.MODEL,
            reply_id="r",
            wire=wire,
        )
        for place, piece in enumerate(pieces)
    ]
    answers = [
        Message(
            id=name,
            role="user",
            blocks=(ToolResult(name, (TextBlock(name),)),),
            origin=Origin.TOOL,
            wire=wire,
        )
        for name in ("a", "b")
    ]
    written = CODEC.encode_messages([*records, *answers])
    assert [entry["role"] for entry in written] == ["assistant", "user"]
    assert written[0]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "s"}
    assert [block["type"] for block in written[0]["content"]] == [
        "thinking",
        "tool_use",
        "tool_use",
    ]
    assert [block["tool_use_id"] for block in written[1]["content"]] == ["a", "b"]
