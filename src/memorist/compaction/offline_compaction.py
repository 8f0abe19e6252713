"""Compact a recorded conversation without a model, with any strategy; for the command line and the
benchmarks. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction import full_compaction, microcompact, session_memory_compaction
from memorist.compaction.compaction_prompts import CompactionPrompts
from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    CompactionStrategy,
    UnchangedHistory,
)
from memorist.compaction.extractive_summary import (
    compact_conversation_with_extracts,
    is_system_or_developer_message,
)
from memorist.compaction.full_compaction import SummaryOptions
from memorist.compaction.measured_conversation import (
    MeasuredConversation,
    get_typed_text,
    measure_conversation,
)
from memorist.compaction.newest_messages import (
    close_open_calls_with_errors,
    convert_unpaired_calls_to_text,
    keep_newest_messages,
)
from memorist.compaction.oldest_rounds import ensure_user_first
from memorist.compaction.session_memory_compaction import SessionNotes
from memorist.compaction.window_at_message import RecordedWindow
from memorist.compaction.window_recording_merge import (
    merge_window_into_recording,
    strip_host_content,
)
from memorist.core.messages import Message
from memorist.core.token_count import estimate_messages_tokens, get_token_factor
from memorist.session_memory.notes_template import replace_structural_notes
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.settings import CompactionSettings
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger


class OfflineOptions(Struct, frozen=True, kw_only=True):
    """Options of an offline compaction."""

    budget: int
    """Most tokens of the new history."""
    texts: CompactionPrompts
    template: str
    """Template of the notes."""
    settings: CompactionSettings
    notes: NotesBudget = NotesBudget()
    """Most tokens of the notes, and of one section of them."""
    source: str = ""
    """Path of the full transcript, for reference in the result."""
    summary: str = ""
    """A model's summary; empty uses the structural notes instead."""
    host_addition: str = ""
    """What a program adds to the summary (see `SummaryOptions`)."""
    token_factor: float = 1.0


def compact_offline(
    recorded: RecordedWindow, strategy: CompactionStrategy, options: OfflineOptions
) -> CompactionResult:
    """The new history, or the reason why it is unchanged.

    A provider takes the new history wherever the recording begins or ends: a call that still waits
    gets a result that says so, a result without its call is text, and the user speaks first.
    `auto` clears as many old results as it takes to fit, and summarises where that is not enough;
    it takes no notes, since here no model wrote them (docs/decisions/0005).
    """
    measured = _measure_recorded(recorded, options)
    recorded = replace(recorded, messages=measured.messages)
    if strategy != "auto":
        return _compact_by(strategy, recorded, measured, options)
    if measured.tokens <= options.budget:
        return UnchangedHistory(
            f"The conversation has {measured.tokens:,} tokens, which is within the budget of "
            f"{options.budget:,}."
        )
    cleared = _clear_results_to_fit(measured, options)
    if isinstance(cleared, CompactedHistory) and cleared.tokens_after <= options.budget:
        return cleared
    return _compact_by("structural", recorded, measured, options)


def _clear_results_to_fit(
    conversation: MeasuredConversation, options: OfflineOptions
) -> CompactionResult:
    """The conversation without so many old results as it takes to fit the budget."""
    excess = conversation.tokens - options.budget
    result: CompactionResult = UnchangedHistory("No old result can go.")
    for _ in range(2):  # once more by what a provider's rules added
        ids = microcompact.list_result_ids_to_fit(
            conversation.messages, options.settings.micro_keep, excess, options.token_factor
        )
        result = _clear_results(conversation, ids, options)
        if isinstance(result, UnchangedHistory) or result.tokens_after <= options.budget:
            break
        excess += result.tokens_after - options.budget
    return result


def _clear_results(
    conversation: MeasuredConversation, ids: Sequence[str], options: OfflineOptions
) -> CompactionResult:
    cleared = microcompact.clear_tool_results(
        conversation.messages, ids, factor=options.token_factor
    )
    return _complete_history(cleared, options)


def _compact_by(
    strategy: CompactionStrategy,
    recorded: RecordedWindow,
    conversation: MeasuredConversation,
    options: OfflineOptions,
) -> CompactionResult:
    if strategy == "micro":
        ids = microcompact.list_clearable_result_ids(
            conversation.messages, options.settings.micro_keep
        )
        return _clear_results(conversation, ids, options)
    spoken = _drop_scaffolds(conversation)
    result = _complete_history(_rewrite_spoken(strategy, recorded, spoken, options), options)
    if isinstance(result, CompactedHistory) and (over := result.tokens_after - options.budget) > 0:
        less = replace(options, budget=options.budget - over)
        result = _complete_history(_rewrite_spoken(strategy, recorded, spoken, less), options)
    if isinstance(result, UnchangedHistory):
        return result
    if result.tokens_after > options.budget:
        return UnchangedHistory(
            f"The newest round alone is larger than the budget of {options.budget:,}."
        )
    return replace(result, tokens_before=conversation.tokens)


def _complete_history(result: CompactionResult, options: OfflineOptions) -> CompactionResult:
    """The result as a provider accepts it."""
    if isinstance(result, UnchangedHistory):
        return result
    messages = convert_unpaired_calls_to_text(result.messages)
    size = estimate_messages_tokens(messages, options.token_factor)
    paired = replace(result, messages=messages, tokens_after=size)
    return ensure_user_first(paired, options.texts.cut_marker, options.token_factor)


def measure_recording_to_summarize(
    recorded: RecordedWindow, options: OfflineOptions
) -> MeasuredConversation:
    """What a summary of a recorded conversation replaces."""
    return _drop_scaffolds(_measure_recorded(recorded, options))


def _measure_recorded(recorded: RecordedWindow, options: OfflineOptions) -> MeasuredConversation:
    return measure_conversation(
        close_open_calls_with_errors(recorded.messages),
        user_texts=[words for words in map(get_typed_text, recorded.all_messages) if words],
        transcript=options.source,
        factor=options.token_factor,
    )


def _drop_scaffolds(conversation: MeasuredConversation) -> MeasuredConversation:
    """The conversation without the instructions that its client sends again with every request:
    they are rebuilt there, and spend no room here.
    """
    spoken = [
        (message, size)
        for message, size in zip(conversation.messages, conversation.sizes, strict=True)
        if not is_system_or_developer_message(message)
    ]
    return replace(
        conversation,
        messages=tuple(message for message, _ in spoken),
        sizes=tuple(size for _, size in spoken),
    )


def _rewrite_spoken(
    strategy: CompactionStrategy,
    recorded: RecordedWindow,
    measured: MeasuredConversation,
    options: OfflineOptions,
) -> CompactionResult:
    """Rewrite what was said and done with the strategy."""
    cwd = recorded.head.cwd if recorded.head else ""
    budget = options.budget
    terms = SummaryOptions(
        texts=options.texts,
        settings=options.settings,
        limit=budget + 1,
        automatic=False,
        host_addition=options.host_addition,
    )
    match strategy:
        case "session-memory":
            notes = SessionNotes(
                text=_build_notes(recorded, options),
                path=options.source,
                template=options.template,
                last_summarised=None,
                section_tokens=options.notes.section_tokens,
            )
            return session_memory_compaction.compact_with_notes(measured, notes, terms)
        case "full":
            return full_compaction.replace_history_with_summary(
                measured, options.summary or _build_notes(recorded, options), terms
            )
        case "inline":
            return full_compaction.compact_with_hand_over(
                measured, options.summary or _build_notes(recorded, options), terms
            )
        case "structural":
            return compact_conversation_with_extracts(
                measured, budget, whole=restore_compacted_messages(recorded, measured), cwd=cwd
            )
        case _:
            return keep_newest_messages(measured, budget)


def restore_compacted_messages(
    recorded: RecordedWindow, measured: MeasuredConversation
) -> tuple[Message, ...]:
    """The conversation with what its client's compactions removed from it."""
    if len(recorded.all_messages) <= len(recorded.messages):
        return measured.messages
    shown = {each.id for each in recorded.messages}
    everything = (
        each if each.id in shown else strip_host_content(each)
        for each in close_open_calls_with_errors(recorded.all_messages)
        if not is_system_or_developer_message(each)
    )
    return merge_window_into_recording(
        [each for each in everything if each.blocks], measured.messages, is_whole=True
    )


def _build_notes(recorded: RecordedWindow, options: OfflineOptions) -> str:
    """Notes that leave the newest messages half of the budget."""
    room = min(options.notes.total_tokens, options.budget // 2)
    budget = replace(options.notes, total_tokens=room)
    return build_structural_notes(recorded, options.template, budget)


def build_structural_notes(recorded: RecordedWindow, template: str, budget: NotesBudget) -> str:
    """The structural notes of everything said so far."""
    head = recorded.head
    ledger = TranscriptLedger(
        head.cwd if head else "",
        title=head.title if head else "",
        branch=head.branch if head else "",
    )
    for message in recorded.all_messages:
        ledger.add(message)
    return replace_structural_notes(template, template, render_structural_sections(ledger, budget))


def find_token_factor_for_messages(messages: Sequence[Message]) -> float:
    """Tokens per estimated token for the newest model named in the messages."""
    return get_token_factor(
        next((message.model for message in reversed(messages) if message.model), "") or ""
    )
