"""The records of a Claude Code session file, as far as they are read (claude-code.md sections 12.2 to 12.5).

Every field that is not named here is skipped by the decoder without being built: above all `toolUseResult`, the bulky copy of a
tool's output.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Raw, Struct

NO_RAW = Raw()


class MessageIds(Struct, gc=False):
    """What tells one reply from another, and who wrote it."""

    id: str | None = None
    model: str | None = None


class Link(Struct, gc=False, rename="camel"):
    """The fields that make the tree; all that the first pass looks at in a large file."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    team_name: str | None = None
    message: MessageIds | None = None
    tool_use_result: Raw = NO_RAW
    """Only whether it is there."""


class Kind(Struct, gc=False):
    """The kind alone, for records whose other fields are not of the shapes above."""

    type: str | None = None


class Segment(Struct, gc=False, rename="camel"):
    """Messages that a compaction kept in the context as they stand (claude-code.md section 6.9)."""

    head_uuid: str = ""
    anchor_uuid: str = ""
    tail_uuid: str = ""


class CompactMetadata(Struct, gc=False, rename="camel"):
    """What a compaction says about itself."""

    trigger: str | None = None
    pre_tokens: int | None = None
    preserved_segment: Segment | None = None


class SnipMetadata(Struct, gc=False, rename="camel"):
    """The messages that a snip took out."""

    removed_uuids: list[str] = []


class System(Struct, gc=False, rename="camel"):
    """A system record: a boundary, a snip, or a remark."""

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
    """What a chain record repeats about its session."""

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
    """The message of a record some of whose fields are of unusual shapes."""

    content: Any = None
    id: Any = None
    model: Any = None


class Origination(Struct, gc=False):
    """The `origin` of a user record, where a newer client wrote one."""

    kind: str | None = None


class Record(Struct, rename="camel"):
    """A user or assistant record: the fields that make the tree, and what it says."""

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
    """A user or assistant record some of whose fields are of unusual shapes."""

    uuid: str
    message: LooseContent
    type: str = ""
    parent_uuid: str | None = None
    is_meta: bool | None = None


class Queued(Struct, gc=False, rename={"command_mode": "commandMode"}):
    """An attachment; of interest is `queued_command`, words typed while the agent was at work."""

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
