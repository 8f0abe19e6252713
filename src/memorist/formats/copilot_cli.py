"""Reading the event logs of GitHub Copilot CLI (`~/.copilot/session-state/<id>/events.jsonl`), as
written by versions 1.0.40 to 1.0.64.
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

_WRAPPED_STARTS = ("<skill-context", "<system_", "<system-")
"""How texts begin that the client puts into the place of a user's message."""


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a session: the `SessionHead`, then its messages; a sub-agent's and all bookkeeping as
    side records. The beginning is read twice.
    """
    yield _read_head(lines)
    for found in read_records(lines):
        if isinstance(found, JsonRecord):
            if get_text_field(found.data, "type") != "session.start":
                yield from _read_event(found)
        else:
            yield found


def _read_head(lines: RecordedLines) -> SessionHead:
    start: JsonObject = {}
    model = ""
    for found in read_records(lines):
        if not isinstance(found, JsonRecord):
            continue
        kind, data = get_text_field(found.data, "type"), get_object_field(found.data, "data")
        if kind == "session.start":
            start = start or data
        elif kind == "session.model_change":
            model = get_text_field(data, "newModel")
        elif kind == "assistant.message":
            model = model or get_text_field(data, "model")
            break
    context = get_object_field(start, "context")
    return SessionHead(
        session=get_text_field(start, "sessionId"),
        format="copilot_cli",
        cwd=get_text_field(context, "cwd"),
        branch=get_text_field(context, "branch"),
        model=model or get_text_field(start, "selectedModel"),
        version=get_text_field(start, "copilotVersion"),
        started=get_epoch_seconds(start, "startTime"),
    )


def _read_event(record: JsonRecord) -> tuple[TranscriptEntry, ...]:
    line, event = record
    kind, data = get_text_field(event, "type"), get_object_field(event, "data")
    messages = RecordMessageBuilder(
        get_text_field(event, "id") or f"line-{line}", line, get_epoch_seconds(event, "timestamp")
    )
    found: tuple[TranscriptEntry, ...] = ()
    if get_text_field(data, "parentToolCallId"):
        kind = "sidechain"
    elif kind == "user.message":
        found = _read_user(data, messages)
    elif kind == "assistant.message":
        found = _read_assistant(data, messages)
    elif kind == "tool.execution_complete":
        result = get_object_field(data, "result")
        text = get_text_field(result, "content") or get_text_field(
            get_object_field(data, "error"), "message"
        )
        call = make_tool_result(
            get_text_field(data, "toolCallId"), text, is_error=data.get("success") is False
        )
        found = messages.build_tool_results_message((call,))
    elif kind == "session.compaction_complete" and data.get("success") is not False:
        found = _read_compaction(data, messages)
    return found or (make_side_record(kind or "unknown", line, event),)


def _read_user(data: JsonObject, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    text = get_text_field(data, "content")
    if not text.strip():
        return ()
    wrapped = text.lstrip().startswith(_WRAPPED_STARTS) or get_text_field(data, "source") not in (
        "",
        "user",
    )
    return messages.build_user_message(
        (TextBlock(text),), Origin.INJECTED if wrapped else Origin.USER
    )


def _read_assistant(data: JsonObject, messages: RecordMessageBuilder) -> tuple[Message, ...]:
    blocks: list[Block] = []
    if get_text_field(data, "reasoningText"):
        blocks.append(ThinkingBlock(get_text_field(data, "reasoningText")))
    if get_text_field(data, "content"):
        blocks.append(TextBlock(get_text_field(data, "content")))
    for call in get_object_list_field(data, "toolRequests"):
        text = get_text_field(call, "arguments")
        blocks.append(
            ToolUse(
                get_text_field(call, "toolCallId"),
                get_text_field(call, "name"),
                get_object_field(call, "arguments"),
                text or None,
            )
        )
    tokens = get_count_field(data, "outputTokens")
    return messages.build_reply(
        blocks, model=get_text_field(data, "model"), usage=Usage(output=tokens) if tokens else None
    )


def _read_compaction(
    data: JsonObject, messages: RecordMessageBuilder
) -> tuple[TranscriptEntry, ...]:
    boundary = messages.build_compaction_boundary(get_count_field(data, "preCompactionTokens"))
    summary = get_text_field(data, "summaryContent")
    return (boundary, messages.build_summary(summary)) if summary else (boundary,)
