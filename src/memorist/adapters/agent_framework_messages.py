"""Microsoft Agent Framework messages as Chat Completions messages, and back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent_framework import ChatResponse, Content, Message

from memorist.adapters.chat_messages import (
    build_chat_assistant_message,
    build_chat_completion,
    build_chat_content,
    build_chat_media_part,
    build_chat_text_part,
    build_chat_tool_call,
    build_chat_tool_message,
    build_chat_usage,
    build_chat_user_message,
    dump_json_line,
    extract_content_text,
    parse_chat_tool_calls,
)
from memorist.adapters.message_map import MessageMap
from memorist.core.messages import JsonObject

_OMITTED_TYPES = frozenset({"usage", "error"})
"""Types of content that are about a message, not part of it."""


def map_messages_to_items(
    messages: Iterable[Message], history_sources: Collection[str] = ()
) -> MessageMap[Message]:
    """Map messages to their wire items. `history_sources` are the framework's ids of the providers
    that load what was said; what another one adds in the role of a user is no user's.
    """
    return MessageMap(
        (
            message,
            encode_message_as_wire_json(message, is_added=_is_added(message, history_sources)),
        )
        for message in messages
    )


def _is_added(message: Message, history_sources: Collection[str]) -> bool:
    attribution = message.additional_properties.get("_attribution")
    source = attribution.get("source_id") if isinstance(attribution, Mapping) else None
    return message.role == "user" and source is not None and source not in history_sources


def encode_message_as_wire_json(message: Message, *, is_added: bool = False) -> list[JsonObject]:
    """Encode a message: one item for each tool result in it and one for all else; none for an empty
    message. `is_added`: a program put it into the conversation.
    """
    results = [
        build_chat_tool_message(str(each.call_id), _encode_result(each))
        for each in message.contents
        if each.type == "function_result"
    ]
    parts: list[JsonObject] = []
    calls: list[JsonObject] = []
    thoughts: list[str] = []
    for content in message.contents:
        if content.type == "function_call" and not content.informational_only:
            calls.append(
                build_chat_tool_call(str(content.call_id), content.name or "", content.arguments)
            )
        elif content.type == "text_reasoning":
            thoughts.append(content.text or "")
        elif content.type != "function_result" and (part := _encode_part(content)) is not None:
            parts.append(part)
    role = "developer" if is_added else message.role
    items = [*results, *_encode_contents(role, parts, calls, "".join(thoughts))]
    if message.author_name and items and items[-1]["role"] == "user":
        items[-1]["name"] = message.author_name
    return items


def _encode_contents(
    role: str, parts: list[JsonObject], calls: list[JsonObject], reasoning: str
) -> Iterator[JsonObject]:
    if role == "assistant" or calls:
        if parts or calls or reasoning:
            yield build_chat_assistant_message(parts, calls, reasoning)
    elif parts and role in {"system", "developer"}:
        yield {"role": role, "content": build_chat_content(parts)}
    elif parts:
        yield build_chat_user_message(parts)


def _encode_part(content: Content) -> JsonObject | None:
    if content.type == "text":
        return build_chat_text_part(content.text) if content.text else None
    if content.type in {"data", "uri"}:
        return build_chat_media_part(content.media_type or "", link=content.uri or "")
    if content.type in _OMITTED_TYPES:
        return None
    return build_chat_text_part(dump_json_line(content.to_dict()))


def _encode_result(content: Content) -> str | list[JsonObject]:
    items = [part for each in content.items or () if (part := _encode_part(each)) is not None]
    if len(items) > 1 or (items and items[0]["type"] != "text"):
        return items
    if content.result is not None:
        return content.result if isinstance(content.result, str) else dump_json_line(content.result)
    return str(items[0]["text"]) if items else content.exception or ""


def decode_wire_items_to_messages(items: Sequence[Any]) -> list[Message]:
    """Decode items into new messages."""
    return [_decode_message(item) for item in items]


def _decode_message(item: JsonObject) -> Message:
    text = extract_content_text(item.get("content"))
    if item.get("role") == "tool":
        return Message(
            "tool", [Content.from_function_result(str(item.get("tool_call_id")), result=text)]
        )
    contents = [Content.from_text(text)] if text else []
    if item.get("role") == "assistant":
        contents += [
            Content.from_function_call(id, name, arguments=arguments)
            for id, name, arguments in parse_chat_tool_calls(item)
        ]
    return Message(str(item.get("role")), contents)


def encode_reply_as_wire_json(response: ChatResponse) -> JsonObject:
    """Encode a reply."""
    items = [item for message in response.messages for item in encode_message_as_wire_json(message)]
    used: Mapping[str, Any] = response.usage_details or {}
    cached = used.get("cache_read_input_token_count")
    usage = build_chat_usage(
        prompt=used.get("input_token_count"), output=used.get("output_token_count"), cached=cached
    )
    said = [item for item in items if item["role"] == "assistant"]
    return build_chat_completion(
        [*said, build_chat_assistant_message([])], usage, response.model or ""
    )
