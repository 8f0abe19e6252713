"""Microsoft Agent Framework messages as Chat Completions messages, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent_framework import ChatResponse, Content, Message

from memorist.adapters.chat_items import (
    assistant_item,
    call_of,
    calls_in,
    compact_json,
    content_of,
    media_part,
    reply_of,
    result_item,
    text_of,
    text_part,
    usage_of,
    user_item,
)
from memorist.adapters.originals import Originals
from memorist.core.messages import JsonObject

_SILENT = frozenset({"usage", "error"})
"""Types of content that are about a message, not part of it."""


def originals_of(messages: Iterable[Message]) -> Originals[Message]:
    """Map messages to their wire items."""
    return Originals((message, items_of(message)) for message in messages)


def items_of(message: Message) -> list[JsonObject]:
    """Encode a message: one item for each tool result in it and one for all else; none for an empty
    message.
    """
    results = [result_item(str(each.call_id), _result(each)) for each in message.contents if each.type == "function_result"]
    parts: list[JsonObject] = []
    calls: list[JsonObject] = []
    thoughts: list[str] = []
    for content in message.contents:
        if content.type == "function_call" and not content.informational_only:
            calls.append(call_of(str(content.call_id), content.name or "", content.arguments))
        elif content.type == "text_reasoning":
            thoughts.append(content.text or "")
        elif content.type != "function_result" and (part := _part(content)) is not None:
            parts.append(part)
    return [*results, *_said(message.role, parts, calls, "".join(thoughts))]


def _said(role: str, parts: list[JsonObject], calls: list[JsonObject], thought: str) -> Iterator[JsonObject]:
    if role == "assistant" or calls:
        if parts or calls or thought:
            yield assistant_item(parts, calls, thought)
    elif parts and role in {"system", "developer"}:
        yield {"role": role, "content": content_of(parts)}
    elif parts:
        yield user_item(parts)


def _part(content: Content) -> JsonObject | None:
    if content.type == "text":
        return text_part(content.text) if content.text else None
    if content.type in {"data", "uri"}:
        return media_part(content.media_type or "", link=content.uri or "")
    return None if content.type in _SILENT else text_part(compact_json(content.to_dict()))


def _result(content: Content) -> str | list[JsonObject]:
    items = [part for each in content.items or () if (part := _part(each)) is not None]
    if len(items) > 1 or (items and items[0]["type"] != "text"):
        return items
    if content.result is not None:
        return content.result if isinstance(content.result, str) else compact_json(content.result)
    return str(items[0]["text"]) if items else content.exception or ""


def made(items: Sequence[Any]) -> list[Message]:
    """Decode items into new messages."""
    return [_made(item) for item in items]


def _made(item: JsonObject) -> Message:
    text = text_of(item.get("content"))
    if item.get("role") == "tool":
        return Message("tool", [Content.from_function_result(str(item.get("tool_call_id")), result=text)])
    contents = [Content.from_text(text)] if text else []
    if item.get("role") == "assistant":
        contents += [Content.from_function_call(id, name, arguments=arguments) for id, name, arguments in calls_in(item)]
    return Message(str(item.get("role")), contents)


def reply(response: ChatResponse) -> JsonObject:
    """Encode a reply."""
    items = [item for message in response.messages for item in items_of(message)]
    used: Mapping[str, Any] = response.usage_details or {}
    cached = used.get("cache_read_input_token_count")
    usage = usage_of(prompt=used.get("input_token_count"), output=used.get("output_token_count"), cached=cached)
    said = [item for item in items if item["role"] == "assistant"]
    return reply_of([*said, assistant_item([])], usage, response.model or "")
