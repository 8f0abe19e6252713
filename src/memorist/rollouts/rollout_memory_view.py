"""What a session is shown of its memory at the start: applicable entries, whole, most useful first
(RO-7, RO-8). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.interop.codex_memory import SUMMARY_VERSION, parse_absolute_folders
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.rollouts.session_location import SessionLocation, group_applies_at_location
from memorist.rollouts.summary_composition import (
    GroupSummaryEntries,
    MemorySummary,
    SummaryTopic,
    drop_summary_entries_to_fit,
    parse_memory_summary,
    render_memory_summary,
)
from memorist.rollouts.user_notes import UserNote
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.permission_claims import is_injected_order_or_permission
from memorist.safety.secrets import redact

MEMORY_SUMMARY_TAG = "memory_summary"
_MAX_ENTRY_SHARE = 4
"""An entry larger than this part of the room is left out, so that it does not push out all others.
"""


class RolloutMemoryPrompts(Struct, frozen=True):
    """The prompts around the summary."""

    shown: str
    """`rollouts/shown`."""
    lookup: str
    """`rollouts/lookup`: how to look further in the full form."""
    lean: str
    """`rollouts/lean`: the same in the lean form."""


class RolloutMemoryViewOptions(Struct, frozen=True, kw_only=True):
    """For which session it is rendered, and how much."""

    location: SessionLocation
    folder: str
    """Where the files are, as the session's tools reach them."""
    tokens: int = 2_500
    """`rollouts.summary_tokens`."""
    lean: bool = False


def render_rollout_memory_view(
    summary: str,
    notes: Sequence[UserNote],
    view: RolloutMemoryViewOptions,
    texts: RolloutMemoryPrompts,
) -> str:
    """Render what a session is shown; empty if there is nothing for it.

    `summary` is the text of `memory_summary.md`, empty if there is none. Notes that are not merged
    yet come first.
    """
    whole = (
        parse_memory_summary(summary)
        if summary.partition("\n")[0].strip() == SUMMARY_VERSION
        else MemorySummary()
    )
    applicable = _with_notes(_applicable_entries(whole, view.location), notes, view.location)
    fit = _drop_planted_orders(applicable)
    small = _drop_long_entries(fit, view.tokens // _MAX_ENTRY_SHARE)
    small = replace(small, left_out=fit.entry_count - small.entry_count)
    cut = drop_summary_entries_to_fit(small, view.tokens, _count_tokens)
    if not (cut.entry_count or cut.profile):
        return ""
    plain = _strip_empty_headings(render_memory_summary(cut))
    values = {
        "folder": view.folder,
        "summary": plain,
        "lookup": render_template(
            texts.lean if view.lean else texts.lookup, {"folder": view.folder}, strict=True
        ).strip(),
    }
    return render_template(texts.shown, values, strict=True).strip()


def _count_tokens(text: str) -> int:
    return estimate_text_tokens(_strip_empty_headings(text))


def _strip_empty_headings(text: str) -> str:
    """Return the text without the version line, headings without content, and scaffold."""
    lines = text.removeprefix(SUMMARY_VERSION).strip().split("\n\n")
    kept = [
        part
        for at, part in enumerate(lines)
        if not part.startswith("## ")
        or (at + 1 < len(lines) and not lines[at + 1].startswith("## "))
    ]
    return redact(neutralize_markup("\n\n".join(kept), (MEMORY_SUMMARY_TAG,))).text


def _applicable_entries(summary: MemorySummary, here: SessionLocation) -> MemorySummary:
    """Return what applies at the location.

    Sections unknown to the layout have no place, and are not shown.
    """

    def holding(folder: str) -> bool:
        return group_applies_at_location(folder, parse_absolute_folders(folder), here)

    return replace(
        summary,
        preferences=tuple(part for part in summary.preferences if holding(part.group)),
        tips=tuple(part for part in summary.tips if holding(part.group)),
        topics=tuple(topic for topic in summary.topics if holding(topic.group)),
        preamble="",
        other=(),
    )


def _with_notes(
    summary: MemorySummary, notes: Sequence[UserNote], here: SessionLocation
) -> MemorySummary:
    waiting = [
        note
        for note in notes
        if not note.merged
        and not note.orders
        and group_applies_at_location(note.group, parse_absolute_folders(note.group), here)
    ]
    parts = [
        GroupSummaryEntries(
            note.group, (f"{note.text} [noted {note.date}]" if note.date else note.text,)
        )
        for note in reversed(waiting)
    ]
    folders: dict[str, tuple[str, ...]] = {}
    for part in (*parts, *summary.preferences):
        folders[part.group] = (*folders.get(part.group, ()), *part.entries)
    return replace(
        summary,
        preferences=tuple(
            GroupSummaryEntries(folder, entries) for folder, entries in folders.items()
        ),
    )


def _drop_planted_orders(summary: MemorySummary) -> MemorySummary:
    """Drop entries that read like orders planted for an agent: files can be changed past every gate
    (SF-2).
    """

    def parts(given: Sequence[GroupSummaryEntries]) -> tuple[GroupSummaryEntries, ...]:
        kept = (
            GroupSummaryEntries(
                part.group,
                tuple(
                    entry for entry in part.entries if not is_injected_order_or_permission(entry)
                ),
            )
            for part in given
        )
        return tuple(part for part in kept if part.entries)

    return replace(
        summary,
        profile="" if is_injected_order_or_permission(summary.profile) else summary.profile,
        preferences=parts(summary.preferences),
        tips=parts(summary.tips),
        topics=tuple(
            topic for topic in summary.topics if not is_injected_order_or_permission(topic.text)
        ),
    )


def _drop_long_entries(summary: MemorySummary, limit: int) -> MemorySummary:
    """Drop entries that are too long to be shown beside others."""

    def short(text: str) -> bool:
        return estimate_text_tokens(text) <= limit

    def parts(given: Sequence[GroupSummaryEntries]) -> tuple[GroupSummaryEntries, ...]:
        kept = (
            GroupSummaryEntries(part.group, tuple(filter(short, part.entries))) for part in given
        )
        return tuple(part for part in kept if part.entries)

    topics: tuple[SummaryTopic, ...] = tuple(topic for topic in summary.topics if short(topic.text))
    return replace(
        summary, preferences=parts(summary.preferences), tips=parts(summary.tips), topics=topics
    )
