"""A question to what is looked for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from memorist.recall.lexicon import ASKS_WHEN, STOP_WORDS
from memorist.recall.words import LONGEST_TEXT, words

MOST_WORDS = 24
"""Words of a question that are looked up, the rarest: a pasted log has hundreds, and the common ones among them decide nothing."""


class Question(Struct, frozen=True):
    """What is looked for: each word with the form it had in the question, and whether it is about time."""

    words: Mapping[str, str]
    asks_when: bool


def read_question(text: str) -> Question:
    """The question in a text of any size and content. Stop words count only when there is nothing else."""
    text = text[:LONGEST_TEXT]
    found: dict[str, str] = {}
    stopped: dict[str, str] = {}
    for word, shown in words(text):
        (stopped if shown.lower() in STOP_WORDS else found).setdefault(word, shown)
    kept = found or stopped
    # Where a script has no spaces, a pair says what its two characters say, and more.
    paired = {character for word in kept if len(word) == 2 and not word.isascii() for character in word}
    return Question({word: shown for word, shown in kept.items() if word not in paired}, bool(ASKS_WHEN.search(text)))


def rarest(question: Question, counts: Mapping[str, int]) -> list[str]:
    """The words to look up, rarest first. Words that stand nowhere cannot find anything."""
    return sorted((word for word in question.words if counts.get(word)), key=lambda word: (counts[word], word))[:MOST_WORDS]


def named(question: Question, names: Sequence[Iterable[str]]) -> frozenset[int]:
    """Which authors the question names, as places in `names`; none when it names all of them, since that tells nothing."""
    asked = question.words.keys()
    known = [at for at, name in enumerate(names) if name]
    found = [at for at in known if any(word in asked for word in names[at])]
    return frozenset(found) if len(found) < len(known) else frozenset()
