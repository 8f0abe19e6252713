"""Messages of OpenAI Chat Completions, both ways: one wire message is one core message.

Block order of an assistant message: reasoning (`reasoning_content` or `reasoning`, as DeepSeek,
Qwen, vLLM and llama.cpp write it), content, `refusal`, tool calls. The legacy `function_call` and
`role: function` are kept but not read as calls: they have no ids to pair.
"""

from __future__ import annotations

from collections.abc import Callable

from memorist.core.messages import (
    Block,
    Document,
    Image,
    JsonObject,
    Message,
    Origin,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    Wire,
)
from memorist.formats.wire import UNKNOWN_ITEM, arguments_text, merged, parsed_arguments, raw_of, rest, unknown, unknown_item, user_origin

FORMAT = "openai_chat"

Part = Text | Image | Document | Unknown

REASONING_KEYS = ("reasoning_content", "reasoning")
REFUSAL = "message_refusal"
"""`TextBlock.extra["type"]` of a message's own `refusal`, as distinct from refusal parts."""

_WIRES = {(kind, plain): Wire(FORMAT, kind, plain) for kind in ("message", "null", "absent") for plain in (False, True)}
"""`kind` says how `content` was given: with a value, as null, or not at all."""
_BASE = frozenset({"role", "content"})
_TOOL = frozenset({"role", "content", "tool_call_id"})
_TEXT = frozenset({"type", "text"})
_REFUSAL_EXTRA: JsonObject = {"type": REFUSAL}


def read_message(item: object, name: str) -> Message:
    """Read one entry of `messages`. Never raises: an entry of unknown shape becomes one
    `UnknownBlock`.
    """
    if isinstance(item, dict):
        role = item.get("role")
        reader = _READERS.get(role) if isinstance(role, str) else None
        message = None if reader is None else reader(item, name)
        if message is not None:
            return message
    return unknown_item(FORMAT, item, name)


def _read_content(item: JsonObject) -> tuple[tuple[Part, ...], tuple[str, bool]] | None:
    """The blocks, and how the content was given (a key of `_WIRES`); None when it is of another
    type.
    """
    content = item.get("content")
    if isinstance(content, str):
        return (Text(content),), ("message", True)
    if isinstance(content, list):
        return tuple([read_part(part) for part in content]), ("message", False)
    if content is None:
        return (), ("null" if "content" in item else "absent", False)
    return None


def _wire(shape: tuple[str, bool], extra: JsonObject | None) -> Wire:
    return _WIRES[shape] if extra is None else Wire(FORMAT, *shape, extra)


def _read_plain(role: Role, origin: Origin) -> Callable[[JsonObject, str], Message | None]:
    def read(item: JsonObject, name: str) -> Message | None:
        content = _read_content(item)
        if content is None:
            return None
        return Message(id=name, role=role, blocks=content[0], origin=origin, wire=_wire(content[1], rest(item, _BASE)))

    return read


def _read_user(item: JsonObject, name: str) -> Message | None:
    content = _read_content(item)
    if content is None:
        return None
    origin, blocks = user_origin(content[0])
    return Message(id=name, role="user", blocks=blocks, origin=origin, wire=_wire(content[1], rest(item, _BASE)))


def _read_assistant(item: JsonObject, name: str) -> Message | None:
    content = _read_content(item)
    if content is None:
        return None
    taken = {"role", "content"}
    blocks: list[Block] = []
    for key in REASONING_KEYS:
        if isinstance(item.get(key), str):
            blocks.append(Thinking(item[key], None, {"key": key}))
            taken.add(key)
    blocks += content[0]
    if isinstance(item.get("refusal"), str):
        blocks.append(Text(item["refusal"], None, _REFUSAL_EXTRA))
        taken.add("refusal")
    calls = _read_calls(item.get("tool_calls"))
    if calls:
        blocks += calls
        taken.add("tool_calls")
    extra = rest(item, taken)
    return Message(id=name, role="assistant", blocks=tuple(blocks), origin=Origin.MODEL, wire=_wire(content[1], extra))


def _read_tool(item: JsonObject, name: str) -> Message | None:
    call, content = item.get("tool_call_id"), _read_content(item)
    if not isinstance(call, str) or content is None or content[1][0] != "message":
        return None
    block = ToolResult(call, content[0], plain=content[1][1], extra=None if len(item) == len(_TOOL) else rest(item, _TOOL))
    return Message(id=name, role="tool", blocks=(block,), origin=Origin.TOOL, wire=_WIRES["message", False])


def _read_function(item: JsonObject, name: str) -> Message | None:
    content = _read_content(item)
    if content is None:
        return None
    extra = rest(item, ("content",))
    return Message(id=name, role="tool", blocks=content[0], origin=Origin.TOOL, wire=_wire(content[1], extra))


_READERS: dict[str, Callable[[JsonObject, str], Message | None]] = {
    "system": _read_plain("system", Origin.INJECTED),
    "developer": _read_plain("developer", Origin.INJECTED),
    "user": _read_user,
    "assistant": _read_assistant,
    "tool": _read_tool,
    "function": _read_function,
}


def read_part(raw: object) -> Part:
    """Read one content part. Never raises. Media keep the whole part as their source."""
    if not isinstance(raw, dict):
        return unknown(raw)
    kind = raw.get("type")
    if kind == "text" and isinstance(raw.get("text"), str):
        return Text(raw["text"]) if len(raw) == len(_TEXT) else Text(raw["text"], None, rest(raw, _TEXT))
    if kind == "refusal" and isinstance(raw.get("refusal"), str):
        return Text(raw["refusal"], None, rest(raw, ("refusal",)))
    if kind == "image_url":
        return Image(raw)
    return Document(raw) if kind == "file" else unknown(raw)


def _read_calls(calls: object) -> list[ToolUse]:
    """The tool calls; none when any of them is malformed (all are then kept as received)."""
    if not isinstance(calls, list):
        return []
    found = [call for raw in calls if (call := _read_call(raw)) is not None]
    return found if len(found) == len(calls) else []


def _read_call(raw: object) -> ToolUse | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        return None
    custom = raw.get("type") == "custom"
    body = raw.get("custom" if custom else "function")
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        return None
    given = body.get("input" if custom else "arguments")
    if isinstance(given, dict) and not custom:
        return ToolUse(raw["id"], body["name"], given, extra=raw)
    if not isinstance(given, str):
        return None
    regular = len(raw) == 3 and len(body) == 2 and raw.get("type") == "function"
    return ToolUse(raw["id"], body["name"], parsed_arguments(given) or {}, given, extra=None if regular else raw)


def write_message(message: Message) -> object:
    """Write a message of this format as it was read, with its edited blocks."""
    wire = message.wire or _WIRES["message", False]
    if wire.kind == UNKNOWN_ITEM:
        return next((raw_of(block) for block in message.blocks if isinstance(block, Unknown)), None)
    results = message.tool_results
    if results:
        return _write_result(results[0])
    written: JsonObject = {"role": message.role}
    content = [block for block in message.blocks if isinstance(block, Text | Image | Document | Unknown) and not _is_refusal(block)]
    if content or wire.kind == "message":
        written["content"] = write_content(content, plain=wire.plain)
    elif wire.kind == "null":
        written["content"] = None
    for block in message.blocks:
        if isinstance(block, Thinking) and block.extra is not None:
            written[str(block.extra.get("key"))] = block.text
        elif isinstance(block, Text) and _is_refusal(block):
            written["refusal"] = block.text
    calls = [write_call(block) for block in message.tool_uses]
    if calls:
        written["tool_calls"] = calls
    return written if wire.extra is None else {**written, **wire.extra}


def _is_refusal(block: Block) -> bool:
    return isinstance(block, Text) and block.extra is not None and block.extra.get("type") == REFUSAL


def write_content(content: list[Part], *, plain: bool) -> object:
    """A string if it was one and still can be, otherwise parts."""
    first = content[0] if len(content) == 1 else None
    if plain and isinstance(first, Text) and first.extra is None:
        return first.text
    return [write_part(part) for part in content]


def write_part(part: Part) -> object:
    """Write a part of this format as it was read."""
    match part:
        case Text():
            key = "refusal" if part.extra is not None and part.extra.get("type") == "refusal" else "text"
            return merged({"type": key, key: part.text}, part.extra)
        case Image() | Document():
            return part.source
        case Unknown():
            return raw_of(part)


def _write_result(block: ToolResult) -> JsonObject:
    content = write_content(list(block.content), plain=block.plain)
    return merged({"role": "tool", "tool_call_id": block.tool_use_id, "content": content}, block.extra)


def write_call(block: ToolUse) -> JsonObject:
    """Write a tool call: its own form with edited fields, or the usual form."""
    if block.extra is None:
        return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments_text(block)}}
    custom = block.extra.get("type") == "custom"
    key, argument = ("custom", "input") if custom else ("function", "arguments")
    old = block.extra.get(key)
    body = dict(old) if isinstance(old, dict) else {}
    as_object = block.arguments is None and isinstance(body.get(argument), dict)
    body |= {"name": block.name, argument: block.input if as_object else arguments_text(block)}
    return {**block.extra, "id": block.id, key: body}
