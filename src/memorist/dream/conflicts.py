"""Find contradictions among memories, and with the instruction files, by rule; the user decides
(DR-5). Pure.

Two statements contradict if they are equal but for a negation, or say two things of the same
subject ("the port is 8080", "the port is 9090"). No rule can prove which of them holds: the one
with less support, or else the older one, is proposed for removal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.said_same import rule_key
from memorist.auto_memory.topic import Topic, encode, moment

LONGEST = 300
"""Longest statement in characters that is compared; longer ones say more than one thing."""
_NEGATIONS = frozenset({"not", "no", "never", "without", "avoid", "don't", "不", "别", "勿", "不要"})
_BESIDE = frozenset({"do", "does", "did", "always", "ever", "should", "must", "will", "shall", "to", "any", "请"})
_VALUE = re.compile(r"(?P<head>.{4,150}?)\s*(?:\s(?:is|are|equals)\s|=|:|：|是)\s*(?P<value>.{1,100})")
_TELLING = re.compile(r"[\d`/@]|^[A-Z][\w-]*$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s*|^#+\s+")
_RANK = {trust: place for place, trust in enumerate(Trust)}


class Question(Struct, frozen=True, kw_only=True):
    """A memory that perhaps should be removed, and why; the user decides."""

    path: str
    why: str
    beside: str = ""
    """The other memory involved; empty for an instruction file."""
    mark: str
    """Identifies the two texts: the same question is asked once, until one of them changes."""


class Remark(Struct, frozen=True):
    """Information for the user that is not a change of memory."""

    path: str
    what: str


class Known(Struct, frozen=True):
    """A memory and when it last changed, in seconds since the epoch, UTC."""

    topic: Topic
    at: float


class Instruction(Struct, frozen=True, kw_only=True):
    """One instruction file: its displayed path, its text, and when it changed, in seconds since the
    epoch, UTC.
    """

    path: str
    text: str
    at: float


class _Statement(Struct, frozen=True):
    text: str
    rule: tuple[str, ...]
    bare: tuple[str, ...]
    negative: bool
    head: tuple[str, ...]
    value: tuple[str, ...]


def _statement(text: str) -> _Statement | None:
    text = _BULLET.sub("", text.strip()).strip()
    rule = rule_key(text) if 0 < len(text) <= LONGEST else ()
    if len(rule) < 2:
        return None
    words = [word.casefold() for word in rule]
    bare = tuple(word for word in words if (word not in _NEGATIONS | _BESIDE and word.isalnum()) or _TELLING.search(word))
    negative = sum(word in _NEGATIONS for word in words) % 2 == 1
    match = _VALUE.fullmatch(text.rstrip(".。 "))
    telling = match is not None and _TELLING.search(match["value"]) is not None and len(match["value"].split()) <= 4
    head, value = (rule_key(match["head"]), rule_key(match["value"])) if match is not None and telling else ((), ())
    return _Statement(text, rule, bare, negative, head, value)


def _of(topic: Topic) -> _Statement | None:
    """Return the statement that a memory makes: its first line.

    A memory of several paragraphs gives the rule first, then its reason.
    """
    return _statement(next((line for line in topic.body.splitlines() if line.strip()), ""))


def _clash(one: _Statement, other: _Statement) -> str:
    """Compare two statements: `contradicts`, `says the same as`, or nothing."""
    if one.rule == other.rule:
        return "says the same as"
    if one.bare == other.bare and one.negative != other.negative:
        return "contradicts"
    if one.head and one.head == other.head and one.value != other.value:
        return "contradicts"
    return ""


def questions(known: Sequence[Known]) -> Iterator[Question]:
    """Yield pairs of memories that contradict each other, or may say the same, with the one
    proposed for removal.
    """
    groups: dict[tuple[object, ...], list[tuple[Known, _Statement]]] = {}
    seen: set[frozenset[str]] = set()
    for each in known:
        statement = _of(each.topic)
        if statement is None:
            continue
        for place in (("rule", *statement.bare), ("head", *statement.head)):
            if len(place) == 1:
                continue
            for other, theirs in groups.setdefault(place, []):
                pair = frozenset({each.topic.path, other.topic.path})
                how = _clash(statement, theirs)
                if not how or pair in seen or (how != "contradicts" and not _whole(each, other)):
                    continue
                seen.add(pair)
                yield _question(each, other, how)
            groups[place].append((each, statement))


def _whole(one: Known, other: Known) -> bool:
    """Tell whether both consist of their statement alone: with more text behind it, two memories
    may begin alike.
    """
    return all(len([line for line in each.topic.body.splitlines() if line.strip()]) == 1 for each in (one, other))


def _question(one: Known, other: Known, how: str) -> Question:
    loser, winner = sorted(
        (one, other), key=lambda each: (each.topic.pinned, -_RANK[each.topic.provenance.trust], each.at, each.topic.path)
    )
    better = "newer" if winner.at > loser.at else "better founded"
    if _RANK[winner.topic.provenance.trust] < _RANK[loser.topic.provenance.trust]:
        better = "better founded"
    if winner.topic.pinned and not loser.topic.pinned:
        better = "pinned"
    why = f"it {how if how == 'contradicts' else 'seems to say the same as'} {winner.topic.path} ({moment(winner.at)[:10]}), which is {better}"
    return Question(path=loser.topic.path, why=why, beside=winner.topic.path, mark=_mark(loser.topic, encode(winner.topic.text())))


def _mark(topic: Topic, other: bytes) -> str:
    return hashlib.sha256(b"\0".join(sorted((topic.path.encode("utf-8", "replace") + encode(topic.body), other)))).hexdigest()[:16]


def against(known: Sequence[Known], instructions: Sequence[Instruction]) -> Iterator[Question | Remark]:
    """Compare memories with the lines of the instruction files: what is already stated there, and
    which of two contradicting texts is stale.
    """
    lines: dict[tuple[object, ...], list[tuple[Instruction, int, _Statement]]] = {}
    for file in instructions:
        for number, line in enumerate(file.text.splitlines(), 1):
            statement = _statement(line)
            if statement is not None:
                for place in {("rule", *statement.bare), ("head", *statement.head)} - {("head",), ("rule",)}:
                    lines.setdefault(place, []).append((file, number, statement))
    for each in known:
        mine = _of(each.topic)
        if mine is not None:
            found = (row for place in (("rule", *mine.bare), ("head", *mine.head)) for row in lines.get(place, ()))
            answer = next((told for row in found if (told := _told(each, mine, row)) is not None), None)
            if answer is not None:
                yield answer


def _told(each: Known, mine: _Statement, row: tuple[Instruction, int, _Statement]) -> Question | Remark | None:
    file, number, theirs = row
    how = _clash(mine, theirs)
    where = f"{file.path}:{number}"
    mark = _mark(each.topic, theirs.text.encode("utf-8", "replace"))
    if how == "contradicts" and file.at > each.at:
        return Question(path=each.topic.path, why=f"it contradicts {where} and is the stale one: that file changed later", mark=mark)
    if how == "contradicts":
        return Remark(where, f"seems stale: {each.topic.path} of {moment(each.at)[:10]} says otherwise, and is newer")
    if how and len([line for line in each.topic.body.splitlines() if line.strip()]) == 1:
        return Question(path=each.topic.path, why=f"{where} says it already", mark=mark)
    return None
