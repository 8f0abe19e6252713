"""The index's entries as numbered columns, with their neighbours: the ranker's data for each query.

Pure.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.recall.prepare import HEADING, IN_GROUP
from memorist.recall.words import words
from memorist.store.word_index import StoredRow


class Collection(Struct, frozen=True):
    """Columns by entry number; number 0 is no entry."""

    ids: Sequence[str]
    """Empty where no entry has the number, and for headings."""
    fingerprints: Sequence[str]
    lengths: array[int]
    """In words."""
    flags: array[int]
    before: array[int]
    """Number of the preceding entry in its group, or 0."""
    after: array[int]
    groups: array[int]
    """Group number; 0 for none."""
    authors: array[int]
    """Index into `author_names`; 0 for no author."""
    names: Sequence[frozenset[str]]
    """The words of each author's name."""
    group_lengths: Sequence[int]
    count: int
    """Entries, headings excluded."""
    mean_length: float
    placed: bool
    """Whether any entry has a position."""

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.group_lengths) - 1


def collect(rows: Iterable[StoredRow]) -> Collection:
    """Build the columns of these rows, which are sorted by group and position."""
    found = list(rows)
    size = max((row.number for row in found), default=0) + 1
    ids, fingerprints = [""] * size, [""] * size
    lengths, flags, before, after, groups, authors = (array("I", bytes(4 * size)) for _ in range(6))
    group_at: dict[str, int] = {}
    author_at: dict[str, int] = {"": 0}
    group_lengths = [0]
    last = StoredRow(0, "", "", 0, "", 0, "", 0)
    for row in found:
        number = row.number
        lengths[number], flags[number] = row.length, row.flags
        if row.flags & (IN_GROUP | HEADING):
            at = groups[number] = group_at.setdefault(row.group, len(group_at) + 1)
            if at == len(group_lengths):
                group_lengths.append(0)
            group_lengths[at] += row.length
        if row.flags & HEADING:
            continue
        ids[number], fingerprints[number] = row.id, row.fingerprint
        authors[number] = author_at.setdefault(row.author, len(author_at))
        if row.flags & last.flags & IN_GROUP and row.group == last.group:
            before[number], after[last.number] = last.number, number
        last = row
    count = sum(1 for id in ids if id)
    mean = sum(lengths[number] for number in range(size) if ids[number]) / max(1, count)
    names = [frozenset(word for word, _ in words(name)) for name in author_at]
    return Collection(
        ids, fingerprints, lengths, flags, before, after, groups, authors, names, group_lengths, count, mean or 1.0, bool(group_at)
    )
