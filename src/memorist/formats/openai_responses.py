"""OpenAI Responses (`POST /v1/responses`): requests, replies and history, both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from msgspec import structs

from memorist.core.messages import (
    Block,
    ContentPart,
    DecodedRequest,
    DocumentBlock,
    ImageBlock,
    JsonObject,
    Message,
    Origin,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResult,
    ToolUse,
    UnknownBlock,
    Usage,
    WireInfo,
)
from memorist.errors import WireFormatError
from memorist.formats import media_links
from memorist.formats.host_markup import detect_origin
from memorist.formats.request_codec import (
    UNKNOWN_ITEM,
    Codec,
    build_unknown_block,
    build_unknown_message,
    collect_extra_keys,
    decode_tool_definition_object,
    detect_origin_of_user_message,
    get_arguments_text,
    get_lone_plain_text,
    get_text_or_none,
    get_unknown_block_json,
    get_unknown_block_text,
    is_anthropic_builtin_tool,
    is_custom_call,
    mark_text_blocks_with_origins,
    merge_extra_keys,
    parse_token_number,
    parse_tool_arguments_or_none,
    read_openai_usage,
    require_list_field,
    require_object,
)
from memorist.ports import Reply

# Content parts of OpenAI Responses messages and tool results, both ways, and blocks of other
# formats as parts.


TEXT_KEYS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Part types that are text, and the key that holds it."""

_PROVENANCE = "internal_chat_message_metadata_passthrough"


def get_default_text_type(role: Role) -> str:
    """The usual type of a text part in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def decode_content(content: str | list[Any], role: Role) -> tuple[Block, ...]:
    """Read a message's content."""
    if isinstance(content, str):
        return (TextBlock(content),)
    usual = get_default_text_type(role)
    return tuple([decode_content_part(part, usual) for part in content])


def decode_content_part(raw: object, usual: str) -> ContentPart:
    """Read one part. Never raises: an unexpected shape becomes an `UnknownBlock`. Media keep the
    whole part as their source.
    """
    if not isinstance(raw, dict):
        return build_unknown_block(raw)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return build_unknown_block(raw)
    key = TEXT_KEYS.get(kind)
    if key is not None:
        return _read_text(raw, kind, key, usual)
    if kind == "input_image":
        return ImageBlock(raw)
    return DocumentBlock(raw) if kind == "input_file" else UnknownBlock(kind, raw)


def _read_text(raw: JsonObject, kind: str, key: str, usual: str) -> TextBlock | UnknownBlock:
    text = raw.get(key)
    if not isinstance(text, str):
        return UnknownBlock(kind, raw)
    if len(raw) == 2 and kind == usual:
        return TextBlock(text)
    extra = {
        name: value
        for name, value in raw.items()
        if name != key and (name != "type" or kind != usual)
    }
    return TextBlock(text, None, extra)


def encode_content_as_string_or_parts(
    blocks: tuple[Block, ...], role: Role, *, plain: bool
) -> object:
    """Write a message's content: a string if it was one and still can be, otherwise parts."""
    text = get_lone_plain_text(blocks) if plain else None
    if text is not None:
        return text
    usual = get_default_text_type(role)
    return [encode_native_part(block, usual) for block in blocks if isinstance(block, ContentPart)]


def encode_native_part(part: ContentPart, usual: str) -> object:
    """Write a part of this format as it was read."""
    match part:
        case TextBlock():
            kind = usual if part.extra is None else part.extra.get("type", usual)
            return merge_extra_keys(
                {"type": kind, TEXT_KEYS.get(kind, "text"): part.text}, part.extra
            )
        case ImageBlock() | DocumentBlock():
            return part.source
        case UnknownBlock():
            return get_unknown_block_json(part)


def encode_foreign_blocks(blocks: Iterable[Block], usual: str) -> list[JsonObject]:
    """Write blocks of another format as parts. Empty texts and what this format cannot express are
    left out.
    """
    return [written for block in blocks if (written := _translate(block, usual)) is not None]


def _translate(block: Block, usual: str) -> JsonObject | None:
    match block:
        case TextBlock():
            return _text_part(block.text, usual)
        case UnknownBlock():
            return _text_part(get_unknown_block_text(block), usual)
        case ImageBlock():
            link = media_links.get_image_url(block)
            if link is None or usual == "output_text":
                return _text_part("[image]", usual)
            return {"type": "input_image", "detail": "auto", "image_url": link}
        case DocumentBlock():
            return _document_part(block, usual)
        case _:
            return None


def _document_part(block: DocumentBlock, usual: str) -> JsonObject | None:
    text, link = media_links.get_document_text(block), media_links.get_link_or_data_url(block)
    if text is not None or link is None or usual == "output_text":
        return _text_part(text or "[document]", usual)
    if link.startswith("data:"):
        return {
            "type": "input_file",
            "filename": media_links.get_document_name(block),
            "file_data": link,
        }
    return {"type": "input_file", "file_url": link}


def _text_part(text: str, usual: str) -> JsonObject | None:
    return {"type": usual, "text": text} if text else None


def read_codex_recorded_origins(
    item: JsonObject, blocks: tuple[Block, ...]
) -> tuple[Origin, tuple[Block, ...]] | None:
    """Origins from Codex's own record of who wrote each part (`content_item_kinds`);
    None when the item has none.

    A part that it does not attribute to the user counts as injected, even when no markup rule
    recognises it.
    """
    holder = item.get(_PROVENANCE)
    kinds = holder.get("content_item_kinds") if isinstance(holder, dict) else None
    if (
        not isinstance(kinds, list)
        or len(kinds) != len(blocks)
        or not all(isinstance(kind, str) for kind in kinds)
    ):
        return None
    origins = [_stated_origin(block, kind) for block, kind in zip(blocks, kinds, strict=True)]
    return mark_text_blocks_with_origins(blocks, origins)


def _stated_origin(block: Block, kind: str) -> Origin | None:
    if not isinstance(block, TextBlock):
        return None
    if kind.startswith("user."):
        return Origin.USER
    found = detect_origin(block.text)
    return Origin.INJECTED if found is Origin.USER else found


# Items of OpenAI Responses, both ways: one wire item is one core message.


FORMAT = "openai_responses"

MESSAGE_KINDS = frozenset({"message", "easy_message", "agent_message"})
"""`WireInfo.kind` of items that are messages. `easy_message` is one without a `type`;
`agent_message` is Codex's, from another agent.
"""

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}
_MESSAGE_KEYS = frozenset({"type", "role", "content"})
_AGENT_MESSAGE_KEYS = frozenset({"type", "content"})
_MODEL_ITEMS = frozenset(
    {"reasoning", "mcp_list_tools", "mcp_approval_request", "item_reference", "program"}
)
_SUMMARY_ITEMS = frozenset({"compaction", "compaction_summary", "context_compaction"})


class CallItemKeys(NamedTuple):
    """Where a call item stores its name and arguments. `tool` is the tool name when the item has
    none of its own.
    """

    arguments: str
    tool: str = ""
    text: bool = False


CALL_ITEMS = {
    "function_call": CallItemKeys("arguments", text=True),
    "custom_tool_call": CallItemKeys("input", text=True),
    "local_shell_call": CallItemKeys("action", "local_shell"),
    "shell_call": CallItemKeys("action", "shell"),
    "apply_patch_call": CallItemKeys("operation", "apply_patch"),
    "computer_call": CallItemKeys("action", "computer"),
    "tool_search_call": CallItemKeys("arguments", "tool_search"),
}
"""Calls that the client answers with an item of its own and that must therefore be paired."""

OUTPUT_ITEMS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "tool_search_output": "tools",
}
"""Result items, and the key that holds the result."""

_WIRES = {
    (kind, plain): WireInfo(FORMAT, kind, plain)
    for kind in (*MESSAGE_KINDS, *CALL_ITEMS, *OUTPUT_ITEMS, "reasoning")
    for plain in (False, True)
}
"""Shared instances: most messages need no `WireInfo` of their own. `plain` on a call means that its
arguments are missing or no object, so that `extra` holds the original value; on a result, that it
names its call by `id`.
"""


def decode_input_item(item: object, name: str) -> Message:
    """Read one item. Never raises."""
    if not isinstance(item, dict):
        return build_unknown_message(FORMAT, item, name)
    own = item.get("id")
    if isinstance(own, str) and own:
        name = own
    kind = item.get("type") if "type" in item else ""
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    message = reader(item, kind, name) if reader is not None and isinstance(kind, str) else None
    return message or _read_unknown(item, name)


def _read_unknown(item: JsonObject, name: str) -> Message:
    kind = build_unknown_block(item).kind
    role = item.get("role", "developer" if kind == "additional_tools" else None)
    if isinstance(role, str) and role in _ROLES:
        origin = Origin.MODEL if role == "assistant" else Origin.INJECTED
        return build_unknown_message(FORMAT, item, name, role=_ROLES[role], origin=origin)
    if kind in _SUMMARY_ITEMS:
        return build_unknown_message(FORMAT, item, name, role="assistant", origin=Origin.SUMMARY)
    if kind.endswith("_call") or kind in _MODEL_ITEMS:
        return build_unknown_message(FORMAT, item, name, role="assistant", origin=Origin.MODEL)
    if kind.endswith("_output"):
        return build_unknown_message(FORMAT, item, name, role="tool", origin=Origin.TOOL)
    return build_unknown_message(FORMAT, item, name)


def _read_message(item: JsonObject, kind: str, name: str) -> Message | None:
    agent = kind == "agent_message"
    raw_role, content = item.get("role"), item.get("content")
    role = "user" if agent else _ROLES.get(raw_role) if isinstance(raw_role, str) else None
    if role is None or not isinstance(content, str | list):
        return None
    plain = isinstance(content, str)
    blocks = decode_content(content, role)
    origin = Origin.AGENT if agent else Origin.MODEL if role == "assistant" else Origin.INJECTED
    if role == "user" and not agent:
        kinds = read_codex_recorded_origins(item, blocks)
        origin, blocks = detect_origin_of_user_message(blocks) if kinds is None else kinds
    kind = kind or "easy_message"
    wire = _WIRES[kind, plain]
    extra = collect_extra_keys(item, _AGENT_MESSAGE_KEYS if agent else _MESSAGE_KEYS)
    if extra is not None:
        wire = WireInfo(FORMAT, kind, plain, extra)
    return Message(id=name, role=role, blocks=blocks, origin=origin, wire=wire)


def _read_call(item: JsonObject, kind: str, name: str) -> Message | None:
    call = CALL_ITEMS[kind]
    identity = item.get("call_id")
    tool = call.tool or item.get("name")
    given = item.get(call.arguments)
    if (
        not isinstance(identity, str)
        or not isinstance(tool, str)
        or (call.text and not isinstance(given, str))
    ):
        return None
    namespace = item.get("namespace")
    read_keys = {"type", "call_id", "name" if not call.tool else "type"}
    if isinstance(namespace, str):
        read_keys.add("namespace")
    block_input: JsonObject = {}
    arguments: str | None = None
    if isinstance(given, str) and call.text:
        read_keys.add(call.arguments)
        arguments = given
        block_input = parse_tool_arguments_or_none(given) or {}
    elif isinstance(given, dict):
        read_keys.add(call.arguments)
        block_input = given
    block = ToolUse(
        identity,
        tool,
        block_input,
        arguments,
        namespace if isinstance(namespace, str) else None,
        collect_extra_keys(item, read_keys),
    )
    odd = call.arguments not in read_keys
    return Message(
        id=name, role="assistant", blocks=(block,), origin=Origin.MODEL, wire=_WIRES[kind, odd]
    )


def _read_output(item: JsonObject, kind: str, name: str) -> Message | None:
    key = OUTPUT_ITEMS[kind]
    identity_key = _identity_key(item, kind)
    identity, value = item.get(identity_key), item.get(key)
    if not isinstance(identity, str):
        return None
    read_keys = (
        {"type", identity_key, key} if isinstance(value, str | list) else {"type", identity_key}
    )
    if isinstance(value, str):
        content: tuple[TextBlock | UnknownBlock, ...] = (TextBlock(value),)
        block = ToolResult(identity, content, extra=collect_extra_keys(item, read_keys))
    elif isinstance(value, list):
        block = ToolResult(
            identity,
            tuple([decode_content_part(part, "input_text") for part in value]),
            plain=False,
            extra=collect_extra_keys(item, read_keys),
        )
    else:
        block = ToolResult(identity, (), extra=collect_extra_keys(item, read_keys))
    return Message(
        id=name,
        role="tool",
        blocks=(block,),
        origin=Origin.TOOL,
        wire=_WIRES[kind, identity_key == "id"],
    )


def _identity_key(item: JsonObject, kind: str) -> str:
    """The key by which a result names its call: for a local shell call `id` (SDK) or `call_id`
    (Codex).
    """
    return "id" if kind == "local_shell_call_output" and "call_id" not in item else "call_id"


def _read_reasoning(item: JsonObject, kind: str, name: str) -> Message:
    summary, sealed = item.get("summary"), item.get("encrypted_content")
    parts = summary if isinstance(summary, list) else []
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    signature = sealed if isinstance(sealed, str) else None
    block = ThinkingBlock(
        "\n\n".join(texts),
        signature,
        collect_extra_keys(item, ("type",) if signature is None else ("type", "encrypted_content")),
    )
    return Message(
        id=name, role="assistant", blocks=(block,), origin=Origin.MODEL, wire=_WIRES[kind, False]
    )


_READERS: dict[str, Callable[[JsonObject, str, str], Message | None]] = {
    "": _read_message,
    "message": _read_message,
    "agent_message": _read_message,
    **dict.fromkeys(CALL_ITEMS, _read_call),
    **dict.fromkeys(OUTPUT_ITEMS, _read_output),
    "reasoning": _read_reasoning,
}


def encode_native_message(message: Message) -> list[object]:
    """Write a message of this format as it was read: one item, or none when its blocks no longer
    form such an item.
    """
    wire = message.wire
    if wire is not None and wire.kind in MESSAGE_KINDS:
        return [_write_message(message, wire)]
    return (
        [] if wire is None or len(message.blocks) != 1 else _write_single(message.blocks[0], wire)
    )


def _write_single(block: Block, wire: WireInfo) -> list[object]:
    match block:
        case UnknownBlock() if wire.kind == UNKNOWN_ITEM:
            return [get_unknown_block_json(block)]
        case ToolUse() if wire.kind in CALL_ITEMS:
            return [_write_call(block, wire)]
        case ToolResult() if wire.kind in OUTPUT_ITEMS:
            return [_write_output(block, wire)]
        case ThinkingBlock() if wire.kind == "reasoning":
            return [_write_reasoning(block)]
        case _:
            return []


def _write_reasoning(block: ThinkingBlock) -> JsonObject:
    base: JsonObject = {"type": "reasoning"}
    return merge_extra_keys(
        base if block.signature is None else {**base, "encrypted_content": block.signature},
        block.extra,
    )


def _write_message(message: Message, wire: WireInfo) -> JsonObject:
    content = encode_content_as_string_or_parts(message.blocks, message.role, plain=wire.plain)
    if wire.kind == "agent_message":
        return merge_extra_keys({"type": "agent_message", "content": content}, wire.extra)
    base: JsonObject = {} if wire.kind == "easy_message" else {"type": "message"}
    return merge_extra_keys({**base, "role": message.role, "content": content}, wire.extra)


def _write_call(block: ToolUse, wire: WireInfo) -> JsonObject:
    call = CALL_ITEMS[wire.kind]
    base: JsonObject = {"type": wire.kind, "call_id": block.id}
    if not call.tool:
        base["name"] = block.name
    if block.namespace is not None:
        base["namespace"] = block.namespace
    if call.text:
        base[call.arguments] = block.arguments or ""
    elif block.input or not wire.plain:
        base[call.arguments] = block.input
    return merge_extra_keys(base, block.extra)


def _write_output(block: ToolResult, wire: WireInfo) -> JsonObject:
    key = OUTPUT_ITEMS[wire.kind]
    base: JsonObject = {"type": wire.kind, "id" if wire.plain else "call_id": block.tool_use_id}
    text = get_lone_plain_text(block.content) if block.plain else None
    if text is not None:
        base[key] = text
    elif block.content or not block.plain:
        base[key] = [encode_native_part(part, "input_text") for part in block.content]
    return merge_extra_keys(base, block.extra)


CODEX = "codex"
"""Format name of messages read from Codex's session files; their items are of this format."""
ANSWER_NAME = "answer"
"""Name of the schema in `text.format`; the API requires one and does nothing with it."""

_MESSAGE_WIRE = WireInfo(FORMAT)
_PLAIN_WIRE = WireInfo(FORMAT, plain=True)


def _read_usage(usage: object) -> Usage:
    found = read_openai_usage(usage, "input", "output")
    details = usage.get("output_tokens_details") if isinstance(usage, dict) else None
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return structs.replace(found, reasoning=parse_token_number(reasoning))


def _stop_reason(body: JsonObject) -> str | None:
    """Why the reply ended: the reason of an incomplete one (`max_output_tokens`, `content_filter`),
    otherwise the status.
    """
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return get_text_or_none(reason) or get_text_or_none(body.get("status"))


def _call_item(block: ToolUse, *, custom: bool) -> JsonObject:
    item: JsonObject = {
        "type": "custom_tool_call" if custom else "function_call",
        "call_id": block.id,
        "name": block.name,
    }
    if block.namespace is not None:
        item["namespace"] = block.namespace
    item["input" if custom else "arguments"] = get_arguments_text(block)
    return item


def _output_item(block: ToolResult, *, custom: bool) -> JsonObject:
    only_text = all(isinstance(part, TextBlock) for part in block.content)
    output = block.text if only_text else encode_foreign_blocks(block.content, "input_text")
    return {
        "type": "custom_tool_call_output" if custom else "function_call_output",
        "call_id": block.tool_use_id,
        "output": output,
    }


def _message_item(blocks: Sequence[Block], role: Role) -> list[JsonObject]:
    role = "user" if role == "tool" else role
    parts = encode_foreign_blocks(blocks, get_default_text_type(role))
    return [{"type": "message", "role": role, "content": parts}] if parts else []


def _translate_message(message: Message, custom: set[str]) -> list[JsonObject]:
    """A message of another format as items, in the order of its blocks. `custom` holds the ids of
    calls to custom tools.
    """
    items: list[JsonObject] = []
    waiting: list[Block] = []
    for block in message.blocks:
        if not isinstance(block, ToolUse | ToolResult):
            waiting.append(block)
            continue
        items += _message_item(waiting, message.role)
        waiting.clear()
        if isinstance(block, ToolUse):
            items.append(_call_item(block, custom=block.id in custom))
        else:
            items.append(_output_item(block, custom=block.tool_use_id in custom))
    return items + _message_item(waiting, message.role)


class OpenAIResponsesCodec(Codec):
    """The `openai_responses` codec."""

    name = FORMAT
    body_key = "input"
    limit_key = "max_output_tokens"
    system_key = "instructions"
    user_wire = _MESSAGE_WIRE
    fresh_fields: ClassVar[JsonObject] = {"store": False}

    def decode_history_item(self, item: object, name: str) -> Message:
        """Read one item of `input`."""
        return decode_input_item(item, name)

    def get_history_items(self, body: JsonObject) -> list[Any]:
        """The items of `input`; a string means one user message. Raises WireFormatError."""
        value = body.get(self.body_key)
        if isinstance(value, str):
            return [{"type": "message", "role": "user", "content": value}]
        return require_list_field(body, self.body_key, "The openai_responses request")

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as items; those of this format unchanged."""
        written: list[Any] = []
        custom: set[str] = set()
        for message in messages:
            custom.update(
                block.id for block in message.tool_uses if is_custom_call(block, message.wire)
            )
            own = message.wire is not None and message.wire.format in (FORMAT, CODEX)
            written += (encode_native_message(message) if own else []) or _translate_message(
                message, custom
            )
        return written

    def encode_request(self, prompt: DecodedRequest) -> JsonObject:
        """Write a whole request body; `input` is a string again when it was one and nothing was
        added.
        """
        body = super().encode_request(prompt)
        first = prompt.messages[0] if len(prompt.messages) == 1 else None
        if (
            prompt.wire.format == FORMAT
            and prompt.wire.plain
            and first is not None
            and first.wire == _PLAIN_WIRE
        ):
            body[self.body_key] = first.text
        return body

    def decode_system_prompt(self, value: object) -> tuple[Message, ...]:
        """`instructions`, when it is text."""
        if not isinstance(value, str):
            return ()
        return (
            Message(
                id="system",
                role="system",
                blocks=(TextBlock(value),),
                origin=Origin.INJECTED,
                wire=_PLAIN_WIRE,
            ),
        )

    def decode_tool_definition(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool. A namespace is one definition; a tool that the provider runs is named by its
        type.
        """
        return decode_tool_definition_object(raw, raw, "parameters")

    def encode_tool_definition(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool of any format."""
        raw = tool.raw
        elsewhere = any(
            key in raw for key in ("function", "custom", "input_schema")
        ) or is_anthropic_builtin_tool(raw)
        if isinstance(raw.get("type"), str) and not elsewhere:
            return raw
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }

    def list_reply_wire_items(self, reply: JsonObject) -> list[Any]:
        """The reply's output items, unchanged."""
        return require_list_field(reply, "output", "The openai_responses reply")

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole reply: a message for each output item; the last one carries the usage.
        Raises WireFormatError.
        """
        require_object(body, "The openai_responses reply")
        items = self.list_reply_wire_items(body)
        if isinstance(body.get("error"), dict) and not items:
            raise WireFormatError(
                "This is a failed response without output; look at its `error` field."
            )
        reply_id = get_text_or_none(body.get("id"))
        stop = _stop_reason(body)
        usage = _read_usage(body.get("usage"))
        model = get_text_or_none(body.get("model"))
        last = len(items) - 1
        messages = tuple(
            structs.replace(
                decode_input_item(item, f"{reply_id or 'reply'}.{index}"),
                reply_id=reply_id,
                model=model,
                usage=usage if index == last else None,
                stop_reason=stop if index == last else None,
            )
            for index, item in enumerate(items)
        )
        return Reply(format=FORMAT, body=body, messages=messages, usage=usage, stop_reason=stop)

    def build_tool_result_message(
        self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False
    ) -> Message:
        """One output item. The wire has no error flag; the core block has. The id is empty: the
        caller that stores the message assigns it.
        """
        kind = "custom_tool_call_output" if custom else "function_call_output"
        block = ToolResult(tool_use_id, (TextBlock(text),), is_error)
        return Message(
            id="", role="tool", blocks=(block,), origin=Origin.TOOL, wire=WireInfo(FORMAT, kind)
        )

    def build_answer_schema_fields(self, schema: JsonObject) -> JsonObject:
        """`text.format`, strict (openai SDK 3.54, `ResponseFormatTextJSONSchemaConfigParam`)."""
        json_schema = {"type": "json_schema", "name": ANSWER_NAME, "schema": schema, "strict": True}
        return {"text": {"format": json_schema}}


CODEC = OpenAIResponsesCodec()
