"""What stands of a model's edit of the notes: its lines that the session supports, beside what the
structure of the session proves (SM-5, SM-13). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from msgspec import Struct

from memorist.core.json_answer import find_object_or_wrap_list
from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import TopLevelOutline, mark_fenced_code, parse_top_level_outline
from memorist.core.text_analysis import analyze_text
from memorist.forks.answer_form import coerce_to_text_list
from memorist.session_memory.notes_template import (
    STRUCTURAL_MARK,
    TITLE_SECTION,
    TemplateSection,
    compose_notes,
    compose_notes_with_derived,
    demote_headings,
    parse_authored_sections,
    parse_section_bodies,
    parse_template_sections,
)
from memorist.transcript_analysis.answer_check import AnswerLineChecker, CoveredLineDetector

_WORD = lazy_pattern(r"\w+")
_EMPTY_ENTRY = lazy_pattern(
    r"- (?:#{1,6} .*|\W*(?:none|n/?a|nothing(?: (?:is|was) (?:known|found|noted|recorded))?"
    r"(?: yet)?|no (?:\w+ ){1,3}(?:entries|yet|found|recorded))\W*)\Z",
    re.IGNORECASE,
)
"""An entry that is only a heading, or says that there is none."""
_BARE_NAME = lazy_pattern(r"- [`*\"']*[\w@~/-]*[\w./@-]+[`*\"']*[.,;:]?\Z", re.ASCII)
"""An entry of one name, of which it says nothing."""
_NOTHING_NEW = lazy_pattern(
    r"\bnothing (?:\w+ ){0,2}(?:new|changed|to|else|more|worth|needs?)\b|\bchanged nothing\b"
    r"|\bno (?:\w+ ){0,3}(?:changes?|updates?|edits?|additions?|entries)\b|^\W*nothing\W*$"
    r"|\balready (?:\w+ ){0,2}(?:cover|reflect|captur|record|includ|contain|describ|hold|there\b"
    r"|current|complete|accurate)|\b(?:notes|they) (?:\w+ ){0,2}(?:unchanged|up[ -]to[ -]date)\b"
    r"|\bneed(?:s|ed)? no\b",
    re.IGNORECASE,
)
_LABEL = lazy_pattern(r"- (?:\w+ ){0,3}\w+:")
"""The words that a derived entry begins with, as `- Last request:`."""
_SHOWN_CHARACTERS = 80
MAX_SECTION_CHARACTERS = 40_000
"""Characters of a section after which a model's new lines are dropped. Our choice: five times what
a section may hold by default; what is somewhat over is the model's to shorten.
"""


class ReviewedNotes(Struct, frozen=True, kw_only=True):
    """The notes to keep, and what became of the model's lines."""

    text: str
    stands: bool
    """Whether anything of the model's edit stands."""
    added: int = 0
    """New lines of the model that stand."""
    structural_line_count: int = 0
    """Lines of structure beside them, which the model's do not say."""
    dropped: tuple[tuple[str, str], ...] = ()
    """New lines that may not stand, each with the reason."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was dropped and put back, for the event and the receipt."""
        first = next((f" (such as “{line[:_SHOWN_CHARACTERS]}”, which {why})"
                      for line, why in self.dropped), "")  # fmt: skip
        lines = (
            f"{len(self.dropped)} lines of the model were dropped{first}" if self.dropped else "",
            f"{self.structural_line_count} lines that structure proves stand beside it"
            if self.structural_line_count
            else "",
        )
        return tuple(line for line in lines if line)


_REPEATED = "structure says already"
"""A copy of a derived line would stay as it is while what it says changes."""
_SAID_TWICE = "stands in another section already"
_MADE_UP = "is one of many that name nothing of the session"


def _find_label(line: str) -> str:
    label = _LABEL.match(line)
    return label[0].casefold() if label else ""


def _plain_words(line: str) -> str:
    return f" {' '.join(_WORD.findall(line.casefold()))} "


def review_notes_and_add_derived(
    before: str, after: str, template: str, derived: Mapping[str, str], check: AnswerLineChecker
) -> ReviewedNotes:
    """Review an edit (`before`, `after`: notes in the template's frame). What structure derives now
    is added section by section, without the lines that the model's text says already.
    """
    old_written = parse_authored_sections(before, template)
    old_lines = {line for body in old_written.values() for line in body.split("\n")}
    was_derived = {
        line.strip()
        for body in parse_section_bodies(before, template).values()
        for line in body.partition(STRUCTURAL_MARK)[2].split("\n")
    }
    lines = [line for body in derived.values() for line in body.split("\n")]
    proved, labels = "\n".join(map(_plain_words, lines)), {*map(_find_label, lines)} - {""}
    sections = {
        title: [line for line in body.split("\n") if not _is_derived(line, was_derived)]
        for title, body in parse_section_bodies(after, template).items()
    }
    new = [line for body in sections.values() for line in body if _is_new(line, old_lines)]
    made_up = _MADE_UP if check.lacks_session_names(new) else ""
    written: dict[str, str] = {}
    dropped: list[tuple[str, str]] = []
    said: set[str] = set()
    for title, body in sections.items():
        kept: list[str] = []
        size = 0
        for line in body:
            size += len(line)
            if not _is_new(line, old_lines):
                kept.append(line)
                continue
            words = _plain_words(line)
            fault = (
                made_up
                or (_REPEATED if words in proved or _find_label(line) in labels else "")
                or check.find_line_fault(line.strip(), title)
                or ("says nothing" if _is_empty_entry(line, title, check) else "")
                or check.find_copied_announcement(line)
                or (check.find_copied_heading(line) if title == TITLE_SECTION else "")
                or check.find_unsupported_user_claim(line)
                or (_SAID_TWICE if line.startswith("- ") and words in said else "")
                or ("is more than a section holds" if size > MAX_SECTION_CHARACTERS else "")
            )
            if fault:
                dropped.append((line.strip(), fault))
                size -= len(line)
                continue
            said.add(words)
            kept.append(line)
        written[title] = "\n".join(kept).strip("\n")
    proven = _drop_said(derived, written)
    return ReviewedNotes(
        text=compose_notes_with_derived(template, written, proven),
        stands=written != old_written,
        added=len(new) - len(dropped),
        structural_line_count=sum(
            1 for body in proven.values() for line in body.split("\n") if line.strip()
        ),
        dropped=tuple(dropped),
    )


def _is_empty_entry(line: str, title: str, check: AnswerLineChecker) -> bool:
    """Whether an entry says that there is none, also in the words of its section's title."""
    if _EMPTY_ENTRY.match(line) or _BARE_NAME.match(line):
        return True
    speaks_of_title = bool(analyze_text(line).stems & analyze_text(title).stems)
    return line.startswith("- No ") and speaks_of_title and not check.names_anything(line)


def _is_derived(line: str, was_derived: Collection[str]) -> bool:
    return line.strip() == STRUCTURAL_MARK or (bool(line.strip()) and line.strip() in was_derived)


def _is_new(line: str, old_lines: Collection[str]) -> bool:
    return bool(line.strip()) and line not in old_lines


def says_notes_need_no_update(answer: str) -> bool:
    """Whether an answer without an edit says in so many words that the notes need none: as the
    prompt asks for it, as models put it otherwise, or as a form without lines.
    """
    filled = find_object_or_wrap_list(answer)
    if filled is None:
        return _NOTHING_NEW.search(answer) is not None
    return not any(coerce_to_text_list(lines) for lines in filled.values())


def join_uncovered_derived_notes(notes: str, template: str, derived: Mapping[str, str]) -> str:
    """The notes as they were written, with what structure derives now and they do not say."""
    written = parse_authored_sections(notes, template)
    return compose_notes_with_derived(template, written, _drop_said(derived, written))


def _drop_said(derived: Mapping[str, str], written: Mapping[str, str]) -> dict[str, str]:
    said = CoveredLineDetector("\n".join(written.values()))
    return {title: drop_covered_entries(body, said) for title, body in derived.items()}


def drop_covered_entries(body: str, said: CoveredLineDetector) -> str:
    """Return derived text without the list entries of which a text holds every name and word; lines
    of code, tables and entries of more than one line stay together with what is around them.
    """
    lines = body.strip("\n").split("\n")
    kept: list[str] = []
    for (line, fenced), following in zip(mark_fenced_code(lines), [*lines[1:], ""], strict=True):
        goes_on = following.startswith((" ", "\t"))
        if fenced or goes_on or not line.startswith("- ") or not said.covers_line(line, share=1.0):
            kept.append(line)
    whole = "\n".join(kept).strip("\n")
    return "" if said.covers_line(whole, share=1.0) else whole


# Repair the structure of notes that a model has edited: headers, italic lines and lost sections
# come back (SM-5).


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
