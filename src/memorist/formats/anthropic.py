"""Anthropic Messages (`POST /v1/messages`): requests, replies and history, both ways.

Messages read from a Claude Code session (`WireInfo.format` `claude_code`) carry the same blocks, so
their reasoning and cache marks are kept. The records of one reply are joined, and so are neighbours
of one role when one of them comes from another format. Messages that were separate on this wire are
never joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memorist.core.messages import JsonObject, Message, Origin, Role, Text, ToolDefinition, ToolResult, Usage, Wire
from memorist.errors import FormatError
from memorist.formats.anthropic_blocks import read_blocks, translate_blocks, write_block
from memorist.formats.base import BaseCodec
from memorist.formats.harness import origin_of
from memorist.formats.turns import turns
from memorist.formats.wire import (
    UNKNOWN_ITEM,
    count,
    definition,
    is_anthropic_typed,
    join_texts,
    merged,
    require_list,
    require_object,
    rest,
    text_or_none,
    unknown_item,
    user_origin,
)
from memorist.ports import Reply

FORMAT = "anthropic"
CLAUDE_CODE = "claude_code"
"""Format name of messages read from Claude Code's session files; their blocks are of this format.
"""

_PLAIN = Wire(FORMAT, plain=True)
_BLOCKS = Wire(FORMAT)
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_MESSAGE = frozenset({"role", "content"})


def read_message(item: object, name: str) -> Message:
    """Read one entry of `messages`. Never raises: an entry of unknown shape becomes one
    `UnknownBlock`.
    """
    if not isinstance(item, dict):
        return unknown_item(FORMAT, item, name)
    raw_role, content = item.get("role"), item.get("content")
    role = _ROLES.get(raw_role) if isinstance(raw_role, str) else None
    if role is None or not isinstance(content, str | list):
        return unknown_item(FORMAT, item, name)
    plain = isinstance(content, str)
    blocks = (Text(content),) if isinstance(content, str) else read_blocks(content)
    origin = Origin.MODEL if role == "assistant" else Origin.INJECTED
    if role == "user":
        origin, blocks = user_origin(blocks)
    wire = _PLAIN if plain else _BLOCKS
    if len(item) > len(_MESSAGE):
        wire = Wire(FORMAT, plain=plain, extra=rest(item, _MESSAGE))
    return Message(id=name, role=role, blocks=blocks, origin=origin, wire=wire)


def _native(message: Message) -> bool:
    return message.wire is not None and message.wire.format == FORMAT


def _own_blocks(message: Message) -> bool:
    return message.wire is not None and message.wire.format in (FORMAT, CLAUDE_CODE)


def _as_it_stood(message: Message) -> object:
    wire = message.wire or _BLOCKS
    content = [write_block(block) for block in message.blocks]
    if wire.kind == UNKNOWN_ITEM:
        return content[0] if len(content) == 1 else content
    first = message.blocks[0] if len(content) == 1 else None
    if wire.plain and isinstance(first, Text) and first.extra is None:
        return merged({"role": message.role, "content": first.text}, wire.extra)
    return merged({"role": message.role, "content": content}, wire.extra)


def _entry_role(message: Message) -> str:
    if _native(message):
        return message.role
    return "assistant" if message.role == "assistant" else "user"


def _joins(before: Message, message: Message) -> bool:
    """Whether the message is written into the same entry as `before`."""
    if UNKNOWN_ITEM in _kinds(before, message) or _entry_role(before) != _entry_role(message):
        return False
    if _native(before) and _native(message):
        return before.reply_id is not None and before.reply_id == message.reply_id
    return True


def _kinds(*messages: Message) -> list[str]:
    return [message.wire.kind for message in messages if message.wire is not None and message.wire.format == FORMAT]


def _joined(entry: list[Message]) -> list[object]:
    """One entry for neighbours of one role: tool results first, as the API requires. Empty when no
    block can be written.
    """
    content: list[object] = []
    extra: JsonObject = {}
    for answers in (True, False):
        for message in entry:
            blocks = tuple(block for block in message.blocks if isinstance(block, ToolResult) is answers)
            content += [write_block(block) for block in blocks] if _own_blocks(message) else translate_blocks(blocks)
    for message in entry:
        if _native(message) and message.wire is not None and message.wire.extra:
            extra |= message.wire.extra
    return [merged({"role": _entry_role(entry[0]), "content": content}, extra)] if content else []


def _entries(messages: Iterable[Message]) -> list[list[Message]]:
    found: list[list[Message]] = []
    for message in messages:
        if found and _joins(found[-1][-1], message):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def read_usage(usage: object) -> Usage:
    """Token counts; the four of this format do not overlap."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input=count(usage.get("input_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
        output=count(usage.get("output_tokens")),
    )


class AnthropicCodec(BaseCodec):
    """The `anthropic` codec."""

    name = FORMAT
    key = "messages"
    system_key = "system"

    def read_item(self, item: object, name: str) -> Message:
        """Read one entry of `messages`."""
        return read_message(item, name)

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of `messages`; those of this format unchanged."""
        written: list[Any] = []
        for turn in turns(messages, _native):
            for entry in _entries(turn.all_messages()):
                if len(entry) == 1 and _native(entry[0]):
                    written.append(_as_it_stood(entry[0]))
                else:
                    written += _joined(entry)
        return written

    def read_system(self, value: object) -> tuple[Message, ...]:
        """`system`, as text or as a list of blocks: one message."""
        if isinstance(value, str):
            return (Message(id="system", role="system", blocks=(Text(value),), origin=Origin.INJECTED, wire=_PLAIN),)
        if isinstance(value, list):
            return (Message(id="system", role="system", blocks=read_blocks(value), origin=Origin.INJECTED, wire=_BLOCKS),)
        return ()

    def write_system(self, messages: Sequence[Message]) -> str | list[object]:
        """Text when it was text; otherwise a list of blocks."""
        if len(messages) == 1 and messages[0].wire == _PLAIN:
            return join_texts(messages[0].blocks)
        content: list[object] = []
        for message in messages:
            content += [write_block(block) for block in message.blocks] if _own_blocks(message) else translate_blocks(message.blocks)
        return content

    def read_tool(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool; one that the provider runs has no schema."""
        return definition(raw, raw, "input_schema")

    def write_tool(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool of any format."""
        if "input_schema" in tool.raw or is_anthropic_typed(tool.raw):
            return tool.raw
        return {"name": tool.name, "description": tool.description, "input_schema": tool.schema or {"type": "object"}}

    def reply_entries(self, reply: JsonObject) -> list[Any]:
        """The assistant message of the reply; none when it is empty, because the API rejects an
        empty one within a history.
        """
        content = require_list(reply, "content", "The anthropic reply")
        return [{"role": "assistant", "content": content}] if content else []

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole reply. Raises FormatError for an error object."""
        require_object(body, "The anthropic reply")
        if body.get("type") == "error":
            raise FormatError("This is an error answer of the API, not a reply; look at its `error` field.")
        content = require_list(body, "content", "The anthropic reply")
        reply_id, stop, usage = text_or_none(body.get("id")), text_or_none(body.get("stop_reason")), read_usage(body.get("usage"))
        message = Message(
            id=reply_id or "reply",
            role="assistant",
            blocks=read_blocks(content),
            origin=Origin.MODEL,
            usage=usage,
            reply_id=reply_id,
            model=text_or_none(body.get("model")),
            stop_reason=stop,
            wire=_BLOCKS,
        )
        return Reply(format=FORMAT, body=body, messages=(message,), usage=usage, stop_reason=stop)

    def tool_result(self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False) -> Message:
        """A user message with one tool result. `custom` has no effect here. The id is empty: the
        caller that stores the message assigns it.
        """
        del custom
        block = ToolResult(tool_use_id, (Text(text),), is_error)
        return Message(id="", role="user", blocks=(block,), origin=Origin.TOOL, wire=_BLOCKS)

    def user_text(self, text: str, results: Sequence[Message] = ()) -> tuple[Message, ...]:
        """One user message: the tool results first, then the text."""
        answers = [block for message in results for block in message.tool_results]
        return (Message(id="", role="user", blocks=(*answers, Text(text)), origin=origin_of(text), wire=_BLOCKS),)

    def new_body(
        self, model: str, *, system: str, text: str, tools: Sequence[ToolDefinition] = (), max_output: int, schema: JsonObject | None = None
    ) -> JsonObject:
        """A fresh request; a schema goes into `output_config.format` (anthropic SDK 2.12,
        `OutputConfigParam`).
        """
        body: JsonObject = {"model": model, "max_tokens": max_output}
        if system:
            body["system"] = system
        if tools:
            body["tools"] = [self.write_tool(tool) for tool in tools]
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        body["messages"] = self.encode_messages(self.user_text(text))
        return body


CODEC = AnthropicCodec()
