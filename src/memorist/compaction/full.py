"""Full compaction: the summary request, and the history built from the summary (CP-7, CP-16). Pure.

Sources: claude-code.md sections 6.5 and 6.7. The model is asked for an analysis and nine sections;
the sixth, the user's messages, is written here from the transcript, so that a summary can neither
lose nor invent what the user said.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.conversation import Conversation, last_summary, newest_within, typed
from memorist.compaction.restore import RESTORED_LEAD, Back, Facts, restore
from memorist.compaction.result import Compacted, Cut, Outcome, Restored, Unchanged
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.summary import checked
from memorist.compaction.texts import Texts
from memorist.core.messages import SHOWN_ANEW, Block, Document, Image, Message, Origin, Text, ToolResult
from memorist.core.pairing import whole_from
from memorist.core.template import render
from memorist.core.tokens import estimate_message, estimate_text

IMAGE_MARK = "[image]"
DOCUMENT_MARK = "[document]"

SUMMARY_ID = "memorist-summary"
"""Id of the message that replaces the earlier conversation."""

SAID_SHARE = 8
"""The user's texts take at most one part in so many of the limit, so that they do not fill a small
window: 20,000 of 167,000 is such a part.
"""


DROPPED_SHOWN = 80
"""Characters of a dropped line that its record shows."""


class FullRequest(Struct, frozen=True):
    """The request for a summary: the history, and the user message after it. A fork sends only the
    text in addition to the parent's request.
    """

    messages: tuple[Message, ...]
    text: str


def full_request(held: Conversation, texts: Texts, instructions: str = "") -> FullRequest:
    """The history from the last summary on, with placeholders for images and documents, and without
    items that an earlier compaction restored.
    """
    start = max(0, last_summary(held.messages))
    kept = tuple(_without_media(message) for message in held.messages[start:] if not is_restored(message))
    added = render(texts.full_instructions, {"instructions": instructions.strip()}, strict=True) if instructions.strip() else ""
    return FullRequest(kept, render(texts.full, {"instructions": f"\n{added}\n" if added else ""}, strict=True))


def is_restored(message: Message) -> bool:
    """Whether a message was inserted by an earlier compaction, or beside the conversation, and will
    be rebuilt.
    """
    return message.origin is Origin.INJECTED and (message.text.startswith(RESTORED_LEAD) or message.id.startswith(SHOWN_ANEW))


def _without_media(message: Message) -> Message:
    if not any(isinstance(block, Image | Document | ToolResult) for block in message.blocks):
        return message
    blocks = tuple(_marked(block) for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _marked(block: Block) -> Block:
    match block:
        case Image():
            return Text(IMAGE_MARK)
        case Document():
            return Text(DOCUMENT_MARK)
        case ToolResult(content=content) if any(isinstance(part, Image | Document) for part in content):
            parts = tuple(
                Text(IMAGE_MARK) if isinstance(part, Image) else Text(DOCUMENT_MARK) if isinstance(part, Document) else part
                for part in content
            )
            return replace(block, content=parts)
        case _:
            return block


def kept_start(messages: Sequence[Message]) -> int:
    """Index of the first message that a full compaction keeps: unanswered user messages at the end,
    and a reply that waits for a tool result; the number of messages when there is neither.
    """
    start = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role in {"assistant", "tool"} or message.tool_results or message.origin is Origin.SUMMARY:
            break
        if typed(message):
            start = index
    return whole_from(messages, start)


def said_text(held: Conversation, start: int, tokens: int, texts: Texts) -> str:
    """Render the user's messages of the whole session except those kept from `start` on, newest
    first within `tokens`; empty when there are none.
    """
    kept = sum(1 for message in held.messages[start:] if typed(message))
    older = held.said[: len(held.said) - kept] if kept else held.said
    chosen = newest_within(older, tokens, held.factor)
    if not chosen:
        return ""
    lines = "\n".join(f"{number}. {text}" for number, text in enumerate(chosen, len(older) - len(chosen) + 1))
    return render(texts.said, {"messages": lines}, strict=True)


class Terms(Struct, frozen=True, kw_only=True):
    """Options and inputs shared by all strategies that write a summary."""

    texts: Texts
    settings: CompactionSettings
    limit: int
    """Tokens the new history must stay below: the auto threshold less the fixed prefix (system
    prompt and tools).
    """
    facts: Facts = Facts()
    """Content that can be restored."""
    automatic: bool = True
    """False when the user asked for the compaction; then the model is not told to go on."""


class Part(Struct, frozen=True):
    """What replaces the older conversation: the strategy, its text, and the index of the first
    message kept.
    """

    strategy: str
    text: str
    start: int
    stand_in: str = "summary"
    """What the replacement is, in one word."""


def assemble(held: Conversation, part: Part, terms: Terms) -> Outcome:
    """Build the new history: the summary, the kept messages, the restored items. The boundary is a
    transcript record, not a message.

    Restored items are dropped, last first, where the limit would be exceeded. `UnchangedHistory`
    when even then the result is not below the limit, or not smaller than what it replaces (CP-14).
    """
    kept, texts = held.messages[part.start :], terms.texts
    words = said_text(held, part.start, min(terms.settings.inline_user_tokens, terms.limit // SAID_SHARE), texts)
    remarks = [remark for remark, due in ((texts.kept, kept), (texts.go_on, terms.automatic)) if due]
    summary = _summary("\n\n".join(piece for piece in (part.text, words, "\n".join(remarks)) if piece))
    fixed = estimate_message(summary, held.factor) + sum(held.sizes[part.start :])
    if fixed >= held.tokens:
        return Unchanged("The result would not be smaller than what it replaces.")
    if fixed >= terms.limit:
        return Unchanged("The result would fill the window again at once.")
    back = _fitting(restore(terms.facts, kept, terms.settings, texts, held.factor), min(terms.limit, held.tokens) - fixed)
    again = tuple(each.message for each in back)
    # A result must follow its call at once, so nothing may come after a call that still waits.
    waits = whole_from(kept, len(kept)) < len(kept)
    restored = [each.restored for each in back]
    if words:
        restored.append(Restored("user", "the user's messages", estimate_text(words, held.factor)))
    gone = zip(held.messages[: part.start], held.sizes, strict=False)
    return Compacted(
        strategy=part.strategy,
        messages=(summary, *again, *kept) if waits else (summary, *kept, *again),
        tokens_before=held.tokens,
        tokens_after=fixed + sum(each.restored.tokens for each in back),
        cut=tuple(Cut(message.id, size, f"replaced by the {part.stand_in}") for message, size in gone),
        restored=tuple(restored),
    )


def _summary(text: str) -> Message:
    return Message(id=SUMMARY_ID, role="user", blocks=(Text(text),), origin=Origin.SUMMARY)


def _fitting(back: Sequence[Back], room: int) -> tuple[Back, ...]:
    chosen = list(back)
    while chosen and sum(each.restored.tokens for each in chosen) >= room:
        chosen.pop()
    return tuple(chosen)


def compact(held: Conversation, summary: str, terms: Terms) -> Outcome:
    """Rewrite the conversation with a model's summary, as returned by `parse_summary`."""
    clean = checked(summary, held.said, (terms.texts.full,))
    if not clean.text:
        return Unchanged("Nothing of the summary could be believed.")
    values = {"summary": clean.text, "transcript": transcript_remark(held, terms.texts)}
    text = render(terms.texts.full_wrapper, values, strict=True)
    return with_dropped(assemble(held, Part("full", text, kept_start(held.messages)), terms), clean.dropped)


def with_dropped(outcome: Outcome, lines: Sequence[str]) -> Outcome:
    """The result with a record of each line that the summary check dropped."""
    if isinstance(outcome, Unchanged) or not lines:
        return outcome
    why = "neither the user's words nor a fact"
    gone = (Cut(SUMMARY_ID, estimate_text(line), f"{why}: {line[:DROPPED_SHOWN]}") for line in lines)
    return replace(outcome, cut=(*outcome.cut, *gone))


def transcript_remark(held: Conversation, texts: Texts) -> str:
    """A line with the path of the full transcript; empty where there is none."""
    return "\n" + render(texts.transcript, {"path": held.transcript}, strict=True) if held.transcript else ""
