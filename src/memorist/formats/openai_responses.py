"""OpenAI Responses (`POST /v1/responses`): requests, replies and history, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from memorist.core.messages import Block, JsonObject, Message, Origin, Prompt, Role, Text, ToolDefinition, ToolResult, ToolUse, Usage, Wire
from memorist.errors import FormatError
from memorist.formats.base import BaseCodec
from memorist.formats.harness import origin_of
from memorist.formats.openai_responses_items import FORMAT, read_item, write_item
from memorist.formats.openai_responses_parts import default_type, translate_parts
from memorist.formats.wire import (
    arguments_text,
    count,
    definition,
    is_anthropic_typed,
    is_custom,
    join_texts,
    require_list,
    require_object,
    text_or_none,
)
from memorist.ports import Reply

CODEX = "codex"
"""Format name of messages read from Codex's session files; their items are of this format."""
ANSWER_NAME = "answer"
"""Name of the schema in `text.format`; the API requires one and does nothing with it."""

_MESSAGE = Wire(FORMAT)
_PLAIN = Wire(FORMAT, plain=True)


def read_usage(usage: object) -> Usage:
    """Token counts. `input_tokens` includes cached and cache-written tokens; they are subtracted.
    """
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    fresh = max(0, count(usage.get("input_tokens")) - read - written)
    return Usage(input=fresh, cache_read=read, cache_write=written, output=count(usage.get("output_tokens")))


def _stop_reason(body: JsonObject) -> str | None:
    """Why the reply ended: the reason of an incomplete one (`max_output_tokens`, `content_filter`),
    otherwise the status.
    """
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return text_or_none(reason) or text_or_none(body.get("status"))


def _call_item(block: ToolUse, *, custom: bool) -> JsonObject:
    item: JsonObject = {"type": "custom_tool_call" if custom else "function_call", "call_id": block.id, "name": block.name}
    if block.namespace is not None:
        item["namespace"] = block.namespace
    item["input" if custom else "arguments"] = arguments_text(block)
    return item


def _output_item(block: ToolResult, *, custom: bool) -> JsonObject:
    only_text = all(isinstance(part, Text) for part in block.content)
    output = block.text if only_text else translate_parts(block.content, "input_text")
    return {"type": "custom_tool_call_output" if custom else "function_call_output", "call_id": block.tool_use_id, "output": output}


def _message_item(blocks: Sequence[Block], role: Role) -> list[JsonObject]:
    role = "user" if role == "tool" else role
    parts = translate_parts(blocks, default_type(role))
    return [{"type": "message", "role": role, "content": parts}] if parts else []


def _translated(message: Message, custom: set[str]) -> list[JsonObject]:
    """A message of another format as items, in the order of its blocks. `custom` holds the ids of
    calls to custom tools.
    """
    items: list[JsonObject] = []
    waiting: list[Block] = []
    for block in message.blocks:
        if not isinstance(block, ToolUse | ToolResult):
            waiting.append(block)
            continue
        items += _message_item(waiting, message.role)
        waiting.clear()
        if isinstance(block, ToolUse):
            items.append(_call_item(block, custom=block.id in custom))
        else:
            items.append(_output_item(block, custom=block.tool_use_id in custom))
    return items + _message_item(waiting, message.role)


class ResponsesCodec(BaseCodec):
    """The `openai_responses` codec."""

    name = FORMAT
    key = "input"
    system_key = "instructions"

    def read_item(self, item: object, name: str) -> Message:
        """Read one item of `input`."""
        return read_item(item, name)

    def history(self, body: JsonObject) -> list[Any]:
        """The items of `input`; a string means one user message. Raises FormatError."""
        value = body.get(self.key)
        if isinstance(value, str):
            return [{"type": "message", "role": "user", "content": value}]
        return require_list(body, self.key, "The openai_responses request")

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as items; those of this format unchanged."""
        written: list[Any] = []
        custom: set[str] = set()
        for message in messages:
            custom.update(block.id for block in message.tool_uses if is_custom(block, message.wire))
            own = message.wire is not None and message.wire.format in (FORMAT, CODEX)
            written += (write_item(message) if own else []) or _translated(message, custom)
        return written

    def encode_request(self, prompt: Prompt) -> JsonObject:
        """Write a whole request body; `input` is a string again when it was one and nothing was
        added.
        """
        body = super().encode_request(prompt)
        first = prompt.messages[0] if len(prompt.messages) == 1 else None
        if prompt.wire.format == FORMAT and prompt.wire.plain and first is not None and first.wire == _PLAIN:
            body[self.key] = first.text
        return body

    def read_system(self, value: object) -> tuple[Message, ...]:
        """`instructions`, when it is text."""
        if not isinstance(value, str):
            return ()
        return (Message(id="system", role="system", blocks=(Text(value),), origin=Origin.INJECTED, wire=_PLAIN),)

    def write_system(self, messages: Sequence[Message]) -> str:
        """All texts, joined by blank lines."""
        return "\n\n".join(join_texts(message.blocks) for message in messages)

    def read_tool(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool. A namespace is one definition; a tool that the provider runs is named by its
        type.
        """
        return definition(raw, raw, "parameters")

    def write_tool(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool of any format."""
        raw = tool.raw
        elsewhere = any(key in raw for key in ("function", "custom", "input_schema")) or is_anthropic_typed(raw)
        if isinstance(raw.get("type"), str) and not elsewhere:
            return raw
        return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": False}

    def reply_entries(self, reply: JsonObject) -> list[Any]:
        """The reply's output items, unchanged."""
        return require_list(reply, "output", "The openai_responses reply")

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole reply: a message for each output item; the last one carries the usage.
        Raises FormatError.
        """
        require_object(body, "The openai_responses reply")
        items = self.reply_entries(body)
        if isinstance(body.get("error"), dict) and not items:
            raise FormatError("This is a failed response without output; look at its `error` field.")
        reply_id, stop, usage = text_or_none(body.get("id")), _stop_reason(body), read_usage(body.get("usage"))
        model = text_or_none(body.get("model"))
        last = len(items) - 1
        messages = tuple(
            structs.replace(
                read_item(item, f"{reply_id or 'reply'}.{index}"),
                reply_id=reply_id,
                model=model,
                usage=usage if index == last else None,
                stop_reason=stop if index == last else None,
            )
            for index, item in enumerate(items)
        )
        return Reply(format=FORMAT, body=body, messages=messages, usage=usage, stop_reason=stop)

    def tool_result(self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False) -> Message:
        """One output item. The wire has no error flag; the core block has. The id is empty: the
        caller that stores the message assigns it.
        """
        kind = "custom_tool_call_output" if custom else "function_call_output"
        block = ToolResult(tool_use_id, (Text(text),), is_error)
        return Message(id="", role="tool", blocks=(block,), origin=Origin.TOOL, wire=Wire(FORMAT, kind))

    def user_text(self, text: str, results: Sequence[Message] = ()) -> tuple[Message, ...]:
        """The tool results, then a user message."""
        return (*results, Message(id="", role="user", blocks=(Text(text),), origin=origin_of(text), wire=_MESSAGE))

    def new_body(
        self, model: str, *, system: str, text: str, tools: Sequence[ToolDefinition] = (), max_output: int, schema: JsonObject | None = None
    ) -> JsonObject:
        """A fresh request, not to be stored by the provider; a schema goes into `text.format`,
        strict (openai SDK 3.54, `ResponseFormatTextJSONSchemaConfigParam`).
        """
        body: JsonObject = {"model": model, "max_output_tokens": max_output, "store": False}
        if system:
            body["instructions"] = system
        if tools:
            body["tools"] = [self.write_tool(tool) for tool in tools]
        if schema is not None:
            body["text"] = {"format": {"type": "json_schema", "name": ANSWER_NAME, "schema": schema, "strict": True}}
        body["input"] = self.encode_messages(self.user_text(text))
        return body


CODEC = ResponsesCodec()
