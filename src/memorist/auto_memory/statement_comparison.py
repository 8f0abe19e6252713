"""Compare a new statement with a known memory: the same, the opposite, or neither (AM-12).

Pure. A text is read as stances: each clause asks for something or rules it out. Two stances meet
where their content words are equal up to what is chosen: `never use npm` and `always use npm`, `use
tabs` and `use spaces`, `the API runs on port 4000` and `... 5000`. Whatever limits a rule (`in CI`,
`for publishing`) is among its content words, so an exception contradicts nothing. In doubt two
texts have nothing to do with each other, and both stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from memorist.auto_memory.clause_removal import remove_clauses
from memorist.auto_memory.clause_stances import (
    MAX_COMPARED_CHARS,
    SWITCHES,
    ClauseStance,
    fold_word_ending,
    get_alternatives_of_word,
    list_verb_folded_clause_keys,
    parse_clause_stances,
    split_chosen_word_from_clause,
)
from memorist.auto_memory.denied_words import ONE_CASE, does_what_is_ruled_out, rules_out_more
from memorist.auto_memory.fact_values import list_search_words_for_conflicts, states_otherwise
from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.auto_memory.statements.statement_similarity import is_same_rule
from memorist.auto_memory.value_correction import (
    corrects_value,
    list_word_groups_of_corrected_texts,
)
from memorist.core.lazy import lazy_pattern


class StatementRelation(StrEnum):
    """How a new text stands to a known one."""

    UNRELATED = "unrelated"
    SAME = "same"
    RESTATED = "restated"
    """The same in other words."""
    OPPOSITE = "opposite"
    """Everything that the known text says is now said otherwise."""
    PARTLY_OPPOSITE = "partly opposite"
    """A part of the known text is now said otherwise."""
    ABANDONED = "abandoned"
    """What the new text gives up is what the known one works with."""
    CORRECTED = "corrected"
    """The new text says that the value which the known one gives is no longer so."""
    STATED_OTHERWISE = "stated otherwise"
    """Both say the same of one thing but for its value, and nothing tells whether both hold."""


OPPOSED = (StatementRelation.OPPOSITE, StatementRelation.PARTLY_OPPOSITE)
"""The new text speaks against the known one, or against a part of it."""

_ABANDONING = lazy_pattern(
    r"\b(?:no longer|(?:don['’]?t|do not|not) (?:use|using|need|want|run|have)\b.{1,40} any ?more|"
    r"stop(?:ped)? (?:using|"
    r"doing)|dropped|deprecated|got rid of|removed|abandoned|kein\w* .{1,30} mehr|nicht mehr|"
    r"ne .{1,30} plus|ya no|больше не)\b|不再",
    re.IGNORECASE,
)

_GIVEN_UP = lazy_pattern(
    r"(?:\b(?:dropped|ditched|abandoned|got rid of|stopped using|n['’]utilis\w+ plus|"
    r"больше не использу\w+)|不再?用) ?"
    r"(?P<old>[\w@./+-]*[\w+])(?= ?(?:了|[,.;!，。]|\Z|(?:and|et|и)\b))"
    r"|(?<![A-Za-z])(?P<name>[A-Za-z][\w.+-]{0,60})は?もう使って",
    re.IGNORECASE,
)
"""Gives up what it names, and nothing but that."""

_ASKS_FOR_USE = lazy_pattern(
    r"(?:(?:always|please|only|immer|bitte|nur|toujours|siempre|sempre|всегда) )*"
    r"(?:use|nutze?|verwende|benutze|starte|utilise[sz]?|lance[sz]?|usa|ejecuta|rode|"
    r"используй(?:те)?|запускай(?:те)?)\b|.*(?:都|要|请)用|.*(?:実行して|使って)",
    re.IGNORECASE,
)


def compare_statements(new: str, known: str) -> StatementRelation:
    """How a new statement stands to the text of a known memory."""
    if is_same_rule(new, known):
        return StatementRelation.SAME
    mine, theirs = parse_clause_stances(new), parse_clause_stances(known)
    if (
        mine
        and {(one.order, one.is_positive) for one in mine}
        == {(each.order, each.is_positive) for each in theirs}
        and _list_comparing_signs(new) == _list_comparing_signs(known)
        and len(known) <= MAX_COMPARED_CHARS
    ):
        return StatementRelation.RESTATED
    opposed = [
        each for each in theirs if any(_is_opposite(one, each, mine, theirs) for one in mine)
    ]
    if not opposed:
        if corrects_value(new, known):
            return StatementRelation.CORRECTED
        if _abandons(new, known):
            return StatementRelation.ABANDONED
        is_doubtful = (
            states_otherwise(new, known)
            or rules_out_more(mine, known, theirs)
            or does_what_is_ruled_out(new, mine, theirs)
        )
        return StatementRelation.STATED_OTHERWISE if is_doubtful else StatementRelation.UNRELATED
    gives_up = any(pattern.search(known) for pattern in SWITCHES)
    covered = len(known) <= MAX_COMPARED_CHARS and all(
        each in opposed
        or (gives_up and not each.is_positive)
        or any(_is_alike(one, each) for one in mine)
        or any(_is_part_of_choice(each, choice, mine) for choice in opposed)
        for each in theirs
    )
    return StatementRelation.OPPOSITE if covered else StatementRelation.PARTLY_OPPOSITE


_COMPARING_SIGN = lazy_pattern(r"[!=<>]=+|(?<![\w<-])[<>](?![\w/>-])|[≠≤≥]")


def _list_comparing_signs(text: str) -> list[str]:
    """The signs that compare: `coverage > 80` is another rule than `coverage < 80`."""
    return _COMPARING_SIGN.findall(text)


def remove_contradicted_clauses(new: str, known: str) -> str:
    """The known text without the clauses that the new one says otherwise; empty where nothing of
    it can stand alone.
    """
    return remove_clauses(
        known, _find_opposed(parse_clause_stances(new), parse_clause_stances(known)), new
    )


def _find_opposed(
    mine: Sequence[ClauseStance], theirs: Sequence[ClauseStance]
) -> list[ClauseStance]:
    return [each for each in theirs if any(_is_opposite(one, each, mine, theirs) for one in mine)]


def _is_part_of_choice(
    ban: ClauseStance, choice: ClauseStance, mine: Sequence[ClauseStance]
) -> bool:
    """Whether a ban and a choice are one choice among alternatives, and another is chosen now."""
    word, rest = split_chosen_word_from_clause(choice)
    group = get_alternatives_of_word(word) if word else None
    return (
        group is not None
        and choice.is_positive
        and not ban.is_positive
        and (found := split_chosen_word_from_clause(ban))[0] in group
        and found[1] == rest
        and _count_choices(mine, group) == 1
    )


def _is_alike(one: ClauseStance, other: ClauseStance) -> bool:
    return one.is_positive == other.is_positive and one.words == other.words


def _is_opposite(
    one: ClauseStance,
    other: ClauseStance,
    mine: Sequence[ClauseStance],
    theirs: Sequence[ClauseStance],
) -> bool:
    if one.is_positive != other.is_positive:
        return _is_same_choice(one, other) or not list_verb_folded_clause_keys(one).isdisjoint(
            list_verb_folded_clause_keys(other)
        )
    return one.is_positive and (
        _is_other_choice(one, other, mine, theirs) or _is_other_value(one, other)
    )


def _is_same_choice(one: ClauseStance, other: ClauseStance) -> bool:
    chosen = split_chosen_word_from_clause(one)
    return bool(chosen[0]) and chosen == split_chosen_word_from_clause(other)


def _is_other_choice(
    one: ClauseStance,
    other: ClauseStance,
    mine: Sequence[ClauseStance],
    theirs: Sequence[ClauseStance],
) -> bool:
    """Whether both choose one of the same alternatives for the same thing, and not the same."""
    word, rest = split_chosen_word_from_clause(one)
    group = get_alternatives_of_word(word) if word else None
    if group is None or ("german" in group and one.order[0] in _TASTES):
        return False
    known, known_rest = split_chosen_word_from_clause(other)
    if known not in group or word == known or rest != known_rest:
        return False
    return all(_count_choices(stances, group) == 1 for stances in (mine, theirs))


_TASTES = frozenset(("lov", "lik", "enjoy", "hat", "speak", "learn", "know", "read", "understand"))
"""Verbs, as they are folded, with which several languages, or things of several countries, hold."""


def _count_choices(stances: Sequence[ClauseStance], group: frozenset[str]) -> int:
    return len({word for each in stances if each.is_positive for word in each.words & group})


def _is_other_value(one: ClauseStance, other: ClauseStance) -> bool:
    """Whether two clauses give different values, each with a digit, to the same thing.

    A number before the value names the thing: `desk 1 is on floor 0` says nothing of desk 2.
    """
    length = min(one.value_length, other.value_length)
    if not length or len(one.order) != len(other.order):
        return False
    differing = [
        at for at, pair in enumerate(zip(one.order, other.order, strict=True)) if pair[0] != pair[1]
    ]
    return (
        len(differing) == 1
        and differing[0] >= max(1, len(one.order) - length)
        and all(re.search(r"\d", stance.order[differing[0]]) for stance in (one, other))
    )


def _abandons(new: str, known: str) -> bool:
    """Whether the new text gives up something that an order of the known one works with."""
    return any(
        words <= each.words
        and (bool(_find_order_verb(each)) or _asks_for_use(known[each.start : each.end or None]))
        for words in list_given_up_words(new, parse_clause_stances(new))
        for each in parse_clause_stances(known)
        if each.is_positive
    )


def _asks_for_use(clause: str) -> bool:
    """Whether a clause asks for something to be used, and not in one case only."""
    return _ASKS_FOR_USE.match(clause) is not None and ONE_CASE.search(clause) is None


def list_given_up_words(text: str, stances: Sequence[ClauseStance]) -> list[frozenset[str]]:
    """What a text gives up, each as content words."""
    return [
        each.words
        for each in stances
        if not each.is_positive and len(each.words) <= 2 and _speaks_of_giving_up(text)
    ] + [
        frozenset((fold_word_ending(found["old"] or found["name"]),))
        for found in _GIVEN_UP.finditer(text)
    ]


@lru_cache(maxsize=64)
def _speaks_of_giving_up(text: str) -> bool:
    return any(each.search(text) for each in (_ABANDONING, *SWITCHES))


def _find_order_verb(stance: ClauseStance) -> str:
    return stance.order[0] if stance.order[0] in VERBS else ""


def expand_statement_words(said: str) -> set[str]:
    """The words, one of which a text holds that says the same or the opposite: those of the
    statement, each without its ending, and the alternatives to one.
    """
    keys = {
        key for stance in parse_clause_stances(said) for key in list_verb_folded_clause_keys(stance)
    }
    words = {word for key in keys for word in key}
    words = words.union(
        *list_word_groups_of_corrected_texts(said), *list_search_words_for_conflicts(said)
    )
    return words | {other for word in words for other in get_alternatives_of_word(word) or ()}


def find_contradicting_memory_pairs(
    topics: Sequence[MemoryFile],
) -> list[tuple[MemoryFile, MemoryFile]]:
    """Each memory that says the opposite of an earlier one of the list, with that one. A part that
    differs proves nothing here: `not pushed yet` in a report says nothing against `push often`.
    """
    known: dict[_StanceKey, list[int]] = {}
    sayings = [topic.one_line_text for topic in topics]
    found: list[tuple[MemoryFile, MemoryFile]] = []
    for at, said in enumerate(sayings):
        keys = {key for stance in parse_clause_stances(said) for key in _list_keys(stance)}
        near = {other for key in keys for other in known.get(key, ())}
        found += [
            (topics[at], topics[other])
            for other in sorted(near)
            if compare_statements(said, sayings[other]) is StatementRelation.OPPOSITE
        ]
        for key in keys:
            known.setdefault(key, []).append(at)
    return found


_StanceKey = frozenset[str] | tuple[object, ...]


def _list_keys(stance: ClauseStance) -> Iterator[_StanceKey]:
    """What two clauses have in common wherever one can be the opposite of the other."""
    yield from list_verb_folded_clause_keys(stance)
    word, rest = split_chosen_word_from_clause(stance)
    if word:
        yield get_alternatives_of_word(word), rest
    for length in range(1, stance.value_length + 1):
        yield len(stance.order), stance.order[: max(1, len(stance.order) - length)]
