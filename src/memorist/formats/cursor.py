"""Reading chats of Cursor, put together from the rows of its database (`state.vscdb`): the record
of the chat (`composerData:<id>`) and its messages (`bubbleId:<chat>:<message>`). Cursor documents
neither; what is not understood becomes a side record.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memorist.core.messages import Block, JsonObject, TextBlock, ThinkingBlock, ToolResult, ToolUse
from memorist.formats.json_records import (
    ChatDocument,
    JsonRecord,
    RecordMessageBuilder,
    get_epoch_seconds,
    get_object_field,
    get_text_field,
    make_side_record,
    make_tool_result,
)
from memorist.formats.transcript_format import FAILURES, SessionHead, TranscriptEntry

_USER, _AGENT = 1, 2
"""The `type` of a message."""


def read_chat(document: ChatDocument, cwd: str) -> Iterator[TranscriptEntry]:
    """The `SessionHead`, then the messages of a chat of the project in the folder `cwd`."""
    chat = document.fields
    yield SessionHead(
        session=get_text_field(chat, "composerId"),
        format="cursor",
        cwd=cwd,
        title=get_text_field(chat, "name"),
        model=get_text_field(get_object_field(chat, "modelConfig"), "modelName"),
        started=get_epoch_seconds(chat, "createdAt"),
    )
    for each in document.messages:
        yield from _read_bubble(each)
    yield from document.remarks


def _read_bubble(record: JsonRecord) -> tuple[TranscriptEntry, ...]:
    line, data = record
    messages = RecordMessageBuilder(
        get_text_field(data, "bubbleId") or f"line-{line}",
        line,
        get_epoch_seconds(data, "createdAt"),
    )
    text = get_text_field(data, "text")
    found: tuple[TranscriptEntry, ...] = ()
    if data.get("type") == _USER and text.strip():
        found = messages.build_user_message((TextBlock(text),))
    elif data.get("type") == _AGENT:
        blocks, results = _read_reply(data, messages.id, text)
        found = messages.build_round(messages.build_reply(blocks), results)
    return found or (make_side_record("bubble", line, data),)


def _read_reply(
    data: JsonObject, id: str, text: str
) -> tuple[tuple[Block, ...], tuple[ToolResult, ...]]:
    blocks: list[Block] = []
    thought = get_text_field(get_object_field(data, "thinking"), "text")
    if thought:
        blocks.append(ThinkingBlock(thought))
    if text.strip():
        blocks.append(TextBlock(text))
    tool = get_object_field(data, "toolFormerData")
    name = get_text_field(tool, "name")
    if not name:
        return tuple(blocks), ()
    call = get_text_field(tool, "toolCallId") or id
    arguments = get_text_field(tool, "rawArgs") or get_text_field(tool, "params")
    blocks.append(ToolUse(call, name, _parse_object(arguments), arguments or None))
    result = get_text_field(tool, "result")
    failed = get_text_field(tool, "status") in ("error", "cancelled")
    if not (result or failed):
        return tuple(blocks), ()
    printed = _parse_object(result)
    return tuple(blocks), (
        make_tool_result(
            call,
            get_text_field(printed, "output") or get_text_field(printed, "contents") or result,
            is_error=failed,
        ),
    )


def _parse_object(text: str) -> JsonObject:
    try:
        found = msgspec.json.decode(text)
    except FAILURES:
        return {}
    return found if isinstance(found, dict) else {}
