"""Names in a text, and word runs that measure how much two texts overlap. Pure.

A history repeats its words. Each whitespace-separated token is analyzed once and cached, so that a
text costs little more than its splitting. Neither a name nor a word contains whitespace, so nothing
is lost at the seams.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from memorist.core.later import late_pattern

RUN = 6
"""Consecutive words or signs that count as already said."""

KNOWN_CHARACTERS = 400_000
"""Size of the cache in characters of distinct tokens: those of a few histories. A few megabytes
including values, forty at worst.
"""

KNOWN_LENGTH = 1_000
"""Characters above which a token is not cached: it hardly repeats."""

_NAME = late_pattern(
    r"https?://[^\s\"'`<>()\[\]{},;]+"
    r"|[~.]{0,2}/?[A-Za-z0-9_@$-]+(?:(?:/|\.|::|->)[A-Za-z0-9_@$-]+)+"
    r"|[A-Za-z_$][A-Za-z0-9_$]*|\d[0-9A-Za-z_-]*"
)
_SHAPED = late_pattern(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\w_\w|[A-Za-z].*\d|\d.*[A-Za-z]|^\d{5,}$|[\w)]/\w|::|->|\w\.[A-Za-z_]\w")
_PLAIN = late_pattern(r"[^A-Za-z0-9_]*[A-Za-z]?[a-z]*[^A-Za-z0-9_/.:>-]*")
"""A word without inner capitals, between signs: the vast majority of words, and never a name."""

_SHORTEST = 4
_LONGEST = 200
_SIGN = late_pattern(r"\w+|[^\w\s]")
_NUMBER = late_pattern(r"\d+")

Run = int
"""A word run as its hash: a history has tens of thousands of runs, and integers take a third of the
memory and time of tuples. A collision happens about once in 10^12 comparisons, and only makes an
extract seem slightly poorer.
"""


class _Known(dict[str, tuple[str, ...]]):
    """Cache of a pure function of tokens, emptied when full."""

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
    """The token without surrounding signs if it is a name; else empty."""
    bare = word.strip(".-/:")
    return bare if _SHORTEST <= len(bare) <= _LONGEST and _SHAPED.search(bare) else ""


def _signs_in(word: str) -> tuple[str, ...]:
    return (word,) if word.isalpha() else tuple(_SIGN.findall(_NUMBER.sub("0", word)))


_NAMES, _SIGNS = _Known(_names_in), _Known(_signs_in)
"""Caches of the names in a token, and of its words and signs with all numbers normalized to one."""


def names(text: str) -> set[str]:
    """The paths, addresses, identifiers, hashes and long numbers of a text."""
    return set(chain.from_iterable(map(_NAMES.__getitem__, text.split())))


def runs(text: str) -> set[Run]:
    """The word runs of a text with all numbers normalized: lines of a listing or log that differ
    only in numbers count as equal.
    """
    words = list(chain.from_iterable(map(_SIGNS.__getitem__, text.split())))
    return set(map(hash, zip(*[words[start:] for start in range(RUN)], strict=False))) or {hash(tuple(words))}
