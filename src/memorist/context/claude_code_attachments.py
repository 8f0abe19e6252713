"""Attachments of Claude Code sessions, read as pieces of the context. Pure (CX-9).

Source: Claude Code for the records; the kinds are those seen in session
files of 2.1.97 and later. The file holds the data of an attachment, not the text the client puts
around it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from memorist.context.context_pieces import OmittedSource
from memorist.context.context_tags import (
    escape_closing_tag,
    require_context_tag_definition,
    wrap_unescaped_text_in_tag,
)
from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import Message, Origin, TextBlock, WireInfo
from memorist.formats.transcript_format import (
    CompactionBoundary,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
)

SHOWN_KINDS = {
    "agent_listing_delta": "agents that can be called, as far as they changed",
    "already_read_file": "a file that was mentioned and had been read",
    "auto_mode": "the agent is to go on without asking",
    "auto_mode_exit": "the agent is to ask again",
    "budget_usd": "what has been spent of the budget",
    "compact_file_reference": "a file that was read before the compaction, by its name",
    "critical_system_reminder": "a reminder of the agent's own definition",
    "current_session_memory": "the notes of the session",
    "date_change": "the date changed",
    "deferred_tools_delta": "tools that are not in the schema, as far as they changed",
    "diagnostics": "the editor's diagnostics",
    "directory": "a folder that was mentioned",
    "dynamic_skill": "skills of a folder in which a file was read",
    "edited_image_file": "a picture that changed outside the conversation",
    "edited_text_file": "a file that changed outside the conversation",
    "file": "a file that was mentioned",
    "hook_additional_context": "what a hook added",
    "hook_blocking_error": "a hook stopped what was to be done",
    "hook_stopped_continuation": "a hook ended the turn",
    "hook_success": "what a hook said",
    "invoked_skills": "skills that stood in the context before the compaction",
    "mcp_instructions_delta": "instructions of tool servers, as far as they changed",
    "mcp_resource": "a resource of a tool server that was mentioned",
    "nested_memory": "an instruction file whose folder or scope a read file is of",
    "opened_file_in_ide": "a file is open in the editor",
    "output_style": "the style of replies",
    "pdf_reference": "a document too large to be shown whole",
    "plan_file_reference": "the plan as it stands",
    "plan_mode": "the agent is to plan and change nothing",
    "plan_mode_exit": "planning is over",
    "plan_mode_reentry": "planning begins again",
    "relevant_memories": "memories that bear on the prompt",
    "selected_lines_in_ide": "lines are selected in the editor",
    "skill_listing": "skills on offer",
    "task_reminder": "the task list, after turns without it",
    "task_status": "the state of background work",
    "teammate_mailbox": "what other agents wrote",
    "todo_reminder": "the task list, after turns without it",
    "token_usage": "how full the window is",
    "total_tokens_reminder": "how full the window is",
}
"""Kinds that the model is shown, with the reason for each."""

HIDDEN_KINDS = {
    "command_permissions": "says which tools a command may use",
    "hook_cancelled": "tells the user that a hook was stopped",
    "hook_error_during_execution": "tells the user that a hook failed",
    "hook_non_blocking_error": "tells the user that a hook failed",
    "hook_permission_decision": "says what a hook decided about a call",
    "hook_system_message": "is a hook's word to the user",
    "max_turns_reached": "tells the host that the session stopped",
    "prompt_snapshot": "keeps system prompt and tools for a later resumption",
    "structured_output": "is the reply for the program that asked",
}
"""Kinds that the model is not shown, with what they do instead."""

HOOKS_WITH_OUTPUT = frozenset(
    {"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "SubagentStart", "Setup"}
)
"""Events whose successful hooks speak to the model; the output of other hooks is only logged."""

_KIND = "attachment/"
_DEFERRED_TOOLS_KIND = "deferred_tools_delta"
_LOCATION_FIELDS = ("displayPath", "filename", "path", "planFilePath", "uri", "name")
_BODY_FIELDS = (
    "addedLines", "addedBlocks", "content", "snippet", "text", "memories", "skills", "planContent",
    "blockingError", "newDate",
    "message", "prompt", "file",
)  # fmt: skip


class _AttachmentRecord(Struct):
    uuid: str
    attachment: dict[str, Any]
    timestamp: Any = None


_decode = build_json_decoder(_AttachmentRecord)


MAX_NAMED_LINES = 20
"""Unreadable lines that are reported individually; our choice."""


class AttachmentInserter:
    """Reads entries once and inserts the live attachments of a Claude Code session as messages.

    Counts the attachments that the model is not shown, and remembers the lines that could not be
    read.
    """

    def __init__(self) -> None:
        self._unshown: Counter[tuple[str, str]] = Counter()
        self._skipped: list[SkippedLine] = []

    def insert_attachments(self, entries: Iterable[TranscriptEntry]) -> Iterator[TranscriptEntry]:
        """Yield the entries with attachments inserted.

        A compaction that keeps messages also keeps the attachments between them.
        """
        ours: list[bool] = []
        for entry in entries:
            if isinstance(entry, SideRecord) and entry.kind == "attachment":
                message = self._read(entry)
                if message is not None:
                    ours.append(True)
                    yield message
                continue
            if isinstance(entry, CompactionBoundary):
                wider, ours = _widen_boundary(entry, ours)
                yield wider
                continue
            if isinstance(entry, Message):
                ours.append(False)
            elif isinstance(entry, SkippedLine):
                self._skipped.append(entry)
            yield entry

    def list_omitted_attachments(self) -> tuple[OmittedSource, ...]:
        """Report what was not shown to the model, by kind, and the first of the unreadable lines
        one by one.
        """
        further = len(self._skipped) - MAX_NAMED_LINES
        return (
            *(
                OmittedSource(
                    f"attachment {kind}", f"{count} of them: it {why}" if count > 1 else f"it {why}"
                )
                for (kind, why), count in sorted(self._unshown.items())
            ),
            *(
                OmittedSource(f"line {skip.line}", f"it cannot be used: {skip.why}")
                for skip in self._skipped[:MAX_NAMED_LINES]
            ),
            *(
                [OmittedSource("further lines", f"{further:,} of them cannot be used")]
                if further > 0
                else []
            ),
        )

    def _read(self, aside: SideRecord) -> Message | None:
        try:
            record = _decode(aside.raw)
        except (msgspec.DecodeError, RecursionError):
            return None
        given = record.attachment
        kind = given.get("type")
        kind = kind if isinstance(kind, str) and kind else "without a kind"
        unshown = HIDDEN_KINDS.get(kind, "") or _reason_hidden(kind, given)
        if unshown:
            self._unshown[kind, unshown] += 1
            return None
        tag = require_context_tag_definition(
            "available-deferred-tools" if kind == _DEFERRED_TOOLS_KIND else "system-reminder",
            "file-native",
        )
        return Message(
            id=record.uuid,
            role="user",
            blocks=(
                TextBlock(
                    wrap_unescaped_text_in_tag(
                        tag, escape_closing_tag(render_attachment(given), tag)
                    )
                ),
            ),
            origin=Origin.INJECTED,
            line=aside.line,
            wire=WireInfo("claude_code", kind=f"{_KIND}{kind}"),
        )


def _reason_hidden(kind: str, given: dict[str, Any]) -> str:
    """Return why an attachment of a showable kind is silent this time; empty if it is not."""
    if kind == "queued_command":
        return "held no words"
    if kind == "hook_success" and (
        given.get("hookEvent") not in HOOKS_WITH_OUTPUT or not _collect_words(given.get("content"))
    ):
        return "is what a hook printed for the log"
    return ""


def _widen_boundary(
    boundary: CompactionBoundary, ours: list[bool]
) -> tuple[CompactionBoundary, list[bool]]:
    """Extend the boundary by the attachments between the messages it keeps, and return what is then
    in the window.
    """
    messages = kept = 0
    while messages < boundary.kept and kept < len(ours):
        kept += 1
        messages += not ours[-kept]
    window = [*(False for _ in boundary.replacement), *(ours[-kept:] if kept else ())]
    return msgspec.structs.replace(boundary, kept=kept), window


def get_attachment_kind(message: Message) -> str:
    """Return the kind of attachment a message was; empty for any other message."""
    found = message.wire.kind if message.wire is not None else ""
    return found.removeprefix(_KIND) if found.startswith(_KIND) else ""


def get_attachment_tag_and_reason(kind: str) -> tuple[str, str]:
    """Return the scaffold tag for a kind of attachment, and the reason for showing it."""
    tag = "available-deferred-tools" if kind == _DEFERRED_TOOLS_KIND else "system-reminder"
    reason = SHOWN_KINDS.get(kind)
    return (
        tag,
        f"{reason} (attachment {kind})"
        if reason
        else f"attachment {kind}, a kind that is not known here; shown as the file has it",
    )


def render_attachment(attachment: dict[str, Any]) -> str:
    """Render an attachment: its location and its text, or its data as JSON if it has no text."""
    words = _collect_words(attachment)
    removed = attachment.get("removedNames") or attachment.get("removedTypes")
    dropped = (
        [f"No longer there: {', '.join(each for each in removed if isinstance(each, str))}"]
        if isinstance(removed, list) and removed
        else []
    )
    if words or dropped:
        return "\n".join([*([words] if words else []), *dropped])
    data = {key: value for key, value in attachment.items() if key != "type"}
    return json.dumps(data, ensure_ascii=False) if data else ""


def _collect_words(value: object, depth: int = 0) -> str:
    """Collect the text of a value from the fields that hold text; empty if there is none."""
    if isinstance(value, str):
        return value.strip("\n")
    if depth > len(_BODY_FIELDS):
        return ""
    if isinstance(value, list):
        return "\n".join(words for each in value if (words := _collect_words(each, depth + 1)))
    if not isinstance(value, dict):
        return ""
    body = next(
        (words for key in _BODY_FIELDS if (words := _collect_words(value.get(key), depth + 1))), ""
    )
    named = [
        found for key in _LOCATION_FIELDS if isinstance(found := value.get(key), str) and found
    ]
    if not named or named[0] in body.partition("\n")[0]:
        return body
    return f"{named[0]}\n{body}" if body else named[0] if depth else ""
