"""The update prompt and its reminders (SM-6, SM-7). Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.core.template import names, render
from memorist.core.tokens import estimate_text
from memorist.session_memory.sections import section_tokens
from memorist.session_memory.settings import SessionMemorySettings

FIRST_TO_KEEP = ("Current State", "Errors & Corrections")
"""Sections that are to be shortened last (SM-7)."""


class Texts(Struct, frozen=True, kw_only=True):
    """The prompt texts of an update: ours, or the user's own in place of `prompt` and `template`
    (SM-6).
    """

    template: str
    prompt: str
    section_reminder: str
    total_reminder: str
    own_prompt: bool = False


def reminders(notes: str, texts: Texts, settings: SessionMemorySettings) -> str:
    """Render what must be shortened: the whole file first, then each section over its limit,
    largest first; empty when nothing must.
    """
    parts = []
    total = estimate_text(notes)
    if total > settings.total_tokens:
        values = {"tokens": f"{total:,}", "limit": f"{settings.total_tokens:,}"}
        parts.append(render(texts.total_reminder, values, strict=True).strip())
    sizes = section_tokens(notes, texts.template)
    over = [(title, size) for title, size in sizes.items() if size > settings.section_tokens]
    for title, size in sorted(over, key=lambda pair: (pair[0] in FIRST_TO_KEEP, -pair[1])):
        values = {"title": title, "tokens": f"{size:,}", "limit": f"{settings.section_tokens:,}"}
        parts.append(render(texts.section_reminder, values, strict=True).strip())
    return "\n".join(parts)


def update_prompt(notes: str, path: str, texts: Texts, settings: SessionMemorySettings) -> str:
    """Render the fork's instruction. In a user's own prompt unknown names stay as they are, and the
    reminders are appended where it does not place them.
    """
    values = {
        "currentNotes": notes.strip("\n"),
        "notesPath": path,
        "sectionTokens": f"{settings.section_tokens:,}",
        "reminders": reminders(notes, texts, settings),
    }
    text = render(texts.prompt, values, strict=not texts.own_prompt).strip()
    if values["reminders"] and "reminders" not in names(texts.prompt):
        text += "\n\n" + values["reminders"]
    return text + "\n"
