"""Content blocks of Anthropic Messages, both ways.

A block of a known type with fields of the right types becomes that core block, with all other keys
(`cache_control`, `citations`, `caller` …) in `extra`; every other piece becomes an `UnknownBlock`.
Server-run tools (`server_tool_use`, `web_search_tool_result`, `mcp_tool_use` …) are unknown on
purpose: their results come inside the same message and need no pairing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memorist.core.messages import Block, Document, Image, JsonObject, RedactedThinking, Text, Thinking, ToolResult, ToolUse, Unknown
from memorist.formats import media
from memorist.formats.wire import arguments_object, merged, raw_of, rest, unknown, unknown_text

Part = Text | Image | Document | Unknown

_TEXT = frozenset({"type", "text"})
_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})
_TOOL_USE = frozenset({"type", "id", "name", "input"})
_TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
_SOURCE = frozenset({"type", "source"})


def read_block(raw: object) -> Block:
    """Read one content block. Never raises: an unexpected shape becomes an `UnknownBlock`."""
    if isinstance(raw, dict):
        kind = raw.get("type")
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is not None and (block := reader(raw)) is not None:
            return block
    return unknown(raw)


def read_blocks(content: list[Any]) -> tuple[Block, ...]:
    """Read a list of content blocks."""
    return tuple([read_block(raw) for raw in content])


def _read_text(raw: JsonObject) -> Text | None:
    text = raw.get("text")
    if not isinstance(text, str):
        return None
    return Text(text) if len(raw) == len(_TEXT) else Text(text, None, rest(raw, _TEXT))


def _read_thinking(raw: JsonObject) -> Thinking | None:
    text, signature = raw.get("thinking"), raw.get("signature")
    if not isinstance(text, str):
        return None
    if isinstance(signature, str):
        return Thinking(text, signature, None if len(raw) == len(_THINKING) else rest(raw, _THINKING))
    return Thinking(text, None, rest(raw, _THINKING - {"signature"}))


def _read_redacted(raw: JsonObject) -> RedactedThinking | None:
    data = raw.get("data")
    return RedactedThinking(data, rest(raw, _REDACTED)) if isinstance(data, str) else None


def _read_tool_use(raw: JsonObject) -> ToolUse | None:
    name, call, given = raw.get("name"), raw.get("id"), raw.get("input")
    if not (isinstance(name, str) and isinstance(call, str) and isinstance(given, dict)):
        return None
    return ToolUse(call, name, given, extra=None if len(raw) == len(_TOOL_USE) else rest(raw, _TOOL_USE))


def _read_tool_result(raw: JsonObject) -> ToolResult | None:
    call, content = raw.get("tool_use_id"), raw.get("content")
    if not isinstance(call, str):
        return None
    extra = rest(raw, _TOOL_RESULT)
    is_error = raw.get("is_error") is True
    if "is_error" in raw and not is_error:
        extra = {**(extra or {}), "is_error": raw["is_error"]}
    if isinstance(content, str):
        return ToolResult(call, (Text(content),), is_error, plain=True, extra=extra)
    if isinstance(content, list):
        return ToolResult(call, tuple([_read_part(part) for part in content]), is_error, plain=False, extra=extra)
    if "content" in raw:
        extra = {**(extra or {}), "content": content}
    return ToolResult(call, (), is_error, plain=True, extra=extra)


def _read_part(raw: object) -> Part:
    block = read_block(raw)
    return block if isinstance(block, Text | Image | Document | Unknown) else unknown(raw)


def _read_image(raw: JsonObject) -> Image | None:
    source = raw.get("source")
    return Image(source, rest(raw, _SOURCE)) if isinstance(source, dict) else None


def _read_document(raw: JsonObject) -> Document | None:
    source = raw.get("source")
    return Document(source, rest(raw, _SOURCE)) if isinstance(source, dict) else None


_READERS: dict[str, Callable[[JsonObject], Block | None]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "image": _read_image,
    "document": _read_document,
}


def write_block(block: Block) -> object:
    """Write a block of this format as it was read, with its edited fields."""
    if isinstance(block, Unknown):
        return raw_of(block)
    if isinstance(block, ToolResult):
        return _write_result(block, write_block)
    return merged(_base(block), block.extra)


def _base(block: Text | Thinking | RedactedThinking | ToolUse | Image | Document) -> JsonObject:
    match block:
        case Text():
            base: JsonObject = {"type": "text", "text": block.text}
        case ToolUse():
            base = {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments_object(block)}
        case Thinking(signature=None):
            base = {"type": "thinking", "thinking": block.text}
        case Thinking():
            base = {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case RedactedThinking():
            base = {"type": "redacted_thinking", "data": block.data}
        case Image():
            base = {"type": "image", "source": block.source}
        case Document():
            base = {"type": "document", "source": block.source}
    return base


def _write_result(block: ToolResult, write: Callable[[Part], object]) -> JsonObject:
    base: JsonObject = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    if block.plain and len(block.content) == 1 and isinstance(block.content[0], Text) and block.content[0].extra is None:
        base["content"] = block.content[0].text
    elif block.content or not block.plain:
        base["content"] = [written for part in block.content if (written := write(part)) is not None]
    if block.is_error:
        base["is_error"] = True
    return merged(base, block.extra)


def translate_blocks(blocks: Iterable[Block]) -> list[object]:
    """Write blocks of another format: its extras and its reasoning stay behind, its media are put
    into Anthropic's form.
    """
    return [written for block in blocks if (written := _translate(block)) is not None]


def _translate(block: Block) -> JsonObject | None:
    match block:
        case ToolUse():
            name = f"{block.namespace}__{block.name}" if block.namespace else block.name
            return {"type": "tool_use", "id": block.id, "name": name, "input": arguments_object(block)}
        case ToolResult():
            bare = ToolResult(block.tool_use_id, _bare(block.content), block.is_error, plain=block.plain)
            return _write_result(bare, _translate_part)
        case Thinking() | RedactedThinking():
            return None
        case _:
            return _translate_part(block)


def _bare(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(Text(part.text) if isinstance(part, Text) else part for part in parts)


def _translate_part(part: Part) -> JsonObject | None:
    match part:
        case Text():
            return _text(part.text)
        case Unknown():
            return _text(unknown_text(part))
        case Image():
            link = media.image_link(part)
            return _text("[image]") if link is None else {"type": "image", "source": media.anthropic_source(link)}
        case Document():
            text, link = media.document_text(part), media.document_link(part)
            if text is not None:
                return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
            return _text("[document]") if link is None else {"type": "document", "source": media.anthropic_source(link)}


def _text(text: str) -> JsonObject | None:
    """A text block; None for blank text, which the API rejects."""
    return {"type": "text", "text": text} if text.strip() else None
