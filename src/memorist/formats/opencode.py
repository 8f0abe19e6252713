"""Reading sessions of opencode: the document that `opencode export` prints, which is also how a
session of its database, or of the files of versions before it, is put together.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

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
    ChatDocument,
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
)
from memorist.formats.transcript_format import RecordedLines, SessionHead, TranscriptEntry


def is_session_info(info: object) -> bool:
    """Whether a value is the head of an exported session."""
    return (
        isinstance(info, dict)
        and isinstance(info.get("id"), str)
        and isinstance(info.get("directory"), str)
    )


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read an exported session, held in memory."""
    document = read_chat_document(lines)
    yield from read_exported_session(document or ChatDocument({}, ()))


def read_exported_session(document: ChatDocument) -> Iterator[TranscriptEntry]:
    """The `SessionHead`, then the messages; parts of bookkeeping are left out."""
    info = get_object_field(document.fields, "info")
    replies = (get_object_field(each.data, "info") for each in document.messages)
    yield SessionHead(
        session=get_text_field(info, "id"),
        format="opencode",
        cwd=get_text_field(info, "directory"),
        version=get_text_field(info, "version"),
        title="" if _is_unnamed(get_text_field(info, "title")) else get_text_field(info, "title"),
        started=get_epoch_seconds(get_object_field(info, "time"), "created"),
        model=next((name for each in replies if (name := get_text_field(each, "modelID"))), ""),
    )
    is_child = get_text_field(info, "title").startswith("Child session - ")
    is_headless = _is_headless(info)
    is_typed = not (is_child or get_text_field(info, "parentID") or is_headless)
    for each in document.messages:
        kept, reverted = _split_reverted(each, get_object_field(info, "revert"))
        if kept is not None:
            yield from _read_message(kept, is_typed=is_typed, is_headless=is_headless)
        if reverted is not None:
            yield make_side_record("reverted", reverted.line, reverted.data)
    yield from document.remarks


def _split_reverted(
    record: JsonRecord, revert: JsonObject
) -> tuple[JsonRecord | None, JsonRecord | None]:
    """What stands of a message after the user went back, and what does not: from the message or,
    where one is named, from its part `partID` on. Ids ascend with time.
    """
    first, part = get_text_field(revert, "messageID"), get_text_field(revert, "partID")
    id = get_text_field(get_object_field(record.data, "info"), "id")
    if not first or id < first:
        return record, None
    if id > first or not part:
        return None, record
    parts = get_object_list_field(record.data, "parts")
    kept = [each for each in parts if get_text_field(each, "id") < part]
    undone = [each for each in parts if each not in kept]
    return (
        JsonRecord(record.line, {**record.data, "parts": kept}),
        JsonRecord(record.line, {**record.data, "parts": undone}),
    )


def _is_unnamed(title: str) -> bool:
    return title.startswith(("New session - ", "Child session - "))


def _is_headless(info: JsonObject) -> bool:
    """Whether `opencode run` or a program made the session: nobody can be asked, so its prompt may
    have come through a pipe, or from another agent.
    """
    return any(
        get_text_field(rule, "permission") == "question"
        and get_text_field(rule, "action") == "deny"
        for rule in get_object_list_field(info, "permission")
    )


def _read_message(
    record: JsonRecord, *, is_typed: bool, is_headless: bool
) -> tuple[TranscriptEntry, ...]:
    line, data = record
    info = get_object_field(data, "info")
    messages = RecordMessageBuilder(
        get_text_field(info, "id") or f"line-{line}",
        line,
        get_epoch_seconds(get_object_field(info, "time"), "created"),
    )
    parts = get_object_list_field(data, "parts")
    found: tuple[TranscriptEntry, ...] = ()
    if get_text_field(info, "role") == "user":
        found = _read_user(parts, messages, is_typed=is_typed, is_headless=is_headless)
    elif get_text_field(info, "role") == "assistant":
        found = _read_assistant(info, parts, messages)
    return found or (make_side_record("message", line, data),)


def _read_user(
    parts: list[JsonObject], messages: RecordMessageBuilder, *, is_typed: bool, is_headless: bool
) -> tuple[TranscriptEntry, ...]:
    """A user's message: of a subagent's or a headless session nobody typed it, nor what the client
    or a plugin put into it (`synthetic`, `ignored`). A command's template has no mark.
    """
    if any(get_text_field(part, "type") == "compaction" for part in parts):
        return (messages.build_compaction_boundary(),)
    found = messages.build_user_message(
        [
            TextBlock(
                _remove_argument_quotes(text) if is_headless else text,
                Origin.INJECTED if _is_inserted(part) else None,
            )
            for part in parts
            if get_text_field(part, "type") == "text" and (text := get_text_field(part, "text"))
        ]
    )
    return tuple(replace(each, is_typed=is_typed) for each in found)


def _remove_argument_quotes(text: str) -> str:
    """The prompt of `opencode run "…"` as it was given: an argument with a space is recorded in
    quotation marks, those inside it with a backslash.
    """
    quoted = text.strip()
    inside = quoted[1:-1]
    if quoted != f'"{inside}"' or " " not in inside or '"' in inside.replace('\\"', ""):
        return text
    return inside.replace('\\"', '"')


def _is_inserted(part: JsonObject) -> bool:
    return part.get("synthetic") is True or part.get("ignored") is True


def _read_assistant(
    info: JsonObject, parts: list[JsonObject], messages: RecordMessageBuilder
) -> tuple[Message, ...]:
    blocks: list[Block] = []
    results: list[ToolResult] = []
    for part in parts:
        kind = get_text_field(part, "type")
        if kind == "text":
            blocks.append(TextBlock(get_text_field(part, "text")))
        elif kind == "reasoning":
            blocks.append(ThinkingBlock(get_text_field(part, "text")))
        elif kind == "tool":
            state = get_object_field(part, "state")
            call = get_text_field(part, "callID")
            blocks.append(
                ToolUse(call, get_text_field(part, "tool"), get_object_field(state, "input"))
            )
            if (result := _read_result(state, call)) is not None:
                results.append(result)
    tokens = get_object_field(info, "tokens")
    cache = get_object_field(tokens, "cache")
    reply = messages.build_reply(
        blocks,
        model=get_text_field(info, "modelID"),
        stop_reason=get_text_field(info, "finish"),
        usage=Usage(
            input=get_count_field(tokens, "input"),
            cache_read=get_count_field(cache, "read"),
            cache_write=get_count_field(cache, "write"),
            output=get_count_field(tokens, "output") + get_count_field(tokens, "reasoning"),
        )
        if tokens
        else None,
    )
    if info.get("summary") is True:
        reply = tuple(replace(each, role="user", origin=Origin.SUMMARY) for each in reply)
    return messages.build_round(reply, results)


def _read_result(state: JsonObject, call: str) -> ToolResult | None:
    status = get_text_field(state, "status")
    if status == "error":
        return make_tool_result(call, get_text_field(state, "error"), is_error=True)
    if status != "completed":
        return None
    failed = get_count_field(get_object_field(state, "metadata"), "exit") > 0
    return make_tool_result(call, get_text_field(state, "output"), is_error=failed)
