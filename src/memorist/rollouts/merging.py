"""Decide when two claims are the same, when a newer one supersedes an older, and which are left out
for lack of space (RO-5). Pure.

Only what the words prove is done: the same rule (`auto_memory.said_same`), the same subject with
another value at its end, or the same with and without a negation. Merely similar claims stay apart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from memorist.auto_memory.said_same import rule_key
from memorist.rollouts.handbook import Entry, Work
from memorist.rollouts.raw_memory import PROOFS

ENTRIES = 40
"""Entries of one list of a group.

Our choice: three lists of forty lines are what a reader goes through; the ledgers that users
complained about had 133 tasks in 2,450 lines (codex.md part 7).
"""
WORKS = 30
"""Tasks of a group with a section of their own; older ones share one."""
OLDER = "older work"
"""Title of that section."""
KEYWORDS = 20

_VALUE = re.compile(r"(?:`[^`]+`|\"[^\"]+\"|“[^”]+”|v?\d[\w.:-]*|[\w.-]*/[\w./-]*|\S+\.\w{1,5})[.;!]?\Z")
_ARROW = " → "
_LEAST_SUBJECT = 3
"""Minimum words before a value that make a subject."""
_FRONT = frozenset({"do", "not", "never", "always", "不", "别", "勿"})
_NEGATING = frozenset({"not", "never", "不", "别", "勿"})


@lru_cache(maxsize=16_384)
def key_of(text: str) -> tuple[str, ...]:
    """Return a key that is equal for two texts of the same claim."""
    return rule_key(text) or (text.strip(),)


@lru_cache(maxsize=16_384)
def _subject(text: str) -> tuple[tuple[str, ...], str]:
    """Split a claim that ends in a value into subject and value; the subject is empty if it does
    not.

    A claim that stage one writes as `command → result` has the command as its subject.
    """
    head, arrow, result = text.partition(_ARROW)
    if arrow and result.strip() and rule_key(head):
        return (_ARROW, *rule_key(head)), result.strip()
    found = _VALUE.search(text)
    before = text[: found.start()] if found else ""
    if found is None or len(before.split()) < _LEAST_SUBJECT or not before[-1:].isspace():
        return (), ""
    return rule_key(before), found[0].rstrip(".;!")


@lru_cache(maxsize=16_384)
def _polarity(text: str) -> tuple[tuple[str, ...], bool]:
    """Return a claim without the words before its verb, and whether those negate it."""
    tokens = rule_key(text)
    at = 0
    while at < len(tokens) and tokens[at].casefold() in _FRONT:
        at += 1
    return tokens[at:], any(token.casefold() in _NEGATING for token in tokens[:at])


def supersedes(newer: Entry, older: Entry) -> bool:
    """Tell whether the form of two claims proves that the later one (given first) replaces the
    earlier.

    Both must be dated, on different days. For structural proofs of one day about the same command,
    the order in which they are given decides.
    """
    if older.by != "sessions" or not older.date or not newer.date or newer.date < older.date:
        return False
    subject, value = _subject(newer.text)
    same = bool(subject) and subject == _subject(older.text)[0] and value != _subject(older.text)[1]
    if newer.date == older.date:
        return same and subject[0] == _ARROW and newer.proof == older.proof == "proved"
    (rest, negated), (other, was) = _polarity(newer.text), _polarity(older.text)
    return same or (len(rest) > 1 and rest == other and negated != was)


def without_superseded(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the claims that still hold: of those about one subject, the last one's.

    Within one day the last given counts.
    """
    alike: dict[tuple[str, ...], list[int]] = {}
    for at, entry in enumerate(entries):
        for key in {_subject(entry.text)[0], _polarity(entry.text)[0]} - {()}:
            alike.setdefault(key, []).append(at)
    gone = set()
    for places in alike.values():
        last = max(places, key=lambda at: (entries[at].date, at))
        gone |= {at for at in places if at != last and supersedes(entries[last], entries[at])}
    return tuple(entry for at, entry in enumerate(entries) if at not in gone)


def joined(known: Entry, new: Entry) -> Entry:
    """Merge two entries of the same claim: the existing wording, all support, the stronger proof,
    the later day.
    """
    proofs = [each for each in (known.proof, new.proof) if each is not None]
    return replace(
        known,
        support=tuple(sorted({*known.support, *new.support})),
        works=tuple(sorted({*known.works, *new.works})),
        proof=min(proofs, key=PROOFS.index, default=None),
        date=max(known.date, new.date),
    )


def ranked(entries: Sequence[Entry], uses: Mapping[str, int]) -> tuple[Entry, ...]:
    """Rank entries by usefulness: user-written, then explicitly requested, then by uses, number of
    sessions, proof, day.
    """
    order = {"user": 0, "note": 1, "sessions": 2}

    def rank(entry: Entry) -> tuple[int, int, int, int, int]:
        used = max((uses.get(thread, 0) for thread in entry.support), default=0)
        return order[entry.by], -used, -len(entry.support), PROOFS.index(entry.proof or "inferred"), -_day(entry.date)

    return tuple(sorted(entries, key=rank))


def _day(date: str) -> int:
    plain = date.replace("-", "")
    return int(plain) if plain.isascii() and plain.isdecimal() else 0


def fitting(entries: Sequence[Entry], limit: int = ENTRIES) -> tuple[Entry, ...]:
    """Return the first entries that fit; the user's own and notes are never left out."""
    own = sum(entry.by != "sessions" for entry in entries)
    room = max(0, limit - own)
    kept = []
    for entry in entries:
        if entry.by == "sessions":
            if room <= 0:
                continue
            room -= 1
        kept.append(entry)
    return tuple(kept)


def newest(work: Work) -> str:
    """Return when a task was last worked on, RFC 3339."""
    return max((source.updated for source in work.sources), default="")


def gathered(works: Sequence[Work], uses: Mapping[str, int], limit: int = WORKS) -> tuple[Work, ...]:
    """Return the tasks, newest first; beyond the limit they share one section that still lists
    every session with its summary.
    """
    shared = next((work for work in works if work.title == OLDER), None)
    own = sorted((work for work in works if work is not shared), key=lambda work: (newest(work), -work.number), reverse=True)
    used = sorted(own, key=lambda work: max((uses.get(source.thread, 0) for source in work.sources), default=0), reverse=True)
    kept = {work.number for work in used[:limit]}
    moved = [work for work in own if work.number not in kept and not work.other]
    if not moved and shared is None:
        return tuple(own)
    stays = [work for work in own if work not in moved]
    number = shared.number if shared else max(work.number for work in works) + 1
    sources = {source.thread: source for work in (*moved, *([shared] if shared else [])) for source in work.sources}
    ordered = tuple(sorted(sources.values(), key=lambda source: (source.updated, source.thread), reverse=True))
    older = replace(shared, sources=ordered) if shared else Work(number=number, title=OLDER, sources=ordered)
    return (*stays, older) if ordered else tuple(stays)


def entry_mark(title: str, text: str) -> str:
    """Fingerprint a claim in a place: it identifies what the user removed without keeping
    the text.
    """
    return _mark("entry", title, *key_of(text))


def session_mark(title: str, thread: str, updated: str) -> str:
    """Fingerprint a version of a session in a place."""
    return _mark("session", title, thread, updated)


def _mark(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def unwanted(dropped: Collection[str], title: str, text: str) -> bool:
    """Tell whether the user removed that claim from that place."""
    return bool(dropped) and entry_mark(title, text) in dropped
