"""What the words of a text are to a digest: the names in them, and the runs by which a text says what another said. Pure.

A history says the same words over and over. What stands between two blanks is taken apart once and remembered, so that a text costs little more
than its splitting. No name and no word has a blank in it, so nothing is lost at the seams.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from memorist.core.later import late_pattern

RUN = 6
"""Words or signs in a row that count as said before."""

KNOWN_CHARACTERS = 400_000
"""Characters of the different words that are remembered: those of a few histories. A few megabytes with what is in them, forty at the very worst."""

KNOWN_LENGTH = 1_000
"""Characters of a word above which it is not remembered: it hardly comes again."""

_NAME = late_pattern(
    r"https?://[^\s\"'`<>()\[\]{},;]+"
    r"|[~.]{0,2}/?[A-Za-z0-9_@$-]+(?:(?:/|\.|::|->)[A-Za-z0-9_@$-]+)+"
    r"|[A-Za-z_$][A-Za-z0-9_$]*|\d[0-9A-Za-z_-]*"
)
_SHAPED = late_pattern(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\w_\w|[A-Za-z].*\d|\d.*[A-Za-z]|^\d{5,}$|[\w)]/\w|::|->|\w\.[A-Za-z_]\w")
_PLAIN = late_pattern(r"[^A-Za-z0-9_]*[A-Za-z]?[a-z]*[^A-Za-z0-9_/.:>-]*")
"""A word without capitals inside it, between signs: most of all words, and never a name."""

_SHORTEST = 4
_LONGEST = 200
_SIGN = late_pattern(r"\w+|[^\w\s]")
_NUMBER = late_pattern(r"\d+")

Run = int
"""A run of words as its hash: a history has tens of thousands of runs, and numbers take a third of the room and of the time of tuples. That two
different ones are taken for the same happens once in a thousand million histories, and makes an extract seem a little poorer.
"""


class _Known(dict[str, tuple[str, ...]]):
    """A memory of a pure function of words, emptied when it is full."""

    def __init__(self, taken_apart: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._taken_apart = taken_apart
        self._characters = 0

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > KNOWN_LENGTH:
            return self._taken_apart(word)
        self._characters += len(word)
        if self._characters > KNOWN_CHARACTERS:
            self.clear()
            self._characters = len(word)
        found = self[word] = self._taken_apart(word)
        return found


def _names_in(word: str) -> tuple[str, ...]:
    if _PLAIN.fullmatch(word):
        return ()
    return tuple([name for each in _NAME.findall(word) if (name := _name(each))])


def _name(word: str) -> str:
    """The word without the signs around it if it is a name; else nothing."""
    bare = word.strip(".-/:")
    return bare if _SHORTEST <= len(bare) <= _LONGEST and _SHAPED.search(bare) else ""


def _signs_in(word: str) -> tuple[str, ...]:
    return (word,) if word.isalpha() else tuple(_SIGN.findall(_NUMBER.sub("0", word)))


_NAMES, _SIGNS = _Known(_names_in), _Known(_signs_in)
"""The names in a word; and the words and signs in it, all numbers being one."""


def names(text: str) -> set[str]:
    """The paths, addresses, identifiers, hashes and long numbers of a text."""
    return set(chain.from_iterable(map(_NAMES.__getitem__, text.split())))


def runs(text: str) -> set[Run]:
    """The runs of words in a text, all numbers being one: lines of a listing or log that differ only in numbers say the same."""
    words = list(chain.from_iterable(map(_SIGNS.__getitem__, text.split())))
    return set(map(hash, zip(*[words[start:] for start in range(RUN)], strict=False))) or {hash(tuple(words))}
