"""The user's own words in a typed message, without quotations, pasted text and reported speech
(SF-2).

Pure.
"""

from __future__ import annotations

from memorist.auto_memory.said_prose import ends, mask, prose, quotations
from memorist.auto_memory.said_vetoes import quotes_another

LONG_QUOTATION = 20
"""Columns (two per Chinese character) above which a quotation is a sentence rather than a name or
term.
"""


def own_words(typed: str) -> str:
    """Extract the user's own words from a typed message.

    Whatever follows "the page says" in a line counts as the page's words; pasted text is dropped.
    """
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
