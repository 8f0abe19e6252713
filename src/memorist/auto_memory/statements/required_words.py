"""Which statement patterns can match a sentence at all, told by words that each of them requires,
and by those that it begins with.

Most sentences hold the words of a few of the hundreds of patterns: only those are compiled and
tried. The words are derived from the patterns themselves. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

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


# How a match begins.


MAX_BEGINNINGS = 600
"""Beginnings of one expression that are told apart; more are cut where they part."""
BEGINNING_CHARS = 8
"""Characters of a beginning that are compared. Our choice."""
_BOUNDARIES = frozenset(("^", "$", r"\b", r"\B", r"\A", r"\Z"))


class _Beginnings(Struct, frozen=True):
    """How the matches of a part of an expression begin."""

    words: Words | None
    """One of them begins every match that is not empty; None where any letter may."""
    may_be_empty: bool = False
    is_whole: bool = True
    """Whether these words are all that it matches."""


_ANYTHING = _Beginnings(None)
_NOTHING = _Beginnings(_NONE, may_be_empty=True)


@cache
def find_beginnings(pattern: str) -> Words:
    """Find words, with case folded and cut to `BEGINNING_CHARS`, with one of which every match of a
    regular expression begins; empty where a match may begin with anything.
    """
    found = _read_beginnings(_read_tokens(pattern))
    if found.words is None or found.may_be_empty:
        return _NONE
    return frozenset(word[:BEGINNING_CHARS] for word in found.words)


def list_beginnings(text: str) -> Words:
    """What a match at the start of a text may begin with, to be looked up among those."""
    folded = fold_case(text[:BEGINNING_CHARS])
    return frozenset(folded[:length] for length in range(1, BEGINNING_CHARS + 1))


def _read_beginnings(tokens: Iterator[re.Match[str]]) -> _Beginnings:
    """Read to the end of a group."""
    alternatives: list[_Beginnings] = []
    parts: list[_Beginnings] = []
    for token in tokens:
        kind = token.lastgroup
        if kind == "end":
            break
        if kind == "or":
            alternatives.append(_join_beginnings(parts))
            parts = []
        elif kind in {"optional", "repeated"}:
            may_be_empty = kind == "optional" or parts[-1].may_be_empty
            parts[-1] = replace(parts[-1], may_be_empty=may_be_empty, is_whole=False)
        else:
            parts.append(_read_beginning(token, kind or "", tokens))
    alternatives.append(_join_beginnings(parts))
    words = [each.words for each in alternatives if each.words is not None]
    if len(words) < len(alternatives):
        return _ANYTHING
    return _Beginnings(
        frozenset[str]().union(*words),
        any(each.may_be_empty for each in alternatives),
        all(each.is_whole for each in alternatives),
    )


def _read_beginning(
    token: re.Match[str], kind: str, tokens: Iterator[re.Match[str]]
) -> _Beginnings:
    if kind in {"literal", "escaped", "words"}:
        words = frozenset(
            fold_case(token[kind]).split("|") if kind == "words" else [fold_case(token[kind])]
        )
        return _Beginnings(words - {""}, "" in words, "" not in words)
    if kind == "group":
        return _read_beginnings(tokens)
    if kind == "look":
        _read_beginnings(tokens)
        return _NOTHING
    return _NOTHING if token[0] in _BOUNDARIES else _ANYTHING


def _join_beginnings(parts: Iterable[_Beginnings]) -> _Beginnings:
    """How a sequence begins: as its first part does, or where that may be empty, as the next."""
    open_words, closed = {""}, set[str]()
    for part in parts:
        if part.words is None:
            closed |= open_words
            open_words = set()
            break
        is_short = len(open_words) * len(part.words) <= MAX_BEGINNINGS
        longer = (
            {word + more for word in open_words for more in part.words} if is_short else open_words
        )
        if part.may_be_empty:
            closed |= longer
        elif part.is_whole and is_short:
            open_words = longer
        else:
            closed |= longer
            open_words = set()
            break
    if "" in closed:
        return _ANYTHING
    return _Beginnings(
        frozenset(closed | open_words) - {""}, "" in open_words, not closed and "" not in open_words
    )


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
            find_beginnings(each.pattern)
            each.compile()
            yield

    def select_patterns(self, sentence: str) -> list[StatementPattern]:
        """Return the patterns that may match a sentence, in order."""
        chosen = set(self._lists[0])
        for word, _, _ in self._search.find_matches_as_indexes(
            fold_case(sentence), overlapping=True
        ):
            chosen.update(self._lists[word + 1])
        beginnings = list_beginnings(sentence)
        return [
            each
            for position in sorted(chosen)
            if not (words := find_beginnings((each := self.patterns[position]).pattern))
            or not words.isdisjoint(beginnings)
        ]
