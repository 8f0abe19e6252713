"""What the codecs write on their own: new requests, and messages that were edited after reading."""

from typing import Any

import pytest
from msgspec import structs

from memorist.core.messages import Message, TextBlock, ToolDefinition, ToolResult
from memorist.formats.codec_registry import find_codec

TOOL = ToolDefinition("Edit", "Change a file.", {"type": "object"}, {})


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    ("name", "item", "written"),
    [
        (
            "anthropic",
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": None,
                        "cache_control": {"type": "x"},
                    }
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": "cleared",
                        "cache_control": {"type": "x"},
                    }
                ],
            },
        ),
        (
            "openai_responses",
            {
                "type": "function_call_output",
                "id": "o",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "long"}],
            },
            {"type": "function_call_output", "id": "o", "call_id": "c", "output": "cleared"},
        ),
        (
            "openai_chat",
            {"role": "tool", "tool_call_id": "a", "name": "ls", "content": "long"},
            {"role": "tool", "tool_call_id": "a", "name": "ls", "content": "cleared"},
        ),
    ],
)
def test_an_edited_answer_is_written_as_edited(
    name: str, item: dict[str, Any], written: dict[str, Any]
) -> None:
    """Replaced content of a tool answer reaches the wire, and its other keys stay."""
    (message,) = find_codec(name).decode_item(item, id="m")
    assert find_codec(name).encode_messages([cleared(message)]) == [written]


def cleared(message: Message) -> Message:
    """The message with its one answer replaced by a word."""
    (answer,) = message.tool_results
    return structs.replace(
        message,
        blocks=(
            ToolResult(
                answer.tool_use_id, (TextBlock("cleared"),), answer.is_error, extra=answer.extra
            ),
        ),
    )


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "anthropic",
            {
                "model": "m-1",
                "max_tokens": 99,
                "system": "Be brief.",
                "tools": [
                    {
                        "name": "Edit",
                        "description": "Change a file.",
                        "input_schema": {"type": "object"},
                    }
                ],
                "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
                "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
            },
        ),
        (
            "openai_responses",
            {
                "model": "m-1",
                "max_output_tokens": 99,
                "store": False,
                "instructions": "Be brief.",
                "tools": [
                    {
                        "type": "function",
                        "name": "Edit",
                        "description": "Change a file.",
                        "parameters": {"type": "object"},
                        "strict": False,
                    }
                ],
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "answer",
                        "schema": {"type": "object"},
                        "strict": True,
                    }
                },
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "hello"}],
                    }
                ],
            },
        ),
        (
            "openai_chat",
            {
                "model": "m-1",
                "max_completion_tokens": 99,
                "tools": [
                    {
                        "type": "function",
                        "function": {
                            "name": "Edit",
                            "description": "Change a file.",
                            "parameters": {"type": "object"},
                        },
                    }
                ],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
                },
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "hello"},
                ],
            },
        ),
    ],
)
def test_a_new_request_asks_for_json_in_the_apis_own_way(
    name: str, expected: dict[str, Any]
) -> None:
    """The schema stands where the API wants it, strict and named; tools are written from their
    fields; the body reads back.
    """
    wire = find_codec(name)
    body = wire.build_request(
        "m-1",
        system="Be brief.",
        text="hello",
        tools=[TOOL],
        max_output=99,
        schema={"type": "object"},
    )
    assert body == expected
    prompt = wire.decode_request(body)
    assert (prompt.system[0].text, prompt.messages[0].text) == ("Be brief.", "hello")
    assert (prompt.tools[0].name, prompt.tools[0].description, prompt.tools[0].schema) == (
        "Edit",
        "Change a file.",
        {"type": "object"},
    )
    assert wire.history_key() in expected


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "openai_chat"])
def test_a_bare_request_says_nothing_it_need_not(name: str) -> None:
    """Without a system prompt, tools or a schema none of their keys are written."""
    body = find_codec(name).build_request("m-1", system="", text="hello", max_output=9)

    assert not {"system", "instructions", "tools", "text", "response_format"} & set(body)
    assert [message.text for message in find_codec(name).decode_request(body).messages] == ["hello"]


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "openai_chat"])
def test_a_failed_answer_says_so_where_the_wire_can(name: str) -> None:
    """The core block has the error flag in every format; only Anthropic's wire has it too."""
    message = find_codec(name).build_tool_result_message("c", "denied: read only", is_error=True)
    assert message.tool_results[0].is_error
    (entry,) = find_codec(name).encode_messages([message])
    assert ("is_error" in str(entry)) is (name == "anthropic")
