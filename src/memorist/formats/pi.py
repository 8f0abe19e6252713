"""Reading the session files of the pi coding agent (`~/.pi/agent/sessions/…/<time>_<id>.jsonl`,
versions 1 to 3 of the format).

The entries are a tree; the live conversation is the path from the newest entry to the root. Files
of version 1 have no ids and are one line of entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memorist.core.messages import (
    Block,
    JsonObject,
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolUse,
    Usage,
)
from memorist.formats.json_records import (
    JsonRecord,
    RecordMessageBuilder,
    get_count_field,
    get_epoch_seconds,
    get_object_field,
    get_object_list_field,
    get_text_field,
    make_side_record,
    make_tool_result,
    read_records,
)
from memorist.formats.transcript_format import RecordedLines, SessionHead, TranscriptEntry


class _PiOutline(Struct):
    """What the first pass finds out."""

    head: JsonObject = {}
    model: str = ""
    title: str = ""
    parents: dict[str, str] = {}
    newest: str = ""

    def add(self, record: JsonObject) -> None:
        kind, id = get_text_field(record, "type"), get_text_field(record, "id")
        if kind == "session":
            self.head = self.head or record
        elif id:
            self.parents[id] = get_text_field(record, "parentId")
            self.newest = id
        if kind == "model_change":
            self.model = get_text_field(record, "modelId") or self.model
        elif kind == "session_info":
            self.title = get_text_field(record, "name") or self.title

    def live_ids(self) -> set[str]:
        """Ids from the newest entry to the root."""
        found: set[str] = set()
        here = self.newest
        while here and here not in found:
            found.add(here)
            here = self.parents.get(here, "")
        return found


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a session: the `SessionHead`, then the live conversation; other branches and
    bookkeeping as side records. Reads the lines twice.
    """
    outline = _PiOutline()
    for found in read_records(lines):
        if isinstance(found, JsonRecord):
            outline.add(found.data)
    yield SessionHead(
        session=get_text_field(outline.head, "id"),
        format="pi",
        cwd=get_text_field(outline.head, "cwd"),
        model=outline.model or get_text_field(outline.head, "modelId"),
        version=str(get_count_field(outline.head, "version") or 1),
        title=outline.title,
        started=get_epoch_seconds(outline.head, "timestamp"),
        forked_from=_find_parent_id(outline.head),
    )
    live = outline.live_ids()
    for record in read_records(lines):
        if not isinstance(record, JsonRecord):
            yield record
        elif get_text_field(record.data, "type") != "session":
            yield from _read_entry(record, live)


def _find_parent_id(head: JsonObject) -> str:
    """The session that this one is a fork of, by the name of its file; empty for none."""
    name = re.split(r"[/\\]", get_text_field(head, "parentSession"))[-1]
    return name.removesuffix(".jsonl").rpartition("_")[2]


def _read_entry(record: JsonRecord, live: set[str]) -> tuple[TranscriptEntry, ...]:
    line, data = record
    kind, id = get_text_field(data, "type"), get_text_field(data, "id")
    if id and id not in live:
        return (make_side_record("branch", line, data),)
    messages = RecordMessageBuilder(
        id or f"line-{line}", line, get_epoch_seconds(data, "timestamp")
    )
    found: tuple[TranscriptEntry, ...] = ()
    if kind == "message":
        found = _read_message(get_object_field(data, "message"), messages)
    elif kind in ("compaction", "branch_summary"):
        summary = messages.build_summary(get_text_field(data, "summary"))
        boundary = messages.build_compaction_boundary(get_count_field(data, "tokensBefore"))
        found = (boundary, summary) if kind == "compaction" else (summary,)
    elif kind == "custom_message":
        found = messages.build_user_message(_read_texts(data), Origin.INJECTED)
    return found or (make_side_record(kind or "unknown", line, data),)


def _read_message(message: JsonObject, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    role = get_text_field(message, "role")
    if role == "user":
        return messages.build_user_message(_read_texts(message))
    if role == "assistant":
        return _read_assistant(message, messages)
    if role == "toolResult":
        text = "\n".join(
            get_text_field(each, "text") for each in get_object_list_field(message, "content")
        )
        result = make_tool_result(
            get_text_field(message, "toolCallId"), text, is_error=message.get("isError") is True
        )
        return messages.build_tool_results_message((result,))
    if role == "bashExecution":
        said = f"$ {get_text_field(message, 'command')}\n{get_text_field(message, 'output')}"
        return messages.build_user_message((TextBlock(said),), Origin.INJECTED)
    return ()


def _read_texts(message: JsonObject) -> list[TextBlock]:
    content = message.get("content")
    texts = (
        [content]
        if isinstance(content, str)
        else [get_text_field(each, "text") for each in get_object_list_field(message, "content")]
    )
    return [TextBlock(text) for text in texts if text]


def _read_assistant(message: JsonObject, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    blocks: list[Block] = []
    for part in get_object_list_field(message, "content"):
        kind = get_text_field(part, "type")
        if kind == "text":
            blocks.append(TextBlock(get_text_field(part, "text")))
        elif kind == "thinking":
            blocks.append(ThinkingBlock(get_text_field(part, "thinking")))
        elif kind == "toolCall":
            blocks.append(
                ToolUse(
                    get_text_field(part, "id"),
                    get_text_field(part, "name"),
                    get_object_field(part, "arguments"),
                )
            )
    usage = get_object_field(message, "usage")
    return messages.build_reply(
        blocks,
        model=get_text_field(message, "model"),
        stop_reason=get_text_field(message, "stopReason"),
        usage=Usage(
            input=get_count_field(usage, "input"),
            cache_read=get_count_field(usage, "cacheRead"),
            cache_write=get_count_field(usage, "cacheWrite"),
            output=get_count_field(usage, "output"),
        )
        if usage
        else None,
    )
