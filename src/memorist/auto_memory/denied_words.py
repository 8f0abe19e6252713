"""What a text rules out, beside what another one states or asks for (AM-12). Pure.

`No deployments on Fridays` rules out `We deploy on Fridays at noon`, and `we don't use MySQL any
more` the value of `Our database is MySQL`. The known text may be meant to stay, as an exception:
the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memorist.auto_memory.clause_stances import (
    MAX_COMPARED_CHARS,
    ClauseStance,
    fold_word_ending,
    get_alternatives_of_word,
)
from memorist.core.lazy import lazy_pattern

ONE_CASE = lazy_pattern(
    r"\b(?:for \w+ing|(?:in|on) (?:the )?(?:ci|production|staging|docs|scripts))\b", re.IGNORECASE
)
"""Says that something is done in one case only."""
_LIMITING = frozenset(
    fold_word_ending(word)
    for word in (
        *("from", "except", "unless", "until"),
        *("forbids", "forbidden", "blocks", "bans", "rejects", "refuses", "prevents", "prohibits"),
        *("disallowed", "verboten", "gesperrt", "interdit", "prohibido", "proibido", "запрещено"),
    )
)
"""Words, as they are folded, that make a clause one about another case, or rule out the same."""


def rules_out_more(
    mine: Sequence[ClauseStance], known: str, theirs: Sequence[ClauseStance]
) -> bool:
    """Whether the new text rules out more than the known one states or asks for: all of its words
    are there beside each other, and more. One word alone says so only of what the known text ends
    with, its value. What is ruled out behind a clause counts only where that is about the same.
    """
    if len(known) > MAX_COMPARED_CHARS or ONE_CASE.search(known) is not None:
        return False
    stated = [each for each in theirs if each.is_positive and _LIMITING.isdisjoint(each.order)]
    return any(
        _says_of_same(denied, each.order)
        if len(denied) > 1
        else denied[0] in _fold_all(each)
        and (_ends_clause(denied[0], known) or _always_does(denied[0], each, known))
        for at, one in enumerate(mine)
        if not one.is_positive and (denied := _fold_all(one))
        for each in stated
        if at == 0 or _fold_action_noun(mine[0].order[0]) in _fold_all(each)
    )


_ALWAYS = lazy_pattern(
    r"\W*(?:please |bitte )?(?:always|immer|toujours|siempre|sempre|всегда|we|wir|nous|мы)\b",
    re.IGNORECASE,
)


def _always_does(word: str, stance: ClauseStance, text: str) -> bool:
    """Whether a clause asks for what a word says whenever something is so."""
    is_done = stance.order[0] == word or get_alternatives_of_word(word) is not None
    return is_done and _ALWAYS.match(text[stance.start :]) is not None


_LIGHT_VERBS = frozenset(("go", "out", "happen", "occur"))
"""Words, as they are folded, that say only that something is done: `deploys go out on Fridays`."""


def _says_of_same(denied: Sequence[str], order: Sequence[str]) -> bool:
    """Whether a clause has these words in this order and beside each other, with one between them
    where both begin alike or there are three; or has what is done behind what it is done to, as in
    `schema validation`. In any other order they speak of something else: `never push to main` has
    nothing to do with `the main page uses push notifications`.
    """
    order = [word for word in order if word not in _LIGHT_VERBS]
    words = [_fold_action_noun(word) for word in order]
    if set(denied) - set(words):
        return False
    if set(denied) == set(words):
        return True
    at = [words.index(word) for word in denied]
    span = max(at) - min(at) + 1
    if at == sorted(at):
        return span <= len(denied) + (at[0] == 0 or len(denied) > 2)
    return span == len(denied) and words[at[0]] != order[at[0]]


_ASSERTS = lazy_pattern(
    r"\W*(?:always|immer|toujours|siempre|sempre|всегда|we|wir|nous|on|nosotros|nós|мы)\b|我们|总是",
    re.IGNORECASE,
)


def does_what_is_ruled_out(
    new: str, mine: Sequence[ClauseStance], theirs: Sequence[ClauseStance]
) -> bool:
    """Whether the new text says that what the known one rules out is always done, or is what `we`
    do: no exception that is asked for, such as `push without asking in the docs`.
    """
    heads = {word for group in list_asserted_words(new, mine) for word in group}
    bans = [
        each for each in theirs if each.is_positive or not heads.isdisjoint(_fold_all(each)[:1])
    ]
    return bool(heads) and rules_out_more(bans, new, mine)


def list_asserted_words(text: str, stances: Iterable[ClauseStance]) -> frozenset[frozenset[str]]:
    """The first word of each ban that a text which asserts what is done speaks against; and what it
    chooses among alternatives.
    """
    if _ASSERTS.match(text) is None:
        return frozenset()
    stated = [_fold_all(each) for each in stances if each.is_positive]
    chosen = {word for words in stated for word in words if get_alternatives_of_word(word)}
    heads = {word for words in stated for word in words[:1]}
    return frozenset(frozenset((word,)) for word in heads | chosen)


def _ends_clause(word: str, text: str) -> bool:
    """Whether a clause of a text ends with a form of a word."""
    return re.search(rf"{re.escape(word)}\w{{0,4}}\W*(?:[,;.]|\Z)", text.casefold()) is not None


def list_denied_words(stances: Iterable[ClauseStance]) -> list[frozenset[str]]:
    """What the clauses rule out, each as content words without the endings of action nouns; without
    `add`, which stands for several verbs.
    """
    found = (frozenset(_fold_all(each)) for each in stances if not each.is_positive)
    return [words - {"add"} or words for words in found if words]


def _fold_all(stance: ClauseStance) -> list[str]:
    """The words of a clause without single kana, what is left of a Japanese verb's ending."""
    return [_fold_action_noun(each) for each in stance.order if not "\u3041" <= each <= "\u3093"]


_TO_HAVE = frozenset(map(fold_word_ending, ("keep", "include", "put", "insert", "append", "use")))
"""Verbs by which something is there, as by `add`."""
_ACTION_NOUN = lazy_pattern(r"(?<=\w{4})ment\Z|(?<=\w{4}[ts])ion\Z")


def _fold_action_noun(word: str) -> str:
    """`deployment` as `deploy`, `migration` as the stem of `migrate`, `keep` as `add`."""
    return "add" if word in _TO_HAVE else _ACTION_NOUN.sub("", word)
