"""The entries of an index as columns by number, with their neighbours: what ranking looks at for every question. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.recall.prepare import HEADING, IN_GROUP
from memorist.recall.words import words
from memorist.store.word_index import StoredRow


class Collection(Struct, frozen=True):
    """Columns by an entry's number; number 0 is nobody."""

    ids: Sequence[str]
    """Empty where no entry has the number, and for headings."""
    fingerprints: Sequence[str]
    lengths: array[int]
    """In words."""
    flags: array[int]
    before: array[int]
    """The number of the entry before it in its group, or 0."""
    after: array[int]
    groups: array[int]
    """Which group it is of; 0 for none."""
    authors: array[int]
    """Whose it is, as a place in `names`; 0 for nobody's."""
    names: Sequence[frozenset[str]]
    """The words of every author's name."""
    group_lengths: Sequence[int]
    count: int
    """Entries, headings left out."""
    mean_length: float
    placed: bool
    """Whether any entry has a place."""

    @property
    def group_count(self) -> int:
        """Groups."""
        return len(self.group_lengths) - 1


def collect(rows: Iterable[StoredRow]) -> Collection:
    """The columns of these rows, which come by group and place."""
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
