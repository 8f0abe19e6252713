"""The prompt of an update of the notes: its texts and reminders, and the brief that replaces the
history for a model other than the parent's (SM-6, SM-7, FK-7); and the form for a model that fills
one in. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.core.prompt_templates import find_placeholders, load_prompt, render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.forks.answer_form import FormTask, coerce_to_text_list
from memorist.forks.file_tool_calls import EditFileCall, TextReplacement
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.session_memory.notes_template import (
    STRUCTURAL_MARK,
    TITLE_SECTION,
    compose_notes,
    count_section_tokens,
    parse_authored_sections,
    parse_section_bodies,
    parse_template_sections,
)
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


# The notes as a form that a model fills in: a list of new lines for each section.

STATE_SECTION = "Current State"
REPLACED_SECTIONS = (TITLE_SECTION, STATE_SECTION)
"""Sections of which only the newest text is true."""
MAX_NEW_LINES_PER_SECTION = 8
"""New lines of one section in one answer, and so an end for a model in a loop."""


def build_notes_form(
    notes: str, path: str, template: str, prompt: str, *, rewritten: tuple[str, ...], reminders: str
) -> FormTask:
    """The form for an update of the notes in the file at `path`.

    New lines are added to a section; in those that are `rewritten`, since they are too long, and in
    those of which only the newest text is true, they take the place of what a model wrote before.
    """
    shape = parse_template_sections(template)
    titles = [frame.title for frame in shape]
    replaced = tuple(title for title in titles if title in (*REPLACED_SECTIONS, *rewritten))
    written = {key: body for key, body in parse_authored_sections(notes, template).items() if body}
    bodies = "\n\n".join(f"{title}:\n{body}" for title, body in written.items())
    shown = f"The notes until now:\n\n{bodies}" if bodies else ""
    lines: JsonObject = {
        "type": "array",
        "items": {"type": "string"},
        "maxItems": MAX_NEW_LINES_PER_SECTION,
    }

    def read(answer: JsonObject) -> ParsedAnswerEdits:
        bodies = _fill_sections(parse_section_bodies(notes, template), answer, replaced)
        text = compose_notes(template, bodies)
        edit = EditFileCall(path, (TextReplacement(notes, text),))
        return ParsedAnswerEdits(() if text == notes else (edit,))

    return FormTask(
        instruction=render_template(prompt, {"sections": _render_sections(template)}, strict=True),
        material="\n\n".join(filter(None, (shown, reminders))),
        schema={
            "type": "object",
            "properties": dict.fromkeys(titles, lines),
            "required": titles,
            "additionalProperties": False,
        },
        read=read,
    )


def _fill_sections(
    bodies: Mapping[str, str], answer: JsonObject, replaced: tuple[str, ...]
) -> dict[str, str]:
    """The sections with an answer's lines, before what is derived."""
    filled = {}
    for title, body in bodies.items():
        written, mark, derived = body.partition(STRUCTURAL_MARK)
        known = {line.strip("-* ") for line in written.split("\n")}
        new = [
            line
            for line in coerce_to_text_list(answer.get(title))
            if line.strip("-* ") not in known
        ]
        if title == TITLE_SECTION:
            text = new[0] if new else written.strip("\n")
        else:
            kept = [] if new and title in replaced else [written.strip("\n")]
            text = "\n".join(filter(None, (*kept, *(f"- {line.lstrip('-* ')}" for line in new))))
        filled[title] = "\n\n".join(filter(None, (text, f"{mark}{derived}")))
    return filled


def _render_sections(template: str) -> str:
    """The sections of a template. The hints of ours are left out: their titles say enough, and
    small models fill them in as answers.
    """
    shape = parse_template_sections(template)
    if template == load_prompt("session_memory/template"):
        return f"By section: {'; '.join(frame.title for frame in shape)}."
    return "\n".join(
        f"- {frame.title}: {_first_clause(frame.hint.strip('_*'))}".rstrip(": ") for frame in shape
    )


def _first_clause(hint: str) -> str:
    """The beginning of a hint, up to its first mark: the form is read anew at every run."""
    return _CLAUSE_END.split(hint, maxsplit=1)[0].strip()


_CLAUSE_END = re.compile(r"[,;:.](?:\s|$)|[，；：。]")
