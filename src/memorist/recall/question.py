"""Parse a query into the words to search for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from memorist.recall.lexicon import ASKS_WHEN, STOP_WORDS
from memorist.recall.words import LONGEST_TEXT, words

MOST_WORDS = 24
"""Words of a query that are looked up, the rarest: a pasted log has hundreds, and the common ones
decide nothing.
"""


class Question(Struct, frozen=True):
    """The words to search for, each with its spelling in the query, and whether the query asks for
    a time.
    """

    words: Mapping[str, str]
    asks_when: bool


def read_question(text: str) -> Question:
    """Parse a text of any size and content. Stop words count only when there is nothing else."""
    text = text[:LONGEST_TEXT]
    found: dict[str, str] = {}
    stopped: dict[str, str] = {}
    for word, shown in words(text):
        (stopped if shown.lower() in STOP_WORDS else found).setdefault(word, shown)
    kept = found or stopped
    # In unspaced scripts a pair includes what its two characters say.
    paired = {character for word in kept if len(word) == 2 and not word.isascii() for character in word}
    return Question({word: shown for word, shown in kept.items() if word not in paired}, bool(ASKS_WHEN.search(text)))


def rarest(question: Question, counts: Mapping[str, int]) -> list[str]:
    """Select the words to look up, rarest first; words that no entry contains are dropped."""
    return sorted((word for word in question.words if counts.get(word)), key=lambda word: (counts[word], word))[:MOST_WORDS]


def named(question: Question, names: Sequence[Iterable[str]]) -> frozenset[int]:
    """Find the authors that the query names, as indexes into `author_names`.

    None when it names all of them, since that discriminates nothing.
    """
    asked = question.words.keys()
    known = [at for at, name in enumerate(names) if name]
    found = [at for at in known if any(word in asked for word in names[at])]
    return frozenset(found) if len(found) < len(known) else frozenset()
