"""Merge two changes of one memory if they touch different sections (TM-2). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorist.core.markdown import mark_fenced_code
from memorist.team.shared_memory_form import compute_text_checksum

_SECTION_START = re.compile(r"#{1,6}\s|\*{0,2}(?:Why|How to apply):")
_HEADER_FENCE = "---"
_FIRST_SECTIONS = {"header": 0, "body": 1}

NamedSections = dict[tuple[str, int], str]


def split_named_sections(text: str) -> NamedSections:
    """Split into sections in order: (first line, how many of that name came before) to all lines.

    Joined they give the text again.
    """
    found: list[list[str]] = [[]]
    header = text.startswith(f"{_HEADER_FENCE}\n")
    for number, (line, fenced) in enumerate(mark_fenced_code(text.splitlines(keepends=True))):
        if header:
            found[-1].append(line)
            if number and line.rstrip() == _HEADER_FENCE:
                header = False
                found.append([])
            continue
        if not fenced and _SECTION_START.match(line):
            found.append([])
        found[-1].append(line)
    return _name_sections([lines for lines in found if lines])


def _name_sections(parts: Sequence[list[str]]) -> NamedSections:
    named: NamedSections = {}
    for at, lines in enumerate(parts):
        first = lines[0].strip()
        name = (
            first.partition(":")[0]
            if _SECTION_START.match(first) and not first.startswith("#")
            else first
        )
        if at < 2 and not _SECTION_START.match(lines[0]):
            name = "header" if lines[0].strip() == _HEADER_FENCE else "body"
        number = 0
        while (name, number) in named:
            number += 1
        named[name, number] = "".join(lines)
    return named


def merge_memory_texts(base: str | None, mine: str, theirs: str) -> str | None:
    """Merge both changes of `base`; None if they change one section in two ways, or there is no
    common text.
    """
    if mine == theirs or base is None:
        return mine if mine == theirs else None
    if base in (mine, theirs):
        return theirs if base == mine else mine
    one = split_named_sections(mine)
    two = split_named_sections(theirs)
    start = split_named_sections(base)
    chosen: NamedSections = {}
    for name in _merge_order(two, one):
        parts = {_strip_section(each.get(name)) for each in (one, two)}
        before = _strip_section(start.get(name))
        if len(parts - {before}) > 1:
            return None
        part = one.get(name) if _strip_section(one.get(name)) != before else two.get(name)
        if part is not None:
            chosen[name] = part
    text = _join_sections(chosen)
    # A fence that one of them leaves open would swallow what follows, and a name that is there
    # twice may change places: then it is not the two.
    whole = _drop_empty_sections(split_named_sections(text)) == _drop_empty_sections(chosen)
    return text if whole and text.strip() else None


def _drop_empty_sections(parts: NamedSections) -> NamedSections:
    return {name: plain for name, part in parts.items() if (plain := part.strip("\n"))}


def _strip_section(part: str | None) -> str | None:
    return (part or "").strip("\n") or None


def _merge_order(first: NamedSections, second: NamedSections) -> list[tuple[str, int]]:
    """Return one text's sections with each further one of the other inserted after the section it
    follows there; a header first, then text without heading.
    """
    order = list(first)
    before: tuple[str, int] | None = None
    for name in second:
        if name not in first:
            order.insert(order.index(before) + 1 if before is not None else 0, name)
        before = name
    return sorted(order, key=lambda name: _FIRST_SECTIONS.get(name[0], len(_FIRST_SECTIONS)))


def _join_sections(parts: NamedSections) -> str:
    """Join the sections; one that was last in its text and no longer is gets a blank line behind
    it.
    """
    texts = list(parts.values())
    apart = [
        text
        if text.endswith("\n\n") or at == len(texts) - 1 or name[0] == "header"
        else f"{text.rstrip(chr(10))}\n\n"
        for at, (name, text) in enumerate(parts.items())
    ]
    return "".join(apart).strip("\n") + "\n"


def name_conflict_copy(key: str, text: str) -> str:
    """Return the name of the conflict copy of a text that cannot be merged: the same everywhere for
    the same text.
    """
    stem = key.removesuffix(".md")
    mark = compute_text_checksum(text).removeprefix("sha256:")[:8]
    return f"{stem}-{mark}.md"
