"""Reading the event logs of GitHub Copilot CLI (`~/.copilot/session-state/<id>/events.jsonl`), as
written by versions 1.0.40 to 1.0.64.
"""

from __future__ import annotations

from collections.abc import Iterator

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

_WRAPPED_STARTS = ("<skill-context", "<system_", "<system-")
"""How texts begin that the client puts into the place of a user's message."""


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a session: the `SessionHead`, then its messages; a sub-agent's and all bookkeeping as
    side records. The beginning is read twice.
    """
    yield _read_head(lines)
    for found in read_records(lines):
        if isinstance(found, JsonRecord):
            if found.data.text("type") != "session.start":
                yield from _read_event(found)
        else:
            yield found


def _read_head(lines: RecordedLines) -> SessionHead:
    start = RecordFields()
    model = ""
    for found in read_records(lines):
        if not isinstance(found, JsonRecord):
            continue
        kind, data = found.data.text("type"), found.data.fields("data")
        if kind == "session.start":
            start = start or data
        elif kind == "session.model_change":
            model = data.text("newModel")
        elif kind == "assistant.message":
            model = model or data.text("model")
            break
    context = start.fields("context")
    return SessionHead(
        session=start.text("sessionId"),
        format="copilot_cli",
        cwd=context.text("cwd"),
        branch=context.text("branch"),
        model=model or start.text("selectedModel"),
        version=start.text("copilotVersion"),
        started=start.epoch_seconds("startTime"),
    )


def _read_event(record: JsonRecord) -> tuple[TranscriptEntry, ...]:
    line, event = record
    kind, data = event.text("type"), event.fields("data")
    messages = RecordMessageBuilder(
        event.text("id") or f"line-{line}", line, event.epoch_seconds("timestamp")
    )
    found: tuple[TranscriptEntry, ...] = ()
    if data.text("parentToolCallId"):
        kind = "sidechain"
    elif kind == "user.message":
        found = _read_user(data, messages)
    elif kind == "assistant.message":
        found = _read_assistant(data, messages)
    elif kind == "tool.execution_complete":
        result = data.fields("result")
        text = result.text("content") or data.fields("error").text("message")
        call = make_tool_result(
            data.text("toolCallId"), text, is_error=data.get("success") is False
        )
        found = messages.build_tool_results_message((call,))
    elif kind == "session.compaction_complete" and data.get("success") is not False:
        found = _read_compaction(data, messages)
    return found or (make_side_record(kind or "unknown", line, event),)


def _read_user(data: RecordFields, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    text = data.text("content")
    if not text.strip():
        return ()
    wrapped = text.lstrip().startswith(_WRAPPED_STARTS) or data.text("source") not in ("", "user")
    return messages.build_user_message(
        (TextBlock(text),), Origin.INJECTED if wrapped else Origin.USER
    )


def _read_assistant(data: RecordFields, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    blocks: list[Block] = []
    if data.text("reasoningText"):
        blocks.append(ThinkingBlock(data.text("reasoningText")))
    if data.text("content"):
        blocks.append(TextBlock(data.text("content")))
    for call in data.field_list("toolRequests"):
        text = call.text("arguments")
        blocks.append(
            ToolUse(
                call.text("toolCallId"), call.text("name"), call.fields("arguments"), text or None
            )
        )
    tokens = data.count("outputTokens")
    return messages.build_reply(
        blocks, model=data.text("model"), usage=Usage(output=tokens) if tokens else None
    )


def _read_compaction(
    data: RecordFields, messages: RecordMessageBuilder
) -> tuple[TranscriptEntry, ...]:
    boundary = messages.build_compaction_boundary(data.count("preCompactionTokens"))
    summary = data.text("summaryContent")
    return (boundary, messages.build_summary(summary)) if summary else (boundary,)
