"""The material and instruction of stage two's fork: the draft, what changed, and the raw memories
behind it, bounded (RO-5). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from memorist.core.template import render as fill
from memorist.core.tokens import estimate_text
from memorist.core.truncate import cut_end, cut_middle
from memorist.rollouts.hand_edits import Files
from memorist.rollouts.handbook import HANDBOOK, Handbook, render_group
from memorist.rollouts.overview import SUMMARY
from memorist.rollouts.overview import render as render_summary
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.safety.secrets import redact
from memorist.store.thread import Extracted

DRAFT_TOKENS = 40_000
DIFF_TOKENS = 12_000
RAW_TOKENS = 40_000
"""Tokens of each part of the material: together half of the smallest common window (200,000), which
leaves room for the answer. Our choice.
"""
EACH_TOKENS = 6_000
"""Tokens of one raw memory; its middle is cut."""
TAGS = ("draft", "difference", "raw_memories", "session")


class Texts(Struct, frozen=True):
    """The prompts of stage two."""

    consolidate: str
    first: str
    again: str


class Work(Struct, frozen=True, kw_only=True):
    """The input of one run."""

    folder: str
    draft: Files
    touched: Collection[str]
    """Titles of the changed groups: the others are named, not shown."""
    difference: str
    rows: Sequence[Extracted]
    """The new or changed sessions."""
    first: bool
    """There was no handbook yet."""
    today: str


def shown_groups(handbook: Handbook, touched: Collection[str], limit: int = DRAFT_TOKENS) -> tuple[str, ...]:
    """Return the titles of the changed groups that fit, in order.

    The others stay as the structure made them.
    """
    found = []
    for group in handbook.groups:
        size = estimate_text(render_group(group))
        if group.title in touched and size <= limit:
            limit -= size
            found.append(group.title)
    return tuple(found)


def instruction(work: Work, texts: Texts) -> str:
    """Render the instruction, sent as the last message."""
    mode = texts.first if work.first else texts.again
    values = {
        "folder": work.folder,
        "today": work.today,
        "mode": mode.strip(),
        "handbook": f"{work.folder}/{HANDBOOK}",
        "summary": f"{work.folder}/{SUMMARY}",
    }
    return fill(texts.consolidate, values, strict=True).strip() + "\n"


def material(work: Work) -> str:
    """Render the data without secrets, each part in a tag that no text inside can close."""
    titles = shown_groups(work.draft.handbook, work.touched)
    groups = [render_group(group) if not group.raw else group.raw for group in work.draft.handbook.groups if group.title in titles]
    others = [group.title for group in work.draft.handbook.groups if group.title not in titles]
    summary = cut_end(render_summary(work.draft.summary), DRAFT_TOKENS // 2)
    drafts = {HANDBOOK: "\n\n".join(groups), SUMMARY: summary}
    parts = [f'<draft path="{work.folder}/{name}">\n{_data(text)}\n</draft>' for name, text in drafts.items() if text.strip()]
    if others:
        listed = "\n".join(f"- {_data(title)}" for title in others)
        parts.append(
            f"Task groups that stand in the file and are not shown, because nothing about them changed or for want of room:\n{listed}"
        )
    parts.append(f"<difference>\n{_data(cut_end(work.difference, DIFF_TOKENS))}\n</difference>")
    parts.append(f"<raw_memories>\n{_raw(work.rows)}\n</raw_memories>")
    return "\n\n".join(parts)


def _raw(rows: Sequence[Extracted]) -> str:
    """Render the newest sessions, as many as fit, and the number of the others."""
    left = RAW_TOKENS
    parts: list[str] = []
    ordered = sorted(rows, key=lambda row: (row.updated, row.thread), reverse=True)
    for at, row in enumerate(ordered):
        text = _data(cut_middle(row.raw_memory.strip() or row.rollout_summary.strip(), EACH_TOKENS))
        left -= estimate_text(text)
        if left < 0:
            parts.append(f"({len(ordered) - at} older sessions are not shown)")
            break
        parts.append(f"<session>\n{text}\n</session>")
    return "\n".join(parts) or "(none)"


def _data(text: str) -> str:
    return redact(neutralise(visible(text), (*TAGS, "edit", "write", "old", "new", "memorist-fork"))).text


def summaries(rows: Mapping[str, Extracted], sessions: Collection[str]) -> list[Extracted]:
    """Return the rows of these sessions."""
    return [row for thread, row in sorted(rows.items()) if thread in sessions]
