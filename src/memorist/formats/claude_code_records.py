"""Converting a record of a Claude Code session to a core message."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import Block, Message, Origin, TextBlock, ToolResult, Usage, WireInfo
from memorist.formats.anthropic_messages import decode_block, decode_blocks
from memorist.formats.request_codec import (
    detect_origin_of_user_message,
    get_text_or_none,
    mark_text_blocks_with_origins,
)
from memorist.formats.transcript_format import (
    FAILURES,
    CompactionBoundary,
    convert_datetime_to_epoch_seconds,
    parse_iso_timestamp,
    repair_transcript_line,
)

# The records of a Claude Code session file, as far as they are read.

NO_RAW = Raw()


class ReplyIdAndModel(Struct, gc=False):
    """The id that distinguishes replies, and the model that wrote the reply."""

    id: str | None = None
    model: str | None = None


class TreeFields(Struct, gc=False, rename="camel"):
    """The fields that form the tree: all that the first pass decodes."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    team_name: str | None = None
    message: ReplyIdAndModel | None = None
    tool_use_result: Raw = NO_RAW
    """Only its presence matters."""


class KindOnlyRecord(Struct, gc=False):
    """The kind alone, for records whose other fields have unusual types."""

    type: str | None = None


class PreservedSegment(Struct, gc=False, rename="camel"):
    """Messages that a compaction kept unchanged in the context (Claude Code)."""

    head_uuid: str = ""
    anchor_uuid: str = ""
    tail_uuid: str = ""


class CompactMetadata(Struct, gc=False, rename="camel"):
    """A compaction's metadata."""

    trigger: str | None = None
    pre_tokens: int | None = None
    preserved_segment: PreservedSegment | None = None


class SnipMetadata(Struct, gc=False, rename="camel"):
    """The messages that a snip removed."""

    removed_uuids: list[str] = []


class RecordOrigin(Struct, gc=False):
    """The `origin` of a user record, which newer clients write."""

    kind: str | None = None


class PromptSource(Struct, gc=False, rename="camel", kw_only=True):
    """What a record says of where a prompt came from."""

    agent_id: str | None = None
    """Names the subagent whose record this is."""
    is_visible_in_transcript_only: bool | None = None
    origin: RecordOrigin | None = None
    prompt_source: str | None = None
    """`typed`, `queued`, `system`, or `sdk` where another program passed it on."""
    entrypoint: str | None = None
    """The program: `cli`, `sdk-cli` in print mode, where the prompt may have come through a pipe,
    `sdk-py` and `sdk-ts` for programs of others; an application such as `claude-desktop`.
    """

    @property
    def is_typed(self) -> bool:
        """Whether a person typed the prompt. Applications pass on with `sdk` what is typed in
        them, and call its origin human.
        """
        if self.is_visible_in_transcript_only or self.agent_id:
            return False
        if (self.entrypoint or "").startswith("sdk"):
            return False
        human = self.origin is not None and self.origin.kind == "human"
        return self.prompt_source in (None, "typed", "queued") or (
            self.prompt_source == "sdk" and human and bool(self.entrypoint)
        )


class SystemRecord(PromptSource, gc=False, rename="camel", kw_only=True):
    """A system record: a compaction boundary, a snip, or a notice."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    content: Any = None
    logical_parent_uuid: str | None = None
    compact_metadata: CompactMetadata | None = None
    snip_metadata: SnipMetadata | None = None


class SessionTitles(Struct, gc=False, rename="camel"):
    """The three records that name a session."""

    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None


class BranchOrigin(Struct, gc=False, rename="camel"):
    """The session that `/branch` copied a record from."""

    session_id: str | None = None


class SessionFields(Struct, gc=False, rename="camel"):
    """The session fields that every chain record repeats."""

    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    forked_from: BranchOrigin | None = None


class RecordedUsage(Struct, gc=False):
    """Tokens as the API counts them."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class RecordMessage(Struct):
    """The message of a record."""

    content: Any = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: RecordedUsage | None = None


class LooseRecordMessage(Struct):
    """The message of a record some of whose fields have unusual types."""

    content: Any = None
    id: Any = None
    model: Any = None


class MessageRecord(PromptSource, gc=True, rename="camel", kw_only=True):
    """A user or assistant record."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_meta: bool | None = None
    message: RecordMessage | None = None
    timestamp: datetime | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    turn_companion: bool | None = None
    """Set on what the client adds to a turn by itself."""


class LenientMessageRecord(Struct, rename="camel"):
    """A user or assistant record some of whose fields have unusual types."""

    uuid: str
    message: LooseRecordMessage
    type: str = ""
    parent_uuid: str | None = None
    is_meta: bool | None = None


class AttachmentContent(Struct, gc=False, rename={"command_mode": "commandMode"}):
    """An attachment; only `queued_command` is read, a prompt typed while the agent was working."""

    type: str | None = None
    prompt: Any = None
    command_mode: str | None = None
    origin: Any = None


class AttachmentRecord(PromptSource, gc=False, rename="camel", kw_only=True):
    """A record of injected context."""

    uuid: str
    attachment: AttachmentContent
    parent_uuid: str | None = None
    timestamp: str | None = None


_PLAIN_WIRE = WireInfo("claude_code", plain=True)
_BLOCKS_WIRE = WireInfo("claude_code")
_SYNTHETIC_MODEL = "<synthetic>"
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

_record = build_json_decoder(MessageRecord)
_loose = build_json_decoder(LenientMessageRecord)
_attachment = build_json_decoder(AttachmentRecord)
_kind = build_json_decoder(KindOnlyRecord)
_system = build_json_decoder(SystemRecord)
_prompt_source = build_json_decoder(PromptSource)


def read_record_message(
    data: bytes, line: int, *, last_of_reply: bool
) -> tuple[Message | None, bool]:
    """The message of a user, assistant, attachment or system record, and whether the line had to be
    repaired.

    None when the record is no part of the conversation; `last_of_reply` as in `_build_message`.
    Raises one of `FAILURES` when the line is no such record.
    """
    try:
        return _read_line(data, line, last_of_reply=last_of_reply), False
    except FAILURES:
        repaired = repair_transcript_line(data)
        if repaired is None:
            raise
        return _read_line(repaired, line, last_of_reply=last_of_reply), True


def _read_line(data: bytes, line: int, *, last_of_reply: bool) -> Message | None:
    try:
        record = _record(data)
    except msgspec.ValidationError:
        return _read_unusual(data, line)
    if record.message is None or record.uuid is None:
        return _read_unusual(data, line)
    return _build_message(record, record.message, line, last_of_reply=last_of_reply)


def _build_message(
    record: MessageRecord, message: RecordMessage, line: int, *, last_of_reply: bool
) -> Message:
    """The message of a user or assistant record. The usage is set on the last record of a reply
    only, so that a sum counts each call once.
    """
    blocks, wire = _read_content(message.content)
    if record.type == "assistant":
        synthetic = record.is_api_error_message or message.model == _SYNTHETIC_MODEL
        return Message(
            id=record.uuid or "",
            role="assistant",
            blocks=blocks,
            origin=Origin.INJECTED if synthetic else Origin.MODEL,
            parent=record.parent_uuid,
            timestamp=convert_datetime_to_epoch_seconds(record.timestamp),
            usage=_read_usage(message.usage) if last_of_reply and not synthetic else None,
            reply_id=message.id,
            model=None if synthetic else message.model,
            stop_reason=message.stop_reason,
            line=line,
            wire=wire,
        )
    timestamp = convert_datetime_to_epoch_seconds(record.timestamp)
    return _build_user_message(
        record, _record_origin(record, blocks), wire, line, timestamp=timestamp, source=record
    )


def _build_user_message(
    record: MessageRecord | LenientMessageRecord | AttachmentRecord | SystemRecord,
    judged: tuple[Origin, tuple[Block, ...]],
    wire: WireInfo,
    line: int,
    *,
    timestamp: float | None,
    source: PromptSource | None,
) -> Message:
    """A message with the role user; nobody typed it where its source is not known."""
    origin, blocks = judged
    return Message(
        id=record.uuid or "",
        role="user",
        blocks=blocks,
        origin=origin,
        parent=record.parent_uuid,
        timestamp=timestamp,
        line=line,
        wire=wire,
        is_typed=source is not None and source.is_typed,
    )


def _read_content(content: object) -> tuple[tuple[Block, ...], WireInfo]:
    if isinstance(content, str):
        return (TextBlock(content),), _PLAIN_WIRE
    if not isinstance(content, list):
        return decode_blocks([] if content is None else [content]), _BLOCKS_WIRE
    return (
        (decode_block(content[0]),) if len(content) == 1 else decode_blocks(content)
    ), _BLOCKS_WIRE


def _read_usage(counts: RecordedUsage | None) -> Usage | None:
    if counts is None:
        return None
    return Usage(
        input=counts.input_tokens or 0,
        cache_read=counts.cache_read_input_tokens or 0,
        cache_write=counts.cache_creation_input_tokens or 0,
        output=counts.output_tokens or 0,
    )


def _record_origin(
    record: MessageRecord, blocks: tuple[Block, ...]
) -> tuple[Origin, tuple[Block, ...]]:
    """The origin of a user record: its flags decide, then the markup in its text."""
    if len(blocks) == 1 and isinstance(blocks[0], ToolResult):
        return Origin.TOOL, blocks
    if record.is_compact_summary:
        return Origin.SUMMARY, blocks
    kind = record.origin.kind if record.origin else None
    by_client = record.is_meta or record.turn_companion or record.prompt_source == "system"
    return _judge_origin(blocks, kind, by_client=bool(by_client))


def _judge_origin(
    blocks: tuple[Block, ...], kind: str | None, *, by_client: bool = False
) -> tuple[Origin, tuple[Block, ...]]:
    """The origin of blocks with the role user, by what the record calls it; `by_client` says that
    the client wrote them.
    """
    if not by_client and kind in (None, "human", "user"):
        return detect_origin_of_user_message(blocks)
    found = _ORIGINS.get(kind or "", Origin.INJECTED)
    origin = detect_origin_of_user_message(blocks)[0] if found is Origin.INJECTED else found
    if origin in (Origin.USER, Origin.TOOL):
        return mark_text_blocks_with_origins(
            blocks, [Origin.INJECTED if isinstance(block, TextBlock) else None for block in blocks]
        )
    return origin, blocks


def _read_unusual(data: bytes, line: int) -> Message | None:
    """A queued prompt, a local command, or a user or assistant record with fields of unusual
    types.
    """
    kind = _kind(data).type
    if kind == "attachment":
        return _read_attachment(data, line)
    if kind == "system":
        return _read_system(_system(data), line)
    record = _loose(data)
    blocks, wire = _read_content(record.message.content)
    if record.type == "assistant":
        return Message(
            id=record.uuid,
            role="assistant",
            blocks=blocks,
            origin=Origin.MODEL,
            parent=record.parent_uuid,
            reply_id=get_text_or_none(record.message.id),
            model=get_text_or_none(record.message.model),
            line=line,
            wire=wire,
        )
    origin, blocks = detect_origin_of_user_message(blocks)
    if record.is_meta and origin is Origin.USER:
        origin = Origin.INJECTED
    try:
        source = _prompt_source(data)
    except msgspec.ValidationError:
        source = None
    return _build_user_message(record, (origin, blocks), wire, line, timestamp=None, source=source)


def _read_attachment(data: bytes, line: int) -> Message | None:
    """Read a prompt typed while the agent was working, which is stored as an attachment; None for
    other attachments.
    """
    record = _attachment(data)
    queued = record.attachment
    if queued.type != "queued_command" or not queued.prompt:
        return None
    blocks, wire = _read_content(queued.prompt)
    kind = queued.origin.get("kind") if isinstance(queued.origin, dict) else None
    origin, blocks = _judge_origin(blocks, get_text_or_none(kind))
    if queued.command_mode == "task-notification":
        origin = Origin.NOTIFICATION
    timestamp = parse_iso_timestamp(record.timestamp)
    return _build_user_message(
        record, (origin, blocks), wire, line, timestamp=timestamp, source=record
    )


def _read_system(record: SystemRecord, line: int) -> Message | None:
    """Read a slash command and its output, which newer clients store as system records and show to
    the model as the user's.
    """
    if record.subtype != "local_command" or not isinstance(record.content, str) or not record.uuid:
        return None
    judged = detect_origin_of_user_message((TextBlock(record.content),))
    timestamp = parse_iso_timestamp(record.timestamp)
    return _build_user_message(
        record, judged, _PLAIN_WIRE, line, timestamp=timestamp, source=record
    )


def read_compaction_boundary(data: bytes, line: int, kept: int) -> CompactionBoundary:
    """Read a compaction record. Raises one of `FAILURES`."""
    record = _system(data)
    about = record.compact_metadata
    return CompactionBoundary(
        id=record.uuid or "",
        line=line,
        trigger=(about.trigger if about else None) or "",
        tokens_before=about.pre_tokens if about else None,
        timestamp=parse_iso_timestamp(record.timestamp),
        kept=kept,
    )
