"""What may be quoted of a past message as the user's words: a rule that stands in what they pasted,
quoted or reported is somebody else's. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memorist.auto_memory.statements.composite_message import GENERAL
from memorist.auto_memory.statements.statement_filters import is_reported_speech
from memorist.auto_memory.statements.user_prose import extract_prose_lines, split_prose_sentences
from memorist.core.lazy import lazy_pattern

LEFT_OUT = "…"
_QUOTATION = lazy_pattern(r'"[^"\n]{12,}"|“[^”\n]{12,}”|„[^“\n]{12,}“|«[^»\n]{12,}»')
"""A quotation of more than a name or two."""
CACHE_SIZE = 64
"""Messages that are remembered: those that one prompt compares."""


@lru_cache(CACHE_SIZE)
def select_quotable_words(said: str) -> str:
    """The message with a mark in place of what others say in it, where that holds for always."""
    if GENERAL.search(said) is None:
        return said
    own = set(extract_prose_lines(said))
    lines = (_select_own(line) if line in own else _leave_out(line) for line in said.splitlines())
    return "\n".join(line for line in lines if line)


def _leave_out(line: str) -> str:
    return LEFT_OUT if GENERAL.search(line) else line


def _select_own(line: str) -> str:
    for each in split_prose_sentences(line):
        if is_reported_speech(each.masked) and GENERAL.search(each.text):
            line = line.replace(each.text, LEFT_OUT)
    return _QUOTATION.sub(_leave_out_match, line)


def _leave_out_match(found: re.Match[str]) -> str:
    return _leave_out(found[0])
