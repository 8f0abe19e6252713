"""Claims that a newer one replaces. Pure (RO-7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from memorist.auto_memory.retractions import RETRACTING_RELATIONS
from memorist.auto_memory.statement_comparison import (
    StatementRelation,
    compare_statements,
    remove_contradicted_clauses,
)
from memorist.auto_memory.statements.statement_similarity import compute_rule_key
from memorist.rollouts.handbook import HandbookClaim
from memorist.rollouts.raw_memory import REPORTED_PREFIX, SAID_PREFIX

_VALUE = re.compile(r"(?:`[^`]+`|v?\d[\w.:-]*|[\w.-]*/[\w./-]*|\S+\.\w{1,5})[.;!]?\Z")


_ARROW = " → "


_QUOTING_PREFIXES = ("The user ", REPORTED_PREFIX)
"""Prefixes of entries that quote: what a quotation ends in is no value of a setting."""


_MIN_SUBJECT_WORDS = 3
"""Minimum words before a value that make a subject."""


_FRONT = frozenset({"do", "not", "never", "always", "不", "别", "勿"})


_NEGATING = frozenset({"not", "never", "不", "别", "勿"})


@lru_cache(maxsize=16_384)
def build_claim_comparison_key(text: str) -> tuple[str, ...]:
    """The words of a claim without what varies between its wordings; equal for two texts of one."""
    return compute_rule_key(text) or (text.strip(),)


@lru_cache(maxsize=16_384)
def _split_subject(text: str) -> tuple[tuple[str, ...], str]:
    """Split a claim that ends in a value into subject and value; the subject is empty if it does
    not.

    A claim that stage one writes as `command → result` has the command as its subject.
    """
    head, arrow, result = text.partition(_ARROW)
    if arrow and result.strip() and compute_rule_key(head):
        return (_ARROW, *compute_rule_key(head)), result.strip()
    if text.startswith(_QUOTING_PREFIXES):
        return (), ""
    found = _VALUE.search(text)
    before = text[: found.start()] if found else ""
    if found is None or len(before.split()) < _MIN_SUBJECT_WORDS or not before[-1:].isspace():
        return (), ""
    return compute_rule_key(before), found[0].rstrip(".;!")


@lru_cache(maxsize=16_384)
def _split_polarity(text: str) -> tuple[tuple[str, ...], bool]:
    """Return a claim without the words before its verb, and whether those negate it."""
    tokens = compute_rule_key(text)
    at = 0
    while at < len(tokens) and tokens[at].casefold() in _FRONT:
        at += 1
    return tokens[at:], any(token.casefold() in _NEGATING for token in tokens[:at])


@lru_cache(maxsize=16_384)
def _find_remainder(newer: str, older: str) -> str:
    """What still holds of the user's earlier words beside the later ones; empty for nothing. Words
    that cannot be taken apart stay whole.
    """
    agreement = compare_statements(newer, older)
    if agreement in RETRACTING_RELATIONS:
        return ""
    if agreement is not StatementRelation.PARTLY_OPPOSITE:
        return older
    rest = remove_contradicted_clauses(newer, older)
    return _find_remainder(newer, rest) if rest else older


def _drop_retracted(entries: Sequence[HandbookClaim]) -> tuple[HandbookClaim, ...]:
    """The claims without what the user said otherwise on a later day."""
    said = sorted({(each.date, _unquote(each)) for each in entries if _is_said(each)})
    found = []
    for entry in entries:
        words = _unquote(entry)
        rest = words
        for date, later in said if _is_said(entry) else ():
            if rest and date > entry.date:
                rest = _find_remainder(later, rest)
        if rest == words:
            found.append(entry)
        elif rest:
            found.append(replace(entry, text=entry.text.replace(words, rest)))
    return tuple(found)


def _is_said(entry: HandbookClaim) -> bool:
    return entry.by == "sessions" and entry.proof == "said" and bool(entry.date)


def _unquote(entry: HandbookClaim) -> str:
    return entry.text.removeprefix(SAID_PREFIX).strip("“”")


def claim_supersedes(newer: HandbookClaim, older: HandbookClaim) -> bool:
    """Tell whether the form of two claims proves that the later one (given first) replaces the
    earlier.

    Both must be dated, on different days. For structural proofs of one day about the same command,
    the order in which they are given decides.
    """
    if older.by != "sessions" or not older.date or not newer.date or newer.date < older.date:
        return False
    if older.proof == "said" and newer.proof != "said":
        return False
    subject, value = _split_subject(newer.text)
    same = (
        bool(subject)
        and subject == _split_subject(older.text)[0]
        and value != _split_subject(older.text)[1]
    )
    if newer.date == older.date:
        return same and subject[0] == _ARROW and newer.proof == older.proof == "proved"
    (rest, negated), (other, was) = _split_polarity(newer.text), _split_polarity(older.text)
    return same or (len(rest) > 1 and rest == other and negated != was)


def drop_superseded_claims(entries: Sequence[HandbookClaim]) -> tuple[HandbookClaim, ...]:
    """Return the claims that still hold: of those about one subject, the last one's.

    Within one day the last given counts. What the user said is also replaced by what they say
    otherwise on a later day (`auto_memory.statement_comparison`), as far as it says so.
    """
    alike: dict[tuple[str, ...], list[int]] = {}
    for at, entry in enumerate(entries):
        for key in {_split_subject(entry.text)[0], _split_polarity(entry.text)[0]} - {()}:
            alike.setdefault(key, []).append(at)
    superseded = set()
    for positions in alike.values():
        last = max(positions, key=lambda at: (entries[at].date, at))
        superseded |= {
            at for at in positions if at != last and claim_supersedes(entries[last], entries[at])
        }
    return _drop_retracted([entry for at, entry in enumerate(entries) if at not in superseded])
