"""Reading the chats of Gemini CLI (`~/.gemini/tmp/<project>/chats/session-….jsonl`): lines, where a
message may be recorded again or taken back, and the one document of versions before them (`.json`).
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.core.messages import (
    Block,
    JsonObject,
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
    RecordMessageBuilder,
    get_count_field,
    get_epoch_seconds,
    get_object_field,
    get_object_list_field,
    get_text_field,
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


def is_session_head(record: JsonObject) -> bool:
    """Whether an object is the beginning of a chat."""
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a chat, held in memory: the `SessionHead`, then what stands of its messages; notices of
    the client as side records.
    """
    metadata, messages, remarks = _read_chat(lines)
    yield SessionHead(
        session=get_text_field(metadata, "sessionId"),
        format="gemini_cli",
        model=next((name for each in messages if (name := get_text_field(each.data, "model"))), ""),
        title=get_text_field(metadata, "summary"),
        started=get_epoch_seconds(metadata, "startTime"),
    )
    for each in messages:
        yield from _read_message(each)
    yield from remarks


def is_subagent_chat(lines: RecordedLines) -> bool:
    """Whether a chat is the work of a sub-agent."""
    return get_text_field(_read_chat(lines)[0], "kind") == "subagent"


def _read_chat(lines: RecordedLines) -> tuple[JsonObject, list[JsonRecord], list[TranscriptEntry]]:
    """Metadata, messages, and remarks on what could not be read."""
    document = read_chat_document(lines)
    if document is not None and is_session_head(document.fields) and document.messages:
        return document.fields, list(document.messages), list(document.remarks)
    return _replay_lines(lines)


def _replay_lines(
    lines: RecordedLines,
) -> tuple[JsonObject, list[JsonRecord], list[TranscriptEntry]]:
    """Metadata, messages and remarks after every line was applied."""
    metadata: JsonObject = {}
    standing: dict[str, JsonRecord] = {}
    remarks: list[TranscriptEntry] = []
    for found in read_records(lines):
        if not isinstance(found, JsonRecord):
            remarks.append(found)
            continue
        record = found.data
        changed = get_object_field(record, "$set")
        if "$rewindTo" in record:
            _rewind(standing, get_text_field(record, "$rewindTo"))
        elif isinstance(record.get("id"), str) and "type" in record:
            standing[record["id"]] = JsonRecord(standing.get(record["id"], found).line, record)
        else:
            metadata |= changed or record
            if isinstance(changed.get("messages"), list):
                standing.clear()
            for at, message in enumerate(get_object_list_field(changed or record, "messages")):
                id = get_text_field(message, "id") or f"line-{found.line}-{at}"
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
        get_text_field(data, "id") or f"line-{line}", line, get_epoch_seconds(data, "timestamp")
    )
    kind = get_text_field(data, "type")
    found: tuple[TranscriptEntry, ...] = ()
    if kind == "user":
        found = messages.build_user_message(_read_user_parts(data))
    elif kind == "gemini":
        found = _read_reply(data, messages)
    return found or (make_side_record(kind or "unknown", line, data),)


def _read_texts(data: JsonObject) -> list[str]:
    content = data.get("content")
    if isinstance(content, str):
        return [content]
    if isinstance(content, dict):
        return [get_text_field(content, "text")]
    return [
        each if isinstance(each, str) else get_text_field(each, "text")
        for each in (content if isinstance(content, list) else ())
        if isinstance(each, str | dict)
    ]


def _read_user_parts(data: JsonObject) -> list[Block]:
    blocks: list[Block] = []
    quoted = False
    for text in _read_texts(data):
        quoted = quoted or text.strip() == _REFERENCED_FILES
        injected = quoted or text.lstrip().startswith(_CONTEXT_STARTS)
        if text:
            blocks.append(TextBlock(text, Origin.INJECTED if injected else None))
    return blocks


def _read_reply(data: JsonObject, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    blocks: list[Block] = [
        ThinkingBlock(
            f"{get_text_field(each, 'subject')}\n{get_text_field(each, 'description')}".strip()
        )
        for each in get_object_list_field(data, "thoughts")
    ]
    blocks += [TextBlock(text) for text in _read_texts(data) if text]
    results: list[ToolResult] = []
    for call in get_object_list_field(data, "toolCalls"):
        name = get_text_field(call, "id")
        blocks.append(ToolUse(name, get_text_field(call, "name"), get_object_field(call, "args")))
        if (result := _read_result(call, name)) is not None:
            results.append(result)
    tokens = get_object_field(data, "tokens")
    cached = get_count_field(tokens, "cached")
    reply = messages.build_reply(
        blocks,
        model=get_text_field(data, "model"),
        usage=Usage(
            input=max(0, get_count_field(tokens, "input") - cached),
            cache_read=cached,
            output=get_count_field(tokens, "output") + get_count_field(tokens, "thoughts"),
        )
        if tokens
        else None,
    )
    return messages.build_round(reply, results)


def _read_result(call: JsonObject, name: str) -> ToolResult | None:
    status = get_text_field(call, "status")
    texts: list[str] = []
    for part in get_object_list_field(call, "result"):
        response = get_object_field(get_object_field(part, "functionResponse"), "response")
        texts.append(get_text_field(response, "output") or get_text_field(response, "error"))
        texts.append(get_text_field(part, "text"))
    shown = get_text_field(call, "resultDisplay")
    text = "\n".join(filter(None, texts)) or shown
    if not text and status not in ("success", "error", "cancelled"):
        return None
    return make_tool_result(name, text, is_error=status in ("error", "cancelled"))
