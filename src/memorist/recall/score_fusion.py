"""How the scores by words and by meaning become one, and the rankings of several conversations one
list. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from memorist.recall.entry_vectors import EmbeddingSimilarities

MATCH_WEIGHTS = (1.0, 0.25)
CHANCE_WEIGHTS = (0.05, 1.0)
"""Weights of the score by words and of one standard deviation of meaning, where words say more than
chance and where they do not.
"""

CHANCE_GROWTH = 0.33
CHANCE_SHARE = 0.3
CHANCE_SHARE_PER_LEAD = 0.1
"""When the best match by words is taken for chance. The best of chance grows with the logarithm of
the number of entries and with that of the query's words (the first). It is believed from three
tenths of that on, and from a tenth more for each standard deviation by which another entry is
nearer in meaning. Chosen on questions to four conversations of LoCoMo, each by itself and all in
one project (docs/ranking.md).
"""

LEXICAL_SHARE = 0.07
"""Standard deviations of meaning that a point of the score by words counts as where entries have no
neighbours. Chosen on half of two sets: descriptions of one package, and names and docstrings
(docs/ranking.md).
"""


def combine_word_and_vector_scores(
    word_scores: Mapping[int, float],
    similarity: EmbeddingSimilarities,
    query_words: int,
    entry_count: int,
    *,
    has_neighbours: bool,
) -> dict[int, float]:
    """Join words and meaning. Turns of a conversation, which also have what stands around them, go
    by both where the words say more than chance would, else by meaning alone; entries by themselves
    by meaning, to which words add.

    An entry that was not compared counts as unrelated.
    """
    above = similarity.above_chance
    if not has_neighbours:
        words, meaning = LEXICAL_SHARE, 1.0
    elif _is_chance_match(word_scores, above, query_words, entry_count):
        words, meaning = CHANCE_WEIGHTS
    else:
        words, meaning = MATCH_WEIGHTS
    return {
        number: words * word_scores.get(number, 0.0) + meaning * above.get(number, 0.0)
        for number in word_scores.keys() | above.keys()
    }


def _is_chance_match(
    word_scores: Mapping[int, float], above: Mapping[int, float], query_words: int, entry_count: int
) -> bool:
    """Whether some entry would match that many words among that many entries as well by chance."""
    best = max(word_scores, key=word_scores.__getitem__, default=0)
    lead = max(above.values(), default=0.0) - above.get(best, 0.0)
    by_chance = math.log(max(2, entry_count)) * (1 + CHANCE_GROWTH * math.log(max(1, query_words)))
    return word_scores.get(best, 0.0) < by_chance * (CHANCE_SHARE + CHANCE_SHARE_PER_LEAD * lead)


class EntryRank(Struct, frozen=True):
    """An entry's place in a ranking, without why; the fields are those of `RankedEntry`."""

    id: str
    score: float
    lexical: float
    nearness: float | None


def merge_rankings_across_conversations(
    rankings: Sequence[Sequence[EntryRank]], query_words: int, entry_count: int
) -> list[EntryRank]:
    """Merge what the rankers of several conversations found among so many entries, best first, by
    one scale. Each has decided for itself whether words or meaning order its own; a score of the
    one is several times one of the other.
    """
    if len(rankings) == 1:
        return [*rankings[0]]
    found = [*chain.from_iterable(rankings)]
    above = {at: each.nearness for at, each in enumerate(found) if each.nearness is not None}
    scores = {at: each.lexical for at, each in enumerate(found)}
    if above:
        near = EmbeddingSimilarities({}, above)
        scores = combine_word_and_vector_scores(
            scores, near, query_words, entry_count, has_neighbours=True
        )
    order = sorted(scores, key=lambda at: (-scores[at], found[at].id))
    return [replace(found[at], score=scores[at]) for at in order]
