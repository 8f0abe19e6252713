"""What of a typed message is the person's own: not what they quote, paste, or report of others (SF-2). Pure."""

from __future__ import annotations

from memorist.auto_memory.said_prose import ends, mask, prose, quotations
from memorist.auto_memory.said_vetoes import quotes_another

LONG_QUOTATION = 20
"""Columns (two for a Chinese sign) of a quotation that is somebody's sentence; a shorter one is a name or a term."""


def own_words(typed: str) -> str:
    """The person's own words of a typed message. What follows, in a line, on "the page says" is the page's; what is pasted is nobody's."""
    text = typed.strip()
    if "\n" not in text:
        return _of_line(text)
    return "\n".join(filter(None, map(_of_line, prose(text))))


def _of_line(line: str) -> str:
    masked, start = mask(line), 0
    for end in ends(masked):
        if quotes_another(masked[start:end]):
            break
        start = end
    kept, done = [], 0
    for begin, end in quotations(line[:start]):
        if sum(2 if letter > "\u2e80" else 1 for letter in line[begin:end]) > LONG_QUOTATION:
            kept.append(line[done:begin])
            done = end
    return " … ".join([*kept, line[done:start]]).strip()
