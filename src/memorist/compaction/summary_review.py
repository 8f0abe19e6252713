"""Whether a summary holds what structure alone would hold (CP-16): lines with invented names
are dropped, words and identifiers that it left out are added to it, and a summary that loses most
identifiers gives way to the extractive one. Pure.

A small model writes fluent summaries of things that did not happen; a program can see that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.compaction.extractive_summary import build_extractive_summary
from memorist.compaction.full_compaction import USER_TEXTS_PART
from memorist.compaction.measured_history import MeasuredConversation, fit_newest_texts
from memorist.compaction.newest_messages import find_unanswered_start
from memorist.compaction.summary_parser import UnusableSummary
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.text_analysis import (
    NOTES_STOP_WORDS,
    SHORT_WORD,
    STEM_LENGTH,
    find_identifiers,
)
from memorist.core.token_count import estimate_text_tokens
from memorist.settings import CompactionSettings
from memorist.transcript.answer_lines import LineCheck, join_texts
from memorist.transcript.name_search import NameOccurrences, find_names

MIN_NAME_SHARE = 0.5
"""Least share of the extractive summary's identifiers that a model's summary of the same size must
hold. Our choice: those of a model of 1.5 billion parameters held 0.44 and told of work that was
never done; a summary that keeps half is prose about the same work.
"""

MIN_NAMES = 12
"""Identifiers below which the share says nothing."""

MIN_EXTRACT_TOKENS = 1_000
"""Least size of the extract that a summary is compared with. Our choice: a shorter one holds little
beside the user's words.
"""


class SummaryReview(Struct, frozen=True):
    """A summary without its invented lines, and those lines."""

    text: str
    dropped: tuple[str, ...] = ()


def review_summary(
    summary: str,
    messages: Sequence[Message],
    replaced: MeasuredConversation,
    *,
    limit: int,
    settings: CompactionSettings,
    cwd: str = "",
) -> SummaryReview | UnusableSummary:
    """Compare a model's summary with the history that it is of, and with an extract of its own
    size. `replaced` is the part of `messages` that a summary replaces: without the preamble, which
    stays. `limit` is the largest size of the new history, in tokens; `cwd` is that of
    `build_extractive_summary`.
    """
    factor = replaced.factor
    size = max(MIN_EXTRACT_TOKENS, estimate_text_tokens(summary, factor))
    extract = build_extractive_summary(
        replaced.messages, min(size, replaced.tokens // 2), cwd=cwd, factor=factor
    )
    reviewed = drop_invented_lines(summary, LineCheck(render_source_text(messages), ""))
    lost = find_loss(
        reviewed.text,
        "\n".join(each.text for each in extract.messages if each.origin is Origin.SUMMARY),
    )
    if lost is not None:
        return lost
    said = "\n".join(
        each.text for each in replaced.messages if each.origin in (Origin.USER, Origin.MODEL)
    )
    extracted = render_source_text(extract.messages)
    staying = _render_staying(replaced, limit, settings)
    return add_missing_names(
        add_missing_lines(reviewed, extracted, said, staying), extracted, said, staying
    )


def _render_staying(
    conversation: MeasuredConversation, limit: int, settings: CompactionSettings
) -> str:
    """What stays beside a summary, whatever the strategy: the newest of the user's messages, and
    what the model has not answered yet.
    """
    room = min(settings.inline_user_tokens, limit // USER_TEXTS_PART)
    unanswered = conversation.messages[find_unanswered_start(conversation.messages) :]
    return "\n".join(
        (
            *fit_newest_texts(conversation.user_texts, room, conversation.factor),
            render_source_text(unanswered),
        )
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
                    parts.append(arguments or join_texts(values))
                case ToolResult():
                    parts.append(block.text)
                case _:
                    pass
    return "\n".join(parts)


def drop_invented_lines(summary: str, check: LineCheck) -> SummaryReview:
    """Drop each sentence that names a file or identifier which is nowhere in the history; a
    line of which nothing is left goes with it.
    """
    kept: list[str] = []
    dropped: list[str] = []
    for line in summary.split("\n"):
        sentences = _SENTENCE_END.split(line) if check.find_invented(line) else [line]
        invented = [each for each in sentences if check.find_invented(each)]
        true = [each for each in sentences if each not in invented]
        dropped += map(str.strip, invented)
        if true:
            kept.append("".join(true))
    return SummaryReview("\n".join(kept), tuple(dropped))


_SENTENCE_END = lazy_pattern(r"(?<=[.!?]\s)|(?<=[。！？])")


def add_missing_lines(
    reviewed: SummaryReview, extract: str, said: str, staying: str = ""
) -> SummaryReview:
    """Add lines of an extract until the summary holds as many of the content words that the user
    and the model said as the extract does; each time the line with most words that are missing.
    Words of what stays beside the summary (`staying`) are counted for neither.
    """
    wanted = _content_words(said) - _content_words(staying)
    present = _content_words(reviewed.text) & wanted
    missing = len(_content_words(extract) & wanted) - len(present)
    lines = {line: _content_words(line) & wanted for line in extract.split("\n")}
    added = set[str]()
    while missing > 0:
        best = max(lines, key=lambda line: len(lines[line] - present))
        new = lines[best] - present
        if not new:
            break
        added.add(best)
        present |= new
        missing -= len(new)
    if not added:
        return reviewed
    text = "\n".join(line for line in lines if line in added)
    return SummaryReview(f"{reviewed.text.rstrip()}\n\n{LINES_TITLE}\n{text}", reviewed.dropped)


_WORD = lazy_pattern(r"\w+")

LINES_TITLE = "Also said and done in the conversation, as a program found:"
"""Begins the lines of the extract that make up for words which a model's summary left out."""


def _content_words(text: str) -> set[str]:
    return {
        word[:STEM_LENGTH]
        for word in _WORD.findall(text.casefold())
        if len(word) > SHORT_WORD and word not in NOTES_STOP_WORDS
    }


def add_missing_names(
    reviewed: SummaryReview, extract: str, said: str = "", staying: str = ""
) -> SummaryReview:
    """Name at the end what the extract names, and neither the summary nor what stays beside it
    (`staying`): what structure holds is not lost to a summary that is used. What was said in
    back-ticks is a name as well, and what holds a number.
    """
    text = f"{reviewed.text}\n{staying}"
    present, folded, extracted = NameOccurrences(text), text.casefold(), extract.casefold()
    missing = {name: name for name in find_names(extract) if not present[name]}
    for name in (*find_identifiers(said), *_NUMBERED.findall(said)):
        if name.casefold() in extracted and name.casefold() not in folded:
            missing.setdefault(name, f"`{name}`")
    if not missing:
        return reviewed
    names = ", ".join(missing[name] for name in sorted(missing))
    return SummaryReview(f"{reviewed.text.rstrip()}\n\n{NAMED_TITLE} {names}", reviewed.dropped)


_NUMBERED = lazy_pattern(r"[A-Za-z_.-]*\d[\w.-]*\w")
"""Sizes, versions and times: `10s`, `HTTP/1.1`, `int64`."""

NAMED_TITLE = "Also named in the conversation, as a program found:"
"""Begins the line of identifiers that a model's summary left out."""


def find_loss(summary: str, extract: str) -> UnusableSummary | None:
    """Why an extractive summary is better than a model's: it holds identifiers of which the model
    lost most; None where it is not.
    """
    wanted = find_names(extract)
    if len(wanted) < MIN_NAMES:
        return None
    present = NameOccurrences(summary)
    present_count = sum(present[name] for name in wanted)
    if present_count >= len(wanted) * MIN_NAME_SHARE:
        return None
    return UnusableSummary(
        f"The model's summary names {present_count} of {len(wanted)} identifiers that an extract "
        f"of its size holds."
    )
