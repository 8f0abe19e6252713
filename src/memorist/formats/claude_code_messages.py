"""Converting a record of a Claude Code session to a core message (claude-code.md sections 12.2 to
12.4).
"""

from __future__ import annotations

import msgspec

from memorist.core.messages import Block, Message, Origin, Text, ToolResult, Usage, Wire
from memorist.formats.anthropic_blocks import read_block, read_blocks
from memorist.formats.claude_code_records import (
    AttachmentRecord,
    Content,
    Kind,
    LooseRecord,
    Origination,
    Record,
    System,
    UsageCounts,
)
from memorist.formats.jsonl import FAILURES, epoch, mended, seconds
from memorist.formats.recorded import Boundary
from memorist.formats.wire import marked_origin, text_or_none, user_origin

_PLAIN = Wire("claude_code", plain=True)
_BLOCKS = Wire("claude_code")
_SYNTHETIC = "<synthetic>"
"""The model name of replies that the client wrote itself: API errors, "no response"."""
_ORIGINS = {
    "task-notification": Origin.NOTIFICATION,
    "notification": Origin.NOTIFICATION,
    "teammate": Origin.AGENT,
    "agent": Origin.AGENT,
    "peer": Origin.AGENT,
    "coordinator": Origin.AGENT,
}
"""The `origin.kind` of records that the user did not type; unknown kinds count as injected, never
as consent.
"""

_record = msgspec.json.Decoder(Record).decode
_loose = msgspec.json.Decoder(LooseRecord).decode
_attachment = msgspec.json.Decoder(AttachmentRecord).decode
_kind = msgspec.json.Decoder(Kind).decode
_system = msgspec.json.Decoder(System).decode


def read_record(data: bytes, line: int, *, last_of_reply: bool) -> tuple[Message | None, bool]:
    """The message of a user, assistant, attachment or system record, and whether the line had to be
    repaired.

    None when the record is no part of the conversation; `last_of_reply` as in `build_message`.
    Raises one of `FAILURES` when the line is no such record.
    """
    try:
        return _read(data, line, last_of_reply=last_of_reply), False
    except FAILURES:
        repaired = mended(data)
        if repaired is None:
            raise
        return _read(repaired, line, last_of_reply=last_of_reply), True


def _read(data: bytes, line: int, *, last_of_reply: bool) -> Message | None:
    try:
        record = _record(data)
    except msgspec.ValidationError:
        return _read_unusual(data, line)
    if record.message is None or record.uuid is None:
        return _read_unusual(data, line)
    return message_of(record, record.message, line, last_of_reply=last_of_reply)


def message_of(record: Record, message: Content, line: int, *, last_of_reply: bool) -> Message:
    """The message of a user or assistant record.

    The usage is set on the last record of a reply only, so that a sum counts each call once.
    """
    blocks, wire = _blocks(message.content)
    if record.type == "assistant":
        synthetic = record.is_api_error_message or message.model == _SYNTHETIC
        return Message(
            id=record.uuid or "",
            role="assistant",
            blocks=blocks,
            origin=Origin.INJECTED if synthetic else Origin.MODEL,
            parent=record.parent_uuid,
            timestamp=epoch(record.timestamp),
            usage=_usage(message.usage) if last_of_reply and not synthetic else None,
            reply_id=message.id,
            model=None if synthetic else message.model,
            stop_reason=message.stop_reason,
            line=line,
            wire=wire,
        )
    origin, blocks = _user_origin(record, blocks)
    return Message(
        id=record.uuid or "",
        role="user",
        blocks=blocks,
        origin=origin,
        parent=record.parent_uuid,
        timestamp=epoch(record.timestamp),
        line=line,
        wire=wire,
    )


def _blocks(content: object) -> tuple[tuple[Block, ...], Wire]:
    if isinstance(content, str):
        return (Text(content),), _PLAIN
    if not isinstance(content, list):
        return read_blocks([] if content is None else [content]), _BLOCKS
    return ((read_block(content[0]),) if len(content) == 1 else read_blocks(content)), _BLOCKS


def _usage(counts: UsageCounts | None) -> Usage | None:
    if counts is None:
        return None
    return Usage(
        input=counts.input_tokens or 0,
        cache_read=counts.cache_read_input_tokens or 0,
        cache_write=counts.cache_creation_input_tokens or 0,
        output=counts.output_tokens or 0,
    )


def _user_origin(record: Record, blocks: tuple[Block, ...]) -> tuple[Origin, tuple[Block, ...]]:
    """The origin of a user record: its flags decide, then the markup in its text."""
    if len(blocks) == 1 and isinstance(blocks[0], ToolResult):
        return Origin.TOOL, blocks
    if record.is_compact_summary:
        return Origin.SUMMARY, blocks
    if record.is_meta or _not_typed(record.origin):
        found = _ORIGINS.get((record.origin.kind if record.origin else None) or "", Origin.INJECTED)
        origin = user_origin(blocks)[0] if found is Origin.INJECTED else found
        if origin in (Origin.USER, Origin.TOOL):
            return marked_origin(blocks, [Origin.INJECTED if isinstance(block, Text) else None for block in blocks])
        return origin, blocks
    return user_origin(blocks)


def _not_typed(origin: Origination | None) -> bool:
    return origin is not None and origin.kind is not None and origin.kind not in ("human", "user")


def _read_unusual(data: bytes, line: int) -> Message | None:
    """A queued prompt, a local command, or a user or assistant record with fields of unusual types.
    """
    kind = _kind(data).type
    if kind == "attachment":
        return _read_attachment(data, line)
    if kind == "system":
        return _read_system(_system(data), line)
    record = _loose(data)
    blocks, wire = _blocks(record.message.content)
    if record.type == "assistant":
        return Message(
            id=record.uuid,
            role="assistant",
            blocks=blocks,
            origin=Origin.MODEL,
            parent=record.parent_uuid,
            reply_id=text_or_none(record.message.id),
            model=text_or_none(record.message.model),
            line=line,
            wire=wire,
        )
    origin, blocks = user_origin(blocks)
    if record.is_meta and origin is Origin.USER:
        origin = Origin.INJECTED
    return Message(id=record.uuid, role="user", blocks=blocks, origin=origin, parent=record.parent_uuid, line=line, wire=wire)


def _read_attachment(data: bytes, line: int) -> Message | None:
    """Read a prompt typed while the agent was working, which is stored as an attachment; None for
    other attachments.
    """
    record = _attachment(data)
    queued = record.attachment
    if queued.type != "queued_command" or not queued.prompt:
        return None
    blocks, wire = _blocks(queued.prompt)
    origin, blocks = user_origin(blocks)
    if queued.command_mode == "task-notification":
        origin = Origin.NOTIFICATION
    return Message(
        id=record.uuid,
        role="user",
        blocks=blocks,
        origin=origin,
        parent=record.parent_uuid,
        timestamp=seconds(record.timestamp),
        line=line,
        wire=wire,
    )


def _read_system(record: System, line: int) -> Message | None:
    """Read a slash command and its output, which newer clients store as system records and show to
    the model as the user's.
    """
    if record.subtype != "local_command" or not isinstance(record.content, str) or not record.uuid:
        return None
    origin, blocks = user_origin((Text(record.content),))
    return Message(
        id=record.uuid,
        role="user",
        blocks=blocks,
        origin=origin,
        parent=record.parent_uuid,
        timestamp=seconds(record.timestamp),
        line=line,
        wire=_PLAIN,
    )


def read_boundary(data: bytes, line: int, kept: int) -> Boundary:
    """Read a compaction record. Raises one of `FAILURES`."""
    record = _system(data)
    about = record.compact_metadata
    return Boundary(
        id=record.uuid or "",
        line=line,
        trigger=(about.trigger if about else None) or "",
        tokens_before=about.pre_tokens if about else None,
        timestamp=seconds(record.timestamp),
        kept=kept,
    )
