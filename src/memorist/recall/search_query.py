"""Parse a query into the words to search for, and find typing errors in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from memorist.core.language_detection import (
    COMMON_WORDS,
    detect_snowball_language,
    stem_in_language,
)
from memorist.core.search_words import (
    MAX_TEXT_CHARS,
    QUERY_STOP_WORDS,
    TIME_QUESTION,
    extract_words_with_keys,
)
from memorist.recall.word_chance import WORD_RATES

MAX_QUERY_WORDS = 24
"""Words of a query that are looked up, the rarest: a pasted log has hundreds, and the common ones
decide nothing.
"""


PARSED_QUERIES = 8
"""Queries that are remembered as they were parsed: a prompt is searched for in memories and past
sessions, and what was found compared with it.
"""


class SearchQuery(Struct, frozen=True):
    """The words to search for, each with its spelling in the query, and whether the query asks for
    a time.
    """

    words: Mapping[str, str]
    asks_when: bool


def build_search_query_from_text(text: str) -> SearchQuery:
    """Parse a text of any size and content. Stop words count only when there is nothing else."""
    return _parse_query(text[:MAX_TEXT_CHARS])


@lru_cache(PARSED_QUERIES)
def _parse_query(text: str) -> SearchQuery:
    found: dict[str, str] = {}
    stopped: dict[str, str] = {}
    language = detect_snowball_language(text)
    common = QUERY_STOP_WORDS | COMMON_WORDS[language]
    stems = language != "english"
    for word, shown in extract_words_with_keys(text):
        if stems and shown.isalpha() and word != stem_in_language(shown, language):
            continue  # its stem in the query's language follows, and a word counts once
        (stopped if shown.lower() in common else found).setdefault(word, shown)
    kept = found or stopped
    # In unspaced scripts a pair includes what its two characters say.
    paired = {
        character for word in kept if len(word) == 2 and not word.isascii() for character in word
    }
    return SearchQuery(
        {word: shown for word, shown in kept.items() if word not in paired},
        bool(TIME_QUESTION.search(text)),
    )


def select_rarest_words(question: SearchQuery, counts: Mapping[str, int]) -> list[str]:
    """Select the words to look up, rarest first; words that no entry contains are dropped."""
    return sorted(
        (word for word in question.words if counts.get(word)), key=lambda word: (counts[word], word)
    )[:MAX_QUERY_WORDS]


MIN_MENDED_LETTERS = 6
MAX_MENDED_WORDS = 3
"""Letters of a word that may be a typing error, and how many of one query are looked at: short
words have too many neighbours.
"""


def may_be_mistyped(word: str) -> bool:
    """Whether a search key that no entry has may be a typing error."""
    return len(word) >= MIN_MENDED_LETTERS and word.isalpha() and word not in WORD_RATES


def is_one_letter_off(word: str, other: str) -> bool:
    """Whether one letter was left out, added, changed, or swapped with the next."""
    shorter, longer = sorted((word, other), key=len)
    at = next((at for at, sign in enumerate(shorter) if sign != longer[at]), len(shorter))
    if len(longer) > len(shorter):
        return longer[at + 1 :] == shorter[at:] and len(longer) == len(shorter) + 1
    changed = shorter[at + 1 :] == longer[at + 1 :]
    swapped = shorter[at : at + 2] == longer[at : at + 2][::-1]
    return changed or (swapped and shorter[at + 2 :] == longer[at + 2 :])
