"""Select the user utterances of past sessions that a model is shown: a few per memory, found by its
rarest words (DR-3). Pure.

The searches are narrow and made by code: a model is never shown a transcript.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.evidence import plain, words
from memorist.auto_memory.topic import Topic

SAYING = 300
"""Characters shown of one utterance."""
EACH = 2
"""Upper bound of utterances per memory."""
ALL = 40
"""Upper bound of utterances per dream."""
SHARED = 2
"""Words an utterance must share with a memory to match it."""
_SHORTEST = 4


class Saying(Struct, frozen=True, kw_only=True):
    """Something the user said in a session."""

    session: str
    message: str
    text: str
    at: float
    """Seconds since the epoch, UTC."""


def found(topics: Sequence[Topic], sayings: Sequence[Saying]) -> tuple[tuple[Saying, str], ...]:
    """Return the utterances that match memories, best first and without duplicates, each with the
    path of its memory.
    """
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
