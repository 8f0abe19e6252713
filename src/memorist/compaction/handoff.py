"""The hand-over of a whole session to another agent: one text in which its work can be taken up.
Pure.

What was said and done comes from the extractive summary; in front of it stand where the work is,
the plan, running work, and what a model wrote into the session's notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.extractive_summary import (
    DONE_STATUSES,
    SUMMARY_OPENING,
    compact_messages_with_extracts,
    is_system_or_developer_message,
    render_summary_section,
)
from memorist.compaction.measured_conversation import get_typed_text
from memorist.compaction.newest_messages import (
    find_unanswered_start,
    replace_media_part_by_placeholder,
)
from memorist.compaction.user_words import (
    ASKED_LABEL,
    EXTRACTIVE_SUMMARY_ID,
    REPLIED,
    STILL_AT_WORK,
    find_handed_over_work_state,
    quote_frame_lines,
)
from memorist.compaction.window_at_message import RecordedWindow
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import (
    Block,
    ContentPart,
    Message,
    Origin,
    TextBlock,
    ToolResult,
    ToolUse,
    map_block_content,
)
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_end, truncate_middle
from memorist.formats.host_markup import put_typed_text_before_pastes, strip_host_markup
from memorist.safety.redacted_json import redact_message
from memorist.safety.secrets import redact
from memorist.transcript_analysis.tool_actions import TaskItem
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

NOTES_SHARE = 0.25
"""Share of the budget for the notes that a model wrote. Our choice."""

PLAN_SHARE = 0.15
"""Share of the budget for the plan. Our choice."""

MAX_REQUEST_TOKENS = 400
"""Most tokens of the last request under "Where it stands"; it is in full further down."""

MAX_NAME_TOKENS = 60
"""Most tokens of a folder, a branch and a title. Our choice."""

LIST_SHARE = 0.1
"""Share of the budget for the open tasks, and for the work still running. Our choice."""

_LEAVING = lazy_pattern(
    r"(?:<command-name>)?\W{0,2}(?:exit|quit|q|bye)\b\W*(?:<|\Z)", re.IGNORECASE
)
"""Texts by which a user leaves a client: nothing is asked with them."""


class HandoffSource(Struct, frozen=True, kw_only=True):
    """What a hand-over is made from."""

    recorded: RecordedWindow
    agent: str
    """Name of the client that recorded the session, as shown."""
    transcript: str
    """Path of the session's file."""
    notes: str = ""
    """The notes that a model wrote; empty where there are none."""


def render_handoff(source: HandoffSource, template: str, budget: int) -> str:
    """The hand-over within `budget` estimated tokens, without secrets."""
    messages = tuple(map(redact_message, source.recorded.all_messages))
    recorded = replace(source.recorded, all_messages=messages)
    source = replace(source, recorded=recorded)
    head = recorded.head
    ledger = TranscriptLedger(head.cwd if head else "")
    for message in messages:
        ledger.add(message)
    work = ledger.work_record
    front = "".join(
        (
            _render_quoted_section("Plan", work.plan, int(budget * PLAN_SHARE)),
            _render_quoted_section(
                "Still running when the session was read",
                "\n".join(f"- {id}: {what}" for id, what in work.background.running.items()),
                int(budget * LIST_SHARE),
            ),
            _render_quoted_section("Notes of the session", source.notes, int(budget * NOTES_SHARE)),
        )
    )
    values = {
        "agent": source.agent,
        "place": _render_location(recorded),
        "state": _render_state(recorded, work.tasks.values(), budget),
        "sections": front,
    }
    bare = redact(render_template(template, values, strict=True)).text
    room = budget - estimate_text_tokens(bare)
    while room > 0:  # as text, messages may be longer than they were measured
        values["sections"] = front + _render_talk(source, room)
        text = redact(render_template(template, values, strict=True)).text
        excess = estimate_text_tokens(text) - budget
        if excess <= 0:
            return text
        room -= max(excess, room // 10)
    return bare


def _render_quoted_section(title: str, text: str, room: int) -> str:
    return render_summary_section(title, truncate_end(quote_frame_lines(text), room))


def _render_location(recorded: RecordedWindow) -> str:
    head = recorded.head
    named = (("in", head.cwd), ("on branch", head.branch), ("titled", head.title)) if head else ()
    return "".join(
        f", {word} {truncate_end(' '.join(value.split()), MAX_NAME_TOKENS)}"
        for word, value in named
        if value
    )


def _render_state(recorded: RecordedWindow, tasks: Iterable[TaskItem], budget: int) -> str:
    """The last request, whether it was answered, and the tasks that are open."""
    messages = recorded.all_messages
    while messages and _LEAVING.match(get_typed_text(messages[-1]).strip()):
        messages = messages[:-1]
    typed = (strip_host_markup(get_typed_text(each)).strip() for each in reversed(messages))
    asked = put_typed_text_before_pastes(next(filter(None, typed), ""))
    opened = [each for each in tasks if each.status not in DONE_STATUSES]
    open_lines = [f"- open: {each.text} ({each.status or 'pending'})" for each in opened]
    if not asked and (before := find_handed_over_work_state(messages)) is not None:
        asked, open_lines = before.last_request, open_lines or list(before.open_tasks)
    waiting = find_unanswered_start(messages) < len(messages)
    asked = truncate_middle(asked, min(MAX_REQUEST_TOKENS, budget // 4))
    lines = [
        f"{ASKED_LABEL}{asked}" if asked else "Nothing was asked.",
        STILL_AT_WORK if waiting else REPLIED,
        truncate_end(quote_frame_lines("\n".join(open_lines)), int(budget * LIST_SHARE)),
    ]
    return "\n".join(filter(None, lines))


def _render_talk(source: HandoffSource, budget: int) -> str:
    """What was said and done, and the newest messages as text."""
    recorded = source.recorded
    digest = compact_messages_with_extracts(
        [
            _replace_media_by_text(message)
            for message in recorded.all_messages
            if not is_system_or_developer_message(message)
        ],
        budget,
        transcript=source.transcript,
        cwd=recorded.head.cwd if recorded.head else "",
    )
    summary = "".join(
        each.text.removeprefix(SUMMARY_OPENING)
        for each in digest.messages
        if each.id == EXTRACTIVE_SUMMARY_ID
    )
    newest = [each for each in digest.messages if each.id != EXTRACTIVE_SUMMARY_ID]
    return summary + render_summary_section("The newest messages", _render_messages(newest))


def _replace_media_by_text(message: Message) -> Message:
    """The message as a hand-over shows it: a picture is a mark in the text of who sent it, and
    takes no more room than that.
    """

    def mark(part: ContentPart, id: str) -> ContentPart:
        marked = replace_media_part_by_placeholder(part, id)
        if part is marked or not isinstance(marked, TextBlock):
            return part
        return TextBlock(marked.text)

    blocks = tuple(map_block_content(block, message.id, mark) for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks, wire=None)


def _render_messages(messages: Sequence[Message]) -> str:
    return "\n".join(line for each in messages for line in _iterate_lines(each) if line)


def _iterate_lines(message: Message) -> Iterator[str]:
    for block in message.blocks:
        yield _render_block(block, message)


def _render_block(block: Block, message: Message) -> str:
    match block:
        case TextBlock(text=text, origin=origin):
            speaker = {Origin.USER: "user", Origin.MODEL: "assistant"}.get(
                origin or message.origin, "put in by the client"
            )
            return f"[{speaker}] {quote_frame_lines(text)}" if text.strip() else ""
        case ToolUse(name=name, arguments=arguments):
            given = arguments or ", ".join(f"{key}: {value}" for key, value in block.input.items())
            return f"[calls {' '.join(name.split())}] {quote_frame_lines(given)}"
        case ToolResult():
            return f"[result] {quote_frame_lines(block.text)}"
        case _:
            return ""
