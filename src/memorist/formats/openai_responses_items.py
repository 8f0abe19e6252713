"""Items of OpenAI Responses, both ways: one wire item is one core message.

Kinds and their keys: openai SDK 3.54, `ResponseInputItemParam`; `agent_message`,
`compaction_summary` and calls whose `call_id` pairs with a `function_call_output` come from Codex
(codex.md section 9). An item of another kind, or one whose key fields have unexpected types,
becomes a message with one `UnknownBlock`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from memorist.core.messages import Block, JsonObject, Message, Origin, Role, Text, Thinking, ToolResult, ToolUse, Unknown, Wire
from memorist.formats.openai_responses_parts import read_content, read_part, typed_origins, write_content, write_part
from memorist.formats.wire import UNKNOWN_ITEM, merged, parsed_arguments, raw_of, rest, unknown, unknown_item, user_origin

FORMAT = "openai_responses"

MESSAGE_KINDS = frozenset({"message", "easy_message", "agent_message"})
"""`WireInfo.kind` of items that are messages. `easy_message` is one without a `type`;
`agent_message` is Codex's, from another agent.
"""

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "developer"}
_MESSAGE = frozenset({"type", "role", "content"})
_AGENT_MESSAGE = frozenset({"type", "content"})
_BY_MODEL = frozenset({"reasoning", "mcp_list_tools", "mcp_approval_request", "item_reference", "program"})
_SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})


class Call(NamedTuple):
    """Where a call item stores its name and arguments. `tool` is the tool name when the item has
    none of its own.
    """

    arguments: str
    tool: str = ""
    text: bool = False


CALLS = {
    "function_call": Call("arguments", text=True),
    "custom_tool_call": Call("input", text=True),
    "local_shell_call": Call("action", "local_shell"),
    "shell_call": Call("action", "shell"),
    "apply_patch_call": Call("operation", "apply_patch"),
    "computer_call": Call("action", "computer"),
    "tool_search_call": Call("arguments", "tool_search"),
}
"""Calls that the client answers with an item of its own and that must therefore be paired."""

OUTPUTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "tool_search_output": "tools",
}
"""Result items, and the key that holds the result."""

_WIRES = {(kind, plain): Wire(FORMAT, kind, plain) for kind in (*MESSAGE_KINDS, *CALLS, *OUTPUTS, "reasoning") for plain in (False, True)}
"""Shared instances: most messages need no `WireInfo` of their own. `plain` on a call means that its
arguments are missing or no object, so that `extra` holds the original value; on a result, that it
names its call by `id`.
"""


def read_item(item: object, name: str) -> Message:
    """Read one item. Never raises."""
    if not isinstance(item, dict):
        return unknown_item(FORMAT, item, name)
    own = item.get("id")
    if isinstance(own, str) and own:
        name = own
    kind = item.get("type") if "type" in item else ""
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    message = reader(item, kind, name) if reader is not None and isinstance(kind, str) else None
    return message or _read_unknown(item, name)


def _read_unknown(item: JsonObject, name: str) -> Message:
    kind = unknown(item).kind
    role = item.get("role")
    if isinstance(role, str) and role in _ROLES:
        origin = Origin.MODEL if role == "assistant" else Origin.INJECTED
        return unknown_item(FORMAT, item, name, role=_ROLES[role], origin=origin)
    if kind in _SUMMARIES:
        return unknown_item(FORMAT, item, name, role="assistant", origin=Origin.SUMMARY)
    if kind.endswith("_call") or kind in _BY_MODEL:
        return unknown_item(FORMAT, item, name, role="assistant", origin=Origin.MODEL)
    if kind.endswith("_output"):
        return unknown_item(FORMAT, item, name, role="tool", origin=Origin.TOOL)
    return unknown_item(FORMAT, item, name)


def _read_message(item: JsonObject, kind: str, name: str) -> Message | None:
    agent = kind == "agent_message"
    raw_role, content = item.get("role"), item.get("content")
    role = "user" if agent else _ROLES.get(raw_role) if isinstance(raw_role, str) else None
    if role is None or not isinstance(content, str | list):
        return None
    plain = isinstance(content, str)
    blocks = read_content(content, role)
    origin = Origin.AGENT if agent else Origin.MODEL if role == "assistant" else Origin.INJECTED
    if role == "user" and not agent:
        kinds = typed_origins(item, blocks)
        origin, blocks = user_origin(blocks) if kinds is None else kinds
    kind = kind or "easy_message"
    wire = _WIRES[kind, plain]
    extra = rest(item, _AGENT_MESSAGE if agent else _MESSAGE)
    if extra is not None:
        wire = Wire(FORMAT, kind, plain, extra)
    return Message(id=name, role=role, blocks=blocks, origin=origin, wire=wire)


def _read_call(item: JsonObject, kind: str, name: str) -> Message | None:
    call = CALLS[kind]
    identity, tool, given = item.get("call_id"), call.tool or item.get("name"), item.get(call.arguments)
    if not isinstance(identity, str) or not isinstance(tool, str) or (call.text and not isinstance(given, str)):
        return None
    namespace = item.get("namespace")
    taken = {"type", "call_id", "name" if not call.tool else "type"}
    if isinstance(namespace, str):
        taken.add("namespace")
    block_input: JsonObject = {}
    arguments: str | None = None
    if isinstance(given, str) and call.text:
        taken.add(call.arguments)
        arguments = given
        block_input = parsed_arguments(given) or {}
    elif isinstance(given, dict):
        taken.add(call.arguments)
        block_input = given
    block = ToolUse(identity, tool, block_input, arguments, namespace if isinstance(namespace, str) else None, rest(item, taken))
    odd = call.arguments not in taken
    return Message(id=name, role="assistant", blocks=(block,), origin=Origin.MODEL, wire=_WIRES[kind, odd])


def _read_output(item: JsonObject, kind: str, name: str) -> Message | None:
    key = OUTPUTS[kind]
    identity_key = _identity_key(item, kind)
    identity, value = item.get(identity_key), item.get(key)
    if not isinstance(identity, str):
        return None
    taken = {"type", identity_key, key} if isinstance(value, str | list) else {"type", identity_key}
    if isinstance(value, str):
        content: tuple[Text | Unknown, ...] = (Text(value),)
        block = ToolResult(identity, content, extra=rest(item, taken))
    elif isinstance(value, list):
        block = ToolResult(identity, tuple([read_part(part, "input_text") for part in value]), plain=False, extra=rest(item, taken))
    else:
        block = ToolResult(identity, (), extra=rest(item, taken))
    return Message(id=name, role="tool", blocks=(block,), origin=Origin.TOOL, wire=_WIRES[kind, identity_key == "id"])


def _identity_key(item: JsonObject, kind: str) -> str:
    """The key by which a result names its call: for a local shell call `id` (SDK) or `call_id`
    (Codex).
    """
    return "id" if kind == "local_shell_call_output" and "call_id" not in item else "call_id"


def _read_reasoning(item: JsonObject, kind: str, name: str) -> Message:
    summary, sealed = item.get("summary"), item.get("encrypted_content")
    parts = summary if isinstance(summary, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    signature = sealed if isinstance(sealed, str) else None
    block = Thinking("\n\n".join(texts), signature, rest(item, ("type",) if signature is None else ("type", "encrypted_content")))
    return Message(id=name, role="assistant", blocks=(block,), origin=Origin.MODEL, wire=_WIRES[kind, False])


_READERS: dict[str, Callable[[JsonObject, str, str], Message | None]] = {
    "": _read_message,
    "message": _read_message,
    "agent_message": _read_message,
    **dict.fromkeys(CALLS, _read_call),
    **dict.fromkeys(OUTPUTS, _read_output),
    "reasoning": _read_reasoning,
}


def write_item(message: Message) -> list[object]:
    """Write a message of this format as it was read: one item, or none when its blocks no longer
    form such an item.
    """
    wire = message.wire
    if wire is not None and wire.kind in MESSAGE_KINDS:
        return [_write_message(message, wire)]
    return [] if wire is None or len(message.blocks) != 1 else _write_single(message.blocks[0], wire)


def _write_single(block: Block, wire: Wire) -> list[object]:
    match block:
        case Unknown() if wire.kind == UNKNOWN_ITEM:
            return [raw_of(block)]
        case ToolUse() if wire.kind in CALLS:
            return [_write_call(block, wire)]
        case ToolResult() if wire.kind in OUTPUTS:
            return [_write_output(block, wire)]
        case Thinking() if wire.kind == "reasoning":
            return [_write_reasoning(block)]
        case _:
            return []


def _write_reasoning(block: Thinking) -> JsonObject:
    base: JsonObject = {"type": "reasoning"}
    return merged(base if block.signature is None else {**base, "encrypted_content": block.signature}, block.extra)


def _write_message(message: Message, wire: Wire) -> JsonObject:
    content = write_content(message.blocks, message.role, plain=wire.plain)
    if wire.kind == "agent_message":
        return merged({"type": "agent_message", "content": content}, wire.extra)
    base: JsonObject = {} if wire.kind == "easy_message" else {"type": "message"}
    return merged({**base, "role": message.role, "content": content}, wire.extra)


def _write_call(block: ToolUse, wire: Wire) -> JsonObject:
    call = CALLS[wire.kind]
    base: JsonObject = {"type": wire.kind, "call_id": block.id}
    if not call.tool:
        base["name"] = block.name
    if block.namespace is not None:
        base["namespace"] = block.namespace
    if call.text:
        base[call.arguments] = block.arguments or ""
    elif block.input or not wire.plain:
        base[call.arguments] = block.input
    return merged(base, block.extra)


def _write_output(block: ToolResult, wire: Wire) -> JsonObject:
    key = OUTPUTS[wire.kind]
    base: JsonObject = {"type": wire.kind, "id" if wire.plain else "call_id": block.tool_use_id}
    if block.plain and len(block.content) == 1 and isinstance(block.content[0], Text) and block.content[0].extra is None:
        base[key] = block.content[0].text
    elif block.content or not block.plain:
        base[key] = [write_part(part, "input_text") for part in block.content]
    return merged(base, block.extra)
