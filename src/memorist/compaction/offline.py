"""Compact a recorded conversation without a model, with any strategy; for the command line and the
benchmarks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction import full, inline, session_memory, tool_results
from memorist.compaction.extractive import build_extractive_summary, is_scaffold
from memorist.compaction.full import RewriteOptions
from memorist.compaction.history import (
    CompactedHistory,
    CompactionPrompts,
    CompactionResult,
    CompactionStrategy,
    MeasuredConversation,
    UnchangedHistory,
    ensure_user_first,
    keep_tail,
    measure_conversation,
    user_text,
)
from memorist.compaction.session_memory import SessionNotes
from memorist.core.messages import Message
from memorist.core.tokens import token_factor
from memorist.errors import InputError
from memorist.formats.transcript import CompactionBoundary, SessionHead, TranscriptEntry
from memorist.session_memory.structural import NotesBudget, render_structural_notes
from memorist.session_memory.template import merge_structural_notes
from memorist.settings import CompactionSettings
from memorist.transcript.ledger import TranscriptLedger

# The conversation of a recorded session as it was at one of its messages. Pure.


class RecordedWindow(Struct, frozen=True, kw_only=True):
    """What the model was shown at a message, and every message up to it."""

    head: SessionHead | None
    last_message: str
    """Id of the newest message."""
    messages: tuple[Message, ...]
    """The window: messages since the last compaction, including those it kept."""
    all_messages: tuple[Message, ...]
    """Every message so far, including those that a compaction removed."""


def read_recorded_window(entries: Iterable[TranscriptEntry], until: str = "") -> RecordedWindow:
    """Read up to a message, identified by its id, a prefix of its id, or its number counted from 1;
    to the end when `until` is empty.

    Raises InputError when there is no such message, or none at all.
    """
    head: SessionHead | None = None
    window: list[Message] = []
    everything: list[Message] = []
    for entry in entries:
        match entry:
            case SessionHead():
                head = entry
            case CompactionBoundary():
                window = [*entry.replacement, *(window[-entry.kept :] if entry.kept else ())]
            case Message():
                window.append(entry)
                everything.append(entry)
                if until and (until == str(len(everything)) or entry.id.startswith(until)):
                    break
            case _:
                pass
    else:
        if until:
            raise InputError(
                f"the session has no message {until!r}; give a number from 1 to "
                f"{len(everything)}, or an id"
            )
    if not everything:
        raise InputError("the session holds no message")
    return RecordedWindow(
        head=head,
        last_message=everything[-1].id,
        messages=tuple(window),
        all_messages=tuple(everything),
    )


def find_text(messages: Iterable[Message], id: str) -> str | None:
    """The full text of a message or of a tool result, by its id (fetch back); None when there is
    none.
    """
    for message in messages:
        if message.id == id:
            return "\n".join(
                part
                for part in (message.text, *(result.text for result in message.tool_results))
                if part
            )
        for result in message.tool_results:
            if result.tool_use_id == id:
                return result.text
    return None


AUTO_ORDER: tuple[CompactionStrategy, ...] = ("micro", "session-memory", "structural")
"""Strategies that `auto` tries, the least lossy first, until the conversation fits its budget."""


class OfflineOptions(Struct, frozen=True, kw_only=True):
    """Options of an offline compaction."""

    budget: int
    """Most tokens of the new history."""
    texts: CompactionPrompts
    template: str
    """Template of the notes."""
    settings: CompactionSettings
    source: str = ""
    """Path of the full transcript, for reference in the result."""
    summary: str = ""
    """A model's summary; empty uses the structural notes instead."""
    factor: float = 1.0


def compact_offline(
    recorded: RecordedWindow, strategy: CompactionStrategy, options: OfflineOptions
) -> CompactionResult:
    """The new history, or the reason why it is unchanged."""
    held = measure_conversation(
        recorded.messages,
        user_texts=[words for words in map(user_text, recorded.all_messages) if words],
        transcript=options.source,
        factor=options.factor,
    )
    if strategy != "auto":
        return _compact_by(strategy, recorded, held, options)
    if held.tokens <= options.budget:
        return UnchangedHistory(
            f"The conversation has {held.tokens:,} tokens, which is within the budget of "
            f"{options.budget:,}."
        )
    made: CompactionResult = UnchangedHistory("No way made the conversation smaller.")
    for each in AUTO_ORDER:
        made = _compact_by(each, recorded, held, options)
        if isinstance(made, CompactedHistory) and made.tokens_after <= options.budget:
            return made
    return made


def _compact_by(
    strategy: CompactionStrategy,
    recorded: RecordedWindow,
    conversation: MeasuredConversation,
    options: OfflineOptions,
) -> CompactionResult:
    if strategy == "micro":
        return tool_results.clear_results(
            conversation.messages,
            tool_results.find_old_results(conversation.messages, options.settings.micro_keep),
            factor=options.factor,
        )
    result = _rewrite_spoken(strategy, recorded, _drop_scaffolds(conversation), options)
    if isinstance(result, UnchangedHistory):
        return result
    return replace(result, tokens_before=conversation.tokens)


def _drop_scaffolds(conversation: MeasuredConversation) -> MeasuredConversation:
    """The conversation without the instructions that its client sends again with every request:
    they are rebuilt there, and spend no room here.
    """
    spoken = [
        (message, size)
        for message, size in zip(conversation.messages, conversation.sizes, strict=True)
        if not is_scaffold(message)
    ]
    return replace(
        conversation,
        messages=tuple(message for message, _ in spoken),
        sizes=tuple(size for _, size in spoken),
    )


def _rewrite_spoken(
    strategy: CompactionStrategy,
    recorded: RecordedWindow,
    held: MeasuredConversation,
    options: OfflineOptions,
) -> CompactionResult:
    """Rewrite what was said and done with the strategy."""
    cwd = recorded.head.cwd if recorded.head else ""
    budget = options.budget
    terms = RewriteOptions(
        texts=options.texts, settings=options.settings, limit=budget + 1, automatic=False
    )
    match strategy:
        case "session-memory":
            notes = SessionNotes(
                text=build_structural_notes(recorded, options),
                path=options.source,
                template=options.template,
                last_summarised=None,
            )
            return session_memory.compact_with_notes(held, notes, terms)
        case "full":
            return full.compact_with_summary(
                held, options.summary or build_structural_notes(recorded, options), terms
            )
        case "inline":
            return inline.compact_inline(
                held, options.summary or build_structural_notes(recorded, options), terms
            )
        case "structural":
            return build_extractive_summary(
                held.messages,
                budget,
                user_texts=held.user_texts,
                transcript=options.source,
                cwd=cwd,
                factor=options.factor,
            )
        case _:
            return ensure_user_first(
                keep_tail(held.messages, budget, factor=options.factor),
                options.texts.cut_marker,
                options.factor,
            )


def build_structural_notes(recorded: RecordedWindow, options: OfflineOptions) -> str:
    """The structural notes of everything said so far."""
    head = recorded.head
    ledger = TranscriptLedger(
        head.cwd if head else "",
        title=head.title if head else "",
        branch=head.branch if head else "",
    )
    for message in recorded.all_messages:
        ledger.add(message)
    return merge_structural_notes(
        options.template,
        options.template,
        render_structural_notes(ledger, NotesBudget(total_tokens=min(2_900, options.budget // 2))),
    )


def find_token_factor(messages: Sequence[Message]) -> float:
    """Tokens per estimated token for the newest model named in the messages."""
    return token_factor(
        next((message.model for message in reversed(messages) if message.model), "") or ""
    )
