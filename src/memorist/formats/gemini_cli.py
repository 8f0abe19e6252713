"""Reading the chats of Gemini CLI (`~/.gemini/tmp/<project>/chats/session-….jsonl`): lines, where a
message may be recorded again or taken back, and the one document of versions before them (`.json`).
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.core.messages import (
    Block,
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Usage,
)
from memorist.formats.json_records import (
    JsonRecord,
    RecordFields,
    RecordMessageBuilder,
    make_side_record,
    make_tool_result,
    read_chat_document,
    read_records,
)
from memorist.formats.transcript_format import RecordedLines, SessionHead, TranscriptEntry

_REFERENCED_FILES = "--- Content from referenced files ---"
"""The line after which files that the user named with `@` are quoted."""
_CONTEXT_STARTS = ("<session_context>", "This is the Gemini CLI.")
"""How the messages begin by which the client tells the model of the project."""


def is_session_head(record: RecordFields) -> bool:
    """Whether an object is the beginning of a chat."""
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a chat, held in memory: the `SessionHead`, then what stands of its messages; notices of
    the client as side records.
    """
    metadata, messages, remarks = _read_chat(lines)
    yield SessionHead(
        session=metadata.text("sessionId"),
        format="gemini_cli",
        model=next((name for each in messages if (name := each.data.text("model"))), ""),
        title=metadata.text("summary"),
        started=metadata.epoch_seconds("startTime"),
    )
    for each in messages:
        yield from _read_message(each)
    yield from remarks


def is_subagent_chat(lines: RecordedLines) -> bool:
    """Whether a chat is the work of a sub-agent."""
    metadata, _, _ = _read_chat(lines)
    return metadata.text("kind") == "subagent"


def _read_chat(
    lines: RecordedLines,
) -> tuple[RecordFields, list[JsonRecord], list[TranscriptEntry]]:
    """Metadata, messages, and remarks on what could not be read."""
    document = read_chat_document(lines)
    if document is not None and is_session_head(document.fields) and document.messages:
        return document.fields, list(document.messages), list(document.remarks)
    return _replay_lines(lines)


def _replay_lines(
    lines: RecordedLines,
) -> tuple[RecordFields, list[JsonRecord], list[TranscriptEntry]]:
    """Metadata, messages and remarks after every line was applied."""
    metadata = RecordFields()
    standing: dict[str, JsonRecord] = {}
    remarks: list[TranscriptEntry] = []
    for found in read_records(lines):
        if not isinstance(found, JsonRecord):
            remarks.append(found)
            continue
        record = found.data
        changed = record.fields("$set")
        if "$rewindTo" in record:
            _rewind(standing, record.text("$rewindTo"))
        elif isinstance(record.get("id"), str) and "type" in record:
            standing[record["id"]] = JsonRecord(standing.get(record["id"], found).line, record)
        else:
            metadata |= changed or record
            if isinstance(changed.get("messages"), list):
                standing.clear()
            for at, message in enumerate((changed or record).field_list("messages")):
                id = message.text("id") or f"line-{found.line}-{at}"
                standing[id] = JsonRecord(found.line, message)
    metadata.pop("messages", None)
    return metadata, list(standing.values()), remarks


def _rewind(standing: dict[str, JsonRecord], id: str) -> None:
    """Take back a message and all after it; every one where it is not known."""
    names = list(standing)
    for name in names[names.index(id) if id in standing else 0 :]:
        del standing[name]


def _read_message(record: JsonRecord) -> tuple[TranscriptEntry, ...]:
    line, data = record
    messages = RecordMessageBuilder(
        data.text("id") or f"line-{line}", line, data.epoch_seconds("timestamp")
    )
    kind = data.text("type")
    found: tuple[TranscriptEntry, ...] = ()
    if kind == "user":
        found = messages.build_user_message(_read_user_parts(data))
    elif kind == "gemini":
        found = _read_reply(data, messages)
    return found or (make_side_record(kind or "unknown", line, data),)


def _read_texts(data: RecordFields) -> list[str]:
    content = data.get("content")
    return [
        each if isinstance(each, str) else RecordFields(each).text("text")
        for each in (content if isinstance(content, list) else [content])
        if isinstance(each, str | dict)
    ]


def _read_user_parts(data: RecordFields) -> list[Block]:
    blocks: list[Block] = []
    quoted = False
    for text in _read_texts(data):
        quoted = quoted or text.strip() == _REFERENCED_FILES
        injected = quoted or text.lstrip().startswith(_CONTEXT_STARTS)
        if text:
            blocks.append(TextBlock(text, Origin.INJECTED if injected else None))
    return blocks


def _read_reply(data: RecordFields, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    blocks: list[Block] = [
        ThinkingBlock(f"{each.text('subject')}\n{each.text('description')}".strip())
        for each in data.field_list("thoughts")
    ]
    blocks += [TextBlock(text) for text in _read_texts(data) if text]
    results: list[ToolResult] = []
    for call in data.field_list("toolCalls"):
        name = call.text("id")
        blocks.append(ToolUse(name, call.text("name"), call.fields("args")))
        if (result := _read_result(call, name)) is not None:
            results.append(result)
    tokens = data.fields("tokens")
    cached = tokens.count("cached")
    reply = messages.build_reply(
        blocks,
        model=data.text("model"),
        usage=Usage(
            input=max(0, tokens.count("input") - cached),
            cache_read=cached,
            output=tokens.count("output") + tokens.count("thoughts"),
        )
        if tokens
        else None,
    )
    return messages.build_round(reply, results)


def _read_result(call: RecordFields, name: str) -> ToolResult | None:
    status = call.text("status")
    texts: list[str] = []
    for part in call.field_list("result"):
        response = part.fields("functionResponse").fields("response")
        texts.append(response.text("output") or response.text("error"))
        texts.append(part.text("text"))
    shown = call.text("resultDisplay")
    text = "\n".join(filter(None, texts)) or shown
    if not text and status not in ("success", "error", "cancelled"):
        return None
    return make_tool_result(name, text, is_error=status in ("error", "cancelled"))
