"""Whether a summary, or the notes, hold what structure alone would hold (CP-16): lines with
invented names, or with claims that the history disproves, are dropped, words and identifiers that
the new history left out are added to it, and a summary that loses most identifiers gives way to the
extractive one. Pure.

A small model writes fluent summaries of things that did not happen; a program can see that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import CompactionResult, UnchangedHistory
from memorist.compaction.extractive_summary import (
    SUMMARY_OPENING,
    build_transcript_ledger,
    compact_conversation_with_extracts,
)
from memorist.compaction.full_compaction import add_dropped_lines_to_result
from memorist.compaction.measured_conversation import MeasuredConversation
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.user_words import STATES_NOTICE
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.text_analysis import MAX_SHORT_WORD_LETTERS, STEM_LETTERS, find_identifiers
from memorist.core.token_count import estimate_text_tokens
from memorist.transcript_analysis.answer_check import AnswerLineChecker, join_json_texts
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names
from memorist.transcript_analysis.outcome_claims import OutcomeClaimCheck

MIN_NAME_SHARE = 0.5
"""Least share of the extractive summary's identifiers that a model's summary of the same size must
hold. Our choice: those of a model of 1.5 billion parameters held 0.44 and told of work that was
never done; a summary that keeps half is prose about the same work.
"""

MIN_COMPARED_NAMES = 12
"""Identifiers below which the share says nothing."""

MIN_EXTRACT_TOKENS = 1_000
"""Least size of the extract that a summary is compared with. Our choice: a shorter one holds little
beside the user's words.
"""

ADDED_EXTRACT_TOKENS = 8_000
"""Size of the extract of which the new history is given what it lacks, where summary or notes are
smaller: one of that size holds 0.9 of the facts that are used later (docs/benchmarks.md). What
comes in is mostly names: some hundred tokens beside notes, a thousand or two beside a summary.
"""

ADDED_EXTRACT_WINDOW_DIVISOR = 5
"""The same in a small window: one part in so many of it."""


_SPOKEN_ORIGINS = (Origin.USER, Origin.MODEL, Origin.SUMMARY)

WORD_MARGIN = 3
"""Words that a history holds more than the extract, where the extract has them. Our choice: lists
of words without content differ, and one word more or less is not seen otherwise.
"""

MAX_REWRITES = 4
"""Attempts at a history that holds what the extract holds. What is added takes room from the user's
older words where the budget is tight, so a second addition may be needed; a third one was never in
2,000 made-up summaries.
"""


class SummaryReview(Struct, frozen=True):
    """A summary without its invented lines, those lines, and the extract that the new history is
    compared with.
    """

    text: str
    dropped: tuple[str, ...] = ()
    extract: str = ""
    """What structure alone would show of the whole conversation."""
    conversation_text: str = ""
    """What the user and the model said in the conversation, and in earlier summaries of it."""


def check_summary_against_history(
    summary: str,
    messages: Sequence[Message],
    replaced: MeasuredConversation,
    *,
    limit: int,
    whole: Sequence[Message] = (),
    cwd: str = "",
) -> SummaryReview | UnusableSummary:
    """Compare a model's summary with the history that it is of, and with an extract of its own
    size. `replaced` is the part of `messages` that a summary replaces: without the preamble, which
    stays. The rest is as in `pair_summary_with_extract`.
    """
    size = max(MIN_EXTRACT_TOKENS, estimate_text_tokens(summary, replaced.token_factor))
    extract = compact_conversation_with_extracts(replaced, min(size, replaced.tokens), cwd=cwd)
    outcomes = OutcomeClaimCheck(build_transcript_ledger(messages, cwd).work_record)
    check = AnswerLineChecker(
        render_source_text(messages), "", disprove=outcomes.find_contradiction
    )
    reviewed = drop_invented_sentences(summary, check)
    lost = reject_if_extract_names_lost(
        reviewed.text,
        "\n".join(each.text for each in extract.messages if each.origin is Origin.SUMMARY),
    )
    if lost is not None:
        return lost
    compared = pair_summary_with_extract(reviewed.text, replaced, limit=limit, whole=whole, cwd=cwd)
    return replace(compared, dropped=reviewed.dropped)


def pair_summary_with_extract(
    text: str,
    replaced: MeasuredConversation,
    *,
    limit: int,
    whole: Sequence[Message] = (),
    cwd: str = "",
) -> SummaryReview:
    """A summary, or notes, beside an extract of what they replace: of their own size, or larger
    where they are short. `limit` is that of the new history; `whole` and `cwd` are as in
    `compact_conversation_with_extracts`.
    """
    room = min(limit, replaced.tokens) // ADDED_EXTRACT_WINDOW_DIVISOR
    size = max(
        MIN_EXTRACT_TOKENS,
        estimate_text_tokens(text, replaced.token_factor),
        min(ADDED_EXTRACT_TOKENS, room),
    )
    extract = compact_conversation_with_extracts(
        replaced, min(size, replaced.tokens), whole=whole, cwd=cwd
    )
    spoken = (each.text for each in whole or replaced.messages if each.origin in _SPOKEN_ORIGINS)
    said = "\n".join((*replaced.user_texts, *spoken))
    return SummaryReview(text, extract=_render_extract(extract.messages), conversation_text=said)


def _render_extract(messages: Iterable[Message]) -> str:
    """What an extractive summary took from the history, without the program's own sentences."""
    text = render_source_text(messages).removeprefix(SUMMARY_OPENING)
    return text.replace(f"\n{STATES_NOTICE}\n", "\n", 1)


def build_history_with_missing_parts(
    reviewed: SummaryReview, rewrite: Callable[[str, str], CompactionResult]
) -> CompactionResult:
    """The new history with a reviewed summary, which holds every identifier and as many words of
    the conversation as the extract; the reason where it would not.

    `rewrite` builds the history from a summary and lines that a program adds to it. Each history is
    compared as a whole, with the user's words and the messages that stay in it, since what a later
    check drops, or what no longer fits, is seen only there.
    """
    addition = ""
    for _ in range(MAX_REWRITES):
        result = rewrite(reviewed.text, addition)
        if isinstance(result, UnchangedHistory):
            return result
        missing = find_missing_extract_parts(render_source_text(result.messages), reviewed)
        if not missing:
            return add_dropped_lines_to_result(result, reviewed.dropped)
        addition = f"{addition}\n\n{missing}".strip()
    return UnchangedHistory(
        "The summary leaves out what an extract of the conversation holds, and there is no room to "
        "add it."
    )


def render_source_text(messages: Iterable[Message]) -> str:
    """All text of a history, with the input of calls and their results."""
    parts: list[str] = []
    for message in messages:
        for block in message.blocks:
            match block:
                case TextBlock(text=text):
                    parts.append(text)
                case ToolUse(input=values, arguments=arguments):
                    parts.append(arguments or join_json_texts(values))
                case ToolResult():
                    parts.append(block.text)
                case _:
                    pass
    return "\n".join(parts)


def drop_invented_sentences(summary: str, check: AnswerLineChecker) -> SummaryReview:
    """Drop each sentence that names a file or identifier which is nowhere in the history, or that
    the history disproves; a line of which nothing is left goes with it.
    """
    kept: list[str] = []
    dropped: list[str] = []
    for line in summary.split("\n"):
        sentences = (
            _SENTENCE_END.split(line) if check.find_contradicted_or_invented_part(line) else [line]
        )
        false = [each for each in sentences if check.find_contradicted_or_invented_part(each)]
        true = [each for each in sentences if each not in false]
        dropped += map(str.strip, false)
        if true:
            kept.append("".join(true))
    return SummaryReview("\n".join(kept), tuple(dropped))


_SENTENCE_END = lazy_pattern(r"(?<=[.!?]\s)|(?<=[。！？])")


def find_missing_extract_parts(history: str, reviewed: SummaryReview) -> str:
    """What a history must be given to hold as much as the extract: lines of it, and names. Empty
    where nothing is missing.
    """
    lines = _find_missing_lines(history, reviewed)
    names = _find_missing_names(f"{history}\n{lines}", reviewed)
    return "\n\n".join(part for part in (lines, names) if part)


def _find_missing_lines(history: str, reviewed: SummaryReview) -> str:
    """Lines of the extract, until history and lines hold as many of the longer words that the user
    and the model said as the extract does; each time the line with most words that are missing.
    """
    wanted = _longer_words(reviewed.conversation_text)
    present = _longer_words(history) & wanted
    missing = len(_longer_words(reviewed.extract) & wanted) + WORD_MARGIN - len(present)
    lines = {line: _longer_words(line) & wanted for line in reviewed.extract.split("\n")}
    added = set[str]()
    while missing > 0:
        best = max(lines, key=lambda line: len(lines[line] - present))
        new = lines[best] - present
        if not new:
            break
        added.add(best)
        present |= new
        missing -= len(new)
    text = "\n".join(line for line in lines if line in added)
    return f"{LINES_TITLE}\n{text}" if text else ""


_WORD = lazy_pattern(r"(?<!\w)[^\W\d_]+(?!\w)")

LINES_TITLE = "Also said and done in the conversation, as a program found:"
"""Begins the lines of the extract that make up for words which a model's summary left out."""


def _longer_words(text: str) -> set[str]:
    return {
        word[:STEM_LETTERS]
        for word in _WORD.findall(text.casefold())
        if len(word) > MAX_SHORT_WORD_LETTERS
    }


def _find_missing_names(history: str, reviewed: SummaryReview) -> str:
    """Names that the extract holds and the history does not. What was said in back-ticks is a name
    as well, and what holds a number.
    """
    present, folded = NameOccurrenceLookup(history), history.casefold()
    extracted = reviewed.extract.casefold()
    missing = {
        name: name for name in find_recognizable_names(reviewed.extract) if not present[name]
    }
    for name in (
        *find_identifiers(reviewed.conversation_text),
        *_NUMBERED.findall(reviewed.conversation_text),
    ):
        if name.casefold() in extracted and name.casefold() not in folded:
            missing.setdefault(name, f"`{name}`")
    names = ", ".join(missing[name] for name in sorted(missing))
    return f"{NAMED_TITLE} {names}" if names else ""


_NUMBERED = lazy_pattern(r"(?<![A-Za-z_.-])[A-Za-z_.-]+\d[\w.-]*|\d[\w.-]*\w")
"""Sizes, versions and times: `10s`, `HTTP/1.1`, `int64`, `H2`. A word without a number is tried
once, not from each of its letters.
"""

NAMED_TITLE = "Also named in the conversation, as a program found:"
"""Begins the line of identifiers that a model's summary left out."""


def reject_if_extract_names_lost(summary: str, extract: str) -> UnusableSummary | None:
    """Why an extractive summary is better than a model's: it holds identifiers of which the model
    lost most; None where it is not.
    """
    wanted = find_recognizable_names(extract)
    if len(wanted) < MIN_COMPARED_NAMES:
        return None
    present = NameOccurrenceLookup(summary)
    present_count = sum(present[name] for name in wanted)
    if present_count >= len(wanted) * MIN_NAME_SHARE:
        return None
    return UnusableSummary(
        f"The model's summary names {present_count} of {len(wanted)} identifiers that an extract "
        f"of its size holds."
    )
