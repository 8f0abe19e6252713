"""Choose the extracts that say most that is new, for their price. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from memorist.compaction.digest_text import heading_cost
from memorist.compaction.digest_units import Source, Unit
from memorist.core.tokens import estimate_text

RUN = 6
"""Words or signs in a row that count as said before."""

_WORD = re.compile(r"\w+|[^\w\s]")
_WORTHLESS = 1e-9


def runs(text: str) -> set[tuple[str, ...]]:
    """The runs of words in a text."""
    words = _WORD.findall(text)
    return set(zip(*(words[start:] for start in range(RUN)), strict=False)) or {tuple(words)}


def choose(found: Sequence[Unit], rates: Sequence[float], room: int, known: Iterable[str]) -> list[Unit]:
    """The best extracts within `room` tokens: each counts by its rate and its runs of words that `known` texts and the ones chosen so far lack.

    Worth only falls as more is chosen, so it is weighed again only for the one that seems best (lazy greedy choice).
    """
    covered: set[tuple[str, ...]] = set()
    for text in known:
        covered |= runs(text)
    chosen: list[Unit] = []
    have: set[Source] = set()
    own: dict[int, set[tuple[str, ...]]] = {}
    queue = [(-4 * rate, at, False) for at, rate in enumerate(rates)]
    heapify(queue)
    smallest = 12
    while queue and room > smallest:
        _, at, weighed = heappop(queue)
        unit = found[at]
        if at not in own:
            own[at] = runs(unit.text)
        cost = estimate_text(unit.text) + 1 + (0 if unit.source in have else heading_cost(unit.source))
        worth = rates[at] * len(own[at] - covered) / cost
        if queue and worth < -queue[0][0] and worth > _WORTHLESS:
            heappush(queue, (-worth, at, True))
        elif cost <= room and worth > _WORTHLESS:
            room -= cost
            chosen.append(unit)
            have.add(unit.source)
            covered |= own[at]
    return chosen
