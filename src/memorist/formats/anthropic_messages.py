"""Anthropic Messages (`POST /v1/messages`): requests, replies and history, both ways.

Messages read from a Claude Code session (`WireInfo.format` `claude_code`) carry the same blocks, so
their reasoning and cache marks are kept. The records of one reply are joined, and so are neighbours
of one role when one of them comes from another format. Messages that were separate on this wire are
never joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memorist.core.messages import (
    Block,
    ContentPart,
    DocumentBlock,
    ImageBlock,
    JsonObject,
    Message,
    Origin,
    RedactedThinkingBlock,
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
    get_arguments_object,
    get_lone_plain_text,
    get_text_or_none,
    get_unknown_block_json,
    get_unknown_block_text,
    group_by_speaker,
    is_anthropic_builtin_tool,
    join_block_texts,
    merge_extra_keys,
    parse_token_number,
    require_list_field,
    require_object,
)
from memorist.ports import Reply

# Content blocks of Anthropic Messages, both ways.


_TEXT = frozenset({"type", "text"})
_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})
_TOOL_USE = frozenset({"type", "id", "name", "input"})
_TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
_SOURCE = frozenset({"type", "source"})


def decode_block(raw: object) -> Block:
    """Read one content block. Never raises: an unexpected shape becomes an `UnknownBlock`."""
    if isinstance(raw, dict):
        kind = raw.get("type")
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is not None and (block := reader(raw)) is not None:
            return block
    return build_unknown_block(raw)


def decode_blocks(content: list[Any]) -> tuple[Block, ...]:
    """Read a list of content blocks."""
    return tuple([decode_block(raw) for raw in content])


def _read_text(raw: JsonObject) -> TextBlock | None:
    text = raw.get("text")
    return TextBlock(text, None, collect_extra_keys(raw, _TEXT)) if isinstance(text, str) else None


def _read_thinking(raw: JsonObject) -> ThinkingBlock | None:
    text, signature = raw.get("thinking"), raw.get("signature")
    if not isinstance(text, str):
        return None
    if isinstance(signature, str):
        return ThinkingBlock(text, signature, collect_extra_keys(raw, _THINKING))
    return ThinkingBlock(text, None, collect_extra_keys(raw, _THINKING - {"signature"}))


def _read_redacted(raw: JsonObject) -> RedactedThinkingBlock | None:
    data = raw.get("data")
    extra = collect_extra_keys(raw, _REDACTED)
    return RedactedThinkingBlock(data, extra) if isinstance(data, str) else None


def _read_tool_use(raw: JsonObject) -> ToolUse | None:
    name, call, given = raw.get("name"), raw.get("id"), raw.get("input")
    if not (isinstance(name, str) and isinstance(call, str) and isinstance(given, dict)):
        return None
    return ToolUse(call, name, given, extra=collect_extra_keys(raw, _TOOL_USE))


def _read_tool_result(raw: JsonObject) -> ToolResult | None:
    call, content = raw.get("tool_use_id"), raw.get("content")
    if not isinstance(call, str):
        return None
    extra = collect_extra_keys(raw, _TOOL_RESULT)
    is_error = raw.get("is_error") is True
    if "is_error" in raw and not is_error:
        extra = {**(extra or {}), "is_error": raw["is_error"]}
    if isinstance(content, str):
        return ToolResult(call, (TextBlock(content),), is_error, plain=True, extra=extra)
    if isinstance(content, list):
        return ToolResult(
            call, tuple([_read_part(part) for part in content]), is_error, plain=False, extra=extra
        )
    if "content" in raw:
        extra = {**(extra or {}), "content": content}
    return ToolResult(call, (), is_error, plain=True, extra=extra)


def _read_part(raw: object) -> ContentPart:
    block = decode_block(raw)
    return block if isinstance(block, ContentPart) else build_unknown_block(raw)


def _read_media(
    raw: JsonObject, make: type[ImageBlock | DocumentBlock]
) -> ImageBlock | DocumentBlock | None:
    source = raw.get("source")
    return make(source, collect_extra_keys(raw, _SOURCE)) if isinstance(source, dict) else None


_READERS: dict[str, Callable[[JsonObject], Block | None]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "image": lambda raw: _read_media(raw, ImageBlock),
    "document": lambda raw: _read_media(raw, DocumentBlock),
}


def encode_block(block: Block) -> object:
    """Write a block of this format as it was read, with its edited fields."""
    if isinstance(block, UnknownBlock):
        return get_unknown_block_json(block)
    if isinstance(block, ToolResult):
        return _write_result(block, encode_block)
    return merge_extra_keys(_base_fields(block), block.extra)


def _base_fields(
    block: TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUse | ImageBlock | DocumentBlock,
) -> JsonObject:
    match block:
        case TextBlock():
            base: JsonObject = {"type": "text", "text": block.text}
        case ToolUse():
            base = {
                "type": "tool_use",
                "id": block.id,
                "name": block.name,
                "input": get_arguments_object(block),
            }
        case ThinkingBlock(signature=None):
            base = {"type": "thinking", "thinking": block.text}
        case ThinkingBlock():
            base = {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case RedactedThinkingBlock():
            base = {"type": "redacted_thinking", "data": block.data}
        case ImageBlock():
            base = {"type": "image", "source": block.source}
        case DocumentBlock():
            base = {"type": "document", "source": block.source}
    return base


def _write_result(block: ToolResult, write: Callable[[ContentPart], object]) -> JsonObject:
    base: JsonObject = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    text = get_lone_plain_text(block.content) if block.plain else None
    if text is not None:
        base["content"] = text
    elif block.content or not block.plain:
        base["content"] = [
            written for part in block.content if (written := write(part)) is not None
        ]
    if block.is_error:
        base["is_error"] = True
    return merge_extra_keys(base, block.extra)


def convert_blocks_to_anthropic(blocks: Iterable[Block]) -> list[object]:
    """Write blocks of another format: its extras and its reasoning stay behind, its media are put
    into Anthropic's form.
    """
    return [written for block in blocks if (written := _translate(block)) is not None]


def _translate(block: Block) -> JsonObject | None:
    match block:
        case ToolUse():
            name = f"{block.namespace}__{block.name}" if block.namespace else block.name
            return {
                "type": "tool_use",
                "id": block.id,
                "name": name,
                "input": get_arguments_object(block),
            }
        case ToolResult():
            bare = ToolResult(
                block.tool_use_id, _strip_extras(block.content), block.is_error, plain=block.plain
            )
            return _write_result(bare, _translate_part)
        case ThinkingBlock() | RedactedThinkingBlock():
            return None
        case _:
            return _translate_part(block)


def _strip_extras(parts: tuple[ContentPart, ...]) -> tuple[ContentPart, ...]:
    return tuple(TextBlock(part.text) if isinstance(part, TextBlock) else part for part in parts)


def _translate_part(part: ContentPart) -> JsonObject | None:
    match part:
        case TextBlock():
            return _text_block(part.text)
        case UnknownBlock():
            return _text_block(get_unknown_block_text(part))
        case ImageBlock():
            return _media_block("image", media_links.get_image_url(part))
        case DocumentBlock():
            text = media_links.get_document_text(part)
            if text is None:
                return _media_block("document", media_links.get_link_or_data_url(part))
            source = {"type": "text", "media_type": "text/plain", "data": text}
            return {"type": "document", "source": source}


def _media_block(kind: str, link: str | None) -> JsonObject | None:
    if link is None:
        return _text_block(f"[{kind}]")
    return {"type": kind, "source": media_links.build_anthropic_source(link)}


def _text_block(text: str) -> JsonObject | None:
    """A text block; None for blank text, which the API rejects."""
    return {"type": "text", "text": text} if text.strip() else None


FORMAT = "anthropic"
CLAUDE_CODE = "claude_code"
"""Format name of messages read from Claude Code's session files; their blocks are of this format.
"""

_PLAIN_WIRE = WireInfo(FORMAT, plain=True)
_BLOCKS_WIRE = WireInfo(FORMAT)
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_MESSAGE_KEYS = frozenset({"role", "content"})


def read_message(item: object, name: str) -> Message:
    """Read one entry of `messages`. Never raises: an entry of unknown shape becomes one
    `UnknownBlock`.
    """
    if not isinstance(item, dict):
        return build_unknown_message(FORMAT, item, name)
    raw_role, content = item.get("role"), item.get("content")
    role = _ROLES.get(raw_role) if isinstance(raw_role, str) else None
    if role is None or not isinstance(content, str | list):
        return build_unknown_message(FORMAT, item, name)
    plain = isinstance(content, str)
    blocks = (TextBlock(content),) if isinstance(content, str) else decode_blocks(content)
    origin = Origin.MODEL if role == "assistant" else Origin.INJECTED
    if role == "user":
        origin, blocks = detect_origin_of_user_message(blocks)
    wire = _PLAIN_WIRE if plain else _BLOCKS_WIRE
    if len(item) > len(_MESSAGE_KEYS):
        wire = WireInfo(FORMAT, plain=plain, extra=collect_extra_keys(item, _MESSAGE_KEYS))
    return Message(id=name, role=role, blocks=blocks, origin=origin, wire=wire)


def _is_native(message: Message) -> bool:
    return message.wire is not None and message.wire.format == FORMAT


def _has_native_blocks(message: Message) -> bool:
    return message.wire is not None and message.wire.format in (FORMAT, CLAUDE_CODE)


def _write_native(message: Message) -> object:
    wire = message.wire or _BLOCKS_WIRE
    content = [encode_block(block) for block in message.blocks]
    if wire.kind == UNKNOWN_ITEM:
        return content[0] if len(content) == 1 else content
    text = get_lone_plain_text(message.blocks) if wire.plain else None
    return merge_extra_keys(
        {"role": message.role, "content": content if text is None else text}, wire.extra
    )


def _entry_role(message: Message) -> str:
    if _is_native(message):
        return message.role
    return "assistant" if message.role == "assistant" else "user"


def _can_join(before: Message, message: Message) -> bool:
    """Whether the message is written into the same entry as `before`."""
    if UNKNOWN_ITEM in _wire_kinds(before, message) or _entry_role(before) != _entry_role(message):
        return False
    if _is_native(before) and _is_native(message):
        return before.reply_id is not None and before.reply_id == message.reply_id
    return True


def _wire_kinds(*messages: Message) -> list[str]:
    return [
        message.wire.kind
        for message in messages
        if message.wire is not None and message.wire.format == FORMAT
    ]


def _join_entry(entry: list[Message]) -> list[object]:
    """One entry for neighbours of one role: tool results first, as the API requires. Empty when no
    block can be written.
    """
    content: list[object] = []
    extra: JsonObject = {}
    for answers in (True, False):
        for message in entry:
            blocks = tuple(
                block for block in message.blocks if isinstance(block, ToolResult) is answers
            )
            content += (
                [encode_block(block) for block in blocks]
                if _has_native_blocks(message)
                else convert_blocks_to_anthropic(blocks)
            )
    for message in entry:
        if _is_native(message) and message.wire is not None and message.wire.extra:
            extra |= message.wire.extra
    if content:
        return [merge_extra_keys({"role": _entry_role(entry[0]), "content": content}, extra)]
    return []


def _group_entries(messages: Iterable[Message]) -> list[list[Message]]:
    found: list[list[Message]] = []
    for message in messages:
        if found and _can_join(found[-1][-1], message):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def read_usage(usage: object) -> Usage:
    """Token counts; the four of this format do not overlap."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input=parse_token_number(usage.get("input_tokens")),
        cache_read=parse_token_number(usage.get("cache_read_input_tokens")),
        cache_write=parse_token_number(usage.get("cache_creation_input_tokens")),
        output=parse_token_number(usage.get("output_tokens")),
    )


class AnthropicCodec(Codec):
    """The `anthropic` codec."""

    name = FORMAT
    body_key = "messages"
    limit_key = "max_tokens"
    system_key = "system"

    def decode_history_item(self, item: object, name: str) -> Message:
        """Read one entry of `messages`."""
        return read_message(item, name)

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of `messages`; those of this format unchanged."""
        written: list[Any] = []
        for turn in group_by_speaker(messages, _is_native):
            for entry in _group_entries(turn.all_messages()):
                if len(entry) == 1 and _is_native(entry[0]):
                    written.append(_write_native(entry[0]))
                else:
                    written += _join_entry(entry)
        return written

    def decode_system_prompt(self, value: object) -> tuple[Message, ...]:
        """`system`, as text or as a list of blocks: one message."""
        if not isinstance(value, str | list):
            return ()
        blocks, wire = (
            ((TextBlock(value),), _PLAIN_WIRE)
            if isinstance(value, str)
            else (decode_blocks(value), _BLOCKS_WIRE)
        )
        return (
            Message(id="system", role="system", blocks=blocks, origin=Origin.INJECTED, wire=wire),
        )

    def encode_system_prompt(self, messages: Sequence[Message]) -> str | list[object]:
        """Text when it was text; otherwise a list of blocks."""
        if len(messages) == 1 and messages[0].wire == _PLAIN_WIRE:
            return join_block_texts(messages[0].blocks)
        content: list[object] = []
        for message in messages:
            content += (
                [encode_block(block) for block in message.blocks]
                if _has_native_blocks(message)
                else convert_blocks_to_anthropic(message.blocks)
            )
        return content

    def decode_tool_definition(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool; one that the provider runs has no schema."""
        return decode_tool_definition_object(raw, raw, "input_schema")

    def encode_tool_definition(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool of any format."""
        if "input_schema" in tool.raw or is_anthropic_builtin_tool(tool.raw):
            return tool.raw
        return {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.schema or {"type": "object"},
        }

    def list_reply_wire_items(self, reply: JsonObject) -> list[Any]:
        """The assistant message of the reply; none when it is empty, because the API rejects an
        empty one within a history.
        """
        content = require_list_field(reply, "content", "The anthropic reply")
        return [{"role": "assistant", "content": content}] if content else []

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole reply. Raises WireFormatError for an error object."""
        require_object(body, "The anthropic reply")
        if body.get("type") == "error":
            raise WireFormatError(
                "This is an error answer of the API, not a reply; look at its `error` field."
            )
        content = require_list_field(body, "content", "The anthropic reply")
        reply_id = get_text_or_none(body.get("id"))
        stop = get_text_or_none(body.get("stop_reason"))
        usage = read_usage(body.get("usage"))
        message = Message(
            id=reply_id or "reply",
            role="assistant",
            blocks=decode_blocks(content),
            origin=Origin.MODEL,
            usage=usage,
            reply_id=reply_id,
            model=get_text_or_none(body.get("model")),
            stop_reason=stop,
            wire=_BLOCKS_WIRE,
        )
        return Reply(format=FORMAT, body=body, messages=(message,), usage=usage, stop_reason=stop)

    def build_tool_result_message(
        self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False
    ) -> Message:
        """A user message with one tool result. `custom` has no effect here. The id is empty: the
        caller that stores the message assigns it.
        """
        del custom
        block = ToolResult(tool_use_id, (TextBlock(text),), is_error)
        return Message(id="", role="user", blocks=(block,), origin=Origin.TOOL, wire=_BLOCKS_WIRE)

    def build_user_messages(
        self, text: str, results: Sequence[Message] = ()
    ) -> tuple[Message, ...]:
        """One user message: the tool results first, then the text."""
        answers = [block for message in results for block in message.tool_results]
        return (
            Message(
                id="",
                role="user",
                blocks=(*answers, TextBlock(text)),
                origin=detect_origin(text),
                wire=_BLOCKS_WIRE,
            ),
        )

    def build_answer_schema_fields(self, schema: JsonObject) -> JsonObject:
        """`output_config.format` (anthropic SDK 2.12, `OutputConfigParam`)."""
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


CODEC = AnthropicCodec()
