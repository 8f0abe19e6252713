"""Whether a regular expression can match a text at all, told by words that each of its matches
requires, and by those that it begins with.

Most sentences hold the words of a few of the hundreds of patterns: only those are compiled and
tried. The words are derived from the patterns themselves. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.lazy import lazy_module, lazy_pattern
from memorist.core.text_encoding import replace_surrogates

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
    r"|\\(?P<escaped>\W)|\[(?P<letters>[^]^\\-][^]\\-]*)\]|(?P<other>\[\^?\]?(?:\\.|[^\]\\])*\]|\\(?:u[\da-f]{4}|x[\da-f]{2}|\w)|[.^$])",
    re.DOTALL,
)
"""`words`: a group of nothing but words, which is told at once; `literal`: letters without a
quantifier, or one letter.
"""


def fold_case(text: str) -> str:
    """Fold letters that a regular expression takes for the same without case to the same letters.
    Half a character, which some hosts cut off, is none: the search takes only whole ones.
    """
    if text.isascii():
        return text.lower()
    return replace_surrogates(text).replace("İ", "i").replace("ı", "i").casefold()


Tokens = tuple[re.Match[str], ...]
"""The parts of a regular expression: `lastgroup` tells of what kind each is."""


def find_required_words(pattern: str) -> Words:
    """Find words, with case folded, of which every match of a regular expression holds one.

    Raises ValueError for syntax that no statement pattern uses.
    """
    return _choose_rarest(find_required_word_sets(parse_pattern_tokens(pattern)))


def find_required_word_sets(tokens: Tokens) -> tuple[Words, ...]:
    """Find sets of words, with case folded: every match of a regular expression holds one of each.

    Raises ValueError for an end of a group that did not begin.
    """
    reading = iter(tokens)
    found = _read_alternatives(reading)
    if next(reading, None) is not None:
        raise ValueError(f"unbalanced: {tokens[0].string}")
    return found


def parse_pattern_tokens(pattern: str) -> Tokens:
    """The parts of a regular expression, in order. Raises ValueError for unknown syntax."""
    found = tuple(_TOKEN.finditer(pattern))
    if sum(len(token[0]) for token in found) != len(pattern):
        raise ValueError(f"unknown syntax: {pattern}")
    return found


def count_groups_opened_by_token(token: re.Match[str]) -> int:
    """How many groups a token opens: -1 where it ends one."""
    return _DEPTHS.get(token.lastgroup or "", 0)


_DEPTHS = {"group": 1, "look": 1, "end": -1}


def _read_alternatives(tokens: Iterator[re.Match[str]]) -> tuple[Words, ...]:
    """Read to the end of a group: what its only alternative requires, or a word of any of them."""
    found: list[tuple[Words, ...]] = []
    parts: list[str | tuple[Words, ...]] = []
    for token in tokens:
        kind = token.lastgroup
        if kind == "literal":
            parts.append(token[0])
        elif kind == "end":
            break
        elif kind == "or":
            found.append(_join_parts(parts))
            parts = []
        elif kind == "optional":
            parts[-1] = ()
        else:
            parts.append(_read_part(token, kind or "", tokens))
    last = _join_parts(parts)
    if not found:
        return last
    found.append(last)
    return (frozenset[str]().union(*map(_choose_rarest, found)),) if all(found) else ()


def _read_part(
    token: re.Match[str], kind: str, tokens: Iterator[re.Match[str]]
) -> str | tuple[Words, ...]:
    """What one token requires: letters, words, or nothing."""
    if kind == "escaped":
        return token[kind]
    if kind == "words":
        return _split_words(token[kind])
    if kind == "letters":
        return (frozenset(map(fold_case, token[kind])),)
    if kind in {"group", "look"}:
        inner = _read_alternatives(tokens)
        return inner if kind == "group" else ()
    return ()


@cache
def _split_words(text: str) -> tuple[Words, ...]:
    words = frozenset(fold_case(text).split("|"))
    return () if "" in words else (words,)


def _join_parts(parts: Iterable[str | tuple[Words, ...]]) -> tuple[Words, ...]:
    """What a sequence requires; letters that follow one another are one word."""
    found: list[Words] = []
    letters = ""
    for part in parts:
        if isinstance(part, str):
            letters += part
            continue
        if letters:
            found.append(frozenset((fold_case(letters),)))
            letters = ""
        found += part
    if letters:
        found.append(frozenset((fold_case(letters),)))
    return tuple(found)


def _choose_rarest(choices: Sequence[Words]) -> Words:
    """The rarest: its shortest word is the longest. The empty set where there is none."""
    if len(choices) < 2:
        return choices[0] if choices else _NONE
    return max(choices, key=_measure_rarity)


@cache
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


def find_required_beginnings(tokens: Tokens) -> Words:
    """Find words, with case folded and cut to `BEGINNING_CHARS`, with one of which every match of a
    regular expression begins; empty where a match may begin with anything.
    """
    found = _read_beginnings(iter(tokens))
    if found.words is None or found.may_be_empty:
        return _NONE
    return frozenset(word[:BEGINNING_CHARS] for word in found.words)


def list_beginnings_of_searched_text(text: str) -> Words:
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
        elif parts and parts[-1].words is None:
            _skip_group(token, tokens)  # what follows says nothing of how it begins
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


def _skip_group(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> None:
    depth = count_groups_opened_by_token(token)
    while depth:
        depth += count_groups_opened_by_token(next(tokens))


def _read_beginning(
    token: re.Match[str], kind: str, tokens: Iterator[re.Match[str]]
) -> _Beginnings:
    if kind in {"literal", "escaped", "words"}:
        words = frozenset(
            fold_case(token[kind]).split("|") if kind == "words" else [fold_case(token[kind])]
        )
        return _Beginnings(words - {""}, "" in words, "" not in words)
    if kind == "letters":
        return _Beginnings(frozenset(map(fold_case, token[kind])))
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
