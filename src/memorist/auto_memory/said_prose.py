"""A person's own prose out of what was typed: sentences with their places, without code, quotations, diffs, tables and logs. Pure.

Everything here takes time in proportion to the text: lines are looked at once, and only sentences of a bounded length go further.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memorist.core.later import late_pattern

LONGEST_SENTENCE = 400
"""Characters. Nobody states a rule for later in a longer sentence; what is longer is a description or something pasted."""

LONG_MESSAGE = 1_200
"""Characters from which a message is a description or a paste; then only its first and its last paragraph are looked at."""

HIDDEN = "\ue000"
"""Stands for each character of a quotation, so that its words trigger nothing and every place stays where it was."""

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
    """A sentence of a typed text: its own words, the same with quotations hidden (of equal length), and what stands around it."""

    text: str
    masked: str
    before: str = ""
    """The sentence before it on the same line, empty at the start of a line."""
    after: str = ""
    """The sentence after it on the same line."""
    listed: bool = False
    """It stands in a list."""
    lead: str = ""
    """For an item of a list: the line before the list."""


def mask(text: str) -> str:
    """The text with quotations and code spans hidden, of the same length."""
    return _QUOTED.sub(lambda match: HIDDEN * len(match[0]), text)


def ends(masked: str) -> list[int]:
    """Where the sentences of a line end, the line's own end included; quotations are masked."""
    return [*(match.end() for match in _END.finditer(masked)), len(masked)]


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Places of quotations in a line; spans of code are none."""
    return (match.span() for match in _QUOTED.finditer(text) if not match[0].startswith("`"))


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a person's prose in a typed text, in order. Each `text` stands in it word for word."""
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
    """The lines a person wrote. A line that announces something pasted ends the person's part; an open fence hides the rest."""
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
    """Quotations are hidden before the line is cut, so that a full stop in one ends nothing."""
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
    """The span without the white space around it."""
    part = line[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
