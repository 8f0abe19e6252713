"""Choose the extracts that say most that is new, for their price. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from memorist.compaction.digest_text import heading_cost
from memorist.compaction.digest_units import Source, Unit
from memorist.compaction.digest_words import Run, runs
from memorist.core.tokens import estimate_text

_WORTHLESS = 1e-9
_MOST_WORDS = 4
"""Words or signs in a token, at most."""

_SMALLEST = 12
"""Tokens below which no extract is tried."""


class Choice:
    """The extracts chosen so far, what they say, and those still to choose from.

    Each counts by its rate and by its runs of words that the `known` texts and the ones chosen so far lack. That worth only falls as more is chosen,
    so it is weighed again only for the one that seems best (lazy greedy choice).
    """

    def __init__(self, found: Sequence[Unit], rates: Sequence[float], known: Iterable[str]) -> None:
        self.chosen: list[Unit] = []
        self._found = found
        self._rates = rates
        self._covered: set[Run] = set()
        self._sources: set[Source] = set()
        self._new: dict[int, set[Run]] = {}
        """What each extract that was weighed said that was not covered then; what is covered stays so."""
        self._costs: dict[int, int] = {}
        self._queue = [(-_MOST_WORDS * rate, at) for at, rate in enumerate(rates)]
        heapify(self._queue)
        for text in known:
            self._covered |= runs(text)

    def fill(self, room: int) -> int:
        """Choose the best extracts within `room` tokens; what is left of the room."""
        passed: list[tuple[float, int]] = []
        while self._queue and room > _SMALLEST:
            _, at = heappop(self._queue)
            worth, cost = self._weighed(at)
            if worth <= _WORTHLESS:
                continue
            if self._queue and worth < -self._queue[0][0]:
                heappush(self._queue, (-worth, at))
            elif cost > room:
                passed.append((-worth, at))
            else:
                room -= cost
                self._take(at)
        for each in passed:
            heappush(self._queue, each)
        return room

    def _weighed(self, at: int) -> tuple[float, int]:
        """What an extract is worth now, and what it costs."""
        unit = self._found[at]
        known = self._new.get(at)
        if known is None:
            text = unit.text
            known, self._costs[at] = runs(text), estimate_text(text) + 1
        self._new[at] = new = known - self._covered
        cost = self._costs[at] + (0 if unit.source in self._sources else heading_cost(unit.source))
        return self._rates[at] * len(new) / cost, cost

    def _take(self, at: int) -> None:
        unit = self._found[at]
        self.chosen.append(unit)
        self._sources.add(unit.source)
        self._covered |= self._new.pop(at)
