"""Extract the user's own prose from typed text: sentences with positions, without code, quotations,
diffs, tables and logs.

Pure. Everything here runs in linear time: each line is examined once, and only sentences of bounded
length go further.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memorist.core.later import late_pattern

LONGEST_SENTENCE = 400
"""Characters of the longest sentence that is read as a statement; longer ones are descriptions or
pasted.
"""

LONG_MESSAGE = 1_200
"""Characters above which a message is a description or a paste; only its first and last paragraph
are examined then.
"""

HIDDEN = "\ue000"
"""Replaces each character of a quotation, so that its words match nothing and all positions stay
the same.
"""

_PASTED_LINE = late_pattern(
    r"""\s*(?:>|\||\+\+\+|---\s|@@|diff\ --git|\$\s|(?:PS|C:)[^ ]*>|Traceback\b|at\s\S+\s?\(|File\s"|\d+[:|]
    |[+-](?:\s{2,}|\S)|\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b|
    (?:\w+\.)*\w*(?:Error|Exception):)""",
    re.VERBOSE,
)
_CODE_LINE = late_pattern(
    r"[{};]\s*$|=>|==|\+=|\w\(\)|^\s*(?:def|class|import|from \w+ import|const|let|var|return|function|public|if \()\b.*[(){}=:]"
)
_BULLET = late_pattern(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_HEADING = late_pattern(r"\s{0,3}#{1,6}\s")
_PASTE_AHEAD = late_pattern(
    r"\b(?:says?|said|wrote|docs?|guide|guidelines|readme|output|errors?|logs?|below|following|feedback|comments?|review"
    r"|email|spec|plan|prompt"
    r"|template|transcript|agent|poem|lyrics|text|translate|quote|article)\b[^\n]{0,60}:\s*$|(?:如下|原文|日志|报错|文档"
    r"|翻译)[^\n]{0,20}[：:]\s*$"
    r"|message from (?:another|an|the other) (?:agent|bot)",
    re.IGNORECASE,
)
_END = late_pattern(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)[.!?](?=[\s\"”’)]|$)|[。！？]")
_QUOTED = late_pattern(
    r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|「[^」\n]{1,300}」"
    r"|『[^』\n]{1,300}』|《[^》\n]{1,300}》"
    r"|‘[^’\n]{1,300}’(?!\w)|(?<![\w'])'[^'\n]{1,300}'(?!\w)"
)


class Sentence(Struct, frozen=True):
    """A sentence of a typed text: its words, the same with quotations masked (equal length), and
    its surroundings.
    """

    text: str
    masked: str
    before: str = ""
    """The preceding sentence on the same line; empty at the start of a line."""
    after: str = ""
    """The following sentence on the same line."""
    listed: bool = False
    """Whether it is part of a list item."""
    lead: str = ""
    """For a list item: the line before the list."""


def mask(text: str) -> str:
    """Mask quotations and code spans; the length stays the same."""
    return _QUOTED.sub(lambda match: HIDDEN * len(match[0]), text)


def ends(masked: str) -> list[int]:
    """Return the end positions of a masked line's sentences, including the end of the line."""
    return [*(match.end() for match in _END.finditer(masked)), len(masked)]


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Return the spans of quotations in a line; code spans are not quotations."""
    return (match.span() for match in _QUOTED.finditer(text) if not match[0].startswith("`"))


def sentences(text: str) -> Iterator[Sentence]:
    """Split the user's prose into sentences, in order. Each `text` occurs verbatim in the input."""
    lead = ""
    for line in prose(_own_paragraphs(text)):
        bullet = _BULLET.match(line)
        body = line[bullet.end() :] if bullet else line
        if not bullet:
            lead = line.strip()
        yield from _of_line(body, listed=bullet is not None, lead=lead if bullet else "")


def _own_paragraphs(text: str) -> str:
    if len(text) <= LONG_MESSAGE:
        return text
    first = text[:LONG_MESSAGE].split("\n\n", 1)
    last = text[-LONG_MESSAGE:].rsplit("\n\n", 1)
    parts = [part[-1] if part is last else part[0] for part in (first, last) if len(part) == 2]
    return "\n\n".join(part for part in parts if len(part) <= LONGEST_SENTENCE)


def prose(text: str) -> Iterator[str]:
    """Yield the lines the user wrote.

    A line that announces pasted text ends the user's part; an open code fence hides the rest.
    """
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if fenced or not line.strip() or line.startswith(("    ", "\t")) or _HEADING.match(line):
            continue
        if _PASTED_LINE.match(line) or _CODE_LINE.search(line[-LONGEST_SENTENCE:]):
            continue
        yield line
        if _PASTE_AHEAD.search(line[-LONGEST_SENTENCE:]):
            return


def _of_line(line: str, *, listed: bool, lead: str) -> Iterator[Sentence]:
    """Split a line into sentences.

    Quotations are masked first, so that a full stop in one ends nothing.
    """
    masked = mask(line)
    spans = []
    start = 0
    for end in ends(masked):
        if line[start:end].strip():
            spans.append(_stripped(line, start, end))
        start = end
    for at, (begin, end) in enumerate(spans):
        if end - begin > LONGEST_SENTENCE:
            continue
        before = line[slice(*spans[at - 1])][-LONGEST_SENTENCE:] if at else ""
        after = line[slice(*spans[at + 1])][:LONGEST_SENTENCE] if at + 1 < len(spans) else ""
        yield Sentence(line[begin:end], masked[begin:end], before, after, listed, lead[-LONGEST_SENTENCE:])


def _stripped(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without surrounding white space."""
    part = line[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
