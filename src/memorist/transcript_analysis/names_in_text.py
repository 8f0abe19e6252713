"""Names in a text (paths, addresses, identifiers, hashes, long numbers), and word runs that measure
how much two texts overlap. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

from memorist.core.lazy import lazy_pattern

SEEN_RUN_TOKENS = 6
"""Consecutive words or signs that count as already said."""

TOKEN_CACHE_CHARACTERS = 400_000
"""Size of the cache in characters of distinct tokens: those of a few histories. A few megabytes
including values, forty at worst.
"""

MAX_CACHED_TOKEN_CHARACTERS = 1_000
"""Characters above which a token is not cached: it hardly repeats."""

_NAME_PATTERN = lazy_pattern(
    r"https?://[^\s\"'`<>()\[\]{},;]+"
    r"|[~.]{0,2}/?[A-Za-z0-9_@$-]+(?:(?:/|\.|::|->)[A-Za-z0-9_@$-]+)+"
    r"|[A-Za-z_$][A-Za-z0-9_$]*|\d[0-9A-Za-z_-]*"
)
_NAME_SHAPE = lazy_pattern(
    r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\w_\w|[A-Za-z].*\d|\d.*[A-Za-z]|^\d{5,}$|[\w)]/\w|::|->|"
    r"\w\.[A-Za-z_]\w"
)
_NAMELESS_WORD = lazy_pattern(r"[^A-Za-z0-9_]*[A-Za-z]?[a-z]*[^A-Za-z0-9_/.:>-]*")
"""A word without inner capitals, between signs: the vast majority of words, and never a name."""

_MIN_NAME_LENGTH = 4
_MAX_NAME_LENGTH = 200
_NAME_CHARACTERS = re.compile(r"[^\s\"'`()\[\]{},;]+")
"""Text between signs that cannot be part of a name."""

_ONE_WORD_NAME = re.compile(r"[A-Za-z0-9_@$-]+")
"""A name that is a single word."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese and
Chinese. Each counts as a word.
"""

_WORD_OR_SIGN = lazy_pattern(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
_DIGITS = lazy_pattern(r"\d+")

WordRun = int
"""A word run as its hash: a history has tens of thousands of runs, and integers take a third of the
memory and time of tuples. A collision happens about once in 10^9 histories, and only makes an
extract seem slightly poorer.
"""


class _SplitCache(dict[str, tuple[str, ...]]):
    """Cache of a pure function of tokens, emptied when full."""

    def __init__(self, split: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._taken_apart = split
        self._characters = 0

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > MAX_CACHED_TOKEN_CHARACTERS:
            return self._taken_apart(word)
        self._characters += len(word)
        if self._characters > TOKEN_CACHE_CHARACTERS:
            self.clear()
            self._characters = len(word)
        found = self[word] = self._taken_apart(word)
        return found


def _names_in_word(word: str) -> tuple[str, ...]:
    if _NAMELESS_WORD.fullmatch(word):
        return ()
    return tuple([name for each in _NAME_PATTERN.findall(word) if (name := _clean_name(each))])


def _clean_name(word: str) -> str:
    """The token without surrounding signs if it is a name; else empty."""
    bare = word.strip(".-/:")
    if _MIN_NAME_LENGTH <= len(bare) <= _MAX_NAME_LENGTH and _NAME_SHAPE.search(bare):
        return bare
    return ""


def _tokens_in_word(word: str) -> tuple[str, ...]:
    if word.isascii() and word.isalpha():
        return (word,)
    return tuple(_WORD_OR_SIGN.findall(_DIGITS.sub("0", word)))


_NAME_CACHE, _TOKEN_CACHE = _SplitCache(_names_in_word), _SplitCache(_tokens_in_word)
"""Caches of the names in a token, and of its words and signs with all numbers normalized to one."""


def find_recognizable_names(text: str) -> set[str]:
    """The paths, addresses, identifiers, hashes and long numbers of a text."""
    return set(chain.from_iterable(map(_NAME_CACHE.__getitem__, text.split())))


def hash_word_runs_ignoring_numbers(text: str) -> set[WordRun]:
    """The word runs of a text with all numbers normalized: lines of a listing or log that differ
    only in numbers count as equal.
    """
    words = list(chain.from_iterable(map(_TOKEN_CACHE.__getitem__, text.split())))
    return set(
        map(hash, zip(*[words[start:] for start in range(SEEN_RUN_TOKENS)], strict=False))
    ) or {hash(tuple(words))}


class NameOccurrenceLookup(dict[str, bool]):
    """Tells for each name whether it occurs anywhere in a text, alone or within a longer word.
    Caches its answers.

    Only the distinct words of the text are searched, which is far less than the text.
    """

    __slots__ = ("_parts", "_plain")

    def __init__(self, text: str) -> None:
        super().__init__()
        self._parts = "\n".join(set(_NAME_CHARACTERS.findall(text)))
        words = set(_ONE_WORD_NAME.findall(self._parts))
        self._plain = "\n".join(words)
        self.update(dict.fromkeys(words, True))

    def __missing__(self, name: str) -> bool:
        found = self[name] = name in (
            self._plain if _ONE_WORD_NAME.fullmatch(name) else self._parts
        )
        return found
