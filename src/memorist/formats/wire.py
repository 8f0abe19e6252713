"""Helpers shared by the three wire formats: unknown pieces, tool arguments, token counts, origins
of user content, cache marks.

Internal to `memorist.formats`. All functions are pure and take decoded JSON values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from memorist.core.messages import (
    Block,
    Document,
    Image,
    JsonObject,
    Message,
    Origin,
    Role,
    Text,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Unknown,
    Wire,
)
from memorist.errors import FormatError
from memorist.formats.harness import origin_of

NOT_AN_OBJECT = "not_an_object"
"""Kind of the unknown block that holds something other than a JSON object, as `{"value": …}`: a
number among content blocks, for example.
"""
UNKNOWN_ITEM = "unknown"
"""`WireInfo.kind` of a message that stands for a history entry of unknown shape; its only block is
an `UnknownBlock`.
"""
CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")
"""Keys that end a cached prefix at their block: Anthropic's, and OpenAI's since 2026."""

_decode = msgspec.json.Decoder().decode
_DATED = re.compile(r"_20\d{6}\Z")


def rest(raw: JsonObject, known: Collection[str]) -> JsonObject | None:
    """The keys that have no named field; None when there are none."""
    found: JsonObject | None = None
    for key in raw:  # most often there is none; a comprehension would build an empty dictionary for each block
        if key not in known:
            found = {} if found is None else found
            found[key] = raw[key]
    return found


def merged(base: JsonObject, extra: JsonObject | None) -> JsonObject:
    """`base` with the keys of `extra` after it; `base` wins where both have a key, so that an
    edited field is what gets written.
    """
    return base if extra is None else {**base, **extra, **base}


def unknown(raw: object) -> Unknown:
    """A piece of unknown shape, kept as received."""
    if not isinstance(raw, dict):
        return Unknown(NOT_AN_OBJECT, {"value": raw})
    kind = raw.get("type")
    return Unknown(kind if isinstance(kind, str) else "", raw)


def raw_of(block: Unknown) -> object:
    """The piece as received."""
    if block.kind == NOT_AN_OBJECT and "type" not in block.raw and "value" in block.raw:
        return block.raw["value"]
    return block.raw


def unknown_item(wire_format: str, raw: object, name: str, *, role: Role = "user", origin: Origin = Origin.INJECTED) -> Message:
    """A message that holds a whole history entry of unknown shape."""
    return Message(id=name, role=role, blocks=(unknown(raw),), origin=origin, wire=Wire(wire_format, UNKNOWN_ITEM))


def unknown_text(block: Unknown) -> str:
    """The text of an unknown block for another format: its own text if it has one (a compaction's
    content, a transcript).
    """
    for key in ("text", "content", "transcript"):
        value = block.raw.get(key)
        if isinstance(value, str):
            return value
    return ""


def parsed_arguments(text: str) -> JsonObject | None:
    """Parse text as a JSON object; None when it is not one."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):  # ValueError: a lone surrogate; RecursionError: endless nesting
        return None
    return value if isinstance(value, dict) else None


def arguments_text(call: ToolUse) -> str:
    """The arguments as text: the exact text when the wire had text, otherwise the object as JSON.
    """
    return json.dumps(call.input, ensure_ascii=False) if call.arguments is None else call.arguments


def arguments_object(call: ToolUse) -> JsonObject:
    """The arguments as an object. Free text (a custom tool, broken JSON) becomes the value of the
    single key `input`.
    """
    if call.input or call.arguments is None or parsed_arguments(call.arguments) is not None:
        return call.input
    return {"input": call.arguments}


def is_custom(call: ToolUse, wire: Wire | None) -> bool:
    """Whether the call is to a custom tool, which takes free text: Responses marks it by the item's
    kind, Chat by the call's type.
    """
    if wire is not None and wire.kind == "custom_tool_call":
        return True
    return call.extra is not None and call.extra.get("type") == "custom"


def count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def text_or_none(value: object) -> str | None:
    """The value if it is text, otherwise None."""
    return value if isinstance(value, str) else None


def user_origin(blocks: tuple[Block, ...]) -> tuple[Origin, tuple[Block, ...]]:
    """The origin of a user message, and its blocks with each text of another origin marked.

    USER when any text was typed; TOOL when it holds tool results and nothing typed; USER for media
    alone; otherwise the origin of its texts.
    """
    if len(blocks) == 1:
        only = blocks[0]
        if isinstance(only, Text):
            return origin_of(only.text), blocks
        return Origin.TOOL if isinstance(only, ToolResult) else Origin.USER, blocks
    origins = [origin_of(block.text) if isinstance(block, Text) else None for block in blocks]
    return marked_origin(blocks, origins)


def marked_origin(blocks: tuple[Block, ...], origins: list[Origin | None]) -> tuple[Origin, tuple[Block, ...]]:
    """Like `detect_user_origin`, with the origin of every text (None for other blocks) determined
    by the caller.
    """
    whole = _whole_origin(blocks, origins)
    if all(origin is None or origin is whole for origin in origins):
        return whole, blocks
    changed = (
        Text(block.text, origin, block.extra) if isinstance(block, Text) and origin is not None and origin is not whole else block
        for block, origin in zip(blocks, origins, strict=True)
    )
    return whole, tuple(changed)


def _whole_origin(blocks: tuple[Block, ...], origins: list[Origin | None]) -> Origin:
    if Origin.USER in origins:
        return Origin.USER
    if any(isinstance(block, ToolResult) for block in blocks):
        return Origin.TOOL
    if not all(isinstance(block, Text) for block in blocks) or not blocks:
        return Origin.USER
    return next((origin for origin in origins if origin not in (None, Origin.INJECTED)), None) or Origin.INJECTED


def without_marks(entry: object) -> object:
    """A history entry without cache marks on itself, its blocks, or the parts of its tool results.
    Tool input is the model's and stays unchanged.
    """
    if not isinstance(entry, dict):
        return entry
    clean = {key: value for key, value in entry.items() if key not in CACHE_MARKS}
    for key in ("content", "output"):
        if isinstance(clean.get(key), list):
            clean[key] = [without_marks(part) for part in clean[key]]
    return clean


def read_tools(tools: object, read: Callable[[JsonObject], ToolDefinition]) -> tuple[ToolDefinition, ...]:
    """The tools of a request body; empty when they are missing or not a list of objects (they then
    stay among the parameters).
    """
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return ()
    return tuple(read(tool) for tool in tools)


def definition(raw: JsonObject, source: JsonObject, schema_key: str) -> ToolDefinition:
    """Read a tool from the object that holds its name, description and schema; fields of a wrong
    type are left empty.
    """
    name, description, schema = source.get("name"), source.get("description"), source.get(schema_key)
    return ToolDefinition(
        name=name if isinstance(name, str) else text_or_none(raw.get("type")) or "",
        description=description if isinstance(description, str) else "",
        schema=schema if isinstance(schema, dict) else {},
        raw=raw,
    )


def is_anthropic_typed(raw: JsonObject) -> bool:
    """Whether the definition is one of Anthropic's own tools, which have a dated type
    (`bash_20250124`) and no schema.
    """
    kind = raw.get("type")
    return isinstance(kind, str) and _DATED.search(kind) is not None


def require_object(value: object, what: str) -> JsonObject:
    """Return the value if it is a JSON object. Raises FormatError."""
    if not isinstance(value, dict):
        raise FormatError(f"{what} is not a JSON object; give the decoded object.")
    return value


def require_list(body: JsonObject, key: str, what: str) -> list[Any]:
    """Return the list under the key. Raises FormatError."""
    value = body.get(key)
    if not isinstance(value, list):
        raise FormatError(f"{what} has no list `{key}`; check which format it is.")
    return value


def join_texts(blocks: Iterable[Block]) -> str:
    """Text blocks and the text of unknown ones, joined by blank lines; media as a word in brackets.
    """
    return "\n\n".join(text for block in blocks if (text := _word(block)))


def _word(block: Block) -> str:
    match block:
        case Text():
            return block.text
        case Unknown():
            return unknown_text(block)
        case Image():
            return "[image]"
        case Document():
            return "[document]"
        case _:
            return ""
