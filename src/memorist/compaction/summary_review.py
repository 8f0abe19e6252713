"""Whether a model's summary holds what structure alone would hold (CP-16): paths that it invented
are dropped, and a summary that loses most of the identifiers gives way to the extractive one. Pure.

A small model writes fluent summaries of things that did not happen; a program can see that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.compaction.extractive import build_extractive_summary
from memorist.compaction.extracts import find_names
from memorist.compaction.identifiers import NameOccurrences
from memorist.compaction.summary import UnusableSummary
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.tokens import estimate_text_tokens

MIN_NAME_SHARE = 0.5
"""Least share of the extractive summary's identifiers that a model's summary of the same size must
hold. Our choice: those of a model of 1.5 billion parameters held 0.44 and told of work that was
never done; a summary that keeps half is prose about the same work.
"""

MIN_NAMES = 12
"""Identifiers below which the share says nothing."""

_PATH = lazy_pattern(r"(?:[\w.@~-]*/)+[\w.@-]+\.[A-Za-z]\w{0,5}\b")
"""A path to a file, which has a folder and an ending."""


MIN_EXTRACT_TOKENS = 1_000
"""Least size of the extract that a summary is compared with. Our choice: a shorter one holds little
beside the user's words.
"""


class SummaryReview(Struct, frozen=True):
    """A summary without its invented lines, and those lines."""

    text: str
    dropped: tuple[str, ...] = ()


def review_summary(
    summary: str, messages: Sequence[Message], *, cwd: str = "", factor: float = 1.0
) -> SummaryReview | UnusableSummary:
    """Compare a model's summary with the history that it is of, and with an extract of its own
    size. `cwd` and `factor` are those of `build_extractive_summary`.
    """
    size = max(MIN_EXTRACT_TOKENS, estimate_text_tokens(summary, factor))
    extract = build_extractive_summary(messages, size, cwd=cwd, factor=factor)
    reviewed = drop_invented_paths(summary, NameOccurrences(render_source_text(messages)))
    # What stays as messages beside the extract would stay beside the summary as well.
    replaced = [each.text for each in extract.messages if each.origin is Origin.SUMMARY]
    return find_loss(reviewed.text, "\n".join(replaced)) or reviewed


def render_source_text(messages: Iterable[Message]) -> str:
    """All text of a history, with the input of calls and their results."""
    parts: list[str] = []
    for message in messages:
        for block in message.blocks:
            match block:
                case TextBlock(text=text):
                    parts.append(text)
                case ToolUse(input=values, arguments=arguments):
                    parts.append(arguments or _join_values(values))
                case ToolResult():
                    parts.append(block.text)
                case _:
                    pass
    return "\n".join(parts)


def _join_values(value: object) -> str:
    """The texts in the input of a call, without the signs that JSON would escape."""
    if isinstance(value, dict):
        return "\n".join(map(_join_values, value.values()))
    if isinstance(value, list | tuple):
        return "\n".join(map(_join_values, value))
    return str(value)


def drop_invented_paths(summary: str, source: NameOccurrences) -> SummaryReview:
    """Drop each line that names a file which stands nowhere in the history."""
    kept: list[str] = []
    dropped: list[str] = []
    for line in summary.split("\n"):
        paths = [match[0].removeprefix("./") for match in _PATH.finditer(line)]
        (dropped if any(not source[path] for path in paths) else kept).append(line)
    return SummaryReview("\n".join(kept), tuple(dropped))


def find_loss(summary: str, extract: str) -> UnusableSummary | None:
    """Why an extractive summary is better than a model's: it holds identifiers of which the model
    lost most; None where it is not.
    """
    wanted = find_names(extract)
    if len(wanted) < MIN_NAMES:
        return None
    present = NameOccurrences(summary)
    held = sum(present[name] for name in wanted)
    if held >= len(wanted) * MIN_NAME_SHARE:
        return None
    return UnusableSummary(
        f"The model's summary names {held} of {len(wanted)} identifiers that an extract of its "
        f"size holds."
    )
