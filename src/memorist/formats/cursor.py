"""Reading chats of Cursor, put together from the rows of its database (`state.vscdb`): the record
of the chat (`composerData:<id>`) and its messages (`bubbleId:<chat>:<message>`). Cursor documents
neither; what is not understood becomes a side record.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memorist.core.messages import Block, TextBlock, ThinkingBlock, ToolResult, ToolUse
from memorist.formats.json_records import (
    ChatDocument,
    JsonRecord,
    RecordFields,
    RecordMessageBuilder,
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
        session=chat.text("composerId"),
        format="cursor",
        cwd=cwd,
        title=chat.text("name"),
        model=chat.fields("modelConfig").text("modelName"),
        started=chat.epoch_seconds("createdAt"),
    )
    for each in document.messages:
        yield from _read_bubble(each)
    yield from document.remarks


def _read_bubble(record: JsonRecord) -> tuple[TranscriptEntry, ...]:
    line, data = record
    messages = RecordMessageBuilder(
        data.text("bubbleId") or f"line-{line}", line, data.epoch_seconds("createdAt")
    )
    text = data.text("text")
    found: tuple[TranscriptEntry, ...] = ()
    if data.get("type") == _USER and text.strip():
        found = messages.build_user_message((TextBlock(text),))
    elif data.get("type") == _AGENT:
        blocks, results = _read_reply(data, messages.id, text)
        found = messages.build_round(messages.build_reply(blocks), results)
    return found or (make_side_record("bubble", line, data),)


def _read_reply(
    data: RecordFields, id: str, text: str
) -> tuple[tuple[Block, ...], tuple[ToolResult, ...]]:
    blocks: list[Block] = []
    thought = data.fields("thinking").text("text")
    if thought:
        blocks.append(ThinkingBlock(thought))
    if text.strip():
        blocks.append(TextBlock(text))
    tool = data.fields("toolFormerData")
    name = tool.text("name")
    if not name:
        return tuple(blocks), ()
    call = tool.text("toolCallId") or id
    arguments = tool.text("rawArgs") or tool.text("params")
    blocks.append(ToolUse(call, name, _parse_object(arguments), arguments or None))
    result = tool.text("result")
    failed = tool.text("status") in ("error", "cancelled")
    if not (result or failed):
        return tuple(blocks), ()
    printed = _parse_object(result)
    return tuple(blocks), (
        make_tool_result(
            call, printed.text("output") or printed.text("contents") or result, is_error=failed
        ),
    )


def _parse_object(text: str) -> RecordFields:
    try:
        return RecordFields(value=msgspec.json.decode(text)).fields("value")
    except FAILURES:
        return RecordFields()
