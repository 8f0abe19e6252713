"""Repair the structure of notes that a model has edited: headers, italic lines and lost sections
come back (SM-5). Pure.
"""

from __future__ import annotations

from msgspec import Struct

from memorist.core.markdown import TopLevelOutline, parse_top_level_outline
from memorist.session_memory.notes_template import (
    TemplateSection,
    compose_notes,
    demote_headings,
    parse_section_bodies,
    parse_template_sections,
)


class RepairedNotes(Struct, frozen=True):
    """The result of checking a model's edit: the text to keep and what was repaired (empty when the
    edit was clean).
    """

    text: str
    repairs: tuple[str, ...]
    rolled_back: bool = False


def repair_or_roll_back_notes(before: str, after: str, template: str) -> RepairedNotes:
    """Check a model's edit of the notes, and repair the structure without losing its words.

    Headers and italic lines are rewritten from the template. A missing section gets its former text
    back; an added section becomes a second-level heading inside the one before it. If fewer than
    half of the sections can be found, the whole edit is rolled back.
    """
    shape = parse_template_sections(template)
    if _is_intact(after, shape):
        return RepairedNotes(after if after.endswith("\n") else after + "\n", ())
    new, old = parse_section_bodies(after, template), parse_section_bodies(before, template)
    if len(new) * 2 < len(shape):
        return RepairedNotes(before, ("most section headers were gone",), rolled_back=True)
    repairs = [
        f"section {frame.title!r} was missing and has its former text"
        for frame in shape
        if frame.title not in new
    ]
    texts = {
        frame.title: demote_headings(new.get(frame.title, old.get(frame.title, "")))
        for frame in shape
    }
    repairs.append("header or italic lines were changed and are the template's again")
    return RepairedNotes(compose_notes(template, texts), tuple(repairs))


def _is_intact(text: str, shape: tuple[TemplateSection, ...]) -> bool:
    parsed: TopLevelOutline = parse_top_level_outline(text)
    if [section.header for section in parsed.sections] != [frame.header for frame in shape]:
        return False
    return all(
        not frame.hint or section.body.split("\n", 1)[0] == frame.hint
        for section, frame in zip(parsed.sections, shape, strict=True)
    )
