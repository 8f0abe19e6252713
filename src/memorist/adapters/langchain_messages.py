"""LangChain's messages as Chat Completions messages, both ways.

The wire form is for memorist only: the provider gets LangChain's own message wherever memorist left
it unchanged. So it holds text, calls, results and images; thinking and the provider's own fields
stay in the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call

from memorist.adapters.chat_messages import (
    build_chat_assistant_message,
    build_chat_completion,
    build_chat_text_part,
    build_chat_tool_call,
    build_chat_tool_message,
    build_chat_usage,
    parse_chat_tool_calls,
)
from memorist.core.messages import JsonObject
from memorist.core.text_analysis import parse_word_list

_TEXT_TYPES = frozenset({"text", "output_text", "input_text"})
_OMITTED_TYPES = parse_word_list(
    """
         thinking redacted_thinking reasoning reasoning_content tool_use tool_call tool_call_chunk
    function_call
    """
)
"""Content blocks of a reply that are not text: tool calls are also listed beside the content, and
thinking stays in LangChain's message.
"""
_ENCODE = msgspec.json.Encoder(enc_hook=repr).encode


def encode_message_as_wire_json(message: BaseMessage) -> JsonObject:
    """Encode one message."""
    match message:
        case AIMessage():
            return _encode_assistant(message)
        case ToolMessage():
            return build_chat_tool_message(message.tool_call_id, _encode_content(message.content))
        case SystemMessage():
            return {"role": "system", "content": _encode_content(message.content)}
        case ChatMessage():
            return {"role": message.role, "content": _encode_content(message.content)}
        case _:
            # What a middleware wrote, such as a summary, is not a user message.
            role = "developer" if message.additional_kwargs.get("lc_source") else "user"
            named = {"name": message.name} if message.name else {}
            return {"role": role, "content": _encode_content(message.content), **named}


def _encode_assistant(message: AIMessage) -> JsonObject:
    given = (*message.tool_calls, *message.invalid_tool_calls)
    calls = [
        build_chat_tool_call(
            call["id"] or "", call["name"] or "", "" if call["args"] is None else call["args"]
        )
        for call in given
    ]
    content = _encode_content(message.content)
    if isinstance(content, str):
        return build_chat_assistant_message([build_chat_text_part(content)], calls)
    parts = [part for part in content if part["type"] not in _OMITTED_TYPES]
    if all(part["type"] == "text" and isinstance(part.get("text"), str) for part in parts):
        parts = [build_chat_text_part("".join(part["text"] for part in parts))]
    return build_chat_assistant_message(parts, calls)


def _encode_content(content: str | Iterable[str | dict[str, Any]]) -> str | list[JsonObject]:
    return content if isinstance(content, str) else _encode_parts(content)


def _encode_parts(content: Iterable[str | dict[str, Any]]) -> list[JsonObject]:
    return [
        {"type": "text", "text": part} if isinstance(part, str) else _encode_part(part)
        for part in content
    ]


def _encode_part(part: dict[str, Any]) -> JsonObject:
    """Encode a content block: text and images as in Chat Completions, everything else unchanged."""
    kind = str(part.get("type", ""))
    if kind in _TEXT_TYPES and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    plain: JsonObject = msgspec.json.decode(
        _ENCODE({**part, "type": kind})
    )  # bytes become base64, other non-JSON values their repr
    link = _picture_url(plain) if kind == "image" else None
    return plain if link is None else {"type": "image_url", "image_url": {"url": link}}


def _picture_url(part: dict[str, Any]) -> str | None:
    """The URL of an image in LangChain's or Anthropic's own block."""
    source = part.get("source")
    picture = source if isinstance(source, dict) else part
    if isinstance(picture.get("url"), str):
        return str(picture["url"])
    data = picture.get("base64") or picture.get("data")
    kind = part.get("mime_type") or picture.get("media_type") or "image/png"
    return f"data:{kind};base64,{data}" if isinstance(data, str) else None


def decode_wire_items_to_messages(
    items: Iterable[JsonObject], hosts: Iterable[BaseMessage]
) -> list[AnyMessage]:
    """Decode items that memorist added or changed.

    A changed tool result keeps the id, name and artifact of the host's.
    """
    results = {
        message.tool_call_id: message for message in hosts if isinstance(message, ToolMessage)
    }
    return [_decode_message(item, results) for item in items]


def _decode_message(item: JsonObject, results: Mapping[str, ToolMessage]) -> AnyMessage:
    content = item.get("content") or ""
    match item.get("role"):
        case "assistant":
            calls = [
                tool_call(name=name, args=arguments, id=id)
                for id, name, arguments in parse_chat_tool_calls(item)
            ]
            return AIMessage(content=content, tool_calls=calls)
        case "tool":
            own = results.get(item["tool_call_id"])
            if own is None:
                return ToolMessage(content=content, tool_call_id=item["tool_call_id"])
            return own.model_copy(update={"content": content})
        case _:
            # Memorist's own messages in any role but the model's become user messages: several
            # providers accept instructions only at the start of the history.
            return HumanMessage(content=content)


def encode_reply_as_wire_json(message: AIMessage) -> JsonObject:
    """Encode a reply, with its usage where the provider reported it."""
    facts, usage = message.response_metadata, None
    if message.usage_metadata is not None:
        used, details = (
            message.usage_metadata,
            message.usage_metadata.get("input_token_details", {}),
        )
        usage = build_chat_usage(
            prompt=used["input_tokens"],
            output=used["output_tokens"],
            cached=details.get("cache_read"),
            cache_written=details.get("cache_creation"),
        )
    return build_chat_completion(
        [_encode_assistant(message)],
        usage,
        facts.get("model_name") or facts.get("model") or "",
        facts.get("finish_reason") or facts.get("stop_reason"),
    ) | {"id": message.id}
