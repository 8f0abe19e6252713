"""OpenAI Responses items are read and written without loss."""

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
    ToolUse,
    UnknownBlock,
    Usage,
)
from memorist.errors import WireFormatError
from memorist.formats.openai_responses import CODEC
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
ARGUMENTS = st.sampled_from(['{"a": 1}', "{}", "", "[1]", "{broken", "*** Begin Patch", '{"a":'])
COMMON = {
    "id": WORD | st.none(),
    "status": st.sampled_from(["completed", None]),
    "internal_chat_message_metadata_passthrough": OBJECT,
}


def item(
    kind: str, optional: dict[str, Any] | None = None, **fields: Any
) -> st.SearchStrategy[dict[str, Any]]:
    """Items of one type."""
    return st.fixed_dictionaries(
        {"type": st.just(kind), **fields}, optional={**COMMON, **(optional or {})}
    )


def part(
    kind: str, optional: dict[str, Any] | None = None, **fields: Any
) -> st.SearchStrategy[dict[str, Any]]:
    """Content parts of one type."""
    return st.fixed_dictionaries(
        {"type": st.just(kind), **fields},
        optional={"prompt_cache_breakpoint": OBJECT, **(optional or {})},
    )


PART = st.one_of(
    part("input_text", text=WORD),
    part("output_text", {"annotations": st.lists(OBJECT, max_size=1), "logprobs": JSON}, text=WORD),
    part("text", text=WORD),
    part("refusal", {"text": WORD}, refusal=WORD),
    part("input_image", image_url=WORD | st.none(), detail=st.just("auto")),
    part("input_file", {"file_id": WORD}, filename=WORD),
    part("input_audio", input_audio=OBJECT),
    part("made_up", value=JSON),
    OBJECT,
)
CONTENT = WORD | st.lists(PART, max_size=3)
ROLE = st.sampled_from(["user", "assistant", "system", "developer"])
OUTPUT = WORD | st.lists(PART, max_size=2)
ITEM = st.one_of(
    item(
        "message",
        {"phase": st.sampled_from(["commentary", "final_answer", None])},
        role=ROLE,
        content=CONTENT,
    ),
    st.fixed_dictionaries({"role": ROLE, "content": CONTENT}, optional={"id": WORD}),
    item("agent_message", author=WORD, recipient=WORD, content=CONTENT),
    item(
        "reasoning",
        {
            "content": st.none() | st.lists(part("reasoning_text", text=WORD), max_size=1),
            "encrypted_content": WORD | st.none(),
        },
        summary=st.lists(part("summary_text", text=WORD), max_size=2),
    ),
    item(
        "function_call",
        {"namespace": WORD | st.none()},
        name=WORD,
        call_id=WORD,
        arguments=ARGUMENTS,
    ),
    item("function_call_output", {"caller": OBJECT}, call_id=WORD, output=OUTPUT),
    item("custom_tool_call", {"namespace": WORD}, name=WORD, call_id=WORD, input=ARGUMENTS),
    item("custom_tool_call_output", call_id=WORD, output=OUTPUT),
    item("local_shell_call", {"action": OBJECT | st.none()}, call_id=WORD),
    item("local_shell_call_output", {"call_id": WORD}, output=WORD),
    item("shell_call", call_id=WORD, action=OBJECT),
    item("shell_call_output", call_id=WORD, output=st.lists(OBJECT, max_size=2)),
    item("apply_patch_call", call_id=WORD, operation=OBJECT),
    item("apply_patch_call_output", {"output": WORD | st.none()}, call_id=WORD),
    item(
        "computer_call", {"action": OBJECT, "actions": st.lists(OBJECT, max_size=1)}, call_id=WORD
    ),
    item("computer_call_output", call_id=WORD, output=OBJECT),
    item(
        "tool_search_call",
        {"call_id": WORD | st.none()},
        execution=st.just("client"),
        arguments=JSON,
    ),
    item("tool_search_output", {"call_id": WORD | st.none()}, tools=st.lists(OBJECT, max_size=2)),
    item("web_search_call", action=OBJECT),
    item("image_generation_call", result=WORD | st.none()),
    item("compaction", encrypted_content=WORD),
    item("context_compaction", encrypted_content=WORD),
    item("additional_tools", role=st.just("developer"), tools=st.lists(OBJECT, max_size=2)),
    item("item_reference"),
    item("mcp_list_tools", server_label=WORD, tools=st.lists(OBJECT, max_size=1)),
    item("mcp_approval_request", name=WORD, arguments=WORD),
    item("mcp_call", name=WORD, arguments=WORD, output=WORD | st.none()),
    item("made_up", call_id=WORD),
    OBJECT,
)
TOOL = st.fixed_dictionaries(
    {"type": st.just("function"), "name": WORD, "parameters": OBJECT | st.none()},
    optional={"strict": JSON},
)
BODY = st.fixed_dictionaries(
    {"model": WORD, "input": WORD | st.lists(ITEM, max_size=5)},
    optional={
        "instructions": WORD | st.none(),
        "tools": st.lists(TOOL | st.just({"type": "web_search"}) | OBJECT, max_size=2),
        "reasoning": OBJECT,
        "store": st.booleans(),
        "anything": JSON,
    },
)
REPLY: dict[str, Any] = {
    "id": "resp_1",
    "model": "m-1",
    "status": "completed",
    "error": None,
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [
                {"type": "summary_text", "text": "one"},
                {"type": "summary_text", "text": "two"},
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "shell",
            "arguments": '{"cmd":"ls"}',
            "status": "completed",
        },
    ],
    "usage": {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
    },
}


@pytest.mark.covers("FM-2")
@given(BODY)
def test_a_request_is_written_as_it_was_read(body: dict[str, Any]) -> None:
    """encode(decode(body)) is body, for every generated body, and reading changes nothing."""
    before = json.dumps(body)
    prompt = CODEC.decode_request(body)
    assert CODEC.encode_request(prompt) == body
    assert json.dumps(body) == before


@pytest.mark.covers("FM-2")
@given(st.lists(ITEM, min_size=1, max_size=6))
def test_one_item_is_one_message(items: list[dict[str, Any]]) -> None:
    """Each item gives one message, and the messages are written as the items stood."""
    messages = [
        message
        for place, entry in enumerate(items)
        for message in CODEC.decode_item(entry, id=f"i{place}")
    ]
    assert len(messages) == len(items)
    assert CODEC.encode_messages(messages) == items


def read(entry: dict[str, Any]) -> Message:
    """One item, read."""
    (message,) = CODEC.decode_item(entry, id="here")
    return message


@pytest.mark.covers("FM-1", "FM-2")
def test_calls_keep_their_exact_arguments() -> None:
    """The text of the arguments is kept as it is; the object is empty where the text is no object."""
    good = read(
        {
            "type": "function_call",
            "call_id": "c",
            "name": "n",
            "namespace": "mcp__x",
            "arguments": '{"a":  1}',
        }
    )
    assert good.blocks == (ToolUse("c", "n", {"a": 1}, '{"a":  1}', "mcp__x"),)
    broken = read({"type": "function_call", "call_id": "c", "name": "n", "arguments": '{"a":'})
    assert broken.blocks == (ToolUse("c", "n", {}, '{"a":'),)
    free = read(
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}
    )
    assert free.blocks == (ToolUse("c", "apply_patch", {}, "*** Begin"),)
    assert (good.role, good.origin, good.id) == ("assistant", Origin.MODEL, "here")


@pytest.mark.covers("FM-1")
@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (
            {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec"}},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec"}},
            {"type": "local_shell_call_output", "id": "c", "output": "ok"},
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {}},
            {"type": "shell_call_output", "call_id": "c", "output": []},
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {}},
            {"type": "apply_patch_call_output", "call_id": "c"},
        ),
        (
            {"type": "computer_call", "call_id": "c", "actions": []},
            {"type": "computer_call_output", "call_id": "c", "output": {"type": "x"}},
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "arguments": {"q": 1}},
            {"type": "tool_search_output", "call_id": "c", "tools": [{"a": 1}]},
        ),
    ],
)
def test_every_call_that_the_client_answers_can_be_paired(
    call: dict[str, Any], answer: dict[str, Any]
) -> None:
    """Calls and answers of every client-run kind carry the id that joins them."""
    assert [block.id for block in read(call).tool_uses] == ["c"]
    assert [block.tool_use_id for block in read(answer).tool_results] == ["c"]
    assert read(answer).origin is Origin.TOOL


@pytest.mark.covers("FM-1")
def test_reasoning_is_thinking_with_its_seal() -> None:
    """Summary texts are joined by blank lines; the encrypted content is the signature."""
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    message = read(
        {"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "seal"}
    )
    assert message.id == "rs"
    assert message.blocks == (
        ThinkingBlock("one\n\ntwo", "seal", {"id": "rs", "summary": summary}),
    )


@pytest.mark.covers("FM-1", "FM-7")
def test_roles_and_origins_are_told_apart() -> None:
    """Developer and system keep their role; summaries, other agents and the model's own server
    calls are named as such.
    """
    developer = read({"role": "developer", "content": "be kind"})
    assert (developer.role, developer.origin) == ("developer", Origin.INJECTED)
    assert read({"type": "compaction", "encrypted_content": "x"}).origin is Origin.SUMMARY
    assert (
        read({"type": "agent_message", "author": "a", "recipient": "b", "content": "done"}).origin
        is Origin.AGENT
    )
    search = read({"type": "web_search_call", "id": "ws", "action": {}})
    assert (search.role, search.origin) == ("assistant", Origin.MODEL)
    assert isinstance(search.blocks[0], UnknownBlock)
    mixed = read(
        {
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "<environment_context><cwd>/x</cwd></environment_context>",
                },
                {"type": "input_text", "text": "go"},
            ],
        }
    )
    assert mixed.origin is Origin.USER
    assert [block.origin for block in mixed.blocks if isinstance(block, TextBlock)] == [
        Origin.INJECTED,
        None,
    ]


@pytest.mark.covers("FM-7")
def test_codexs_own_record_of_the_writer_is_believed() -> None:
    """`content_item_kinds` tells typed text from the rest even where no rule knows the text."""
    entry = {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "looks typed"},
            {"type": "input_text", "text": "<environment_context>quoted</environment_context>"},
        ],
        "internal_chat_message_metadata_passthrough": {
            "content_item_kinds": ["hooks.context", "user.text"]
        },
    }
    message = read(entry)
    assert message.origin is Origin.USER
    assert [block.origin for block in message.blocks if isinstance(block, TextBlock)] == [
        Origin.INJECTED,
        None,
    ]
    assert CODEC.encode_messages([message]) == [entry]


@pytest.mark.covers("FM-2")
def test_a_reply_is_read_whole() -> None:
    """Each output item is a message; cached and written tokens are taken out of the input; the last
    message has the usage.
    """
    reply = CODEC.decode_reply(REPLY)
    assert reply.usage == Usage(input=200, cache_read=700, cache_write=100, output=50, reasoning=20)
    assert [message.id for message in reply.messages] == ["rs_1", "fc_1"]
    assert {message.reply_id for message in reply.messages} == {"resp_1"}
    assert [message.usage for message in reply.messages] == [None, reply.usage]
    assert reply.stop_reason == "completed"
    assert CODEC.encode_messages(reply.messages) == REPLY["output"]
    cut = CODEC.decode_reply(
        {
            "output": [],
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
        }
    )
    assert (cut.stop_reason, cut.usage) == ("max_output_tokens", Usage())


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    "body", [{"error": {"message": "no"}, "output": []}, {}, {"output": "text"}]
)
def test_what_is_no_reply_is_refused(body: dict[str, Any]) -> None:
    """A failed response is not read as an empty one."""
    with pytest.raises(WireFormatError):
        CODEC.decode_reply(body)


@pytest.mark.covers("FK-1")
@examples(15, whole=40)
@given(BODY)
def test_a_longer_request_begins_with_the_bytes_of_the_old_one(body: dict[str, Any]) -> None:
    """extend() shares every earlier item and parameter; a text input becomes the one user message
    that it stands for.
    """
    tail = CODEC.build_user_messages(
        "write the notes",
        [
            CODEC.build_tool_result_message("c1", "not run"),
            CODEC.build_tool_result_message("c2", "no", custom=True),
        ],
    )
    longer = CODEC.append_reply_and_messages(body, REPLY, tail)
    old = (
        body["input"]
        if isinstance(body["input"], list)
        else [{"type": "message", "role": "user", "content": body["input"]}]
    )
    assert json.dumps({**longer, "input": []}) == json.dumps({**body, "input": []})
    assert json.dumps(longer["input"]).startswith(json.dumps(old)[:-1])
    assert isinstance(body["input"], str) or all(
        new is entry for new, entry in zip(longer["input"], old, strict=False)
    )
    assert longer["input"][len(old) :] == [
        *REPLY["output"],
        {"type": "function_call_output", "call_id": "c1", "output": "not run"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "no"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "write the notes"}],
        },
    ]
