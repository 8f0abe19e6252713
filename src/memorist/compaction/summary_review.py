"""Whether a summary holds what structure alone would hold (CP-16): lines with invented names
are dropped, identifiers that it left out are named after it, and a summary that loses most of them
gives way to the extractive one. Pure.

A small model writes fluent summaries of things that did not happen; a program can see that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.compaction.extractive_summary import build_extractive_summary
from memorist.compaction.summary_parser import UnusableSummary
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.token_count import estimate_text_tokens
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
    kept: Sequence[Message],
    *,
    cwd: str = "",
    factor: float = 1.0,
) -> SummaryReview | UnusableSummary:
    """Compare a model's summary with the history that it is of, and with an extract of its own
    size. `held` is the part of `messages` that a summary replaces: without the preamble, which
    stays. `cwd` and `factor` are those of `build_extractive_summary`.
    """
    size = max(MIN_EXTRACT_TOKENS, estimate_text_tokens(summary, factor))
    extract = build_extractive_summary(kept, size, cwd=cwd, factor=factor)
    reviewed = drop_invented_lines(summary, LineCheck(render_source_text(messages), ""))
    # What stays as messages beside the extract would stay beside the summary as well.
    replaced = "\n".join(each.text for each in extract.messages if each.origin is Origin.SUMMARY)
    return find_loss(reviewed.text, replaced) or add_missing_names(reviewed, replaced)


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


def add_missing_names(reviewed: SummaryReview, extract: str) -> SummaryReview:
    """Name at the end what the extract names and the summary does not: what structure holds is not
    lost to a summary that is used.
    """
    present = NameOccurrences(reviewed.text)
    missing = sorted(name for name in find_names(extract) if not present[name])
    if not missing:
        return reviewed
    text = f"{reviewed.text.rstrip()}\n\n{NAMED_TITLE} {', '.join(missing)}"
    return SummaryReview(text, reviewed.dropped)


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
