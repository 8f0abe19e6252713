"""Take clauses out of a text where no neighbour leans on them. Pure.

Whether the parts of `commit and push` are two things, or one as in `search and replace`, no list of
words tells for all languages. A part goes only where the sentence shows that each says its own: it
has an object, or is an action that needs none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorist.auto_memory.clause_stances import (
    ClauseStance,
    list_content_stems,
    parse_clause_stances,
)
from memorist.auto_memory.joined_clauses import ACTIONS
from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.core.lazy import lazy_pattern

_AND = r"\b(?:and|but|und|et|y|e|и)\b"
_OR = r"\b(?:or|nor|oder|noch|ou|ni|nem|или|ни)\b"
_LOOSE_END = lazy_pattern(rf"(?:[\s,;:，；、也]|{_AND}|{_OR})+\Z")
_LOOSE_START = lazy_pattern(rf"\A(?:[\s,;:.!，；、。]|{_AND})+")
_JOINT = lazy_pattern(rf"\A(?:[\s,;:.!，；、。]|{_AND}|{_OR})+")
_ANY_AND, _ANY_OR = lazy_pattern(_AND), lazy_pattern(_OR)
_ANY_JOINT = lazy_pattern(rf"{_AND}|{_OR}")
_CLAUSE_END = lazy_pattern(r"[,;:!?—…–，。；！？、\n]|[.](?=\s|\Z)")
_PARTS = lazy_pattern(r"[;:.!；。\n]")
"""Between two clauses: neither can share the other's verb or object."""
_USE = lazy_pattern(
    r"\b(?:use|using|nutze?|verwende|benutze|utilise[rsz]?|us[ae]|используй(?:те)?)\b|用|使",
    re.IGNORECASE,
)
"""A verb that counts for nothing among the content words, and has an object all the same."""


def remove_clauses(known: str, removed: Sequence[ClauseStance], said: str) -> str:
    """The known text without these of its clauses, which a new one `said` otherwise; empty where
    nothing of it can stand alone.
    """
    staying = {
        (each.order, each.is_positive)
        for each in parse_clause_stances(known)
        if each not in removed
    }
    kept = known
    for each in reversed(removed):
        if each.end == 0 or not _stands_apart(kept, each, said):
            return ""
        before = _LOOSE_END.sub("", kept[: each.start])
        after = _LOOSE_START.sub("", kept[each.end :])
        kept = f"{before}, {after}" if before and after else before or after
    is_same = staying == {(each.order, each.is_positive) for each in parse_clause_stances(kept)}
    return kept.strip() if staying and is_same else ""


def _stands_apart(known: str, clause: ClauseStance, said: str) -> bool:
    """Whether neither a clause nor a neighbour of it leans on the other, as in `use search and
    replace`, which is one thing, and `build and test the app`, which have one object.
    """
    left = _LOOSE_END.sub("", known[: clause.start])
    own = _JOINT.sub("", known[clause.start : clause.end])
    right = _JOINT.sub("", known[clause.end :])
    before = known[len(left) : clause.end - len(own)]
    behind = known[clause.end : len(known) - len(right)]
    left, right = _CLAUSE_END.split(left)[-1], _CLAUSE_END.split(right)[0]
    last, first = _ANY_JOINT.split(left)[-1], _ANY_JOINT.split(right)[0]
    return (
        not left or _names_object(clause, left, said) or _say_each_its_own(last, own, before)
    ) and (not right or _say_each_its_own(own, first, behind))


def _names_object(clause: ClauseStance, left: str, said: str) -> bool:
    """Whether a clause is one of several objects of a verb that the new text has too: `run tests
    and linters` beside `never run linters`.
    """
    shares_verb = len(clause.order) > 1 and clause.order[0] in list_content_stems(left)
    return shares_verb or (_USE.search(left) is not None and _USE.search(said) is not None)


def _say_each_its_own(left: str, right: str, joint: str) -> bool:
    """Whether two neighbours share neither a verb nor an object."""
    if _PARTS.search(joint):
        return True
    if _ANY_AND.search(joint):
        return _is_whole(right) and (_is_whole(left) or not _has_object(right))
    is_comma = _ANY_OR.search(joint) is None
    return not (
        (_has_object(right) and _needs_object(left, is_comma=is_comma))
        or (_has_object(left) and _needs_object(right, is_comma=True))
    )


def _has_object(text: str) -> bool:
    return len(list_content_stems(text)) > 1


def _is_whole(text: str) -> bool:
    """Whether a clause needs no more words: a verb has an object, or is done to nothing."""
    stems = list_content_stems(text)
    return len(stems) > 1 or any(stem in ACTIONS or _USE.search(text) is not None for stem in stems)


def _needs_object(text: str, *, is_comma: bool) -> bool:
    """Whether a clause may take its object from a neighbour; beside a comma only a verb does."""
    stems = list_content_stems(text)
    return not _is_whole(text) and not (is_comma and "".join(stems) not in VERBS)
