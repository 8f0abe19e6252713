"""What a model is asked at stage two: its instruction, and the material of the sessions. Pure
(RO-5).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from memorist.core.prompt_templates import render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_end, truncate_middle
from memorist.rollouts.hand_edits import ParsedHandbookAndSummary
from memorist.rollouts.handbook import HANDBOOK_FILE, Handbook, render_group
from memorist.rollouts.rollout_summaries import compute_short_rollout_digest
from memorist.rollouts.summary_composition import SUMMARY_FILE, render_memory_summary
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.store.extract_rows import RolloutExtract

MAX_DRAFT_TOKENS = 40_000


MAX_DIFF_TOKENS = 12_000


MAX_RAW_MEMORIES_TOKENS = 40_000
"""Tokens of each part of the material: together half of the smallest common window, which leaves
room for the answer. In a smaller window each part has its share of it. Our choice.
"""
USUAL_WINDOW = 200_000


MAX_RAW_MEMORY_TOKENS = 6_000
"""Tokens of one raw memory; its middle is cut."""


MATERIAL_TAGS = ("draft", "difference", "raw_memories", "session")


class StageTwoPrompts(Struct, frozen=True):
    """The prompts of stage two."""

    consolidate: str
    first: str
    again: str
    lean: str


class StageTwoInput(Struct, frozen=True, kw_only=True):
    """The input of one run."""

    folder: str
    draft: ParsedHandbookAndSummary
    changed_titles: Collection[str]
    """Titles of the changed groups: the others are named, not shown."""
    difference: str
    changed_extracts: Sequence[RolloutExtract]
    """The new or changed sessions."""
    is_first: bool
    """There was no handbook yet."""
    today: str
    lean: bool = False
    """There is only the summary."""
    window: int = USUAL_WINDOW
    """Tokens of the model's window."""

    def scale_limit_to_window(self, tokens: int) -> int:
        """The tokens that a part of the material may have in this window."""
        return tokens * min(self.window, USUAL_WINDOW) // USUAL_WINDOW


def select_changed_group_titles(
    handbook: Handbook, touched: Collection[str], limit: int = MAX_DRAFT_TOKENS
) -> tuple[str, ...]:
    """Return the titles of the changed groups that fit, in order.

    The others stay as the structure made them.
    """
    found = []
    for group in handbook.groups:
        size = estimate_text_tokens(render_group(group))
        if group.title in touched and size <= limit:
            limit -= size
            found.append(group.title)
    return tuple(found)


def build_stage_two_instruction(task: StageTwoInput, prompts: StageTwoPrompts) -> str:
    """Render the instruction, sent as the last message."""
    mode = prompts.first if task.is_first else prompts.again
    whole = prompts.lean if task.lean else prompts.consolidate
    values = {
        "folder": task.folder,
        "today": task.today,
        "mode": mode.strip(),
        "handbook": f"{task.folder}/{HANDBOOK_FILE}",
        "summary": f"{task.folder}/{SUMMARY_FILE}",
    }
    return render_template(whole, values, strict=True).strip() + "\n"


def render_stage_two_material(task: StageTwoInput) -> str:
    """Render the data without secrets, each part in a tag that no text inside can close."""
    draft_tokens = task.scale_limit_to_window(MAX_DRAFT_TOKENS)
    titles = select_changed_group_titles(task.draft.handbook, task.changed_titles, draft_tokens)
    groups = [
        render_group(group) if not group.raw else group.raw
        for group in task.draft.handbook.groups
        if group.title in titles
    ]
    others = [group.title for group in task.draft.handbook.groups if group.title not in titles]
    summary = truncate_end(render_memory_summary(task.draft.summary), draft_tokens // 2)
    handbook = "" if task.lean else "\n\n".join(groups)
    drafts = {HANDBOOK_FILE: handbook, SUMMARY_FILE: summary}
    parts = [
        f'<draft path="{task.folder}/{name}">\n{_escape_data(text)}\n</draft>'
        for name, text in drafts.items()
        if text.strip()
    ]
    if others and not task.lean:
        listed = "\n".join(f"- {_escape_data(title)}" for title in others)
        parts.append(
            f"Task groups that stand in the file and are not shown, because nothing about them "
            f"changed or for want of room:\n{listed}"
        )
    if not task.is_first:  # of a first draft all is new
        difference = truncate_end(task.difference, task.scale_limit_to_window(MAX_DIFF_TOKENS))
        parts.append(f"<difference>\n{_escape_data(difference)}\n</difference>")
    parts.append(f"<raw_memories>\n{_render_raw_memories(task)}\n</raw_memories>")
    return "\n\n".join(parts)


def _render_raw_memories(task: StageTwoInput) -> str:
    """Render the newest sessions, as many as fit, and the number of the others, each with the signs
    and tasks by which a claim names it, and its summary.
    """
    rows = task.changed_extracts
    left = task.scale_limit_to_window(MAX_RAW_MEMORIES_TOKENS)
    most = task.scale_limit_to_window(MAX_RAW_MEMORY_TOKENS)
    parts: list[str] = []
    ordered = sorted(rows, key=lambda row: (row.updated, row.thread), reverse=True)
    for at, row in enumerate(ordered):
        text = _escape_data(
            truncate_middle(row.raw_memory.strip() or row.rollout_summary.strip(), most)
        )
        left -= estimate_text_tokens(text)
        if left < 0:
            parts.append(f"({len(ordered) - at} older sessions are not shown)")
            break
        parts.append(f"<session {_render_session_names(task, row)}>\n{text}\n</session>")
    return "\n".join(parts) or "(none)"


def _render_session_names(task: StageTwoInput, row: RolloutExtract) -> str:
    """The attributes that say how a claim names the session, and where its summary is."""
    there = [
        (work.number, group.title, source.path)
        for group in task.draft.handbook.groups
        for work in group.works
        for source in work.sources
        if source.thread == row.thread
    ]
    tasks = ", ".join(f"Task {number} of {title}" for number, title, _ in there)
    path = there[0][2] if there else ""
    names = {"signs": compute_short_rollout_digest(row.thread), "tasks": tasks, "summary": path}
    return " ".join(
        f'{name}="{_escape_data(value).replace(chr(34), chr(39))}"'
        for name, value in names.items()
        if value
    )


def _escape_data(text: str) -> str:
    return redact(
        neutralize_markup(
            strip_hidden_characters(text),
            (*MATERIAL_TAGS, "edit", "write", "read", "old", "new", "memorist-fork"),
        )
    ).text
