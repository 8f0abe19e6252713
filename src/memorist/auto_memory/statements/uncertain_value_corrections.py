"""Bare corrections: sentences that give something another value and do not say that it lasts, such as
`Make that 60 lines per function, 40 was too strict.` Pure.

Whether one is meant for later only shows beside the memory that it corrects; without one it states
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorist.auto_memory.fact_values import parse_value_exchange
from memorist.auto_memory.statements.statement_filters import (
    is_forbidden_in_memory,
    is_question_or_supposition,
    is_reported_speech,
)
from memorist.auto_memory.statements.statement_kind import choose_memory_kind
from memorist.auto_memory.statements.statement_parser import (
    Statement,
    may_be_others_words,
    split_typed_sentences,
)
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.auto_memory.value_correction import parse_value_correction
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin

_REFUSAL = lazy_pattern(
    r"(?:no|nope|nah|actually|ok(?:ay)?|update|correction|nein|korrektur|non|correctif|corrección|não|correção|нет|уточнение|不|不对)\s*[,:.!–—，。-]+\s*",
    re.IGNORECASE,
)
_OF_NOW = lazy_pattern(r"\bright now\b|现在|目前", re.IGNORECASE)
"""Elsewhere the mark of a passing state, and in a correction what the new value begins with."""


def find_uncertain_value_corrections(message: Message) -> tuple[Statement, ...]:
    """Find the sentences of a message that give something another value; each is uncertain, and
    counts only where a memory has the former value.
    """
    if message.origin is not Origin.USER or message.role not in {"user", "developer"}:
        return ()
    return tuple(
        Statement("correction", choose_memory_kind(text), text, quote, message.id, certain=False)
        for text, quote in _corrections_in(extract_typed_text(message))
    )


def _corrections_in(typed: str) -> Iterator[tuple[str, str]]:
    if typed.startswith(("!", "/")) or may_be_others_words(typed):
        return
    for sentence in split_typed_sentences(typed):
        if (
            sentence.in_list
            or is_question_or_supposition(sentence.masked)
            or is_reported_speech(sentence.masked)
            or is_forbidden_in_memory(_OF_NOW.sub("", sentence.masked))
            or (
                parse_value_correction(sentence.text) is None
                and parse_value_exchange(sentence.text) is None
            )
        ):
            continue
        refusal = _REFUSAL.match(sentence.text)
        yield sentence.text[refusal.end() if refusal else 0 :].strip(), sentence.text
