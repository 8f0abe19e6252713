"""Merge two changes of one memory if they touch different sections (TM-2). Pure.

A section is the header, or the text from one heading, or from one of the labels that memories are
built with (`Why:`, `How to apply:`), to the next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorist.team.wire import digest

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_BEGIN = re.compile(r"#{1,6}\s|\*{0,2}(?:Why|How to apply):")
_HEADER = "---"
_FIRST = {"header": 0, "body": 1}

Named = dict[tuple[str, int], str]


def sections(text: str) -> Named:
    """Split into sections in order: (first line, how many of that name came before) to all lines.

    Joined they give the text again.
    """
    found: list[list[str]] = [[]]
    fenced, header = False, text.startswith(f"{_HEADER}\n")
    for number, line in enumerate(text.splitlines(keepends=True)):
        if header:
            found[-1].append(line)
            if number and line.rstrip() == _HEADER:
                header = False
                found.append([])
            continue
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _BEGIN.match(line):
            found.append([])
        found[-1].append(line)
    return _named([lines for lines in found if lines])


def _named(parts: Sequence[list[str]]) -> Named:
    named: Named = {}
    for at, lines in enumerate(parts):
        first = lines[0].strip()
        name = first.partition(":")[0] if _BEGIN.match(first) and not first.startswith("#") else first
        if at < 2 and not _BEGIN.match(lines[0]):
            name = "header" if lines[0].strip() == _HEADER else "body"
        number = 0
        while (name, number) in named:
            number += 1
        named[name, number] = "".join(lines)
    return named


def merged(base: str | None, mine: str, theirs: str) -> str | None:
    """Merge both changes of `base`; None if they change one section in two ways, or there is no
    common text.
    """
    if mine == theirs or base is None:
        return mine if mine == theirs else None
    if base in (mine, theirs):
        return theirs if base == mine else mine
    one, two, start = sections(mine), sections(theirs), sections(base)
    chosen: Named = {}
    for name in _order(two, one):
        parts = {_plain(each.get(name)) for each in (one, two)}
        before = _plain(start.get(name))
        if len(parts - {before}) > 1:
            return None
        part = one.get(name) if _plain(one.get(name)) != before else two.get(name)
        if part is not None:
            chosen[name] = part
    text = _joined(chosen)
    # A fence that one of them leaves open would swallow what follows, and a name that is there
    # twice may change places: then it is not the two.
    whole = _filled(sections(text)) == _filled(chosen)
    return text if whole and text.strip() else None


def _filled(parts: Named) -> Named:
    return {name: plain for name, part in parts.items() if (plain := part.strip("\n"))}


def _plain(part: str | None) -> str | None:
    return (part or "").strip("\n") or None


def _order(first: Named, second: Named) -> list[tuple[str, int]]:
    """Return one text's sections with each further one of the other inserted after the section it
    follows there; a header first, then text without heading.
    """
    order = list(first)
    before: tuple[str, int] | None = None
    for name in second:
        if name not in first:
            order.insert(order.index(before) + 1 if before is not None else 0, name)
        before = name
    return sorted(order, key=lambda name: _FIRST.get(name[0], len(_FIRST)))


def _joined(parts: Named) -> str:
    """Join the sections; one that was last in its text and no longer is gets a blank line behind
    it.
    """
    texts = list(parts.values())
    apart = [
        text if text.endswith("\n\n") or at == len(texts) - 1 or name[0] == "header" else f"{text.rstrip(chr(10))}\n\n"
        for at, (name, text) in enumerate(parts.items())
    ]
    return "".join(apart).strip("\n") + "\n"


def beside(key: str, text: str) -> str:
    """Return the name of the conflict copy of a text that cannot be merged: the same everywhere for
    the same text.
    """
    stem = key.removesuffix(".md")
    mark = digest(text).removeprefix("sha256:")[:8]
    return f"{stem}-{mark}.md"
