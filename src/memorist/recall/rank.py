"""Lexical score of entries: BM25, extended by an entry's surroundings, its author, and its time.

Pure. For each word of the query an entry has BM25's saturated count and borrows part of its
neighbours'. The sum is saturated again, so that a turn in whose surroundings all words occur
outranks one with a single word in every turn around it. The group's own BM25 is added, and a
constant for an author that the query names. Entries without neighbours, group and author are ranked
by BM25 alone.

The weights were chosen on four conversations of LoCoMo and confirmed on three others
(docs/benchmarks.md).
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from memorist.recall.collection import Collection
from memorist.recall.prepare import ASKS, ENDS_ASKING, IN_GROUP, STEPS, TELLS_WHEN

ENOUGH = 3_000
"""Postings after which further, more common words are only looked up for the leading entries.
Bounds the time per query.
"""

SCANNED = 6
"""Postings that are scanned in the time of one look-up."""

WITH_NEIGHBOURS = 6
"""Relative cost of a posting in a collection with positions."""

LEADING = 100
"""Number of leading entries. No common word lifts an entry from behind them to the first ten."""


class Weights(Struct, frozen=True, kw_only=True):
    """The ranker's parameters. Scores are in units of a word's rarity (`idf`, natural logarithm).
    """

    k1: float = 1.0
    b: float = 0.4
    group_k1: float = 1.2
    group_b: float = 0.75
    """BM25's own parameters, for entries and groups (Robertson and Zaragoza 2009 give 1.2 and 0.75;
    short turns want less of both).
    """
    previous: float = 0.2
    """Share lent by the preceding entry."""
    asked: float = 0.6
    """Additional share lent by a preceding entry that asks a question: the next entry is the
    answer.
    """
    following: float = 0.5
    second: float = 0.2
    """Share lent by each entry at a distance of two."""
    saturation: float = 2.0
    group: float = 0.6
    author: float = 6.0
    time: float = 3.0
    """Bonus for an entry with a time when the query asks for one."""
    asking: float = 1.5
    """Penalty for an entry in a group that ends with a question: it asks rather than tells."""
    short: float = 1.0
    """Penalty for a very short entry in a group, decaying over `SHORT_ENTRY_WORDS` words."""


SHORT = 5.0
DEFAULT = Weights()

Postings: TypeAlias = "Sequence[tuple[str, array[int]]]"
"""The query's words, rarest first, each with its packed postings (`memorist.store.word_index`)."""


def by_words(postings: Postings, collection: Collection, weights: Weights = DEFAULT) -> dict[int, float]:
    """Score every entry for which query words in it or around it speak; by number."""
    scores: dict[int, float] = {}
    group_scores: dict[int, float] = {}
    near: frozenset[int] | None = None
    spent = 0
    for _, packed in postings:
        spent += len(packed) * (WITH_NEIGHBOURS if collection.placed else 1)
        if near is None and scores and spent > ENOUGH:
            scores = _leading(scores)
            near = _around(scores, collection) if collection.placed else frozenset(scores)
        sums = _own(packed if near is None else _those(packed, near), collection, weights)
        if collection.placed:
            sums = _lent(sums, collection, weights) if near is None else _borrowed(sums, scores, collection, weights)
        if near is None and collection.group_count > 1:
            _add_groups(packed, collection, weights, group_scores)
        top = _rarity(len(packed), collection.count) * (1 + weights.saturation)
        saturation, known = weights.saturation, scores.get
        for number, sum_ in sums.items():
            scores[number] = known(number, 0.0) + top * sum_ / (sum_ + saturation)
    ids = collection.ids
    if not group_scores:
        return {number: score for number, score in scores.items() if ids[number]}
    groups, share = collection.groups, weights.group
    return {number: score + share * group_scores.get(groups[number], 0.0) for number, score in scores.items() if ids[number]}


def with_circumstances(
    scores: Mapping[int, float], collection: Collection, *, authors: frozenset[int], asks_when: bool, weights: Weights = DEFAULT
) -> dict[int, float]:
    """Adjust the scores by author, time, and entries that are short or ask a question."""
    made = {}
    for number, score in scores.items():
        flags = collection.flags[number]
        more = 0.0
        if authors and collection.authors[number] in authors:
            more += weights.author
        if asks_when and flags & TELLS_WHEN:
            more += weights.time
        if flags & IN_GROUP:
            more -= weights.short * math.exp(-collection.lengths[number] / SHORT)
            if flags & ENDS_ASKING:
                more -= weights.asking
        made[number] = score + more
    return made


def covered(number: int, words: Sequence[str], postings: Postings, collection: Collection) -> tuple[float, tuple[str, ...]]:
    """Measure the share of the query's words (`words`) in the entry itself, weighted by rarity.

    Also returns the matched words, rarest first.
    """
    held = dict(postings)
    whole = sum(_rarity(len(held.get(word, ())), collection.count) for word in words)
    found = [word for word, packed in postings if _holds(packed, number)]
    return (sum(_rarity(len(held[word]), collection.count) for word in found) / whole if whole else 0.0), tuple(found)


def _leading(scores: dict[int, float]) -> dict[int, float]:
    if len(scores) <= LEADING:
        return scores
    floor = sorted(scores.values(), reverse=True)[LEADING - 1]
    return {number: score for number, score in scores.items() if score >= floor}


def _rarity(entries: int, count: int) -> float:
    return math.log(1 + max(0.5, count - entries + 0.5) / (entries + 0.5))


def _holds(packed: array[int], number: int) -> bool:
    at = bisect_left(packed, number << 8)
    return at < len(packed) and packed[at] >> 8 == number


def _those(packed: array[int], numbers: frozenset[int]) -> Sequence[int]:
    """Return the postings of these numbers. Looking each up is faster than scanning a long list."""
    if len(packed) < SCANNED * len(numbers):
        return [each for each in packed if each >> 8 in numbers]
    found = []
    for number in numbers:
        at = bisect_left(packed, number << 8)
        if at < len(packed) and packed[at] >> 8 == number:
            found.append(packed[at])
    return found


def _own(packed: Sequence[int], collection: Collection, weights: Weights) -> dict[int, float]:
    """Compute BM25's saturated, length-normalised count of the word in each entry that has it."""
    lengths, size, k1 = collection.lengths, len(collection.ids), weights.k1
    base, slope, rise = STEPS * k1 * (1 - weights.b), STEPS * k1 * weights.b / collection.mean_length, k1 + 1
    own = {}
    for each in packed:
        # Another process may just have written numbers beyond our columns.
        if (number := each >> 8) < size:
            count = each & 255
            own[number] = rise * count / (count + base + slope * lengths[number])
    return own


def _lent(own: Mapping[int, float], collection: Collection, weights: Weights) -> dict[int, float]:
    """Add what neighbours lend to the counts."""
    before, after, flags = collection.before, collection.after, collection.flags
    lent = dict(own)
    for number, count in own.items():
        if following := after[number]:
            share = weights.previous + weights.asked if flags[number] & ASKS else weights.previous
            lent[following] = lent.get(following, 0.0) + share * count
            if second := after[following]:
                lent[second] = lent.get(second, 0.0) + weights.second * count
        if previous := before[number]:
            lent[previous] = lent.get(previous, 0.0) + weights.following * count
            if second := before[previous]:
                lent[second] = lent.get(second, 0.0) + weights.second * count
    return lent


def _borrowed(own: Mapping[int, float], numbers: Iterable[int], collection: Collection, weights: Weights) -> dict[int, float]:
    """Do the same as `_lend_to_neighbours`, for these entries only."""
    before, after, flags, count = collection.before, collection.after, collection.flags, own.get
    sums = {}
    for number in numbers:
        first, then = before[number], after[number]
        share = weights.previous + weights.asked if flags[first] & ASKS else weights.previous
        distant = count(before[first], 0.0) + count(after[then], 0.0)
        sum_ = count(number, 0.0) + share * count(first, 0.0) + weights.following * count(then, 0.0) + weights.second * distant
        if sum_:
            sums[number] = sum_
    return sums


def _around(numbers: Mapping[int, float], collection: Collection) -> frozenset[int]:
    """Return these entries and those that lend to them."""
    before, after = collection.before, collection.after
    found = set(numbers)
    for number in numbers:
        found.update((before[number], after[number], before[before[number]], after[after[number]]))
    return frozenset(found)


def _add_groups(packed: array[int], collection: Collection, weights: Weights, scores: dict[int, float]) -> None:
    """Add the word's BM25 over groups to the groups' scores."""
    groups, size = collection.groups, len(collection.ids)
    counts: dict[int, float] = {}
    for each in packed:
        if (number := each >> 8) < size and (group := groups[number]):
            counts[group] = counts.get(group, 0.0) + (each & 255) / STEPS
    rarity = _rarity(len(counts), collection.group_count)
    mean = sum(collection.group_lengths) / max(1, collection.group_count) or 1.0
    k1, b = weights.group_k1, weights.group_b
    for group, count in counts.items():
        norm = k1 * (1 - b + b * collection.group_lengths[group] / mean)
        scores[group] = scores.get(group, 0.0) + rarity * count * (k1 + 1) / (count + norm)
