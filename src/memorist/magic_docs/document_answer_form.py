"""An update of a Magic Doc as a form that a model fills in: lines to change, lines to add. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import mark_fenced_code
from memorist.core.messages import JsonObject
from memorist.forks.answer_form import FormTask, coerce_to_object_list
from memorist.forks.file_tool_calls import EditFileCall, TextReplacement
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.magic_docs.document_header import MagicDocHeader
from memorist.magic_docs.document_prompt import (
    MagicDocPrompts,
    describe_shown_part,
    render_instruction_and_reasons,
)

_FIELDS = ("section", "old", "new")
MAX_CHANGES = 8
"""Lines changed by one answer; what is more comes with the next. It ends a model in a loop."""


def build_document_form(
    contents: str,
    path: str,
    header: MagicDocHeader,
    prompts: MagicDocPrompts,
    refused: tuple[str, ...] = (),
    *,
    shown: str | None = None,
) -> FormTask:
    """The form for the document at `path`; parameters as for `build_update_prompt`."""

    def read(answer: JsonObject) -> ParsedAnswerEdits:
        text, problems, known = contents, [], []
        for given in coerce_to_object_list(answer.get("changes")):
            if not isinstance(given.get("new"), str):
                problems.append("a change has no text under `new`; to take a line out, it is empty")
                continue
            section, old, new = (str(given.get(key) or "").strip("\n") for key in _FIELDS)
            if old.strip() == new.strip():
                known.append(new)
                continue
            section, line = _split_heading(text, section, new)
            changed = (
                _replace_line(text, old, line) if old.strip() else _add_line(text, section, line)
            )
            if changed == text:
                known.append(new)
            elif isinstance(changed, str):
                text = changed
            else:
                problems.append(f"no one line reads “{old[:80]}”, or there is no such section")
        edit = EditFileCall(path, (TextReplacement(contents, text),))
        if text == contents:
            same = tuple(f"“{new.strip()[:80]}” changes nothing" for new in known[:1])
            return ParsedAnswerEdits((), tuple(problems[:1]), dropped=same)
        return ParsedAnswerEdits((edit,), dropped=tuple(problems))

    text: JsonObject = {"type": "string"}
    own, reasons = render_instruction_and_reasons(header, prompts, refused)
    shown = contents if shown is None else shown
    part = describe_shown_part(contents, shown)
    named = f"The document `{PurePath(path).name}`{part}:\n\n{shown.strip()}"
    return FormTask(
        instruction=prompts.form.strip(),
        material="\n\n".join(filter(None, (named, own, reasons))),
        schema={
            "type": "object",
            "properties": {
                "changes": {
                    "type": "array",
                    "maxItems": MAX_CHANGES,
                    "items": {
                        "type": "object",
                        "properties": dict.fromkeys(_FIELDS, text),
                        "required": list(_FIELDS),
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["changes"],
            "additionalProperties": False,
        },
        read=read,
    )


MIN_CUT_CHARACTERS = 200
"""Characters of a paragraph that is cut from a section of which another part is not known: a short
one may stand elsewhere by chance, and says where a change belongs.
"""


def elide_seen_sections(contents: str, seen: str) -> str:
    """The document with `…` for the body of each section that a conversation holds word for word,
    and for each long paragraph of the others: what was changed since it was read stands in full.
    """
    known = f"\n{_plain_lines(seen)}\n"
    sections: list[list[str]] = [[]]
    headings = _find_headings(lines := contents.strip().split("\n"))
    for at, line in enumerate(lines):
        if at in headings:
            sections.append([])
        sections[-1].append(line)
    shown: list[str] = []
    for section in filter(None, sections):
        plain = _plain_lines("\n".join(section))
        is_seen = "\n" in plain and f"\n{plain}\n" in known
        shown += [f"{section[0]} …"] if is_seen else _cut_seen_paragraphs(section, known)
    return "\n".join(shown)


def _cut_seen_paragraphs(section: list[str], known: str) -> list[str]:
    shown: list[str] = []
    for paragraph in _BLANK_LINES.split("\n".join(section)):
        plain = _plain_lines(paragraph)
        is_seen = len(plain) >= MIN_CUT_CHARACTERS and f"\n{plain}\n" in known
        if not (is_seen and shown and shown[-1] == "…"):
            shown.append("…" if is_seen else paragraph)
    return "\n\n".join(shown).split("\n")


def _plain_lines(text: str) -> str:
    """The lines that say something, without the numbers that reading tools set before them."""
    lines = (_LINE_NUMBER.sub("", line).strip() for line in text.split("\n"))
    return "\n".join(filter(None, lines))


_LINE_NUMBER = lazy_pattern(r"\A\s*(?:L?\d+(?:→|\t|: |\|\s?))")


def _split_heading(text: str, section: str, new: str) -> tuple[str, str]:
    """The section and the text for it: a new text that begins with a heading of the document goes
    under that heading, whatever section was named beside it.
    """
    first, _, rest = new.partition("\n")
    lines = text.split("\n")
    headings = {lines[at].strip() for at in _find_headings(lines)}
    return (first, rest.strip("\n")) if first.strip() in headings else (section, new)


def _replace_line(text: str, old: str, new: str) -> str | None:
    """The text with another line; None unless it holds the line once."""
    lines = text.split("\n")
    found = [at for at, line in enumerate(lines) if line.strip() == old.strip()]
    if len(found) != 1:
        return None
    before = lines[found[0]]
    indent = before[: len(before) - len(before.lstrip())]
    lines[found[0] : found[0] + 1] = [indent + new.strip()] if new.strip() else []
    return "\n".join(lines)


def _add_line(text: str, section: str, line: str) -> str | None:
    """The text with a line at the end of a section; None without such a section."""
    lines = text.split("\n")
    if not line.strip() or line.strip() in map(str.strip, lines):
        return text
    wanted = section.lstrip("#").strip().casefold()
    inside = None
    headings = {*_find_headings(lines), len(lines)}
    for at, each in enumerate([*lines, ""]):
        if at not in headings:
            inside = at if inside is not None and each.strip() else inside
        elif inside is not None:
            apart = [""] if _is_prose(lines[inside]) and _is_prose(line) else []
            return "\n".join((*lines[: inside + 1], *apart, line.strip(), *lines[inside + 1 :]))
        elif each.lstrip("#").strip().casefold() == wanted:
            inside = at
    return None


_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_LIST_ENTRY = re.compile(r"\s*(?:[-*+|>]|\d+[.)])\s?")


def _find_headings(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines that are headings: a comment in a script is none."""
    marked = enumerate(mark_fenced_code(lines))
    return [at for at, (line, fenced) in marked if not fenced and _HEADING.match(line)]


def _is_prose(line: str) -> bool:
    """Whether a line, set directly below another one, would go on its paragraph."""
    return bool(line.strip()) and not (_HEADING.match(line) or _LIST_ENTRY.match(line))
