"""The values that a text gives, beside what it gives them to (AM-12). Pure.

`El servidor escucha en el puerto 3000` and `... 4000` are the same but for a number; a number that
names something, as in `ticket 12 belongs to Anna`, is a part of the topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.clause_stances import (
    DAYS,
    fold_word_ending,
    get_alternatives_of_word,
    list_content_stems,
    parse_clause_stances,
)
from memorist.auto_memory.fact_paraphrases import SINCE
from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.auto_memory.value_correction import speaks_of_change
from memorist.core.lazy import lazy_pattern

MAX_FACT_CHARS = 200
"""Characters of the longest text that is read as a fact."""


class _GivenValues(Struct, frozen=True):
    """The values that a text gives, and what it gives them to."""

    values: dict[str, tuple[str, ...]]
    """By their sort: numbers, days, words of which one is chosen."""
    topic: frozenset[str]


_LOOSE = """
    change move raise lower increase reduce bump delay extend shorten set put shift postpone
    reschedule rename evening morning afternoon noon night start max maximum minimum default limit
    least most uhr o'clock ist sind est sont es son são é passé verschoben geändert
    repoussé repoussée reporté reportée avancé avancée aplazado aplazada pospuesto pospuesta adiado
    adiada passou pasó passe cut
"""
_LOOSE_WORDS = frozenset(map(fold_word_ending, _LOOSE.split()))
"""Words that say only that something changed, or when."""
_MEASURE = lazy_pattern(
    r"(?:m?s|secs?|min|seconds?|minutes?|hours?|days?|weeks?|months?|lines?|char(?:acter)?s?|columns?"
    r"|times?|percent|%|[kmg]b|sekunden?|minuten?|stunden?|tagen?|zeilen?|secondes?|heures?|jours?"
    r"|segundos?|minutos?|horas?|días?|dias?|líneas?|linhas?|секунд\w*|минут\w*|строк\w*)\W*\Z",
    re.IGNORECASE,
)
_COMPARING = lazy_pattern(
    r"(?:over|under|after|every|within|than|above|below|least|most|about|exceed|has|=|:)\Z",
    re.IGNORECASE,
)
"""What stands before a number that is a value; behind any other word it is part of a name."""


@lru_cache(maxsize=2_000)
def _read_values(text: str) -> _GivenValues | None:
    """The values of a text; None for one that is long, or that asks."""
    if len(text) > MAX_FACT_CHARS or "?" in text:
        return None
    tokens = SINCE.sub("", _BESIDE_VALUE.sub("", text)).split()
    read = [_read_token(token) for token in tokens]
    values: dict[str, tuple[str, ...]] = {}
    topic: set[str] = set()
    for at, stems in enumerate(read):
        for stem in stems:
            sort = _name_sort(stem)
            if sort == "number" and not _is_value(at, tokens, read):
                sort = ""
            if sort:
                values[sort] = (*values.get(sort, ()), stem)
            elif stem not in _LOOSE_WORDS and not _is_measure(at, tokens, read):
                topic.add(stem)
    return _GivenValues(values, frozenset(topic)) if values else None


_read_token = lru_cache(maxsize=20_000)(list_content_stems)
_BESIDE_VALUE = lazy_pattern(
    r"\b(?:since|seit|depuis|desde|as of)\b.*"
    r"|(?<=\d) (?:and|or|und|oder|et|ou|y|o|e|и|или)"
    r" (?:up|above|newer|later|higher|neuer|höher|plus|más|superior\w*|mais|выше|новее)\b",
    re.IGNORECASE,
)
"""Says since when, or that more will do as well."""
_NUMBER = lazy_pattern(r"\d[\d.,:/-]*[^\W\d]{0,2}%?\Z")


def _is_value(at: int, tokens: Sequence[str], read: Sequence[Sequence[str]]) -> bool:
    """Whether a number in a token is a value; behind a noun it is the noun's name, but for one of
    which the unit is given.
    """
    if at == 0 or at > len(tokens) - 3:
        return at > len(tokens) - 3
    if _is_measure(at + 1, tokens, read):
        return True
    before = read[at - 1]
    return (
        not before
        or before[0] in VERBS
        or before[0] in _LOOSE_WORDS
        or _COMPARING.match(tokens[at - 1]) is not None
    )


def _is_measure(at: int, tokens: Sequence[str], read: Sequence[Sequence[str]]) -> bool:
    """Whether a token is the unit of the number before it."""
    return (
        at > 0
        and any(stem[0].isdigit() for stem in read[at - 1])
        and _MEASURE.match(tokens[at]) is not None
    )


@lru_cache(maxsize=20_000)
def _name_sort(stem: str) -> str:
    """What sort of value a word may be; empty for one that is none."""
    if _NUMBER.match(stem):
        return "number"
    if stem in DAYS:
        return "day"
    group = get_alternatives_of_word(stem)
    return min(group) if group and "german" not in group else ""


def _says_change(text: str) -> bool:
    return speaks_of_change(text) or SINCE.search(text) is not None


def gives_other_value(new: str, known: str) -> bool:
    """Whether two texts that rule nothing out give one thing different values."""
    return _differ_in_value(new, known) and all(
        each.is_positive for text in (new, known) for each in parse_clause_stances(text)
    )


def _differ_in_value(new: str, known: str) -> bool:
    """Whether two texts say the same but for one value; where the new one speaks of a change, it
    may leave out a part of what the other one is about, or say more; so may the other one where it
    does.
    """
    mine = _read_values(new)
    theirs = None if mine is None else _read_values(known)
    if mine is None or theirs is None:
        return False
    shared = mine.topic & theirs.topic
    differing = [
        sort
        for sort, given in mine.values.items()
        if len(given) == len(theirs.values.get(sort, ())) == 1 and given != theirs.values[sort]
    ]
    if mine.topic == theirs.topic:
        same = [sort for sort, given in mine.values.items() if given == theirs.values.get(sort)]
        return (
            bool(shared or same)
            and len(differing) == 1
            and len(same) + 1 == len(mine.values) == len(theirs.values)
        )
    is_part = shared in (mine.topic, theirs.topic)
    says_change = _says_change(new) or (shared == mine.topic and _says_change(known))
    return bool(differing and shared) and is_part and says_change


def list_search_words_for_values(text: str) -> frozenset[frozenset[str]]:
    """Groups of words, of one of which every text holds all that gives the same another value."""
    given = _read_values(text)
    if given is None:
        return frozenset()
    values = (word for words in given.values.values() for word in words)
    each = frozenset(frozenset((word,)) for word in (given.topic or values))
    return each if _says_change(text) or not given.topic else frozenset((given.topic,))
