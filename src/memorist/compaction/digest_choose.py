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
_MOST_WORDS = 4
"""Words or signs in a token, at most."""

_SMALLEST = 12
"""Tokens below which no extract is tried."""

Run = tuple[str, ...]


def runs(text: str) -> set[Run]:
    """The runs of words in a text."""
    words = _WORD.findall(text)
    return set(zip(*(words[start:] for start in range(RUN)), strict=False)) or {tuple(words)}


class Choice:
    """The extracts chosen so far, what they say, and what another one would be worth."""

    def __init__(self, found: Sequence[Unit], rates: Sequence[float], known: Iterable[str]) -> None:
        self.found = found
        self.rates = rates
        self.chosen: list[int] = []
        self._covered: set[Run] = set().union(*(runs(text) for text in known))
        self._sources: set[Source] = set()
        self._own: dict[int, set[Run]] = {}

    def cost(self, at: int) -> int:
        """Tokens that this extract takes, with its heading where that is not there yet."""
        unit = self.found[at]
        return estimate_text(unit.text) + 1 + (0 if unit.source in self._sources else heading_cost(unit.source))

    def worth(self, at: int) -> float:
        """Expected uses of what it alone says, for each token."""
        if at not in self._own:
            self._own[at] = runs(self.found[at].text)
        return self.rates[at] * len(self._own[at] - self._covered) / self.cost(at)

    def take(self, at: int) -> None:
        """Choose it."""
        self.chosen.append(at)
        self._sources.add(self.found[at].source)
        self._covered |= self._own[at]


def choose(found: Sequence[Unit], rates: Sequence[float], room: int, known: Iterable[str]) -> list[Unit]:
    """The best extracts within `room` tokens, the best first: each counts by its rate and its runs of words that the `known` texts and the ones
    chosen so far lack.

    Worth falls as more is chosen, so it is weighed again only for the one that seems best (lazy greedy choice).
    """
    choice = Choice(found, rates, known)
    queue = [(-_MOST_WORDS * rate, at) for at, rate in enumerate(rates)]
    heapify(queue)
    while queue and room > _SMALLEST:
        _, at = heappop(queue)
        worth, cost = choice.worth(at), choice.cost(at)
        if queue and worth < -queue[0][0]:
            if worth > _WORTHLESS:
                heappush(queue, (-worth, at))
        elif cost <= room and worth > _WORTHLESS:
            room -= cost
            choice.take(at)
    return [found[at] for at in choice.chosen]
