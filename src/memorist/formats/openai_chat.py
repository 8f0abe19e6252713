"""OpenAI Chat Completions (`POST /v1/chat/completions`): requests, replies and history, both ways.

The system prompt is the run of `system` and `developer` messages at the head of `messages`; those
further down stay in the history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
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
    WireInfo,
)
from memorist.core.text_analysis import parse_word_list
from memorist.errors import WireFormatError
from memorist.formats import media_links
from memorist.formats.request_codec import (
    UNKNOWN_ITEM,
    Codec,
    SpeakerGroup,
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
    group_by_speaker,
    is_custom_call,
    join_block_texts,
    merge_extra_keys,
    parse_tool_arguments_or_none,
    read_openai_usage,
    require_list_field,
    require_object,
)
from memorist.ports import Reply

# Messages of OpenAI Chat Completions, both ways: one wire message is one core message.


FORMAT = "openai_chat"


REASONING_KEYS = ("reasoning_content", "reasoning")
REFUSAL_TYPE = "message_refusal"
"""`TextBlock.extra["type"]` of a message's own `refusal`, as distinct from refusal parts."""

_WIRES = {
    (kind, plain): WireInfo(FORMAT, kind, plain)
    for kind in ("message", "null", "absent")
    for plain in (False, True)
}
"""`kind` says how `content` was given: with a value, as null, or not at all."""
_MESSAGE_KEYS = frozenset({"role", "content"})
_TOOL_KEYS = frozenset({"role", "content", "tool_call_id"})
_TEXT_KEYS = frozenset({"type", "text"})
_REFUSAL_EXTRA: JsonObject = {"type": REFUSAL_TYPE}


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
    return build_unknown_message(FORMAT, item, name)


def _read_content(item: JsonObject) -> tuple[tuple[ContentPart, ...], tuple[str, bool]] | None:
    """The blocks, and how the content was given (a key of `_WIRES`); None when it is of another
    type.
    """
    content = item.get("content")
    if isinstance(content, str):
        return (TextBlock(content),), ("message", True)
    if isinstance(content, list):
        return tuple([decode_content_part(part) for part in content]), ("message", False)
    if content is None:
        return (), ("null" if "content" in item else "absent", False)
    return None


def _wire_info(shape: tuple[str, bool], extra: JsonObject | None) -> WireInfo:
    return _WIRES[shape] if extra is None else WireInfo(FORMAT, *shape, extra)


def _read_plain(role: Role, origin: Origin) -> Callable[[JsonObject, str], Message | None]:
    def read(item: JsonObject, name: str) -> Message | None:
        content = _read_content(item)
        if content is None:
            return None
        return Message(
            id=name,
            role=role,
            blocks=content[0],
            origin=origin,
            wire=_wire_info(content[1], collect_extra_keys(item, _MESSAGE_KEYS)),
        )

    return read


def _read_user(item: JsonObject, name: str) -> Message | None:
    content = _read_content(item)
    if content is None:
        return None
    origin, blocks = detect_origin_of_user_message(content[0])
    speaker = item.get("name")
    if isinstance(speaker, str) and not _NO_PERSON.isdisjoint(
        word.lower() for word in _NAME_WORD.findall(speaker)
    ):
        origin = Origin.TOOL
    return Message(
        id=name,
        role="user",
        blocks=blocks,
        origin=origin,
        wire=_wire_info(content[1], collect_extra_keys(item, _MESSAGE_KEYS)),
    )


_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a name, which may be written in one (`reviewBot`)."""
_NO_PERSON = parse_word_list(
    """
    tool tools function functions result results output agent subagent assistant bot system search
    retriever retrieval browser context document documents memory critic planner coder executor
    supervisor orchestrator coordinator summarizer summariser evaluator router worker validator
    verifier llm model ai gpt claude gemini
    """
)
"""Words of a `name` by which a message of role `user` is not the person's: what hosts call tools,
and agents that talk to each other. Our choice.
"""


def _read_assistant(item: JsonObject, name: str) -> Message | None:
    content = _read_content(item)
    if content is None:
        return None
    read_keys = {"role", "content"}
    blocks: list[Block] = []
    for key in REASONING_KEYS:
        if isinstance(item.get(key), str):
            blocks.append(ThinkingBlock(item[key], None, {"key": key}))
            read_keys.add(key)
    blocks += content[0]
    if isinstance(item.get("refusal"), str):
        blocks.append(TextBlock(item["refusal"], None, _REFUSAL_EXTRA))
        read_keys.add("refusal")
    calls = _read_calls(item.get("tool_calls"))
    if calls:
        blocks += calls
        read_keys.add("tool_calls")
    extra = collect_extra_keys(item, read_keys)
    return Message(
        id=name,
        role="assistant",
        blocks=tuple(blocks),
        origin=Origin.MODEL,
        wire=_wire_info(content[1], extra),
    )


def _read_tool(item: JsonObject, name: str) -> Message | None:
    call, content = item.get("tool_call_id"), _read_content(item)
    if not isinstance(call, str) or content is None:
        return None
    kind, is_text = content[1]
    block = ToolResult(
        call,
        content[0],
        plain=is_text or kind != "message",
        extra=collect_extra_keys(item, _TOOL_KEYS),
    )
    return Message(
        id=name, role="tool", blocks=(block,), origin=Origin.TOOL, wire=_WIRES[kind, False]
    )


def _read_function(item: JsonObject, name: str) -> Message | None:
    content = _read_content(item)
    if content is None:
        return None
    extra = collect_extra_keys(item, ("content",))
    return Message(
        id=name,
        role="tool",
        blocks=content[0],
        origin=Origin.TOOL,
        wire=_wire_info(content[1], extra),
    )


_READERS: dict[str, Callable[[JsonObject, str], Message | None]] = {
    "system": _read_plain("system", Origin.INJECTED),
    "developer": _read_plain("developer", Origin.INJECTED),
    "user": _read_user,
    "assistant": _read_assistant,
    "tool": _read_tool,
    "function": _read_function,
}


def decode_content_part(raw: object) -> ContentPart:
    """Read one content part. Never raises. Media keep the whole part as their source."""
    if not isinstance(raw, dict):
        return build_unknown_block(raw)
    kind = raw.get("type")
    if kind == "text" and isinstance(raw.get("text"), str):
        if len(raw) == len(_TEXT_KEYS):
            return TextBlock(raw["text"])
        return TextBlock(raw["text"], None, collect_extra_keys(raw, _TEXT_KEYS))
    if kind == "refusal" and isinstance(raw.get("refusal"), str):
        return TextBlock(raw["refusal"], None, collect_extra_keys(raw, ("refusal",)))
    if kind == "image_url":
        return ImageBlock(raw)
    return DocumentBlock(raw) if kind == "file" else build_unknown_block(raw)


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
    return ToolUse(
        raw["id"],
        body["name"],
        parse_tool_arguments_or_none(given) or {},
        given,
        extra=None if regular else raw,
    )


def encode_chat_message_as_received(message: Message) -> object:
    """Write a message of this format as it was read, with its edited blocks."""
    wire = message.wire or _WIRES["message", False]
    if wire.kind == UNKNOWN_ITEM:
        return next(
            (
                get_unknown_block_json(block)
                for block in message.blocks
                if isinstance(block, UnknownBlock)
            ),
            None,
        )
    results = message.tool_results
    if results:
        return _write_result(results[0], wire.kind)
    written: JsonObject = {"role": message.role}
    content = [
        block
        for block in message.blocks
        if isinstance(block, ContentPart) and not _is_refusal(block)
    ]
    if content or wire.kind == "message":
        written["content"] = encode_content_as_string_or_parts(content, plain=wire.plain)
    elif wire.kind == "null":
        written["content"] = None
    for block in message.blocks:
        if isinstance(block, ThinkingBlock) and block.extra is not None:
            written[str(block.extra.get("key"))] = block.text
        elif isinstance(block, TextBlock) and _is_refusal(block):
            written["refusal"] = block.text
    calls = [encode_tool_call(block) for block in message.tool_uses]
    if calls:
        written["tool_calls"] = calls
    return written if wire.extra is None else {**written, **wire.extra}


def _is_refusal(block: Block) -> bool:
    return (
        isinstance(block, TextBlock)
        and block.extra is not None
        and block.extra.get("type") == REFUSAL_TYPE
    )


def encode_content_as_string_or_parts(content: list[ContentPart], *, plain: bool) -> object:
    """A string if it was one and still can be, otherwise parts."""
    text = get_lone_plain_text(content) if plain else None
    return [encode_native_part(part) for part in content] if text is None else text


def encode_native_part(part: ContentPart) -> object:
    """Write a part of this format as it was read."""
    match part:
        case TextBlock():
            key = (
                "refusal"
                if part.extra is not None and part.extra.get("type") == "refusal"
                else "text"
            )
            return merge_extra_keys({"type": key, key: part.text}, part.extra)
        case ImageBlock() | DocumentBlock():
            return part.source
        case UnknownBlock():
            return get_unknown_block_json(part)


def _write_result(block: ToolResult, kind: str) -> JsonObject:
    written: JsonObject = {"role": "tool", "tool_call_id": block.tool_use_id}
    if block.content or kind == "message":
        written["content"] = encode_content_as_string_or_parts(
            list(block.content), plain=block.plain
        )
    elif kind == "null":
        written["content"] = None
    return merge_extra_keys(written, block.extra)


def encode_tool_call(block: ToolUse) -> JsonObject:
    """Write a tool call: its own form with edited fields, or the usual form."""
    if block.extra is None:
        return {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": get_arguments_text(block)},
        }
    custom = block.extra.get("type") == "custom"
    key, argument = ("custom", "input") if custom else ("function", "arguments")
    old = block.extra.get(key)
    body = dict(old) if isinstance(old, dict) else {}
    as_object = block.arguments is None and isinstance(body.get(argument), dict)
    body |= {"name": block.name, argument: block.input if as_object else get_arguments_text(block)}
    return {**block.extra, "id": block.id, key: body}


ANSWER_NAME = "answer"
"""Name of the schema in `response_format`; the API requires one and does nothing with it."""

_PLAIN_WIRE = WireInfo(FORMAT, plain=True)
_PARTS_WIRE = WireInfo(FORMAT)


def _is_native(message: Message) -> bool:
    return message.wire is not None and message.wire.format == FORMAT


def _translate_call(block: ToolUse, wire: WireInfo | None) -> JsonObject:
    if is_custom_call(block, wire):
        return {
            "id": block.id,
            "type": "custom",
            "custom": {"name": block.name, "input": get_arguments_text(block)},
        }
    name = f"{block.namespace}__{block.name}" if block.namespace else block.name
    return encode_tool_call(ToolUse(block.id, name, block.input, block.arguments))


def replace_custom_tools(body: JsonObject) -> JsonObject:
    """The request with functions of one text in place of custom tools and of calls to them, which
    only OpenAI's own server takes: llama.cpp refuses a whole conversation for one such call.
    """
    messages = body.get("messages")
    tools = body.get("tools")
    rewritten = dict(body)
    if isinstance(messages, list):
        rewritten["messages"] = [_without_custom_calls(each) for each in messages]
    if isinstance(tools, list):
        rewritten["tools"] = [_as_function_tool(each) for each in tools]
    return rewritten


def _without_custom_calls(message: object) -> object:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [_as_function_call(call) for call in calls]}


def _custom_part(value: object) -> JsonObject | None:
    """What a custom tool, or a call to one, says of itself; None for any other."""
    part = value.get("custom") if isinstance(value, dict) else None
    return part if isinstance(part, dict) else None


def _as_function_call(call: object) -> object:
    custom = _custom_part(call)
    if custom is None or not isinstance(call, dict):
        return call
    arguments = msgspec.json.encode({"input": str(custom.get("input") or "")}).decode()
    function = {"name": custom.get("name"), "arguments": arguments}
    return {"id": call.get("id"), "type": "function", "function": function}


def _as_function_tool(tool: object) -> object:
    custom = _custom_part(tool)
    if custom is None:
        return tool
    parameters = {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
    }
    described = {"name": custom.get("name"), "description": custom.get("description") or ""}
    return {"type": "function", "function": {**described, "parameters": parameters}}


def _translate_assistant(messages: Sequence[Message]) -> list[JsonObject]:
    """Consecutive assistant messages of other formats as one: all text, then all calls. Empty when
    there is neither.
    """
    text = "\n\n".join(part for message in messages if (part := join_block_texts(message.blocks)))
    calls = [
        _translate_call(block, message.wire) for message in messages for block in message.tool_uses
    ]
    if not calls:
        return [{"role": "assistant", "content": text}] if text else []
    return [{"role": "assistant", "content": text or None, "tool_calls": calls}]


def _translate_result(block: ToolResult) -> JsonObject:
    """A tool message, which can hold text only."""
    return {
        "role": "tool",
        "tool_call_id": block.tool_use_id,
        "content": join_block_texts(block.content),
    }


def _translate_part(block: Block) -> JsonObject | None:
    match block:
        case TextBlock() if block.text:
            return {"type": "text", "text": block.text}
        case UnknownBlock() if said := get_unknown_block_text(block):
            return {"type": "text", "text": said}
        case ImageBlock():
            link = media_links.get_image_url(block)
            if link is None:
                return {"type": "text", "text": "[image]"}
            return {"type": "image_url", "image_url": {"url": link}}
        case DocumentBlock():
            return _translate_document(block)
        case _:
            return None


def _translate_document(block: DocumentBlock) -> JsonObject:
    text, link = media_links.get_document_text(block), media_links.get_link_or_data_url(block)
    if text is not None or link is None or not link.startswith("data:"):
        return {"type": "text", "text": text or "[document]"}
    return {
        "type": "file",
        "file": {"filename": media_links.get_document_name(block), "file_data": link},
    }


def _translate_message(message: Message) -> list[JsonObject]:
    """A user, system or developer message of another format; content is one text unless there are
    several parts.
    """
    role = "user" if message.role == "tool" else message.role
    parts = [part for block in message.blocks if (part := _translate_part(block)) is not None]
    if role != "user":
        text = join_block_texts(message.blocks)
        return [{"role": role, "content": text}] if text else []
    if len(parts) == 1 and parts[0]["type"] == "text":
        return [{"role": role, "content": parts[0]["text"]}]
    return [{"role": role, "content": parts}] if parts else []


def _write_group(turn: SpeakerGroup) -> Iterable[object]:
    yield from map(_translate_result, turn.tool_results)
    waiting: list[Message] = []
    for message in turn.messages:
        if not _is_native(message) and turn.is_assistant:
            waiting.append(message)
            continue
        yield from _translate_assistant(waiting)
        waiting.clear()
        if _is_native(message):
            yield encode_chat_message_as_received(message)
        else:
            yield from _translate_message(message)
    yield from _translate_assistant(waiting)


class OpenAIChatCodec(Codec):
    """The `openai_chat` codec."""

    name = FORMAT
    body_key = "messages"
    limit_key = "max_completion_tokens"
    user_wire = _PLAIN_WIRE

    def decode_history_item(self, item: object, name: str) -> Message:
        """Read one entry of `messages`."""
        return read_message(item, name)

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of `messages`; those of this format unchanged."""
        return [
            entry for turn in group_by_speaker(messages, _is_native) for entry in _write_group(turn)
        ]

    def decode_request(self, body: JsonObject) -> DecodedRequest:
        """Read a whole request body. Raises WireFormatError."""
        prompt = super().decode_request(body)
        messages = prompt.messages
        size = next(
            (
                index
                for index, message in enumerate(messages)
                if message.role not in ("system", "developer")
            ),
            len(messages),
        )
        return structs.replace(prompt, system=messages[:size], messages=messages[size:])

    def decode_system_prompt(self, value: object) -> tuple[Message, ...]:
        """Nothing: this format has no key for it."""
        del value
        return ()

    def decode_tool_definition(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool: a function, or a custom one, which has no schema."""
        for key in ("function", "custom"):
            source = raw.get(key)
            if isinstance(source, dict):
                return decode_tool_definition_object(raw, source, "parameters")
        return decode_tool_definition_object(raw, raw, "parameters")

    def encode_tool_definition(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool of any format."""
        if any(isinstance(tool.raw.get(key), dict) for key in ("function", "custom")):
            return tool.raw
        source = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        return {"type": "function", "function": source}

    def list_reply_wire_items(self, reply: JsonObject) -> list[Any]:
        """The message of the first choice, unchanged."""
        return [_first_choice(reply)["message"]]

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole reply; only its first choice. Raises WireFormatError."""
        choice = _first_choice(require_object(body, "The openai_chat reply"))
        reply_id = get_text_or_none(body.get("id"))
        stop = get_text_or_none(choice.get("finish_reason"))
        usage = read_openai_usage(body.get("usage"), "prompt", "completion")
        message = structs.replace(
            read_message(choice["message"], reply_id or "reply"),
            reply_id=reply_id,
            model=get_text_or_none(body.get("model")),
            stop_reason=stop,
            usage=usage,
        )
        return Reply(format=FORMAT, body=body, messages=(message,), usage=usage, stop_reason=stop)

    def build_tool_result_message(
        self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False
    ) -> Message:
        """A tool message. The wire has no error flag; the core block has. The id is empty: the
        caller that stores the message assigns it.
        """
        del custom
        block = ToolResult(tool_use_id, (TextBlock(text),), is_error)
        return Message(id="", role="tool", blocks=(block,), origin=Origin.TOOL, wire=_PARTS_WIRE)

    def build_answer_schema_fields(self, schema: JsonObject) -> JsonObject:
        """`response_format`, strict (openai SDK 3.54, `ResponseFormatJSONSchema`)."""
        json_schema = {"name": ANSWER_NAME, "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def _first_choice(reply: JsonObject) -> JsonObject:
    """The first choice. Raises WireFormatError when there is none with a message."""
    choices = require_list_field(reply, "choices", "The openai_chat reply")
    choice = choices[0] if choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise WireFormatError(
            "The openai_chat reply has no choice with a message; look at its `error` field."
        )
    return choice


CODEC = OpenAIChatCodec()
