"""Lexical score of entries: BM25, extended by an entry's surroundings and its time.

Pure. For each word of the query an entry has BM25's saturated count and borrows part of its
neighbours'. The sum is saturated again, so that a turn in whose surroundings all words occur
outranks one with a single word in every turn around it. The group's own BM25 is added. Entries
without neighbours and group are ranked by BM25 alone.

The weights were chosen on four conversations of LoCoMo and confirmed on three others
(docs/benchmarks.md).
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.search_words import TIME_EXPRESSION, extract_words_with_keys
from memorist.recall.word_index import IndexRow, StoredIndexRow

# The ranker's input and output types.


class EntryPositionInGroup(Struct, frozen=True):
    """An entry's position among others: turns of a conversation, parts of a page."""

    group: str
    """The conversation, session or page."""
    number: int
    """Its position there. Adjacent entries lend each other weight."""


class SearchEntry(Struct, frozen=True, kw_only=True):
    """One searchable memory."""

    id: str
    """Unique among the entries of one index. Zero bytes and lone surrogates are returned as
    replacement characters.
    """
    title: str = ""
    description: str = ""
    body: str = ""
    position: EntryPositionInGroup | None = None
    """None for entries without an order, such as memory files."""
    fingerprint: str = ""
    """Changes when the entry does (a hash, or time and size of a file). Empty: computed from the
    entry.
    """


class RankedEntry(Struct, frozen=True, kw_only=True):
    """One search result."""

    id: str
    score: float
    """Defines the order. Comparable within one result list only."""
    lexical: float
    """The lexical part of the score; 0 when only the meaning was near."""
    dense: float | None
    """Cosine of query and entry, -1 to 1; None without an embedder or before the entry is embedded.
    """
    evidence: float = 0.0
    """How much the matched words say beyond chance, in nats."""
    nearness: float | None = None
    """How far the meaning is nearer than that of unrelated texts, in standard deviations; None as
    for `dense`.
    """
    matched: tuple[str, ...]
    """The query's words in the entry itself, as spelled in the query, rarest first."""
    why: str
    """One line for humans: which words, whose, how near in meaning."""


# Prepare entries for the index.


FIELD_WEIGHTS = {"title": 3.0, "description": 2.0, "body": 1.0}
"""Weight of a word by the field it occurs in. A file's name and description are written to find it
by; the selector of the file-native family sees nothing else (Claude Code).
"""

WEIGHT_STEPS = 4
"""Resolution of weights: a word's weight is stored as a whole number of quarters."""

MAX_WEIGHT = 255
"""Largest weight that the index stores: 63 times that of a word in a body."""

HAS_QUESTION, ENDS_WITH_QUESTION, HAS_TIME, IN_GROUP = 1, 2, 4, 8
"""Flags of an entry: contains a question, ends with one, places something in time, belongs to a
group.
"""

_PLAIN_WORD = re.compile(r"[^\W_]+")


def clean_and_fingerprint_entries(entries: Iterable[SearchEntry]) -> dict[str, SearchEntry]:
    """The entries by id, with text that SQLite can store, each with a fingerprint."""
    return {
        entry.id: entry
        if entry.fingerprint
        else replace(entry, fingerprint=_entry_fingerprint(entry))
        for entry in map(_clean_entry, entries)
    }


def build_index_row(entry: SearchEntry) -> IndexRow:
    """Build the index row of one of these."""
    fields = {"title": entry.title, "description": entry.description, "body": entry.body}
    summed: dict[str, float] = {}
    length = 0
    for name, text in fields.items():
        for word, _ in extract_words_with_keys(text):
            summed[word] = summed.get(word, 0.0) + FIELD_WEIGHTS[name]
            length += 1
    return IndexRow(
        id=entry.id,
        fingerprint=entry.fingerprint,
        words={
            word: min(MAX_WEIGHT, round(weight * WEIGHT_STEPS)) for word, weight in summed.items()
        },
        length=length,
        group=entry.position.group if entry.position else "",
        position=entry.position.number if entry.position else 0,
        flags=_entry_flags(entry),
    )


def _entry_flags(entry: SearchEntry) -> int:
    body = entry.body.rstrip()
    return (
        HAS_QUESTION * any(mark in body for mark in "?？")
        | ENDS_WITH_QUESTION * body.endswith(("?", "？"))
        | HAS_TIME * bool(TIME_EXPRESSION.search(body))
        | IN_GROUP * (entry.position is not None)
    )


def render_embedding_text(entry: SearchEntry) -> str:
    """Render the text to embed, without a title or description that the body repeats."""
    kept: dict[str, str] = {}
    for text in (entry.body, entry.description, entry.title):
        plain = " ".join(_PLAIN_WORD.findall(text.casefold()))
        if plain and not any(plain in other for other in kept):
            kept[plain] = text
    return "\n".join(reversed(kept.values()))


def _clean_entry(entry: SearchEntry) -> SearchEntry:
    """Return the entry with text that SQLite can store."""
    if (
        entry.position is None
        and _storable_text(entry.id) is entry.id
        and not (entry.title or entry.description or entry.body)
    ):
        return entry  # one that the index has already, by its fingerprint
    position = entry.position and EntryPositionInGroup(
        _storable_text(entry.position.group), entry.position.number
    )
    fields = {
        name: _storable_text(getattr(entry, name))
        for name in ("title", "description", "body", "fingerprint")
    }
    return SearchEntry(id=_storable_text(entry.id), position=position, **fields)


def _storable_text(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _entry_fingerprint(entry: SearchEntry) -> str:
    return hashlib.blake2b(msgspec.json.encode(entry), digest_size=16).hexdigest()


# The index's entries as numbered columns, with their neighbours: the ranker's data for each
# query.


class EntryColumns(Struct, frozen=True):
    """Columns by entry number; number 0 is no entry."""

    ids: Sequence[str]
    """Empty where no entry has the number."""
    fingerprints: Sequence[str]
    lengths: array[int]
    """In words."""
    flags: array[int]
    before: array[int]
    """Number of the preceding entry in its group, or 0."""
    after: array[int]
    groups: array[int]
    """Group number; 0 for none."""
    group_lengths: Sequence[int]
    entry_count: int
    mean_length: float
    has_positions: bool
    """Whether any entry has a position."""

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.group_lengths) - 1


def build_entry_columns(rows: Iterable[StoredIndexRow]) -> EntryColumns:
    """Build the columns of these rows, which are sorted by group and position."""
    found = list(rows)
    size = max((row.number for row in found), default=0) + 1
    ids, fingerprints = [""] * size, [""] * size
    lengths, flags, before, after, groups = (array("I", bytes(4 * size)) for _ in range(5))
    group_at: dict[str, int] = {}
    group_lengths = [0]
    last = StoredIndexRow(0, "", "", 0, "", 0, 0)
    for row in found:
        number = row.number
        lengths[number], flags[number] = row.length, row.flags
        if row.flags & IN_GROUP:
            at = groups[number] = group_at.setdefault(row.group, len(group_at) + 1)
            if at == len(group_lengths):
                group_lengths.append(0)
            group_lengths[at] += row.length
        ids[number], fingerprints[number] = row.id, row.fingerprint
        if row.flags & last.flags & IN_GROUP and row.group == last.group:
            before[number], after[last.number] = last.number, number
        last = row
    count = len(found)
    mean = sum(lengths) / max(1, count)
    return EntryColumns(
        ids,
        fingerprints,
        lengths,
        flags,
        before,
        after,
        groups,
        group_lengths,
        count,
        mean or 1.0,
        bool(group_at),
    )


def replace_entries_in_columns(
    columns: EntryColumns, removed: Collection[str], rows: Sequence[StoredIndexRow]
) -> EntryColumns | None:
    """The columns without the entries `removed`, by id, and with these rows, which may replace
    some; None where entries have positions, of which all have to be known.
    """
    if columns.has_positions or any(row.flags & IN_GROUP for row in rows):
        return None
    more = max((row.number + 1 for row in rows), default=0) - len(columns.ids)
    ids, fingerprints = ([*each, *[""] * more] for each in (columns.ids, columns.fingerprints))
    lengths, flags, before, after, groups = (
        each + array("I", bytes(4 * max(0, more)))
        for each in (
            columns.lengths, columns.flags, columns.before, columns.after, columns.groups
        )
    )  # fmt: skip
    for id in removed:
        if id in ids:
            number = ids.index(id)
            ids[number] = fingerprints[number] = ""
            lengths[number] = flags[number] = 0
    for row in rows:
        ids[row.number], fingerprints[row.number] = row.id, row.fingerprint
        lengths[row.number], flags[row.number] = row.length, row.flags
    count = len(ids) - ids.count("")
    return replace(
        columns,
        ids=ids,
        fingerprints=fingerprints,
        lengths=lengths,
        flags=flags,
        before=before,
        after=after,
        groups=groups,
        entry_count=count,
        mean_length=sum(lengths) / max(1, count) or 1.0,
    )


MAX_SCANNED_POSTINGS = 3_000
"""Postings after which further, more common words are only looked up for the leading entries, and
so is a query's rarest word that has more of them. Bounds the time per query.
"""

LEADER_POSTINGS = 5_000
"""Postings by which the leading entries are found where even the rarest word is common."""

COMMON_LEADER_COUNT = 50
"""Number of those entries, which are looked at with their neighbours."""

LOOKUP_COST = 6
"""Postings that are scanned in the time of one look-up."""

NEIGHBOUR_COST = 6
"""Relative cost of a posting in a collection with positions."""

LEADER_COUNT = 100
"""Number of leading entries. No common word lifts an entry from behind them to the first ten."""


# Scores are in units of a word's rarity (`idf`, natural log).

ENTRY_K1, ENTRY_B = 1.0, 0.4
GROUP_K1, GROUP_B = 1.2, 0.75
"""BM25's own parameters, for entries and groups (Robertson and Zaragoza 2009 give 1.2 and 0.75;
short turns want less of both).
"""
PREVIOUS_SHARE, FOLLOWING_SHARE, SECOND_SHARE = 0.2, 0.5, 0.2
"""Shares lent by the preceding entry, the following one, and each at a distance of two."""
QUESTION_SHARE = 0.8
"""Share lent by a preceding entry that asks a question: the next entry is the answer."""
SATURATION = 2.0
GROUP_SHARE = 0.6
TIME_BONUS = 3.0
"""Bonus for an entry with a time when the query asks for one."""
QUESTION_PENALTY = 1.5
"""Penalty for an entry in a group that ends with a question: it asks rather than tells."""
SHORT_PENALTY = 1.0
SHORT_ENTRY_WORDS = 5.0
"""Penalty for a very short entry in a group, decaying over so many words."""

QueryPostings: TypeAlias = "Sequence[tuple[str, array[int]]]"
"""The query's words, rarest first, each with its packed postings (`memorist.recall.word_index`)."""


def score_by_words(
    postings: QueryPostings, collection: EntryColumns, excluded: Collection[int] = frozenset()
) -> dict[int, float]:
    """Score every entry for which query words in it or around it speak, but for those `excluded`;
    by number.
    """
    scores: dict[int, float] = {}
    group_scores: dict[int, float] = {}
    near: _NearEntries | None = None
    spent = 0
    for _, packed in postings:
        spent += len(packed) * (NEIGHBOUR_COST if collection.has_positions else 1)
        if near is None and spent > MAX_SCANNED_POSTINGS:
            scores = _keep_leaders(_leave_out(scores, excluded)) or _find_leaders(
                postings, collection, excluded
            )
            near = _list_near_entries(scores, collection)
        sums = _count_own_words(
            packed if near is None else _select_postings(packed, near), collection
        )
        if collection.has_positions:
            sums = (
                _lend_to_neighbours(sums, collection)
                if near is None
                else _borrow_from_neighbours(sums, near)
            )
        if near is None and collection.group_count > 1:
            _add_group_scores(packed, collection, group_scores)
        top = _rarity(len(packed), collection.entry_count) * (1 + SATURATION)
        known = scores.get
        for number, sum_ in sums.items():
            scores[number] = known(number, 0.0) + top * sum_ / (sum_ + SATURATION)
    ids = collection.ids
    scores = _leave_out(scores, excluded)
    if not group_scores:
        return {number: score for number, score in scores.items() if ids[number]}
    groups = collection.groups
    return {
        number: score + GROUP_SHARE * group_scores.get(groups[number], 0.0)
        for number, score in scores.items()
        if ids[number]
    }


def apply_score_bonuses_and_penalties(
    scores: Mapping[int, float], collection: EntryColumns, *, asks_when: bool
) -> dict[int, float]:
    """Adjust the scores by time, and of entries that are short or ask a question."""
    adjusted = {}
    for number, score in scores.items():
        flags = collection.flags[number]
        more = TIME_BONUS if asks_when and flags & HAS_TIME else 0.0
        if flags & IN_GROUP:
            more -= SHORT_PENALTY * math.exp(-collection.lengths[number] / SHORT_ENTRY_WORDS)
            if flags & ENDS_WITH_QUESTION:
                more -= QUESTION_PENALTY
        adjusted[number] = score + more
    return adjusted


def list_matched_words(number: int, postings: QueryPostings) -> tuple[str, ...]:
    """The words of a query that an entry has itself, rarest first."""
    least = number << 8
    return tuple(
        word
        for word, packed in postings
        if (at := bisect_left(packed, least)) < len(packed) and packed[at] >> 8 == number
    )


def _leave_out(scores: dict[int, float], excluded: Collection[int]) -> dict[int, float]:
    if not excluded:
        return scores
    return {number: score for number, score in scores.items() if number not in excluded}


def _keep_leaders(scores: dict[int, float]) -> dict[int, float]:
    if len(scores) <= LEADER_COUNT:
        return scores
    floor = nlargest(LEADER_COUNT, scores.values())[-1]
    return {number: score for number, score in scores.items() if score >= floor}


def _find_leaders(
    postings: QueryPostings, collection: EntryColumns, excluded: Collection[int]
) -> dict[int, float]:
    """Find the entries that a query speaks for whose rarest word is common, and their neighbours,
    all with a score of 0.

    Judged by the entries' own words, the rarest `LEADER_POSTINGS`.
    """
    sums: dict[int, float] = {}
    read = 0
    for _, packed in postings:
        read += len(packed)
        if sums and read > LEADER_POSTINGS:
            break
        rarity = _rarity(len(packed), collection.entry_count)
        for number, count in _count_own_words(packed, collection).items():
            sums[number] = sums.get(number, 0.0) + rarity * count
    sums = _leave_out(sums, excluded)
    # Plain numbers are compared in a third of the time that keys take.
    least = min(nlargest(COMMON_LEADER_COUNT, sums.values()), default=0.0)
    leading = (number for number, sum_ in sums.items() if sum_ >= least)
    leaders = nlargest(COMMON_LEADER_COUNT, leading, key=sums.__getitem__)
    numbers = _include_neighbours(leaders, collection) if collection.has_positions else leaders
    return dict.fromkeys(numbers, 0.0)


def _rarity(entries: int, count: int) -> float:
    return math.log(1 + max(0.5, count - entries + 0.5) / (entries + 0.5))


class _NearEntries(Struct, frozen=True):
    """The leading entries and those that lend to them."""

    borrowers: Mapping[int, Sequence[tuple[int, float]]]
    """By entry the leading ones that it lends to, itself among them, each with the share."""
    runs: Sequence[tuple[int, int]]
    """The first posting that each run of consecutive numbers may have, and the first beyond it."""


def _list_near_entries(leaders: Iterable[int], collection: EntryColumns) -> _NearEntries:
    before, after, flags = collection.before, collection.after, collection.flags
    borrowers: dict[int, list[tuple[int, float]]] = {}
    for number in leaders:
        lenders = [(number, 1.0)]
        if collection.has_positions:
            first, then = before[number], after[number]
            share = QUESTION_SHARE if flags[first] & HAS_QUESTION else PREVIOUS_SHARE
            lenders += [(first, share), (then, FOLLOWING_SHARE)]
            lenders += [(before[first], SECOND_SHARE), (after[then], SECOND_SHARE)]
        for lender, share in lenders:
            borrowers.setdefault(lender, []).append((number, share))
    runs: list[tuple[int, int]] = []
    for number in sorted(borrowers):
        if runs and runs[-1][1] == number << 8:
            runs[-1] = (runs[-1][0], number + 1 << 8)
        else:
            runs.append((number << 8, number + 1 << 8))
    return _NearEntries(borrowers, runs)


def _select_postings(packed: array[int], near: _NearEntries) -> Sequence[int]:
    """Return the postings of these numbers. Looking each run up is faster than scanning a long
    list.
    """
    size = len(packed)
    if size < LOOKUP_COST * len(near.runs):
        return [each for each in packed if each >> 8 in near.borrowers]
    found, at = [], 0
    for least, end in near.runs:
        at = bisect_left(packed, least, at)
        while at < size and packed[at] < end:
            found.append(packed[at])
            at += 1
    return found


def _count_own_words(packed: Sequence[int], collection: EntryColumns) -> dict[int, float]:
    """Compute BM25's saturated, length-normalised count of the word in each entry that has it."""
    lengths, size = collection.lengths, len(collection.ids)
    base = WEIGHT_STEPS * ENTRY_K1 * (1 - ENTRY_B)
    slope = WEIGHT_STEPS * ENTRY_K1 * ENTRY_B / collection.mean_length
    rise = ENTRY_K1 + 1
    own = {}
    for each in packed:
        # Another process may just have written numbers beyond our columns.
        if (number := each >> 8) < size:
            count = each & 255
            own[number] = rise * count / (count + base + slope * lengths[number])
    return own


def _lend_to_neighbours(own: Mapping[int, float], collection: EntryColumns) -> dict[int, float]:
    """Add what neighbours lend to the counts."""
    before, after, flags = collection.before, collection.after, collection.flags
    lent = dict(own)
    for number, count in own.items():
        if following := after[number]:
            share = QUESTION_SHARE if flags[number] & HAS_QUESTION else PREVIOUS_SHARE
            lent[following] = lent.get(following, 0.0) + share * count
            if second := after[following]:
                lent[second] = lent.get(second, 0.0) + SECOND_SHARE * count
        if previous := before[number]:
            lent[previous] = lent.get(previous, 0.0) + FOLLOWING_SHARE * count
            if second := before[previous]:
                lent[second] = lent.get(second, 0.0) + SECOND_SHARE * count
    return lent


def _borrow_from_neighbours(own: Mapping[int, float], near: _NearEntries) -> dict[int, float]:
    """Do the same as `_lend_to_neighbours`, for the leading entries only."""
    sums: dict[int, float] = {}
    for number, count in own.items():
        for leader, share in near.borrowers[number]:
            sums[leader] = sums.get(leader, 0.0) + share * count
    return sums


def _include_neighbours(numbers: Collection[int], collection: EntryColumns) -> frozenset[int]:
    """Return these entries and those that lend to them."""
    before, after = collection.before, collection.after
    found = set(numbers)
    for number in numbers:
        found.update((before[number], after[number], before[before[number]], after[after[number]]))
    return frozenset(found)


def _add_group_scores(
    packed: array[int], collection: EntryColumns, scores: dict[int, float]
) -> None:
    """Add the word's BM25 over groups to the groups' scores."""
    groups, size = collection.groups, len(collection.ids)
    counts: dict[int, float] = {}
    for each in packed:
        if (number := each >> 8) < size and (group := groups[number]):
            counts[group] = counts.get(group, 0.0) + (each & 255) / WEIGHT_STEPS
    rarity = _rarity(len(counts), collection.group_count)
    mean = sum(collection.group_lengths) / max(1, collection.group_count) or 1.0
    for group, count in counts.items():
        norm = GROUP_K1 * (1 - GROUP_B + GROUP_B * collection.group_lengths[group] / mean)
        scores[group] = scores.get(group, 0.0) + rarity * count * (GROUP_K1 + 1) / (count + norm)
