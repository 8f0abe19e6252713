"""Reading the session files of the pi coding agent (`~/.pi/agent/sessions/…/<time>_<id>.jsonl`,
versions 1 to 3 of the format).

The entries are a tree; the live conversation is the path from the newest entry to the root. Files
of version 1 have no ids and are one line of entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from memorist.core.messages import Block, Message, Origin, TextBlock, ThinkingBlock, ToolUse, Usage
from memorist.formats.json_records import (
    JsonRecord,
    RecordFields,
    RecordMessageBuilder,
    make_side_record,
    make_tool_result,
    read_records,
)
from memorist.formats.transcript_format import RecordedLines, SessionHead, TranscriptEntry


class _PiOutline(Struct):
    """What the first pass finds out."""

    head: RecordFields = field(default_factory=RecordFields)
    model: str = ""
    title: str = ""
    parents: dict[str, str] = {}
    newest: str = ""

    def add(self, record: RecordFields) -> None:
        kind, id = record.text("type"), record.text("id")
        if kind == "session":
            self.head = self.head or record
        elif id:
            self.parents[id] = record.text("parentId")
            self.newest = id
        if kind == "model_change":
            self.model = record.text("modelId") or self.model
        elif kind == "session_info":
            self.title = record.text("name") or self.title

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
        session=outline.head.text("id"),
        format="pi",
        cwd=outline.head.text("cwd"),
        model=outline.model or outline.head.text("modelId"),
        version=str(outline.head.count("version") or 1),
        title=outline.title,
        started=outline.head.epoch_seconds("timestamp"),
        forked_from=_find_parent_id(outline.head),
    )
    live = outline.live_ids()
    for record in read_records(lines):
        if not isinstance(record, JsonRecord):
            yield record
        elif record.data.text("type") != "session":
            yield from _read_entry(record, live)


def _find_parent_id(head: RecordFields) -> str:
    """The session that this one is a fork of, by the name of its file; empty for none."""
    name = re.split(r"[/\\]", head.text("parentSession"))[-1]
    return name.removesuffix(".jsonl").rpartition("_")[2]


def _read_entry(record: JsonRecord, live: set[str]) -> tuple[TranscriptEntry, ...]:
    line, data = record
    kind, id = data.text("type"), data.text("id")
    if id and id not in live:
        return (make_side_record("branch", line, data),)
    messages = RecordMessageBuilder(id or f"line-{line}", line, data.epoch_seconds("timestamp"))
    found: tuple[TranscriptEntry, ...] = ()
    if kind == "message":
        found = _read_message(data.fields("message"), messages)
    elif kind in ("compaction", "branch_summary"):
        summary = messages.build_summary(data.text("summary"))
        boundary = messages.build_compaction_boundary(data.count("tokensBefore"))
        found = (boundary, summary) if kind == "compaction" else (summary,)
    elif kind == "custom_message":
        found = messages.build_user_message(_read_texts(data), Origin.INJECTED)
    return found or (make_side_record(kind or "unknown", line, data),)


def _read_message(message: RecordFields, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    role = message.text("role")
    if role == "user":
        return messages.build_user_message(_read_texts(message))
    if role == "assistant":
        return _read_assistant(message, messages)
    if role == "toolResult":
        text = "\n".join(each.text("text") for each in message.field_list("content"))
        result = make_tool_result(
            message.text("toolCallId"), text, is_error=message.get("isError") is True
        )
        return messages.build_tool_results_message((result,))
    if role == "bashExecution":
        said = f"$ {message.text('command')}\n{message.text('output')}"
        return messages.build_user_message((TextBlock(said),), Origin.INJECTED)
    return ()


def _read_texts(message: RecordFields) -> list[TextBlock]:
    content = message.get("content")
    texts = (
        [content]
        if isinstance(content, str)
        else [each.text("text") for each in message.field_list("content")]
    )
    return [TextBlock(text) for text in texts if text]


def _read_assistant(message: RecordFields, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    blocks: list[Block] = []
    for part in message.field_list("content"):
        kind = part.text("type")
        if kind == "text":
            blocks.append(TextBlock(part.text("text")))
        elif kind == "thinking":
            blocks.append(ThinkingBlock(part.text("thinking")))
        elif kind == "toolCall":
            blocks.append(ToolUse(part.text("id"), part.text("name"), part.fields("arguments")))
    usage = message.fields("usage")
    return messages.build_reply(
        blocks,
        model=message.text("model"),
        stop_reason=message.text("stopReason"),
        usage=Usage(
            input=usage.count("input"),
            cache_read=usage.count("cacheRead"),
            cache_write=usage.count("cacheWrite"),
            output=usage.count("output"),
        )
        if usage
        else None,
    )
