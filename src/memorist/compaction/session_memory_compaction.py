"""Session memory compaction: the session's notes replace the older conversation, without calling a
model (CP-9, CP-10). Pure.

Source: Claude Code. Two deliberate differences: a step back that would exceed the
upper limit is not taken (there it is taken and then counted), and a history whose notes are older
than the last compaction is left to a full one, since notes and summary would both miss a part.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_prompts import CompactionPrompts
from memorist.compaction.compaction_result import CompactionResult, UnchangedHistory
from memorist.compaction.full_compaction import (
    HistoryReplacement,
    SummaryOptions,
    assemble_compacted_history,
    render_transcript_path_line,
)
from memorist.compaction.measured_conversation import MeasuredConversation, find_last_summary
from memorist.core.messages import Message, TextBlock
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.core.tool_pairs import find_cut_points
from memorist.core.truncation import truncate_end
from memorist.session_memory.notes_template import (
    STRUCTURAL_MARK,
    are_notes_empty,
    parse_section_bodies,
)
from memorist.settings import CompactionSettings


class SessionNotes(Struct, frozen=True, kw_only=True):
    """The session's notes as stored on disk."""

    text: str
    path: str
    template: str
    last_summarised: str | None
    """Id of the newest message the notes cover; None when unknown (a resumed session)."""
    section_tokens: int = 2_000
    """Most tokens of one section that are shown."""


def find_first_kept_index(
    conversation: MeasuredConversation, last_summarised: str | None, settings: CompactionSettings
) -> int | UnchangedHistory:
    """Index of the first message to keep unchanged; the number of messages when none is kept.

    Starts right after the last summarized message (at the end, when that is unset) and moves back
    until there are 10,000 tokens and 5 messages with text, never beyond 40,000 and never beyond the
    last summary. The cut splits neither a call from its result nor a reply.
    """
    messages = conversation.messages
    floor = find_last_summary(messages) + 1
    start = len(messages)
    if last_summarised is not None:
        found = next(
            (index for index, message in enumerate(messages) if message.id == last_summarised), None
        )
        if found is None:
            return UnchangedHistory(
                "The last message that the notes cover is no longer in the conversation."
            )
        start = found + 1
    if start < floor:
        return UnchangedHistory("The notes are older than the last compaction.")
    starts = [index for index in find_cut_points(messages) if index >= floor]
    if not starts or starts[0] > start:
        return UnchangedHistory(
            "The newest messages cannot be parted from those before the last compaction."
        )
    return _expand_kept(conversation, [index for index in starts if index <= start], settings)


def _expand_kept(
    measured: MeasuredConversation, starts: Sequence[int], settings: CompactionSettings
) -> int:
    keep = starts[-1]
    tokens = sum(measured.sizes[keep:])
    texts = sum(map(has_message_text, measured.messages[keep:]))
    for earlier in reversed(starts[:-1]):
        enough = tokens >= settings.keep_minimum_tokens and texts >= settings.keep_minimum_texts
        more = sum(measured.sizes[earlier:keep])
        if enough or tokens + more > settings.keep_maximum_tokens:
            break
        tokens += more
        texts += sum(map(has_message_text, measured.messages[earlier:keep]))
        keep = earlier
    return keep


def has_message_text(message: Message) -> bool:
    """Whether a message contains non-blank text."""
    return any(isinstance(block, TextBlock) and block.text.strip() for block in message.blocks)


def render_notes_for_conversation(notes: SessionNotes, texts: CompactionPrompts) -> str:
    """Render the notes for the conversation: non-empty sections without the template's italic
    lines, with the path of the full notes when a section was cut. What was written in a section and
    what structure derives are each cut at a line end to the section's limit, so that neither takes
    the other's room.
    """
    found = parse_section_bodies(notes.text, notes.template)
    sections = [(f"# {title}\n", body) for title, body in found.items() if body.strip()] or [
        ("", notes.text.strip())
    ]
    limit = notes.section_tokens
    parts = [(head, *body.partition(STRUCTURAL_MARK)) for head, body in sections]
    shown = "\n\n".join(
        head
        + "\n\n".join(
            filter(
                None,
                (truncate_end(written.strip("\n"), limit), truncate_end(mark + derived, limit)),
            )
        )
        for head, written, mark, derived in parts
    )
    if any(
        estimate_text_tokens(text) > limit
        for _, written, _, derived in parts
        for text in (written, derived)
    ):
        shown += "\n\n" + render_template(texts.notes_file, {"path": notes.path}, strict=True)
    return shown


def compact_with_notes(
    conversation: MeasuredConversation, notes: SessionNotes, options: SummaryOptions
) -> CompactionResult:
    """Rewrite the conversation with the notes. A result that reaches the limit is
    `UnchangedHistory`, and full compaction follows.

    Of the restorable content only the plan, tasks, background work and announcements are restored:
    the notes name the files, and the newest are in view.
    """
    if are_notes_empty(notes.text, notes.template):
        return UnchangedHistory("The notes say nothing yet.")
    start = find_first_kept_index(conversation, notes.last_summarised, options.settings)
    if isinstance(start, UnchangedHistory):
        return start
    shown = render_notes_for_conversation(notes, options.texts)
    values = {
        "notes": f"{shown}\n\n{options.host_addition}".rstrip(),
        "transcript": render_transcript_path_line(conversation, options.texts),
    }
    text = render_template(options.texts.session_memory_wrapper, values, strict=True)
    return assemble_compacted_history(
        conversation,
        HistoryReplacement("session-memory", text, start, "notes"),
        replace(options, facts=replace(options.facts, files=(), skills=())),
    )
