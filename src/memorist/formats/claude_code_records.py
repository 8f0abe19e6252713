"""The records of a Claude Code session file, as far as they are read (claude-code.md sections 12.2
to 12.5).

Every field that is not named here is skipped by the decoder without being built: above all
`toolUseResult`, the bulky copy of a tool's output.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Raw, Struct

NO_RAW = Raw()


class MessageIds(Struct, gc=False):
    """The id that distinguishes replies, and the model that wrote the reply."""

    id: str | None = None
    model: str | None = None


class Link(Struct, gc=False, rename="camel"):
    """The fields that form the tree; all that the first pass decodes in a large file."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    team_name: str | None = None
    message: MessageIds | None = None
    tool_use_result: Raw = NO_RAW
    """Only its presence matters."""


class Kind(Struct, gc=False):
    """The kind alone, for records whose other fields have unusual types."""

    type: str | None = None


class Segment(Struct, gc=False, rename="camel"):
    """Messages that a compaction kept unchanged in the context (claude-code.md section 6.9)."""

    head_uuid: str = ""
    anchor_uuid: str = ""
    tail_uuid: str = ""


class CompactMetadata(Struct, gc=False, rename="camel"):
    """A compaction's metadata."""

    trigger: str | None = None
    pre_tokens: int | None = None
    preserved_segment: Segment | None = None


class SnipMetadata(Struct, gc=False, rename="camel"):
    """The messages that a snip removed."""

    removed_uuids: list[str] = []


class System(Struct, gc=False, rename="camel"):
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


class Titles(Struct, gc=False, rename="camel"):
    """The three records that name a session."""

    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None


class Session(Struct, gc=False, rename="camel"):
    """The session fields that every chain record repeats."""

    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None


class UsageCounts(Struct, gc=False):
    """Tokens as the API counts them."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class Content(Struct):
    """The message of a record."""

    content: Any = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: UsageCounts | None = None


class LooseContent(Struct):
    """The message of a record some of whose fields have unusual types."""

    content: Any = None
    id: Any = None
    model: Any = None


class Origination(Struct, gc=False):
    """The `origin` of a user record, which newer clients write."""

    kind: str | None = None


class Record(Struct, rename="camel"):
    """A user or assistant record: the fields that form the tree, and its message."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    team_name: str | None = None
    message: Content | None = None
    tool_use_result: Raw = NO_RAW
    timestamp: datetime | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    origin: Origination | None = None


class LooseRecord(Struct, rename="camel"):
    """A user or assistant record some of whose fields have unusual types."""

    uuid: str
    message: LooseContent
    type: str = ""
    parent_uuid: str | None = None
    is_meta: bool | None = None


class Queued(Struct, gc=False, rename={"command_mode": "commandMode"}):
    """An attachment; only `queued_command` is read, a prompt typed while the agent was working."""

    type: str | None = None
    prompt: Any = None
    command_mode: str | None = None
    origin: Any = None


class AttachmentRecord(Struct, gc=False, rename="camel"):
    """A record of injected context."""

    uuid: str
    attachment: Queued
    parent_uuid: str | None = None
    timestamp: str | None = None
