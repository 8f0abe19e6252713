"""Reading sessions of opencode: the document that `opencode export` prints, which is also how a
session of its database, or of the files of versions before it, is put together.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

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
    ChatDocument,
    JsonRecord,
    RecordFields,
    RecordMessageBuilder,
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
    yield from read_exported_session(document or ChatDocument(RecordFields(), ()))


def read_exported_session(document: ChatDocument) -> Iterator[TranscriptEntry]:
    """The `SessionHead`, then the messages; parts of bookkeeping are left out."""
    info = document.fields.fields("info")
    replies = (each.data.fields("info") for each in document.messages)
    yield SessionHead(
        session=info.text("id"),
        format="opencode",
        cwd=info.text("directory"),
        version=info.text("version"),
        title="" if _is_unnamed(info.text("title")) else info.text("title"),
        started=info.fields("time").epoch_seconds("created"),
        model=next((name for each in replies if (name := each.text("modelID"))), ""),
    )
    is_child = info.text("title").startswith("Child session - ")
    is_headless = _is_headless(info)
    is_typed = not (is_child or info.text("parentID") or is_headless)
    for each in document.messages:
        kept, reverted = _split_reverted(each, info.fields("revert"))
        if kept is not None:
            yield from _read_message(kept, is_typed=is_typed, is_headless=is_headless)
        if reverted is not None:
            yield make_side_record("reverted", reverted.line, reverted.data)
    yield from document.remarks


def _split_reverted(
    record: JsonRecord, revert: RecordFields
) -> tuple[JsonRecord | None, JsonRecord | None]:
    """What stands of a message after the user went back, and what does not: from the message or,
    where one is named, from its part `partID` on. Ids ascend with time.
    """
    first, part = revert.text("messageID"), revert.text("partID")
    id = record.data.fields("info").text("id")
    if not first or id < first:
        return record, None
    if id > first or not part:
        return None, record
    parts = record.data.field_list("parts")
    kept = [each for each in parts if each.text("id") < part]
    undone = [each for each in parts if each not in kept]
    return (
        JsonRecord(record.line, RecordFields(record.data, parts=kept)),
        JsonRecord(record.line, RecordFields(record.data, parts=undone)),
    )


def _is_unnamed(title: str) -> bool:
    return title.startswith(("New session - ", "Child session - "))


def _is_headless(info: RecordFields) -> bool:
    """Whether `opencode run` or a program made the session: nobody can be asked, so its prompt may
    have come through a pipe, or from another agent.
    """
    return any(
        rule.text("permission") == "question" and rule.text("action") == "deny"
        for rule in info.field_list("permission")
    )


def _read_message(
    record: JsonRecord, *, is_typed: bool, is_headless: bool
) -> tuple[TranscriptEntry, ...]:
    line, data = record
    info = data.fields("info")
    messages = RecordMessageBuilder(
        info.text("id") or f"line-{line}", line, info.fields("time").epoch_seconds("created")
    )
    parts = data.field_list("parts")
    found: tuple[TranscriptEntry, ...] = ()
    if info.text("role") == "user":
        found = _read_user(parts, messages, is_typed=is_typed, is_headless=is_headless)
    elif info.text("role") == "assistant":
        found = _read_assistant(info, parts, messages)
    return found or (make_side_record("message", line, data),)


def _read_user(
    parts: list[RecordFields], messages: RecordMessageBuilder, *, is_typed: bool, is_headless: bool
) -> tuple[TranscriptEntry, ...]:
    """A user's message: of a subagent's or a headless session nobody typed it, nor what the client
    or a plugin put into it (`synthetic`, `ignored`). A command's template has no mark.
    """
    if any(part.text("type") == "compaction" for part in parts):
        return (messages.build_compaction_boundary(),)
    found = messages.build_user_message(
        [
            TextBlock(
                _remove_argument_quotes(text) if is_headless else text,
                Origin.INJECTED if _is_inserted(part) else None,
            )
            for part in parts
            if part.text("type") == "text" and (text := part.text("text"))
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


def _is_inserted(part: RecordFields) -> bool:
    return part.get("synthetic") is True or part.get("ignored") is True


def _read_assistant(
    info: RecordFields, parts: list[RecordFields], messages: RecordMessageBuilder
) -> tuple[Message, ...]:
    blocks: list[Block] = []
    results: list[ToolResult] = []
    for part in parts:
        kind = part.text("type")
        if kind == "text":
            blocks.append(TextBlock(part.text("text")))
        elif kind == "reasoning":
            blocks.append(ThinkingBlock(part.text("text")))
        elif kind == "tool":
            state = part.fields("state")
            call = part.text("callID")
            blocks.append(ToolUse(call, part.text("tool"), state.fields("input")))
            if (result := _read_result(state, call)) is not None:
                results.append(result)
    tokens = info.fields("tokens")
    cache = tokens.fields("cache")
    reply = messages.build_reply(
        blocks,
        model=info.text("modelID"),
        stop_reason=info.text("finish"),
        usage=Usage(
            input=tokens.count("input"),
            cache_read=cache.count("read"),
            cache_write=cache.count("write"),
            output=tokens.count("output") + tokens.count("reasoning"),
        )
        if tokens
        else None,
    )
    if info.get("summary") is True:
        reply = tuple(replace(each, role="user", origin=Origin.SUMMARY) for each in reply)
    return messages.build_round(reply, results)


def _read_result(state: RecordFields, call: str) -> ToolResult | None:
    status = state.text("status")
    if status == "error":
        return make_tool_result(call, state.text("error"), is_error=True)
    if status != "completed":
        return None
    failed = state.fields("metadata").count("exit") > 0
    return make_tool_result(call, state.text("output"), is_error=failed)
