"""What a clause asks for or rules out of several things at once: `never commit or push`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.core.lazy import lazy_pattern

Joining = Literal["neither", "or", "and"]

_JOINTS: dict[Joining, re.Pattern[str]] = {
    "neither": lazy_pattern(r"\s(?:nor|noch|ni|nem|ни)\s", re.IGNORECASE),
    "or": lazy_pattern(
        r"\s(?:or|oder|ou|o|u|или)\s|(?<=[a-z])\s?(?:或者?|か)\s?(?=[a-z])|\s?(?:이나|나)\s+",
        re.IGNORECASE,
    ),
    "and": lazy_pattern(
        r"\s(?:and|und|et|y|e|и)\s|(?<=[a-z])\s?(?:以?及|[和与跟とやも])\s?(?=[a-z])"
        r"|(?<=[a-z가-힣])\s?(?:과|와|하고|도)\s+(?=[a-z가-힣])",
        re.IGNORECASE,
    ),
}
"""What joins the parts of a clause; the first kind that one holds counts."""
_RULES_OUT = lazy_pattern(r"\b(?:neither|nor|weder|ni|nem|ни)\b", re.IGNORECASE)
_LIMITS = lazy_pattern(
    r"\b(?:to|into?|on|for|with|without|from|before|after|when|while|unless|until|if|at|of|by|"
    r"during|im|am|auf|bei|vor|ohne|für|bis|wenn|de|du|des|del|d[ao]|dans|sur|sans|avant|en|sin|a|"
    r"para|antes|sem|em|n[ao]|в|на|без|до|перед|для)\b",
    re.IGNORECASE,
)
"""Begins what may limit all parts: `never commit or push to main`."""
_EMPTY_VERBS = ((), ("mak",))
"""What stands before `ni … ni …` without being one of its parts."""
_OBJECTS = frozenset(("code", "代码", "コード", "코드", "código", "код"))
"""Behind the last of several actions, what all of them are done to."""
ACTIONS = frozenset(("commit", "push", "deploy", "release"))
"""Nouns that are verbs as well: to make one is to do it."""


class ClauseWithParts(Struct, frozen=True):
    """The parts of a clause, in their order."""

    joining: Joining
    parts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Where each part stands in the clause, with what joins it to its neighbour."""


def is_denied_by_conjunction(clause: str) -> bool:
    """Whether what joins the parts of a clause denies them: `neither … nor`."""
    return _RULES_OUT.search(clause) is not None


def may_be_part_of_negated_clause(clause: str) -> bool:
    """Whether a clause that was cut off may be a part of one with a negation."""
    return is_denied_by_conjunction(clause) or any(
        joint.search(f" {clause} ") for joint in _JOINTS.values()
    )


_JOINT_OF_SCRIPT = lazy_pattern(
    r"[一-鿿ァ-ヶーa-z](?:[和或与及とやもか])|[가-힣a-z](?:이나|나|과|와|하고|도)\s"
)


def may_join_words_in_cjk(text: str) -> bool:
    """Whether words of Chinese, Japanese or Korean may be joined: they stand in one token, or what
    joins them is a part of one.
    """
    return _JOINT_OF_SCRIPT.search(text) is not None


def split_clause_into_parts(clause: str) -> ClauseWithParts | None:
    """The parts of a clause that joins several; None for one that does not."""
    for joining, joint in _JOINTS.items():
        found = [each.span() for each in joint.finditer(clause)]
        if found:
            starts = [0, *(end for _, end in found)]
            ends = [*(start for start, _ in found), len(clause)]
            return ClauseWithParts(
                joining,
                tuple(clause[start:end] for start, end in zip(starts, ends, strict=True)),
                ((0, found[0][1]), *pairwise(ends)),
            )
    return None


def list_parts_with_shared_verb(
    joined: ClauseWithParts, orders: Sequence[tuple[str, ...]], *, negative: bool
) -> list[tuple[str, ...]]:
    """The content words of each part, with the verb that they share; empty where what else a part
    says may belong to another.
    """
    is_verb_apart = joined.joining == "neither" and orders[0] in _EMPTY_VERBS
    orders = [each for each in orders[is_verb_apart:] if each]
    if len(orders) < 2:
        return [*orders] if is_verb_apart else []
    first, *others = [*orders[:-1], _drop_shared_object(orders[-1])]
    leads = len(first) > max(map(len, others)) or (
        len(first) > 1 and _is_verb(first[0]) and not any(_is_verb(each[0]) for each in others)
    )
    lead = first[:1] if leads else ()
    bare = [first[len(lead) :], *others]
    if any(len(each) > 1 for each in bare) and (
        joined.joining == "and" or not negative or _LIMITS.search(joined.parts[-1])
    ):
        return []
    if joined.joining == "or" and not negative:
        return []
    return [remove_light_verb((*lead, *each)) for each in bare]


def remove_light_verb(order: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a clause, without the verb of `make a commit`."""
    is_action = len(order) == 2 and order[:1] in _EMPTY_VERBS and order[1] in ACTIONS
    return order[1:] if is_action else order


def _drop_shared_object(order: tuple[str, ...]) -> tuple[str, ...]:
    return order[:-1] if len(order) > 1 and order[-1] in _OBJECTS else order


def _is_verb(word: str) -> bool:
    return word in VERBS
