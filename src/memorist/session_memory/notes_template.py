"""The structure of the notes: the template's headers and italic lines, and how they survive any
edit by a model (SM-4, SM-5). Pure.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from functools import lru_cache

from msgspec import Struct

from memorist.core.markdown import (
    TopLevelOutline,
    TopLevelSection,
    mark_fenced_code,
    parse_top_level_outline,
)
from memorist.core.token_count import estimate_text_tokens

STRUCTURAL_MARK = "<!-- structural -->"
"""Precedes structurally derived text, to distinguish it from what a model wrote."""


class TemplateSection(Struct, frozen=True):
    """One section of the template: its header line and its italic line (empty when the template has
    none there).
    """

    header: str
    hint: str

    @property
    def title(self) -> str:
        """The header's words."""
        return self.header.lstrip("#").strip()


@lru_cache(maxsize=16)
def parse_template_sections(template: str) -> tuple[TemplateSection, ...]:
    """The sections of a template."""
    return tuple(
        TemplateSection(section.header, _find_hint(section.body))
        for section in parse_top_level_outline(template).sections
    )


def _find_hint(body: str) -> str:
    first = body.split("\n", 1)[0].strip()
    return first if len(first) > 2 and first[0] == first[-1] and first[0] in "_*" else ""


@lru_cache(maxsize=16)
def _template_outline(template: str) -> TopLevelOutline:
    return parse_top_level_outline(template)


def parse_section_bodies(text: str, template: str) -> dict[str, str]:
    """The text below each section's italic line, by title; sections absent from the text are
    missing.
    """
    shape = parse_template_sections(template)
    parsed = parse_top_level_outline(text, [frame.title for frame in shape])
    found: dict[str, str] = {}
    for section in parsed.sections:
        frame = _matching_section(section, shape)
        if frame is None:
            continue
        body = _strip_hint(section.body, frame)
        found[frame.title] = (
            f"{found[frame.title]}\n\n{body}".strip("\n") if frame.title in found else body
        )
    return found


def _matching_section(
    section: TopLevelSection, shape: tuple[TemplateSection, ...]
) -> TemplateSection | None:
    wanted = " ".join(section.title.lower().split())
    return next((frame for frame in shape if " ".join(frame.title.lower().split()) == wanted), None)


def _strip_hint(body: str, frame: TemplateSection) -> str:
    first, _, rest = body.partition("\n")
    if frame.hint and first.strip() == frame.hint:
        return rest.strip("\n")
    # A hint edited by a model is still a hint: one line in italics at the top.
    return rest.strip("\n") if _find_hint(body) else body.strip("\n")


def compose_notes(template: str, texts: Mapping[str, str]) -> str:
    """The notes file with these section texts, in the template's order; sections without a text are
    empty.
    """
    parsed = _template_outline(template)
    parts = [parsed.preamble] if parsed.preamble else []
    for frame in parse_template_sections(template):
        body = texts.get(frame.title, "").strip("\n")
        parts.append("\n".join(line for line in (frame.header, frame.hint, body) if line))
    return "\n\n".join(parts) + "\n"


def are_notes_empty(text: str, template: str) -> bool:
    """Whether notes say nothing beyond the template; such notes count as none (SM-12)."""
    return text.strip() == template.strip() or not any(
        body.strip() for body in parse_section_bodies(text, template).values()
    )


def demote_headings(body: str) -> str:
    """Lower first-level headings outside of code, so that none passes for a header."""
    return "\n".join(
        f"#{line}" if line.startswith("# ") and not fenced else line
        for line, fenced in mark_fenced_code(body.split("\n"))
    )


def replace_structural_notes(text: str, template: str, derived: Mapping[str, str]) -> str:
    """Merge newly derived section texts into the notes: what a model wrote stays, what was derived
    before is replaced (SM-13).
    """
    return compose_notes_with_derived(template, parse_authored_sections(text, template), derived)


def parse_authored_sections(text: str, template: str) -> dict[str, str]:
    """What a model or the user wrote in each section, by title; structurally derived text is left
    out.
    """
    return {
        title: body.partition(STRUCTURAL_MARK)[0].strip("\n")
        for title, body in parse_section_bodies(text, template).items()
    }


def compose_notes_with_derived(
    template: str, parts: Mapping[str, str], derived: Mapping[str, str]
) -> str:
    """Compose the notes from what was written and what is derived now."""
    merged = {}
    for frame in parse_template_sections(template):
        written = parts.get(frame.title, "")
        fresh = demote_headings(derived.get(frame.title, "").strip("\n"))
        if fresh and frame.title == TITLE_SECTION and written:
            fresh = ""  # one title is enough, and the model's is the better one
        block = f"{STRUCTURAL_MARK}\n{fresh}" if fresh else ""
        merged[frame.title] = "\n\n".join(part for part in (written, block) if part)
    return compose_notes(template, merged)


def checksum_each_derived_notes_line(text: str, template: str) -> frozenset[int]:
    """Checksums of the lines below `STRUCTURAL_MARK`."""
    return frozenset(
        _checksum(line)
        for body in parse_section_bodies(text, template).values()
        for line in body.partition(STRUCTURAL_MARK)[2].split("\n")
    )


def _checksum(line: str) -> int:
    return zlib.crc32(line.strip().encode("utf-8", "replace"))


def move_written_lines_up(text: str, template: str, derived: Collection[int]) -> str:
    """The notes with what somebody wrote below `STRUCTURAL_MARK`, where an update would replace it,
    above that mark, and what they wrote above all headers in a section. `derived` are the checksums
    of the lines that are no writing of theirs.
    """
    frames = parse_template_sections(template)
    bodies = parse_section_bodies(text, template)
    first = _template_outline(template).preamble.split("\n")
    above = parse_top_level_outline(text, [frame.title for frame in frames]).preamble.split("\n")
    top = "\n".join(line for line in above if line not in first)
    moved: dict[str, str] = {}
    for at, frame in enumerate(frames):
        written, mark, below = bodies.get(frame.title, "").partition(STRUCTURAL_MARK)
        own: list[str] = []
        rest: list[str] = []
        for line in below.split("\n"):
            is_derived = _checksum(line) in derived if line.strip() else not own
            (rest if is_derived else own).append(line)
        parts = (top if at == min(1, len(frames) - 1) else "", written, "\n".join(own))
        kept = "\n\n".join(filter(None, (part.strip("\n") for part in parts)))
        moved[frame.title] = "\n\n".join(
            filter(None, (kept, f"{mark}\n" + "\n".join(rest).strip("\n") if mark else ""))
        )
    return text if moved == bodies and not top else compose_notes(template, moved)


TITLE_SECTION = "Session Title"


def count_section_tokens(text: str, template: str) -> dict[str, int]:
    """Estimated tokens of each section's text, by title."""
    return {
        title: estimate_text_tokens(body)
        for title, body in parse_section_bodies(text, template).items()
    }
