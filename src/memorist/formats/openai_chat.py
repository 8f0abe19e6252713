"""OpenAI Chat Completions (`POST /v1/chat/completions`): requests, replies and history, both ways.

The system prompt is the run of `system` and `developer` messages at the head of `messages`; those
further down stay in the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import structs

from memorist.core.messages import (
    Block,
    Document,
    Image,
    JsonObject,
    Message,
    Origin,
    Prompt,
    Text,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Unknown,
    Usage,
    Wire,
)
from memorist.errors import FormatError
from memorist.formats import media
from memorist.formats.base import BaseCodec
from memorist.formats.harness import origin_of
from memorist.formats.openai_chat_messages import FORMAT, read_message, write_call, write_message
from memorist.formats.turns import Turn, turns
from memorist.formats.wire import arguments_text, count, is_custom, join_texts, require_list, require_object, text_or_none, unknown_text
from memorist.formats.wire import definition as read_definition
from memorist.ports import Reply

ANSWER_NAME = "answer"
"""Name of the schema in `response_format`; the API requires one and does nothing with it."""

_PLAIN = Wire(FORMAT, plain=True)
_PARTS = Wire(FORMAT)


def read_usage(usage: object) -> Usage:
    """Token counts. `prompt_tokens` includes cached and cache-written tokens; they are subtracted.
    """
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    fresh = max(0, count(usage.get("prompt_tokens")) - read - written)
    return Usage(input=fresh, cache_read=read, cache_write=written, output=count(usage.get("completion_tokens")))


def _native(message: Message) -> bool:
    return message.wire is not None and message.wire.format == FORMAT


def _call(block: ToolUse, wire: Wire | None) -> JsonObject:
    if is_custom(block, wire):
        return {"id": block.id, "type": "custom", "custom": {"name": block.name, "input": arguments_text(block)}}
    name = f"{block.namespace}__{block.name}" if block.namespace else block.name
    return write_call(ToolUse(block.id, name, block.input, block.arguments))


def _assistant(messages: Sequence[Message]) -> list[JsonObject]:
    """Consecutive assistant messages of other formats as one: all text, then all calls. Empty when
    there is neither.
    """
    text = "\n\n".join(part for message in messages if (part := join_texts(message.blocks)))
    calls = [_call(block, message.wire) for message in messages for block in message.tool_uses]
    if not calls:
        return [{"role": "assistant", "content": text}] if text else []
    return [{"role": "assistant", "content": text or None, "tool_calls": calls}]


def _answer(block: ToolResult) -> JsonObject:
    """A tool message, which can hold text only."""
    return {"role": "tool", "tool_call_id": block.tool_use_id, "content": join_texts(block.content)}


def _part(block: Block) -> JsonObject | None:
    match block:
        case Text() if block.text:
            return {"type": "text", "text": block.text}
        case Unknown() if said := unknown_text(block):
            return {"type": "text", "text": said}
        case Image():
            link = media.image_link(block)
            return {"type": "text", "text": "[image]"} if link is None else {"type": "image_url", "image_url": {"url": link}}
        case Document():
            return _file(block)
        case _:
            return None


def _file(block: Document) -> JsonObject:
    text, link = media.document_text(block), media.document_link(block)
    if text is not None or link is None or not link.startswith("data:"):
        return {"type": "text", "text": text or "[document]"}
    return {"type": "file", "file": {"filename": media.document_name(block), "file_data": link}}


def _other(message: Message) -> list[JsonObject]:
    """A user, system or developer message of another format; content is one text unless there are
    several parts.
    """
    role = "user" if message.role == "tool" else message.role
    parts = [part for block in message.blocks if (part := _part(block)) is not None]
    if role != "user":
        text = join_texts(message.blocks)
        return [{"role": role, "content": text}] if text else []
    if len(parts) == 1 and parts[0]["type"] == "text":
        return [{"role": role, "content": parts[0]["text"]}]
    return [{"role": role, "content": parts}] if parts else []


def _written(turn: Turn) -> Iterable[object]:
    yield from map(_answer, turn.answers)
    waiting: list[Message] = []
    for message in turn.messages:
        if not _native(message) and turn.assistant:
            waiting.append(message)
            continue
        yield from _assistant(waiting)
        waiting.clear()
        if _native(message):
            yield write_message(message)
        else:
            yield from _other(message)
    yield from _assistant(waiting)


class ChatCodec(BaseCodec):
    """The `openai_chat` codec."""

    name = FORMAT
    key = "messages"

    def read_item(self, item: object, name: str) -> Message:
        """Read one entry of `messages`."""
        return read_message(item, name)

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of `messages`; those of this format unchanged."""
        return [entry for turn in turns(messages, _native) for entry in _written(turn)]

    def decode_request(self, body: JsonObject) -> Prompt:
        """Read a whole request body. Raises FormatError."""
        prompt = super().decode_request(body)
        messages = prompt.messages
        size = next((place for place, message in enumerate(messages) if message.role not in ("system", "developer")), len(messages))
        return structs.replace(prompt, system=messages[:size], messages=messages[size:])

    def read_system(self, value: object) -> tuple[Message, ...]:
        """Nothing: this format has no key for it."""
        del value
        return ()

    def write_system(self, messages: Sequence[Message]) -> str:
        """All texts; unused, as this format has no key for it."""
        return "\n\n".join(join_texts(message.blocks) for message in messages)

    def read_tool(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool: a function, or a custom one, which has no schema."""
        for key in ("function", "custom"):
            source = raw.get(key)
            if isinstance(source, dict):
                return read_definition(raw, source, "parameters")
        return read_definition(raw, raw, "parameters")

    def write_tool(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool of any format."""
        if any(isinstance(tool.raw.get(key), dict) for key in ("function", "custom")):
            return tool.raw
        source = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        return {"type": "function", "function": source}

    def reply_entries(self, reply: JsonObject) -> list[Any]:
        """The message of the first choice, unchanged."""
        return [_first_choice(reply)["message"]]

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole reply; only its first choice. Raises FormatError."""
        choice = _first_choice(require_object(body, "The openai_chat reply"))
        reply_id, stop, usage = text_or_none(body.get("id")), text_or_none(choice.get("finish_reason")), read_usage(body.get("usage"))
        message = structs.replace(
            read_message(choice["message"], reply_id or "reply"),
            reply_id=reply_id,
            model=text_or_none(body.get("model")),
            stop_reason=stop,
            usage=usage,
        )
        return Reply(format=FORMAT, body=body, messages=(message,), usage=usage, stop_reason=stop)

    def tool_result(self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False) -> Message:
        """A tool message. The wire has no error flag; the core block has. The id is empty: the
        caller that stores the message assigns it.
        """
        del custom
        block = ToolResult(tool_use_id, (Text(text),), is_error)
        return Message(id="", role="tool", blocks=(block,), origin=Origin.TOOL, wire=_PARTS)

    def user_text(self, text: str, results: Sequence[Message] = ()) -> tuple[Message, ...]:
        """The tool results, then a user message."""
        return (*results, Message(id="", role="user", blocks=(Text(text),), origin=origin_of(text), wire=_PLAIN))

    def new_body(
        self, model: str, *, system: str, text: str, tools: Sequence[ToolDefinition] = (), max_output: int, schema: JsonObject | None = None
    ) -> JsonObject:
        """A fresh request; a schema goes into `response_format`, strict (openai SDK 3.54,
        `ResponseFormatJSONSchema`).
        """
        body: JsonObject = {"model": model, "max_completion_tokens": max_output}
        if tools:
            body["tools"] = [self.write_tool(tool) for tool in tools]
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": ANSWER_NAME, "schema": schema, "strict": True}}
        lead = [{"role": "system", "content": system}] if system else []
        body["messages"] = [*lead, *self.encode_messages(self.user_text(text))]
        return body


def _first_choice(reply: JsonObject) -> JsonObject:
    """The first choice. Raises FormatError when there is none with a message."""
    choices = require_list(reply, "choices", "The openai_chat reply")
    choice = choices[0] if choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise FormatError("The openai_chat reply has no choice with a message; look at its `error` field.")
    return choice


CODEC = ChatCodec()
