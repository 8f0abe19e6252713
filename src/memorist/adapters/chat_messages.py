"""Chat Completions messages as adapters build them, for hosts whose messages are lists of parts.
Pure.

The host's own object goes back wherever memorist changed nothing (`MessageMap`), so these items
need to hold what a message says, not all that it contains.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from memorist.core.messages import JsonObject

FORMAT = "openai_chat"
"""Wire format of these items."""

_encode = msgspec.json.Encoder(enc_hook=repr).encode


def dump_json_line(value: object) -> str:
    """Any value as JSON in one line; values that JSON cannot express are written as Python's
    repr.
    """
    return _encode(value).decode("utf-8", "replace")


def build_chat_request(model: str, items: list[Any], limit: object = None) -> JsonObject:
    """A request without instructions and tools: they stay unchanged, and count through the usage
    that the model reports. `limit` is the host's on output tokens, where there is one.
    """
    request: JsonObject = {"model": model, "messages": items}
    is_limited = isinstance(limit, int) and limit > 0
    return {**request, "max_completion_tokens": limit} if is_limited else request


def build_chat_text_part(text: str) -> JsonObject:
    """A part of text."""
    return {"type": "text", "text": text}


def build_chat_media_part(
    kind: str, data: bytes | None = None, link: str = "", name: str = ""
) -> JsonObject:
    """A part of inline bytes, or of a link to them, with this media type."""
    url = (
        link
        or f"data:{kind or 'application/octet-stream'};base64,"
        + base64.b64encode(data or b"").decode()
    )
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": name or kind or "file", "file_data": url}}


def build_chat_content(parts: Sequence[JsonObject]) -> str | list[JsonObject]:
    """The content of a message: plain text where the parts hold nothing else."""
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0].get("text") or "")
    return list(parts)


def build_chat_user_message(parts: Sequence[JsonObject]) -> JsonObject:
    """A user message."""
    return {"role": "user", "content": build_chat_content(parts)}


def build_chat_tool_message(call: str, content: str | list[JsonObject]) -> JsonObject:
    """A tool result."""
    return {"role": "tool", "tool_call_id": call, "content": content}


def build_chat_tool_call(id: str, name: str, arguments: object) -> JsonObject:
    """A tool call of an assistant message. Arguments are JSON text, or a value to encode."""
    written = (
        arguments
        if isinstance(arguments, str)
        else dump_json_line(arguments if arguments is not None else {})
    )
    return {"id": id, "type": "function", "function": {"name": name, "arguments": written}}


def build_chat_assistant_message(
    parts: Sequence[JsonObject], calls: Sequence[JsonObject] = (), reasoning: str = ""
) -> JsonObject:
    """An assistant message."""
    content = build_chat_content(parts) if parts else None
    item: JsonObject = {"role": "assistant", "content": content or (None if calls else content)}
    if reasoning:
        item["reasoning_content"] = reasoning
    if calls:
        item["tool_calls"] = list(calls)
    return item


def build_chat_completion(
    items: Iterable[JsonObject],
    usage: JsonObject | None = None,
    model: str = "",
    finish_reason: str | None = None,
) -> JsonObject:
    """A whole reply with the first of these items as the model's message.

    Raises StopIteration for none.
    """
    message = next(iter(items))
    reason = finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    reply: JsonObject = {"object": "chat.completion", "model": model, "choices": [choice]}
    return reply if usage is None else {**reply, "usage": usage}


def build_chat_usage(
    *,
    prompt: int | None,
    output: int | None,
    cached: int | None = None,
    cache_written: int | None = None,
) -> JsonObject | None:
    """The usage of a call in tokens; None where the host does not know it."""
    if prompt is None:
        return None
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output or 0,
        "total_tokens": prompt + (output or 0),
        "prompt_tokens_details": {
            "cached_tokens": cached or 0,
            "cache_write_tokens": cache_written or 0,
        },
    }


def extract_content_text(content: object) -> str:
    """The text of a message's content; other parts are dropped."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"])
        for part in parts
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def parse_chat_tool_calls(item: JsonObject) -> Iterable[tuple[str, str, Any]]:
    """Id, name and arguments of each tool call in an assistant message; arguments that are no JSON
    object are put under `input`.
    """
    for call in item.get("tool_calls") or ():
        body = call.get("function") or {}
        try:
            arguments = msgspec.json.decode(body.get("arguments") or "{}")
        except (msgspec.DecodeError, RecursionError):
            arguments = body.get("arguments")
        yield (
            str(call.get("id", "")),
            str(body.get("name", "")),
            arguments if isinstance(arguments, dict) else {"input": arguments},
        )
