"""A conversation of one format can be sent in another: text, calls, answers, their ids, order and
pairing survive.
"""

from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.core.messages import DecodedRequest, Message, Origin, TextBlock, ToolUse
from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec

NAMES = ["anthropic", "openai_chat", "openai_responses"]
PAIRS = list(permutations(NAMES, 2))
PIXEL = "iVBORw0KGgo="

Step = tuple[str, list[tuple[str, dict[str, int]]], str]
"""What the user asked, the parallel calls (tool and input) that came of it, and the last word of
the model.
"""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["fix it", "and now?", "why"]),
        st.lists(
            st.tuples(
                st.sampled_from(["Read", "Bash"]),
                st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9)),
            ),
            max_size=3,
        ),
        st.sampled_from(["done", "because"]),
    ),
    max_size=4,
)


def history(name: str, steps: list[Step]) -> list[Any]:
    """The steps as one format writes them, by hand: calls in one reply, all their answers, then the
    last word.
    """
    entries: list[Any] = []
    for number, (asked, calls, said) in enumerate(steps):
        ids = [f"call_{number}_{place}" for place in range(len(calls))]
        entries += STEP[name](
            asked, [(call, *rest) for call, rest in zip(ids, calls, strict=True)], said
        )
    return entries


def _anthropic(asked: str, calls: list[tuple[str, str, dict[str, int]]], said: str) -> list[Any]:
    uses = [
        {"type": "tool_use", "id": call, "name": tool, "input": given}
        for call, tool, given in calls
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": call, "content": f"out {call}"}
        for call, _, _ in calls
    ]
    middle = (
        [{"role": "assistant", "content": uses}, {"role": "user", "content": answers}]
        if calls
        else []
    )
    return [
        {"role": "user", "content": asked},
        *middle,
        {"role": "assistant", "content": [{"type": "text", "text": said}]},
    ]


def _chat(asked: str, calls: list[tuple[str, str, dict[str, int]]], said: str) -> list[Any]:
    uses = [
        {
            "id": call,
            "type": "function",
            "function": {"name": tool, "arguments": repr(given).replace("'", '"')},
        }
        for call, tool, given in calls
    ]
    answers = [
        {"role": "tool", "tool_call_id": call, "content": f"out {call}"} for call, _, _ in calls
    ]
    middle = [{"role": "assistant", "content": None, "tool_calls": uses}, *answers] if calls else []
    return [{"role": "user", "content": asked}, *middle, {"role": "assistant", "content": said}]


def _responses(asked: str, calls: list[tuple[str, str, dict[str, int]]], said: str) -> list[Any]:
    uses = [
        {
            "type": "function_call",
            "call_id": call,
            "name": tool,
            "arguments": repr(given).replace("'", '"'),
        }
        for call, tool, given in calls
    ]
    answers = [
        {"type": "function_call_output", "call_id": call, "output": f"out {call}"}
        for call, _, _ in calls
    ]
    last = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": said}],
    }
    return [{"role": "user", "content": asked}, *uses, *answers, last]


STEP = {"anthropic": _anthropic, "openai_chat": _chat, "openai_responses": _responses}


def read(name: str, entries: list[Any]) -> list[Message]:
    """Entries of one format, read."""
    return [
        message
        for place, entry in enumerate(entries)
        for message in find_codec(name).decode_item(entry, id=f"m{place}")
    ]


def story(messages: list[Message]) -> list[tuple[Any, ...]]:
    """What must survive, in order."""
    told: list[tuple[Any, ...]] = []
    for message in messages:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                told.append((message.role, block.text))
            elif isinstance(block, ToolUse):
                told.append(("call", block.id, block.name, block.input))
        told += [("answer", block.tool_use_id, block.text) for block in message.tool_results]
    return told


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_a_conversation_survives_translation(source: str, target: str, steps: list[Step]) -> None:
    """Between every two formats the same is said, called and answered, in the same order, as the
    target would write it itself.
    """
    messages = read(source, history(source, steps))
    written = find_codec(target).encode_messages(messages)
    assert story(read(target, written)) == story(messages)
    assert story(read(target, written)) == story(read(target, history(target, steps)))


@pytest.mark.covers("FM-2")
@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_anthropic_gets_alternating_roles(steps: list[Step]) -> None:
    """Neighbours are merged, so that user and assistant take turns, and each turn of calls is
    followed by its answers.
    """
    written = find_codec("anthropic").encode_messages(
        read("openai_responses", history("openai_responses", steps))
    )
    assert all(one["role"] != other["role"] for one, other in pairwise(written))
    for one, other in pairwise(written):
        calls = [block["id"] for block in one["content"] if block["type"] == "tool_use"]
        answers = [
            block["tool_use_id"] for block in other["content"] if block["type"] == "tool_result"
        ]
        assert not calls or calls == answers


CODEX_HOOKS = [
    {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
    {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "hook says"}],
    },
    {"type": "function_call", "call_id": "b", "name": "cat", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "b", "output": "B"},
    {"type": "function_call_output", "call_id": "a", "output": "A"},
    {"type": "message", "role": "user", "content": "next"},
]


@pytest.mark.covers("FM-2")
def test_an_answer_moves_to_its_call_for_anthropic() -> None:
    """What Codex lets stand between a call and its answer comes after the answer."""
    assert find_codec("anthropic").encode_messages(read("openai_responses", CODEX_HOOKS)) == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "A"},
                {"type": "text", "text": "hook says"},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "b", "name": "cat", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "B"},
                {"type": "text", "text": "next"},
            ],
        },
    ]


@pytest.mark.covers("FM-2")
def test_an_answer_moves_to_its_call_for_chat() -> None:
    """The tool message stands right after the message with its call; a developer message keeps its
    role.
    """
    written = find_codec("openai_chat").encode_messages(read("openai_responses", CODEX_HOOKS))
    assert [entry["role"] for entry in written] == [
        "assistant",
        "tool",
        "developer",
        "assistant",
        "tool",
        "user",
    ]
    assert [entry.get("tool_call_id") for entry in written] == [None, "a", None, None, "b", None]


IMAGES = {
    "anthropic": {
        "role": "user",
        "content": [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
            },
            {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}},
            {"type": "text", "text": "what is it"},
        ],
    },
    "openai_chat": {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
            {"type": "text", "text": "what is it"},
        ],
    },
    "openai_responses": {
        "type": "message",
        "role": "user",
        "content": [
            {
                "type": "input_image",
                "detail": "auto",
                "image_url": f"data:image/png;base64,{PIXEL}",
            },
            {"type": "input_image", "detail": "auto", "image_url": "https://a.b/c.png"},
            {"type": "input_text", "text": "what is it"},
        ],
    },
}


@pytest.mark.covers("FM-1", "FM-2")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_picture_survives_translation(source: str, target: str) -> None:
    """Inline bytes and links are put into the other format's own form."""
    assert find_codec(target).encode_messages(read(source, [IMAGES[source]])) == [IMAGES[target]]


@pytest.mark.covers("FM-2")
def test_what_cannot_be_carried_over_is_left_out_or_named() -> None:
    """Reasoning and server tools stay behind; a file that only the provider has becomes a word; a
    compaction's text is kept.
    """
    entry = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "compaction", "content": "so far: a"},
            {"type": "text", "text": "hello", "citations": []},
        ],
    }
    picture = {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}],
    }
    messages = read("anthropic", [entry, picture])
    assert find_codec("openai_chat").encode_messages(messages) == [
        {"role": "assistant", "content": "so far: a\n\nhello"},
        {"role": "user", "content": "[image]"},
    ]
    assert find_codec("openai_responses").encode_messages(messages) == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text} for text in ("so far: a", "hello")],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "[image]"}]},
    ]
    sealed = read(
        "openai_responses",
        [
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "web_search_call"},
        ],
    )
    assert find_codec("anthropic").encode_messages(sealed) == []
    assert find_codec("openai_chat").encode_messages(sealed) == []


@pytest.mark.covers("FM-2")
def test_free_text_and_names_of_calls_are_carried_over() -> None:
    """A custom call's text becomes Anthropic's one-key object and Chat's custom call; a namespace
    becomes part of the name.
    """
    items = [
        {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"},
        {
            "type": "function_call",
            "call_id": "b",
            "name": "recall",
            "namespace": "mcp__memory",
            "arguments": '{"q": 1}',
        },
    ]
    messages = read("openai_responses", items)
    (use, _, other) = find_codec("anthropic").encode_messages(messages)
    assert use["content"] == [
        {"type": "tool_use", "id": "a", "name": "patch", "input": {"input": "*** Begin"}}
    ]
    assert other["content"] == [
        {"type": "tool_use", "id": "b", "name": "mcp__memory__recall", "input": {"q": 1}}
    ]
    chat = find_codec("openai_chat").encode_messages(messages)
    assert chat[0]["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    ]
    assert chat[2]["tool_calls"][0]["function"] == {
        "name": "mcp__memory__recall",
        "arguments": '{"q": 1}',
    }
    assert [
        item["type"]
        for item in find_codec("openai_responses").encode_messages(read("openai_chat", chat))
    ] == ["custom_tool_call", "custom_tool_call_output", "function_call"]


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize("name", NAMES)
def test_a_message_of_no_format_joins_a_native_history(name: str) -> None:
    """A text made by memorist is written in any format; native neighbours stay as they stood."""
    native = history(name, [("fix it", [("Read", {"a": 1})], "done")])
    made = Message(
        id="x", role="user", blocks=(TextBlock("the story so far"),), origin=Origin.SUMMARY
    )
    written = find_codec(name).encode_messages([made, *read(name, native)])
    assert story(read(name, written))[:2] == [("user", "the story so far"), ("user", "fix it")]
    assert written[-len(native) + 1 :] == native[1:]


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_system_prompt_and_tools_survive_translation(source: str, target: str) -> None:
    """A whole prompt written in another format has the same system text and tools."""
    made = find_codec(source).build_request("m", system="Be brief.", text="hello", max_output=9)
    tool = {
        "anthropic": {
            "name": "Read",
            "description": "Read a file.",
            "input_schema": {"type": "object"},
        },
        "openai_chat": {
            "type": "function",
            "function": {
                "name": "Read",
                "description": "Read a file.",
                "parameters": {"type": "object"},
            },
        },
        "openai_responses": {
            "type": "function",
            "name": "Read",
            "description": "Read a file.",
            "parameters": {"type": "object"},
        },
    }[source]
    prompt = find_codec(source).decode_request({**made, "tools": [tool]})
    there = find_codec(target).decode_request(find_codec(target).encode_request(prompt))
    assert (
        facts(there)
        == facts(prompt)
        == ("Be brief.", [("Read", "Read a file.", {"type": "object"})], ["hello"])
    )


def facts(prompt: DecodedRequest) -> tuple[Any, ...]:
    """What must survive of a prompt."""
    tools = [(tool.name, tool.description, tool.schema) for tool in prompt.tools]
    return prompt.system[0].text, tools, [message.text for message in prompt.messages]


@pytest.mark.covers("FM-2")
def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    """The error lists what there is."""
    with pytest.raises(WireFormatError, match="anthropic, openai_chat, openai_responses"):
        find_codec("gopher")
    assert [find_codec(name).name for name in NAMES] == NAMES
