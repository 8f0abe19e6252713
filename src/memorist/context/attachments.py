"""Attachments of Claude Code sessions, read as pieces of the context. Pure (CX-9).

Source: claude-code.md sections 1.4 and 12.3 for the records; the kinds are those seen in session
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

from memorist.context.piece import LeftOut
from memorist.context.scaffold import contained, row, wrap
from memorist.core.messages import Message, Origin, Text, Wire
from memorist.formats.recorded import Aside, Boundary, Entry, Skip

SHOWN = {
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

UNSHOWN = {
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

SPEAKING_HOOKS = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "SubagentStart", "Setup"})
"""Events whose successful hooks speak to the model; the output of other hooks is only logged."""

_KIND = "attachment/"
_DEFERRED = "deferred_tools_delta"
_PLACES = ("displayPath", "filename", "path", "planFilePath", "uri", "name")
_BODIES = (
    "addedLines", "addedBlocks", "content", "snippet", "text", "memories", "skills", "planContent", "blockingError", "newDate",
    "message", "prompt", "file",
)  # fmt: skip


class _Record(Struct):
    uuid: str
    attachment: dict[str, Any]
    timestamp: Any = None


_decode = msgspec.json.Decoder(_Record).decode


LINES = 20
"""Unreadable lines that are reported individually; our choice."""


class Attachments:
    """Reads entries once and inserts the live attachments of a Claude Code session as messages.

    Counts the attachments that the model is not shown, and remembers the lines that could not be
    read.
    """

    def __init__(self) -> None:
        self._unshown: Counter[tuple[str, str]] = Counter()
        self._skipped: list[Skip] = []

    def among(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the entries with attachments inserted.

        A compaction that keeps messages also keeps the attachments between them.
        """
        ours: list[bool] = []
        for entry in entries:
            if isinstance(entry, Aside) and entry.kind == "attachment":
                message = self._read(entry)
                if message is not None:
                    ours.append(True)
                    yield message
                continue
            if isinstance(entry, Boundary):
                wider, ours = _widened(entry, ours)
                yield wider
                continue
            if isinstance(entry, Message):
                ours.append(False)
            elif isinstance(entry, Skip):
                self._skipped.append(entry)
            yield entry

    def left_out(self) -> tuple[LeftOut, ...]:
        """Report what was not shown to the model, by kind, and the first of the unreadable lines
        one by one.
        """
        further = len(self._skipped) - LINES
        return (
            *(
                LeftOut(f"attachment {kind}", f"{count} of them: it {why}" if count > 1 else f"it {why}")
                for (kind, why), count in sorted(self._unshown.items())
            ),
            *(LeftOut(f"line {skip.line}", f"it cannot be used: {skip.why}") for skip in self._skipped[:LINES]),
            *([LeftOut("further lines", f"{further:,} of them cannot be used")] if further > 0 else []),
        )

    def _read(self, aside: Aside) -> Message | None:
        try:
            record = _decode(aside.raw)
        except (msgspec.DecodeError, RecursionError):
            return None
        given = record.attachment
        kind = given.get("type")
        kind = kind if isinstance(kind, str) and kind else "without a kind"
        unshown = UNSHOWN.get(kind, "") or _silent(kind, given)
        if unshown:
            self._unshown[kind, unshown] += 1
            return None
        tag = row("available-deferred-tools" if kind == _DEFERRED else "system-reminder", "file-native")
        return Message(
            id=record.uuid,
            role="user",
            blocks=(Text(wrap(tag, contained(text_of(given), tag))),),
            origin=Origin.INJECTED,
            line=aside.line,
            wire=Wire("claude_code", kind=f"{_KIND}{kind}"),
        )


def _silent(kind: str, given: dict[str, Any]) -> str:
    """Return why an attachment of a showable kind is silent this time; empty if it is not."""
    if kind == "queued_command":
        return "held no words"
    if kind == "hook_success" and (given.get("hookEvent") not in SPEAKING_HOOKS or not _words(given.get("content"))):
        return "is what a hook printed for the log"
    return ""


def _widened(boundary: Boundary, ours: list[bool]) -> tuple[Boundary, list[bool]]:
    """Extend the boundary by the attachments between the messages it keeps, and return what is then
    in the window.
    """
    messages = kept = 0
    while messages < boundary.kept and kept < len(ours):
        kept += 1
        messages += not ours[-kept]
    window = [*(False for _ in boundary.replacement), *(ours[-kept:] if kept else ())]
    return msgspec.structs.replace(boundary, kept=kept), window


def kind_of(message: Message) -> str:
    """Return the kind of attachment a message was; empty for any other message."""
    found = message.wire.kind if message.wire is not None else ""
    return found.removeprefix(_KIND) if found.startswith(_KIND) else ""


def tag_and_reason(kind: str) -> tuple[str, str]:
    """Return the scaffold tag for a kind of attachment, and the reason for showing it."""
    tag = "available-deferred-tools" if kind == _DEFERRED else "system-reminder"
    reason = SHOWN.get(kind)
    return tag, f"{reason} (attachment {kind})" if reason else f"attachment {kind}, a kind that is not known here; shown as the file has it"


def text_of(given: dict[str, Any]) -> str:
    """Render an attachment: its location and its text, or its data as JSON if it has no text."""
    words = _words(given)
    removed = given.get("removedNames") or given.get("removedTypes")
    gone = (
        [f"No longer there: {', '.join(each for each in removed if isinstance(each, str))}"]
        if isinstance(removed, list) and removed
        else []
    )
    if words or gone:
        return "\n".join([*([words] if words else []), *gone])
    data = {key: value for key, value in given.items() if key != "type"}
    return json.dumps(data, ensure_ascii=False) if data else ""


def _words(value: object, depth: int = 0) -> str:
    """Collect the text of a value from the fields that hold text; empty if there is none."""
    if isinstance(value, str):
        return value.strip("\n")
    if depth > len(_BODIES):
        return ""
    if isinstance(value, list):
        return "\n".join(words for each in value if (words := _words(each, depth + 1)))
    if not isinstance(value, dict):
        return ""
    body = next((words for key in _BODIES if (words := _words(value.get(key), depth + 1))), "")
    named = [found for key in _PLACES if isinstance(found := value.get(key), str) and found]
    if not named or named[0] in body.partition("\n")[0]:
        return body
    return f"{named[0]}\n{body}" if body else named[0] if depth else ""
