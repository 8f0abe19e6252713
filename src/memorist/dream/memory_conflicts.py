"""Find contradictions among memories, and with the instruction files, by rule; the user decides
(DR-5). Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from memorist.auto_memory.memory_file import MemoryFile, Trust
from memorist.auto_memory.statements.statement_similarity import compute_rule_key
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.core.utc_time import format_utc_day
from memorist.dream.dream_questions import MemoryRemovalQuestion

MAX_STATEMENT_CHARACTERS = 300
"""Longest statement in characters that is compared; longer ones say more than one thing."""
_NEGATIONS = frozenset(
    {"not", "no", "never", "without", "avoid", "don't", "不", "别", "勿", "不要"}
)
_FILLER_WORDS = frozenset(
    {"do", "does", "did", "always", "ever", "should", "must", "will", "shall", "to", "any", "请"}
)
_VALUE = re.compile(
    r"(?P<head>.{4,150}?)\s*(?:\s(?:is|are|equals)\s|=|:|：|是)\s*(?P<value>.{1,100})"
)
_DISTINCT_VALUE = re.compile(r"[\d`/@]|^[A-Z][\w-]*$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s*|^#+\s+")
TRUST_ORDER = {trust: place for place, trust in enumerate(Trust)}


class DreamRemark(Struct, frozen=True):
    """Information for the user that is not a change of memory."""

    path: str
    what: str


class DatedMemory(Struct, frozen=True):
    """A memory and when it last changed, in seconds since the epoch, UTC."""

    topic: MemoryFile
    at: float


class InstructionSource(Struct, frozen=True, kw_only=True):
    """One instruction file: its displayed path, its text, and when it changed, in seconds since the
    epoch, UTC.
    """

    path: str
    text: str
    at: float


class _MemoryStatement(Struct, frozen=True):
    text: str
    rule: tuple[str, ...]
    bare: tuple[str, ...]
    negative: bool
    head: tuple[str, ...]
    value: tuple[str, ...]


def _parse_statement(text: str) -> _MemoryStatement | None:
    text = _BULLET.sub("", text.strip()).strip()
    rule = compute_rule_key(text) if 0 < len(text) <= MAX_STATEMENT_CHARACTERS else ()
    if len(rule) < 2:
        return None
    words = [word.casefold() for word in rule]
    bare = tuple(
        word
        for word in words
        if (word not in _NEGATIONS | _FILLER_WORDS and word.isalnum())
        or _DISTINCT_VALUE.search(word)
    )
    negative = sum(word in _NEGATIONS for word in words) % 2 == 1
    match = _VALUE.fullmatch(text.rstrip(".。 "))
    telling = (
        match is not None
        and _DISTINCT_VALUE.search(match["value"]) is not None
        and len(match["value"].split()) <= 4
    )
    head, value = (
        (compute_rule_key(match["head"]), compute_rule_key(match["value"]))
        if match is not None and telling
        else ((), ())
    )
    return _MemoryStatement(text, rule, bare, negative, head, value)


def _first_statement(topic: MemoryFile) -> _MemoryStatement | None:
    """Return the statement that a memory makes: its first line.

    A memory of several paragraphs gives the rule first, then its reason.
    """
    return _parse_statement(next((line for line in topic.body.splitlines() if line.strip()), ""))


def _compare_statements(one: _MemoryStatement, other: _MemoryStatement) -> str:
    """Compare two statements: `contradicts`, `says the same as`, or nothing."""
    if one.rule == other.rule:
        return "says the same as"
    if one.bare == other.bare and one.negative != other.negative:
        return "contradicts"
    if one.head and one.head == other.head and one.value != other.value:
        return "contradicts"
    return ""


def find_conflicting_or_duplicate_memories(
    memories: Iterable[DatedMemory],
) -> Iterator[MemoryRemovalQuestion]:
    """Yield pairs of memories that contradict each other, or may say the same, with the one
    proposed for removal.
    """
    groups: dict[tuple[object, ...], list[tuple[DatedMemory, _MemoryStatement]]] = {}
    seen: set[frozenset[str]] = set()
    for each in memories:
        statement = _first_statement(each.topic)
        if statement is None:
            continue
        for position in (("rule", *statement.bare), ("head", *statement.head)):
            if len(position) == 1:
                continue
            for other, theirs in groups.setdefault(position, []):
                pair = frozenset({each.topic.path, other.topic.path})
                how = _compare_statements(statement, theirs)
                if (
                    not how
                    or pair in seen
                    or (how != "contradicts" and not _is_single_statement(each, other))
                ):
                    continue
                seen.add(pair)
                yield _build_question(each, other, how)
            groups[position].append((each, statement))


def _is_single_statement(one: DatedMemory, other: DatedMemory) -> bool:
    """Tell whether both consist of their statement alone: with more text behind it, two memories
    may begin alike.
    """
    return all(
        len([line for line in each.topic.body.splitlines() if line.strip()]) == 1
        for each in (one, other)
    )


def _build_question(one: DatedMemory, other: DatedMemory, how: str) -> MemoryRemovalQuestion:
    loser, winner = sorted(
        (one, other),
        key=lambda each: (
            each.topic.pinned,
            -TRUST_ORDER[each.topic.provenance.trust],
            each.at,
            each.topic.path,
        ),
    )
    better = "newer" if winner.at > loser.at else "better founded"
    if TRUST_ORDER[winner.topic.provenance.trust] < TRUST_ORDER[loser.topic.provenance.trust]:
        better = "better founded"
    if winner.topic.pinned and not loser.topic.pinned:
        better = "pinned"
    why = (
        f"it {how if how == 'contradicts' else 'seems to say the same as'} "
        f"{winner.topic.path} ({format_utc_day(winner.at)}), which is {better}"
    )
    return MemoryRemovalQuestion(
        path=loser.topic.path,
        why=why,
        other_path=winner.topic.path,
        mark=_question_mark(loser.topic, encode_file_text_as_utf8(winner.topic.text())),
    )


def _question_mark(topic: MemoryFile, other: bytes) -> str:
    return hashlib.sha256(
        b"\0".join(
            sorted(
                (
                    topic.path.encode("utf-8", "replace") + encode_file_text_as_utf8(topic.body),
                    other,
                )
            )
        )
    ).hexdigest()[:16]


def compare_memories_with_instructions(
    memories: Sequence[DatedMemory], instructions: Sequence[InstructionSource]
) -> Iterator[MemoryRemovalQuestion | DreamRemark]:
    """Compare memories with the lines of the instruction files: what is already stated there, and
    which of two contradicting texts is stale.
    """
    lines: dict[tuple[object, ...], list[tuple[InstructionSource, int, _MemoryStatement]]] = {}
    for file in instructions:
        for number, line in enumerate(file.text.splitlines(), 1):
            statement = _parse_statement(line)
            if statement is not None:
                for position in {("rule", *statement.bare), ("head", *statement.head)} - {
                    ("head",),
                    ("rule",),
                }:
                    lines.setdefault(position, []).append((file, number, statement))
    for each in memories if lines else ():
        mine = _first_statement(each.topic)
        if mine is not None:
            found = (
                row
                for position in (("rule", *mine.bare), ("head", *mine.head))
                for row in lines.get(position, ())
            )
            answer = next(
                (
                    question
                    for row in found
                    if (question := _compare_line(each, mine, row)) is not None
                ),
                None,
            )
            if answer is not None:
                yield answer


def _compare_line(
    each: DatedMemory, mine: _MemoryStatement, row: tuple[InstructionSource, int, _MemoryStatement]
) -> MemoryRemovalQuestion | DreamRemark | None:
    file, number, theirs = row
    how = _compare_statements(mine, theirs)
    where = f"{file.path}:{number}"
    mark = _question_mark(each.topic, theirs.text.encode("utf-8", "replace"))
    if how == "contradicts" and file.at > each.at:
        return MemoryRemovalQuestion(
            path=each.topic.path,
            why=f"it contradicts {where} and is the stale one: that file changed later",
            mark=mark,
        )
    if how == "contradicts":
        return DreamRemark(
            where,
            f"seems stale: {each.topic.path} of {format_utc_day(each.at)} says "
            f"otherwise, and is newer",
        )
    if how and len([line for line in each.topic.body.splitlines() if line.strip()]) == 1:
        return MemoryRemovalQuestion(
            path=each.topic.path, why=f"{where} says it already", mark=mark
        )
    return None
