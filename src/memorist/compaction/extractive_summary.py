"""The extractive summary: fits a history into a budget without a model (CP-15, CP-16). Pure.

It produces one message that replaces the removed part, followed by the newest messages. The message
holds the user's words, the task list, failures, the changed files, identifiers, and extracts chosen
by how likely they are to be needed again; all of it is taken from the history. What a host sends
again with every request (`is_system_or_developer_message`) takes no room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from memorist.compaction.compaction_result import CompactedHistory
from memorist.compaction.conversation_preamble import STATE_TAG
from memorist.compaction.extract_scores import (
    CLEARED_RESULT_TOKENS,
    EXPLORED_ROOM_FACTOR,
    ExtractScoringContext,
    MessageAgeInTokens,
    choose_promising_blocks,
    collect_extract_scoring_context,
    split_blocks_into_scored_extracts,
)
from memorist.compaction.history_extracts import (
    Extract,
    ExtractSourceReference,
    SourceBlock,
    collect_source_blocks,
)
from memorist.compaction.identifier_ranking import (
    IdentifierUsage,
    collect_identifiers,
    rank_identifiers,
    render_identifiers_missing_from_summary,
)
from memorist.compaction.measured_conversation import MeasuredConversation, measure_conversation
from memorist.compaction.newest_messages import (
    KeptMessages,
    choose_messages_to_keep_verbatim,
    holds_media,
    is_user_request,
    list_removed_or_shortened_messages,
)
from memorist.compaction.user_words import (
    EXTRACTIVE_SUMMARY_ID,
    USER_WORDS_TITLE,
    UtteranceOccurrences,
    estimate_least_utterance_tokens,
    find_utterances_of_removed_messages,
    fit_utterances,
    list_handed_over_user_words,
    list_typed_utterances_with_counts,
    quote_frame_lines,
    render_utterances,
)
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.token_count import (
    BYTES_PER_TOKEN,
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_text_tokens,
)
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.session_memory.work_notes import ERRORS_SECTION
from memorist.transcript_analysis.display_paths import find_display_root
from memorist.transcript_analysis.names_in_text import (
    NameOccurrenceLookup,
    WordRun,
    find_recognizable_names,
    hash_word_runs_ignoring_numbers,
)
from memorist.transcript_analysis.session_file_log import FileRecord
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

SUMMARY_OPENING = (
    "This session goes on from an earlier conversation that no longer fits. What follows was "
    "taken from its transcript by a program; "
    "the words are as they stood there, … marks what is left out, and steps count its messages."
)
BRIEF_OPENING = "The earlier conversation no longer fits. …"
"""The opening where there is hardly any room."""

TRANSCRIPT_POINTER = "The full transcript, for exact details: "


def render_extracts(chosen: Iterable[Extract]) -> str:
    """Render the extracts in order, each source below one heading line."""
    by_source: dict[ExtractSourceReference, list[Extract]] = {}
    for unit in chosen:
        by_source.setdefault(unit.source, []).append(unit)
    order = sorted(by_source, key=lambda source: source.step)
    return "\n".join(
        f"{render_extract_heading(source, by_source[source])}\n{_join_extracts(by_source[source])}"
        for source in order
    )


def render_extract_heading(source: ExtractSourceReference, found: list[Extract]) -> str:
    """The line above the extracts of a source."""
    found.sort(key=lambda unit: unit.part)
    first, last = found[0].first, found[-1].last
    where = f" lines {first}–{last}" if first and last else ""
    return f"[step {source.step}] {source.title}{where}:"


def _join_extracts(found: Sequence[Extract]) -> str:
    lines: list[str] = ["…"] if found[0].part else []
    before = found[0].part
    for unit in found:
        if unit.part > before + 1:
            lines.append("…")
        before = unit.part
        lines.extend(map(quote_frame_lines, unit.lines))
    return "\n".join(lines)


def estimate_heading_tokens(source: ExtractSourceReference) -> int:
    """Upper bound of the tokens of that line."""
    return estimate_text_tokens(source.title) + 9


def render_summary_section(title: str, body: str) -> str:
    """A section with a heading; empty where the body is empty."""
    return f"\n## {title}\n{body}\n" if body.strip() else ""


# Greedy choice of the extracts that add the most new content per token.


_WORTHLESS = 1e-9
_MAX_WORDS_PER_TOKEN = 4
"""Upper bound of the words or signs in one token."""

_MIN_EXTRACT_TOKENS = 12
"""Remaining tokens below which no further extract is tried."""


class ExtractSelector:
    """The extracts selected so far, what they cover, and the remaining candidates.

    An extract's worth is its score times the number of its word runs that neither the `known` texts
    nor the selected extracts contain. This worth only falls as more is selected, so only the best
    candidate is re-weighed (lazy greedy selection).
    """

    def __init__(
        self, found: Sequence[Extract], rates: Sequence[float], known: Iterable[str]
    ) -> None:
        self.chosen: list[Extract] = []
        self._found = found
        self._rates = rates
        self._covered: set[WordRun] = set()
        self._sources: set[ExtractSourceReference] = set()
        self._new: dict[int, set[WordRun]] = {}
        """The word runs of each weighed extract that were uncovered when it was last weighed;
        coverage only grows.
        """
        self._costs: dict[int, int] = {}
        self._queue = [(-_MAX_WORDS_PER_TOKEN * rate, at) for at, rate in enumerate(rates)]
        heapify(self._queue)
        for text in known:
            self._covered |= hash_word_runs_ignoring_numbers(text)

    def select_best_extracts_within(self, room: int) -> int:
        """Select the best extracts within `room` tokens; returns the tokens left."""
        passed: list[tuple[float, int]] = []
        while self._queue and room > _MIN_EXTRACT_TOKENS:
            _, at = heappop(self._queue)
            worth, cost = self._weigh(at)
            if worth <= _WORTHLESS:
                continue
            # A queued worth is an upper bound: if the fresh one is below the next bound, requeue.
            if self._queue and worth < -self._queue[0][0]:
                heappush(self._queue, (-worth, at))
            elif cost > room:
                passed.append((-worth, at))
            else:
                room -= cost
                self._select(at)
        for each in passed:
            heappush(self._queue, each)
        return room

    def _weigh(self, at: int) -> tuple[float, int]:
        """The current worth and cost of an extract."""
        unit = self._found[at]
        known = self._new.get(at)
        if known is None:
            text = unit.text
            known, self._costs[at] = (
                hash_word_runs_ignoring_numbers(text),
                estimate_text_tokens(text) + 1,
            )
        self._new[at] = new = known - self._covered
        cost = self._costs[at] + (
            0 if unit.source in self._sources else estimate_heading_tokens(unit.source)
        )
        return self._rates[at] * len(new) / cost, cost

    def _select(self, at: int) -> None:
        unit = self._found[at]
        self.chosen.append(unit)
        self._sources.add(unit.source)
        self._covered |= self._new.pop(at)


# The short lists of an extractive summary: tasks, failures, files.


DONE_STATUSES = frozenset({"completed", "done", "cancelled", "deleted"})
_TYPED_CORRECTION = "- The user: “"
"""Beginning of a correction in the notes' section."""

_MIN_FAILURE_TOKENS = 150
"""Tokens of failures that are considered even for a small summary."""


def keep_first_lines_within_tokens(lines: Iterable[str], room: int) -> list[str]:
    """The longest prefix of the lines that fits into `room` tokens."""
    found = []
    left = room
    for line in lines:
        left -= estimate_text_tokens(line) + 1
        if left < 0:
            break
        found.append(line)
    return found


def render_task_list(ledger: TranscriptLedger, room: int) -> str:
    """Render the task list in its order; open tasks have priority where room is short."""
    tasks = list(ledger.work_record.tasks.values())
    lines = [f"- {quote_frame_lines(task.text)} ({task.status or 'pending'})" for task in tasks]
    ranked = sorted(range(len(tasks)), key=lambda at: tasks[at].status in DONE_STATUSES)
    kept = set(keep_first_lines_within_tokens((lines[at] for at in ranked), room))
    return "\n".join(line for line in lines if line in kept)


def render_failures(ledger: TranscriptLedger, room: int) -> str:
    """Render the failures and what resolved them; corrections that the user typed are among the
    user's words.
    """
    total = max(_MIN_FAILURE_TOKENS, room)
    text = render_structural_sections(
        ledger, NotesBudget(total_tokens=total * 4, section_tokens=total)
    )[ERRORS_SECTION]
    lines = [line for line in text.split("\n") if not line.startswith(_TYPED_CORRECTION)]
    return "\n".join(keep_first_lines_within_tokens(reversed(lines), room)[::-1])


# The summary itself.


USER_WORDS_SHARE = 0.25
"""Share of the room for the user's words."""

MAX_USER_WORDS_SHARE = 0.5
"""Their share where beginnings and ends of long messages take more; short messages may take all."""

TASKS_SHARE, FAILURES_SHARE, FILES_SHARE = 0.06, 0.06, 0.05
"""Largest share of the room for each list; in recorded sessions they stay far below it."""

NAMES_SHARE = 0.27
"""Share of the room for identifiers."""

MAX_NAMES_TOKENS = 3_000
"""Upper bound of the tokens of identifiers: almost every one that is used again is among those."""

MAX_UNUSED_SHARE = 0.1
"""Share of the budget that may stay unused in a conversation with pictures or documents, which give
no extracts: where more is left, more of the newest messages stay.
"""

_HEADING_TOKENS = 24
"""Tokens of the last two headings, and of roundings."""


class _SummaryMaterial(Struct, frozen=True, kw_only=True):
    """Everything the summary is made from."""

    utterances: list[UtteranceOccurrences]
    blocks: list[SourceBlock]
    """Blocks of the messages that are removed."""
    names: list[IdentifierUsage]
    history: ExtractScoringContext
    ledger: TranscriptLedger
    shown_text: str
    """Text of the messages that stay."""


def compact_messages_with_extracts(
    messages: Sequence[Message],
    budget: int,
    *,
    user_texts: Sequence[str] = (),
    transcript: str = "",
    cwd: str = "",
    factor: float = 1.0,
) -> CompactedHistory:
    """Compress a history into `budget` estimated tokens of the model family with this `factor`.

    A history that fits is returned unchanged. The budget is exceeded only where calls that wait for
    their results exceed it alone. `user_texts` is everything the user typed in the session,
    including what an earlier compaction removed. `transcript` is the path of the full transcript;
    `cwd` is the session's folder, relative to which paths are shown.
    """
    measured = measure_conversation(
        messages, user_texts=user_texts, transcript=transcript, factor=factor
    )
    return compact_conversation_with_extracts(measured, budget, cwd=cwd)


def compact_conversation_with_extracts(
    shown: MeasuredConversation, budget: int, *, whole: Sequence[Message] = (), cwd: str = ""
) -> CompactedHistory:
    """As `compact_messages_with_extracts`, of a measured conversation. `whole` is the conversation
    with what earlier compactions removed from it: the summary is made of that, the newest messages
    are those that are shown.
    """
    before, factor, messages = shown.tokens, shown.token_factor, shown.messages
    if before <= budget:
        return CompactedHistory(
            strategy="structural", messages=messages, tokens_before=before, tokens_after=before
        )
    kept = choose_messages_to_keep_verbatim(messages, shown.sizes, budget, factor)
    summary = _precede_by_summary(shown, kept, budget, whole, cwd)
    unused = budget - estimate_messages_tokens(summary, factor)
    if unused > budget * MAX_UNUSED_SHARE and any(map(holds_media, messages)):
        longer = choose_messages_to_keep_verbatim(
            messages, shown.sizes, budget, factor, tail=kept.tokens + unused
        )
        if longer.tokens > kept.tokens:
            kept, summary = longer, _precede_by_summary(shown, longer, budget, whole, cwd)
    return CompactedHistory(
        strategy="structural",
        messages=summary,
        tokens_before=before,
        tokens_after=estimate_messages_tokens(summary, factor),
        removed_items=list_removed_or_shortened_messages(
            shown, kept.messages, "only extracts of it are in the digest"
        ),
    )


def _precede_by_summary(
    shown: MeasuredConversation, kept: KeptMessages, budget: int, whole: Sequence[Message], cwd: str
) -> tuple[Message, ...]:
    """The messages that stay, after a summary of the others in the room that they leave."""
    material = _gather_material(whole or shown.messages, kept, shown.user_texts, cwd)
    room = int((budget - kept.tokens) / shown.token_factor) - 1
    text = _render_summary(material, room, shown.transcript)
    summary = Message(
        id=EXTRACTIVE_SUMMARY_ID, role="user", blocks=(TextBlock(text),), origin=Origin.SUMMARY
    )
    return (summary, *kept.messages)


def is_system_or_developer_message(message: Message) -> bool:
    """Whether this message instructs the model from outside the conversation. The host sends it
    again with every request, so it is rebuilt and not carried.
    """
    return message.role in {"system", "developer"}


def _describes_state(block: SourceBlock) -> bool:
    """Whether a host shows instruction files or the environment in this block, which it will show
    again. Names in it may be of use, extracts are not.
    """
    return block.source.kind == "injected" and STATE_TAG.match(block.text) is not None


def build_transcript_ledger(messages: Sequence[Message], cwd: str) -> TranscriptLedger:
    """What a history proves, relative to the session's folder."""
    ledger = TranscriptLedger(cwd)
    for message in messages:
        ledger.add(message)
    return ledger


def measure_ages_in_tokens(messages: Sequence[Message]) -> list[MessageAgeInTokens]:
    """The age of each message: tokens from it on."""
    found: list[MessageAgeInTokens] = []
    age = cleared_age = 0
    newest_turn = True
    for message in reversed(messages):
        size = estimate_message_tokens(message)
        age += size
        cleared_age += size - sum(
            max(0, estimate_text_tokens(result.text) - CLEARED_RESULT_TOKENS)
            for result in message.tool_results
        )
        found.append(MessageAgeInTokens(age, cleared_age, newest_turn))
        newest_turn = newest_turn and not is_user_request(message)
    return found[::-1]


def _gather_material(
    messages: Sequence[Message], kept: KeptMessages, user_texts: Sequence[str], cwd: str
) -> _SummaryMaterial:
    ledger = build_transcript_ledger(messages, cwd)
    root = find_display_root(ledger.cwd, ledger.work_record.files.files)
    utterances = list_typed_utterances_with_counts(messages)
    scan = scan_history(messages, utterances, root)
    unchanged = {id(message) for message in kept.messages}
    shown = {message.id for message in kept.messages}
    removed = {step for step, each in enumerate(messages, 1) if id(each) not in unchanged}
    quoted = list_handed_over_user_words(
        (each for each in messages if each.id not in shown), user_texts
    )
    return _SummaryMaterial(
        utterances=[
            *find_utterances_of_removed_messages([*quoted, *user_texts], utterances),
            *(each for each in utterances if messages[each.step - 1].id not in shown),
        ],
        blocks=[
            block
            for block in scan.blocks
            if block.source.step in removed and not _describes_state(block)
        ],
        names=collect_identifiers(scan.blocks, scan.names),
        history=scan.history,
        ledger=ledger,
        shown_text="\n".join(
            [
                *(block.text for block in collect_source_blocks(kept.messages, root)),
                *(message.text for message in kept.messages),
            ]
        ),
    )


class ScannedHistoryBlocks(Struct, frozen=True):
    """The blocks of a history without scaffolds, the names in each, and what scoring needs to know
    of the whole.
    """

    blocks: list[SourceBlock]
    names: list[set[str]]
    history: ExtractScoringContext


def scan_history(
    messages: Sequence[Message],
    utterances: Sequence[UtteranceOccurrences] | None = None,
    root: str = "",
) -> ScannedHistoryBlocks:
    """Scan a history once. `utterances` are those of the messages, collected here where absent;
    titles show paths relative to `root`.
    """
    spoken = list_typed_utterances_with_counts(messages) if utterances is None else utterances
    blocks = [
        block
        for block in collect_source_blocks(messages, root)
        if not is_system_or_developer_message(messages[block.source.step - 1])
    ]
    blocks.extend(_build_pasted_blocks(spoken))
    blocks.sort(key=lambda block: block.source.step)
    names = [find_recognizable_names(block.text) for block in blocks]
    asked = find_recognizable_names(spoken[-1].text) if spoken else set()
    return ScannedHistoryBlocks(
        blocks,
        names,
        collect_extract_scoring_context(blocks, names, measure_ages_in_tokens(messages), asked),
    )


def _build_pasted_blocks(utterances: Sequence[UtteranceOccurrences]) -> list[SourceBlock]:
    """Long messages of the user as documents."""
    return [
        SourceBlock(
            ExtractSourceReference(
                f"user-{each.step}", each.step, "injected", "pasted by the user"
            ),
            each.text,
        )
        for each in utterances
        if each.is_long
    ]


def _render_summary(material: _SummaryMaterial, room: int, transcript: str) -> str:
    """The text of the summary, within `room` tokens."""
    pointer = f"{TRANSCRIPT_POINTER}{transcript}\n" if transcript else ""
    head = f"{SUMMARY_OPENING}\n{pointer}"
    lists = _render_lists(material, head, room)
    left = room - estimate_text_tokens(lists) - _HEADING_TOKENS
    if left <= 0:
        words = render_utterances(fit_utterances(material.utterances, room - _HEADING_TOKENS))
        section = render_summary_section(USER_WORDS_TITLE, words)
        return _render_short_summary(head, pointer, section, room)
    names_room = min(int(room * NAMES_SHARE), MAX_NAMES_TOKENS)
    selection = _build_selection(material, lists, room)
    ranked = rank_identifiers(material.names, material.history)
    present = NameOccurrenceLookup(material.shown_text + lists)
    selection.select_best_extracts_within(left - names_room)
    extracts = render_extracts(selection.chosen)
    named = _render_missing_names(ranked, present, extracts, names_room)
    selection.select_best_extracts_within(
        left - estimate_text_tokens(extracts) - estimate_text_tokens(named)
    )
    while estimate_text_tokens(extracts := render_extracts(selection.chosen)) > left:
        selection.chosen.pop()
    named = _render_missing_names(ranked, present, extracts, left - estimate_text_tokens(extracts))
    parts = [
        lists,
        render_summary_section("Extracts, in order", extracts),
        render_summary_section("Names that also came up", named),
    ]
    return "".join(parts).strip()


def _build_selection(material: _SummaryMaterial, lists: str, room: int) -> ExtractSelector:
    characters = room * BYTES_PER_TOKEN * EXPLORED_ROOM_FACTOR
    scored = split_blocks_into_scored_extracts(
        choose_promising_blocks(material.blocks, material.history, characters), material.history
    )
    return ExtractSelector(
        [each for each, _ in scored], [score for _, score in scored], (material.shown_text, lists)
    )


def _render_lists(material: _SummaryMaterial, head: str, room: int) -> str:
    """What precedes the extracts."""
    short, long = estimate_least_utterance_tokens(material.utterances)
    words_room = max(
        int(room * USER_WORDS_SHARE),
        min(int(room * MAX_USER_WORDS_SHARE), short + long),
        min(room - _HEADING_TOKENS, short),
    )
    words = render_utterances(fit_utterances(material.utterances, words_room))
    failures = render_failures(material.ledger, int(room * FAILURES_SHARE))
    return "".join(
        [
            head,
            render_summary_section(USER_WORDS_TITLE, words),
            render_summary_section(
                "Tasks", render_task_list(material.ledger, int(room * TASKS_SHARE))
            ),
            render_summary_section("What failed", failures),
            render_summary_section(
                "Files changed", _render_changed_files(material.ledger, int(room * FILES_SHARE))
            ),
        ]
    )


def _render_missing_names(
    names: Sequence[IdentifierUsage], present: NameOccurrenceLookup, extracts: str, room: int
) -> str:
    """The names that are neither in `present` nor in the extracts."""
    extracted = NameOccurrenceLookup(extracts)
    return render_identifiers_missing_from_summary(
        names, lambda name: present[name] or extracted[name], room
    )


def _render_changed_files(ledger: TranscriptLedger, room: int) -> str:
    """The changed files as full paths, the newest first, with a mark where a file is gone or its
    changes were taken back.
    """
    records = ledger.work_record.files.files.values()
    changed = [each for each in records if (each.edits or each.reverted) and "\n" not in each.path]
    changed.sort(key=lambda each: -each.order)
    return "\n".join(
        keep_first_lines_within_tokens((each.path + _mark_fate(each) for each in changed), room)
    )


def _mark_fate(record: FileRecord) -> str:
    return " (deleted)" if record.fate == "deleted" else " (taken back)" if record.reverted else ""


def _render_short_summary(head: str, pointer: str, words: str, room: int) -> str:
    """The text where there is no room for more than the user's words."""
    candidates = (head + words, pointer + words, words, head, BRIEF_OPENING)
    return next(
        (
            each.strip()
            for each in candidates
            if each.strip() and estimate_text_tokens(each) <= room
        ),
        "…",
    )
