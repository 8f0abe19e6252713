"""A regular expression as its alternatives in order, each compiled only for a text that holds the
words which it requires and begins as it does. Pure.

A grammar of one kind of sentence is an expression of ten or more alternatives, of which a sentence
needs one or none: compiling them all was most of what the first messages of a process waited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from memorist.auto_memory.statements.pattern_required_words import (
    Tokens,
    Words,
    count_groups_opened_by_token,
    find_required_beginnings,
    find_required_word_sets,
    fold_case,
    join_pattern_lines,
    list_beginnings_of_searched_text,
    parse_pattern_tokens,
)
from memorist.core.lazy import lazy_pattern

FOLDED_TEXT_CACHE_SIZE = 128
"""Texts of which the folded form is remembered: hundreds of expressions look at each. Our choice.
"""
MAX_GROWTH_FACTOR = 2
"""What follows alternatives is repeated behind each; they stay together where the whole would grow
by more than this factor. Our choice.
"""


def match_alternatives(pattern: str, text: str) -> re.Match[str] | None:
    """Match a text from its start without case, as `re.match` does."""
    alternatives = _read_alternatives(pattern)
    folded, beginnings = _fold(text)
    for each in alternatives:
        if each.may_match(folded, beginnings):
            found = each.compiled().match(text)
            if found is not None:
                return found
    return None


def compile_alternatives_stepwise(pattern: str) -> Iterator[None]:
    """Compile a pattern's alternatives before the first text that needs them, one at each step."""
    for each in _read_alternatives(pattern):
        each.compiled()
        yield


_OPENINGS: list[str] = []
"""Every `OpeningPattern`."""


def compile_opening_patterns_stepwise() -> Iterator[None]:
    """Compile every `OpeningPattern` of the modules that are imported, one alternative at each
    step.
    """
    for each in tuple(_OPENINGS):
        yield from compile_alternatives_stepwise(each)


class OpeningPattern:
    """A regular expression without case that is matched from the start of a text. It may be laid
    out in lines.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = join_pattern_lines(pattern)
        _OPENINGS.append(self._pattern)

    def match(self, text: str) -> re.Match[str] | None:
        """Match a text from its start."""
        return match_alternatives(self._pattern, text)


class _Alternative(Struct, frozen=True):
    """One alternative with what each of its matches needs."""

    pattern: str
    required: tuple[Words, ...]
    beginnings: Words

    def may_match(self, folded: str, beginnings: Words) -> bool:
        """Whether a text holds the words and begins with one of those."""
        return not (self.beginnings and self.beginnings.isdisjoint(beginnings)) and all(
            any(word in folded for word in words) for words in self.required
        )

    def compiled(self) -> re.Pattern[str]:
        """The expression, compiled on first use."""
        return _compile(self.pattern)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@lru_cache(FOLDED_TEXT_CACHE_SIZE)
def _fold(text: str) -> tuple[str, Words]:
    return fold_case(text), list_beginnings_of_searched_text(text)


@cache
def _read_alternatives(pattern: str) -> tuple[_Alternative, ...]:
    return tuple(
        _Alternative(
            _join_tokens(each),
            _drop_short_words(find_required_word_sets(each)),
            find_required_beginnings(each),
        )
        for each in split_alternatives(pattern)
    )


def _drop_short_words(required: Sequence[Words]) -> tuple[Words, ...]:
    """Leave out sets with a single letter, as a space: most texts hold them."""
    kept = {words for words in required if min(len(word.encode()) for word in words) > 1}
    return tuple(sorted(kept, key=len))


def split_alternatives(pattern: str) -> tuple[Tokens, ...]:
    """Split an expression that is matched from the start of a text: the first of these that
    matches does so as the whole would.

    Expressions that refer to their groups, or that name a group within an alternative, stay whole.
    """
    tokens = parse_pattern_tokens(pattern)
    names = _find_names(tokens)
    found = tuple(_split(tokens))
    if _REFERENCE.search(pattern) or any(_find_names(each) != names for each in found):
        return (tokens,)
    return found


_REFERENCE = lazy_pattern(r"\\\d|\(\?P=")


def _find_names(tokens: Tokens) -> list[str]:
    return [token[0] for token in tokens if token[0].startswith("(?P<")]


def _split(tokens: Tokens) -> Iterator[Tokens]:
    for part in _split_at_bars(tokens):
        end = _find_group_end(part)
        rest = part[end + 1 :]
        inner = [] if end < 0 else [(part[0], *each, *part[end:]) for each in _split(part[1:end])]
        if (
            len(inner) < 2
            or sum(map(len, inner)) > MAX_GROWTH_FACTOR * len(part)
            or (rest and rest[0].lastgroup in {"optional", "repeated"})
        ):
            yield part
        else:
            yield from inner


def _split_at_bars(tokens: Tokens) -> Iterator[Tokens]:
    depth = start = 0
    for at, token in enumerate(tokens):
        depth += count_groups_opened_by_token(token)
        if token.lastgroup == "or" and not depth:
            yield tokens[start:at]
            start = at + 1
    yield tokens[start:]


def _find_group_end(tokens: Tokens) -> int:
    """Where the group ends that a sequence begins with; -1 where it begins with none."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += count_groups_opened_by_token(token)
        if not depth:
            return at if tokens[0].lastgroup == "group" else -1
    return -1


def _join_tokens(tokens: Tokens) -> str:
    """The expression of these parts."""
    return "".join(token[0] for token in tokens)
