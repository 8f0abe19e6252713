"""Greedy choice of the extracts that add the most new content per token. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from memorist.compaction.digest_text import heading_cost
from memorist.compaction.digest_units import Source, Unit
from memorist.compaction.digest_words import Run, runs
from memorist.core.tokens import estimate_text

_WORTHLESS = 1e-9
_MOST_WORDS = 4
"""Upper bound of the words or signs in one token."""

_SMALLEST = 12
"""Remaining tokens below which no further extract is tried."""


class Choice:
    """The extracts selected so far, what they cover, and the remaining candidates.

    An extract's worth is its score times the number of its word runs that neither the `known` texts
    nor the selected extracts contain. This worth only falls as more is selected, so only the best
    candidate is re-weighed (lazy greedy selection).
    """

    def __init__(self, found: Sequence[Unit], rates: Sequence[float], known: Iterable[str]) -> None:
        self.chosen: list[Unit] = []
        self._found = found
        self._rates = rates
        self._covered: set[Run] = set()
        self._sources: set[Source] = set()
        self._new: dict[int, set[Run]] = {}
        """The word runs of each weighed extract that were uncovered when it was last weighed;
        coverage only grows.
        """
        self._costs: dict[int, int] = {}
        self._queue = [(-_MOST_WORDS * rate, at) for at, rate in enumerate(rates)]
        heapify(self._queue)
        for text in known:
            self._covered |= runs(text)

    def fill(self, room: int) -> int:
        """Select the best extracts within `room` tokens; returns the tokens left."""
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
        """The current worth and cost of an extract."""
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
