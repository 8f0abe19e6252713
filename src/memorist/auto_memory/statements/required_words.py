"""Which statement patterns can match a sentence at all, told by words that each of them requires.

Most sentences hold the words of a few of the hundreds of patterns: only those are compiled and
tried. The words are derived from the patterns themselves. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from memorist.auto_memory.statements.statement_patterns import StatementPattern
from memorist.core.lazy import lazy_module, lazy_pattern
from memorist.core.text_analysis import replace_surrogates

if TYPE_CHECKING:
    import ahocorasick_rs as automata
    from ahocorasick_rs import AhoCorasick
else:
    automata = lazy_module("ahocorasick_rs")

Words = frozenset[str]
"""One of them stands in every text that an expression matches; empty where none is known."""

_NONE: Words = frozenset()

_TOKEN = lazy_pattern(
    r"\((?:\?:)?(?P<words>[^][(){}\\*+?.^$]*)\)|(?P<literal>[^][(){}\\*+?.^$|]+(?![*+?{])|[^][(){}\\*+?.^$|])"
    r"|(?P<look>\(\?<?[=!])|(?P<group>\((?:\?(?:P<\w+>|(?:-i)?:))?)(?!\?)|(?P<end>\))|(?P<or>\|)"
    r"|(?P<optional>(?:[*?]|\{(?:0*,\d*|0+)\})\??)|(?P<repeated>(?:\+|\{\d+(?:,\d*)?\})\??)"
    r"|\\(?P<escaped>\W)|(?P<other>\[\^?\]?(?:\\.|[^\]\\])*\]|\\(?:u[\da-f]{4}|x[\da-f]{2}|\w)|[.^$])",
    re.DOTALL,
)
"""`words`: a group of nothing but words, which is told at once; `literal`: letters without a
quantifier, or one letter.
"""


def fold_case(text: str) -> str:
    """Fold letters that a regular expression takes for the same without case to the same letters.
    Half a character, which some hosts cut off, is none: the search takes only whole ones.
    """
    return replace_surrogates(text).replace("İ", "i").replace("ı", "i").casefold()


def find_required_words(pattern: str) -> Words:
    """Find words, with case folded, of which every match of a regular expression holds one.

    Raises ValueError for syntax that no statement pattern uses.
    """
    tokens = _read_tokens(pattern)
    words = _read_alternatives(tokens)
    if next(tokens, None) is not None:
        raise ValueError(f"unbalanced: {pattern}")
    return words


def _read_tokens(pattern: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise ValueError(f"unknown syntax at {at}: {pattern}")
        yield token
        at = token.end()


def _read_alternatives(tokens: Iterator[re.Match[str]]) -> Words:
    """Read to the end of a group: its words are those of all alternatives, if each has some."""
    found: list[Words] = []
    parts: list[str | Words] = []
    for token in tokens:
        kind = token.lastgroup
        if kind == "end":
            break
        if kind == "or":
            found.append(_choose_words(parts))
            parts = []
        else:
            _read_part(token, kind or "", tokens, parts)
    found.append(_choose_words(parts))
    return frozenset().union(*found) if all(found) else _NONE


def _read_part(
    token: re.Match[str], kind: str, tokens: Iterator[re.Match[str]], parts: list[str | Words]
) -> None:
    """Add what one token requires: a letter, the words of a group, or nothing."""
    if kind in {"literal", "escaped"}:
        parts.append(fold_case(token[kind]))
    elif kind == "words":
        parts.append(_split_words(token[kind]))
    elif kind == "group":
        parts.append(_read_alternatives(tokens))
    elif kind == "look":
        _read_alternatives(tokens)
        parts.append(_NONE)
    elif kind == "optional":
        parts[-1] = _NONE
    else:
        parts.append(_NONE)


@cache
def _split_words(text: str) -> Words:
    words = frozenset(fold_case(text).split("|"))
    return _NONE if "" in words else words


def _choose_words(parts: Iterable[str | Words]) -> Words:
    """Choose the rarest that a sequence requires: its shortest word is the longest."""
    choices: list[Words] = []
    for is_literal, run in groupby(parts, lambda part: isinstance(part, str)):
        if is_literal:
            choices.append(frozenset(["".join(map(str, run))]))
        else:
            choices.extend(words for words in run if isinstance(words, frozenset) and words)
    return max(choices, key=_measure_rarity, default=_NONE)


def _measure_rarity(words: Words) -> tuple[int, int]:
    return min(len(word.encode()) for word in words), -len(words)


@cache
def _open_search(pattern: str) -> AhoCorasick | None:
    words = find_required_words(pattern)
    return automata.AhoCorasick(sorted(words)) if words else None


def holds_required_word(pattern: str, text: str) -> bool:
    """Whether a text holds one of the words that every match of an expression needs: a hundredth of
    the work of splitting a long text into sentences.
    """
    search = _open_search(pattern)
    return search is None or bool(search.find_matches_as_indexes(fold_case(text)))


def join_pattern_lines(pattern: str) -> str:
    """An expression that is laid out in lines, as one line."""
    return "".join(line.strip() for line in pattern.splitlines()).replace("\\ ", " ")


class PrefilteredPattern:
    """A regular expression without case, looked for only in texts that hold one of the words which
    each of its matches requires. It may be laid out in lines.
    """

    def __init__(self, pattern: str) -> None:
        self._text = join_pattern_lines(pattern)
        self._pattern = lazy_pattern(self._text, re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in a text."""
        return holds_required_word(self._text, text) and self._pattern.search(text) is not None


class StatementPatternIndex:
    """Patterns in the order in which they are tried."""

    def __init__(self, *patterns: StatementPattern) -> None:
        self.patterns = patterns

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        """Positions of the patterns by each word that they require; under "" those of the rest."""
        found: dict[str, list[int]] = {"": []}
        for position, each in enumerate(self.patterns):
            for word in find_required_words(each.pattern) or [""]:
                found.setdefault(word, []).append(position)
        return found

    @cached_property
    def _lists(self) -> tuple[list[int], ...]:
        return tuple(self._positions.values())

    @cached_property
    def _search(self) -> AhoCorasick:
        return automata.AhoCorasick(list(self._positions)[1:])

    def compile(self) -> Iterator[None]:
        """Do what the first sentences would have to wait for, one pattern at each step."""
        self.select_patterns("")
        for each in self.patterns:
            each.compile()
            yield

    def select_patterns(self, sentence: str) -> list[StatementPattern]:
        """Return the patterns that may match a sentence, in order."""
        chosen = set(self._lists[0])
        for word, _, _ in self._search.find_matches_as_indexes(
            fold_case(sentence), overlapping=True
        ):
            chosen.update(self._lists[word + 1])
        return [self.patterns[position] for position in sorted(chosen)]
