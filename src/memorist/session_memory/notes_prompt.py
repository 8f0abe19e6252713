"""The prompt of an update of the notes: its texts and reminders, and the brief that replaces the
history for a model other than the parent's (SM-6, SM-7, FK-7). Pure.
"""

from __future__ import annotations

from msgspec import Struct

from memorist.core.prompt_templates import find_placeholders, render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.session_memory.notes_template import count_section_tokens
from memorist.settings import SessionMemorySettings

PRIORITY_SECTIONS = ("Current State", "Errors & Corrections")
"""Sections that are to be shortened last (SM-7)."""


class NotesPrompts(Struct, frozen=True, kw_only=True):
    """The prompt texts of an update: ours, or the user's own in place of `prompt` and `template`
    (SM-6).
    """

    template: str
    prompt: str
    section_reminder: str
    total_reminder: str
    form: str
    is_user_prompt: bool = False


def render_length_reminders(
    notes: str, texts: NotesPrompts, settings: SessionMemorySettings
) -> str:
    """Render what must be shortened: the whole file first, then each section over its limit,
    largest first; empty when nothing must.
    """
    parts = []
    total = estimate_text_tokens(notes)
    if total > settings.total_tokens:
        values = {"tokens": f"{total:,}", "limit": f"{settings.total_tokens:,}"}
        parts.append(render_template(texts.total_reminder, values, strict=True).strip())
    over = find_long_sections(notes, texts.template, settings.section_tokens)
    for title, size in sorted(over, key=lambda pair: (pair[0] in PRIORITY_SECTIONS, -pair[1])):
        values = {"title": title, "tokens": f"{size:,}", "limit": f"{settings.section_tokens:,}"}
        parts.append(render_template(texts.section_reminder, values, strict=True).strip())
    return "\n".join(parts)


def find_long_sections(notes: str, template: str, most: int) -> list[tuple[str, int]]:
    """The sections of more than so many tokens, each with its size."""
    sizes = count_section_tokens(notes, template)
    return [(title, size) for title, size in sizes.items() if size > most]


def render_update_prompt(
    notes: str, path: str, texts: NotesPrompts, settings: SessionMemorySettings
) -> str:
    """Render the fork's instruction. In a user's own prompt unknown names stay as they are, and the
    reminders are appended where it does not place them.
    """
    values = {
        "currentNotes": notes.strip("\n"),
        "notesPath": path,
        "sectionTokens": f"{settings.section_tokens:,}",
        "reminders": render_length_reminders(notes, texts, settings),
    }
    text = render_template(texts.prompt, values, strict=not texts.is_user_prompt).strip()
    if values["reminders"] and "reminders" not in find_placeholders(texts.prompt):
        text += "\n\n" + values["reminders"]
    return text + "\n"
