"""Prepare entries for the index. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from memorist.recall.entries import Entry, Place
from memorist.recall.lexicon import TELLS_TIME
from memorist.recall.words import words
from memorist.store.word_index import IndexRow

FIELD_WEIGHTS = {"title": 3.0, "description": 2.0, "body": 1.0}
"""Weight of a word by the field it occurs in. A file's name and description are written to find it
by; the selector of the file-native family sees nothing else (claude-code.md section 7.6).
"""

STEPS = 4
"""Resolution of weights: a word's weight is stored as a whole number of quarters."""

MOST = 255
"""Largest weight that the index stores: 63 times that of a word in a body."""

HEADING_WEIGHT = 3.0
"""Weight in the group of a word of the group's heading."""

ASKS, ENDS_ASKING, TELLS_WHEN, IN_GROUP, HEADING = 1, 2, 4, 8, 16
"""Flags of an entry: contains a question, ends with one, places something in time, belongs to a
group, is a group's heading.
"""

HEADING_ID = "\ufdd0heading:"
"""Prefix of the id of a group's heading, which is stored as an entry. U+FDD0 is a noncharacter, and
is removed from entries' ids.
"""


def rows(entries: Iterable[Entry]) -> Iterator[tuple[str, str, Entry]]:
    """Yield id, fingerprint and entry of everything to be indexed: the entries, and their groups'
    headings.
    """
    headings: dict[str, str] = {}
    for entry in map(_clean, entries):
        if entry.place is not None and entry.place.heading:
            headings.setdefault(entry.place.group, entry.place.heading)
        yield entry.id, entry.fingerprint or _fingerprint(entry), entry
    for group, heading in headings.items():
        entry = Entry(id=HEADING_ID + group, title=heading, author=group)
        yield entry.id, _fingerprint(entry), entry


def is_heading(id: str) -> bool:
    """Whether this is the id of a group's heading rather than of an entry."""
    return id.startswith(HEADING_ID)


def index_row(id: str, fingerprint: str, entry: Entry) -> IndexRow:
    """Build the index row of one of these."""
    if is_heading(id):
        weights = {word: int(HEADING_WEIGHT * STEPS) for word, _ in words(entry.title)}
        return IndexRow(id=id, fingerprint=fingerprint, words=weights, length=len(weights), group=entry.author, flags=HEADING)
    fields = {"title": entry.title, "description": entry.description, "body": entry.body}
    summed: dict[str, float] = {}
    length = 0
    for name, text in fields.items():
        for word, _ in words(text):
            summed[word] = summed.get(word, 0.0) + FIELD_WEIGHTS[name]
            length += 1
    return IndexRow(
        id=id,
        fingerprint=fingerprint,
        words={word: min(MOST, round(weight * STEPS)) for word, weight in summed.items()},
        length=length,
        group=entry.place.group if entry.place else "",
        place=entry.place.number if entry.place else 0,
        author=entry.author,
        flags=_flags(entry),
    )


def _flags(entry: Entry) -> int:
    body = entry.body.rstrip()
    return (
        ASKS * any(mark in body for mark in "?？")
        | ENDS_ASKING * body.endswith(("?", "？"))
        | TELLS_WHEN * bool(TELLS_TIME.search(body))
        | IN_GROUP * (entry.place is not None)
    )


def embedded_text(entry: Entry) -> str:
    """Render the text to embed: without the author, whose name would make all entries of one author
    similar.
    """
    return "\n".join(text for text in (entry.title, entry.description, entry.body) if text)


def _clean(entry: Entry) -> Entry:
    """Return the entry with text that SQLite can store."""
    place = entry.place and Place(_text(entry.place.group), entry.place.number, _text(entry.place.heading))
    fields = {name: _text(getattr(entry, name)) for name in ("title", "description", "body", "author", "fingerprint")}
    return Entry(id=_text(entry.id), place=place, **fields)


def _text(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").replace("\ufdd0", "\ufffd").encode("utf-8", "replace").decode()


def _fingerprint(entry: Entry) -> str:
    return hashlib.blake2b(msgspec.json.encode(entry), digest_size=16).hexdigest()
