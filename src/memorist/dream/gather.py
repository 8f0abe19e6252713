"""What a model is shown of past sessions: for each memory the few sayings that bear on it, found by its rarest words (DR-3). Pure.

The searches are narrow and the program makes them: a model is never shown a transcript.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.evidence import plain, words
from memorist.auto_memory.topic import Topic

SAYING = 300
"""Characters shown of one saying."""
EACH = 2
"""Sayings found for one memory at most."""
ALL = 40
"""Sayings shown in one dream at most."""
SHARED = 2
"""Words that a saying must share with a memory to be found by it."""
_SHORTEST = 4


class Saying(Struct, frozen=True, kw_only=True):
    """Something that the person said in a session."""

    session: str
    message: str
    text: str
    at: float
    """Seconds since the epoch, UTC."""


def found(topics: Sequence[Topic], sayings: Sequence[Saying]) -> tuple[tuple[Saying, str], ...]:
    """The sayings that bear on memories, each with the path of the memory that it was found by; the best first, each saying once."""
    told = [frozenset(_words(saying.text)) for saying in sayings]
    frequent = Counter(word for each in told for word in each)
    weight = {word: math.log(1 + len(told) / count) for word, count in frequent.items()}
    places: dict[str, list[int]] = {}
    for number, each in enumerate(told):
        for word in each:
            places.setdefault(word, []).append(number)
    ranked: list[tuple[float, int, str]] = []
    for topic in topics:
        mine = frozenset(_words(f"{topic.name} {topic.description} {topic.body}")) & weight.keys()
        shared: Counter[int] = Counter(number for word in mine for number in places[word])
        near = [number for number, count in shared.items() if count >= SHARED]
        scores = sorted(((_score(mine & told[number], weight), number) for number in near), reverse=True)
        ranked += [(score, number, topic.path) for score, number in scores[:EACH]]
    chosen: dict[int, str] = {}
    for _, number, path in sorted(ranked, key=lambda row: (-row[0], row[1], row[2])):
        if len(chosen) < ALL:
            chosen.setdefault(number, path)
    return tuple((sayings[number], path) for number, path in chosen.items())


def _score(shared: frozenset[str], weight: Mapping[str, float]) -> float:
    return sum(weight[word] for word in shared)


def _words(text: str) -> list[str]:
    return [word[:6] for word in words(plain(text)) if len(word) >= _SHORTEST]
