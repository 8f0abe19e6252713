"""Semantic similarity of entries and query: vectors by number, and fusion with the lexical score.

Pure; needs numpy (extra `embed`) once used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from math import sqrt
from typing import Any

from msgspec import Struct

from memorist.recall.collection import Collection

MEANING = 0.3
"""Weight of one standard deviation of similarity, in standard deviations of the lexical score.
Chosen like the weights of `rank`.
"""

LENT = 0.3
"""Share of each neighbour's similarity that is lent to an entry."""

NEAREST = 100
"""Entries that are added by similarity alone."""

STEPS = 127
"""Vectors are quantised to integers from -127 to 127, a quarter of the space; recall stays the same
to three digits.
"""


def packed(vector: bytes) -> bytes:
    """Quantise a vector of 32-bit floats to one byte per number."""
    np: Any = import_module("numpy")
    return bytes(np.rint(np.frombuffer(vector, "<f4") * STEPS).clip(-STEPS, STEPS).astype(np.int8).tobytes())


class Near(Struct, frozen=True):
    """Similarity by entry number: the cosine, and the standardised value including the neighbours'
    share.
    """

    cosines: Mapping[int, float]
    standing: Mapping[int, float]


class Vectors:
    """The vectors of all entries, 1.5 KB per entry in memory."""

    def __init__(self, collection: Collection, found: Iterable[tuple[str, bytes]]) -> None:
        self._numpy: Any = import_module("numpy")
        np = self._numpy
        by_fingerprint = dict(found)
        pairs = [(at, by_fingerprint[key]) for at, key in enumerate(collection.fingerprints) if key and key in by_fingerprint]
        widths = {len(vector) for _, vector in pairs}
        # Vectors of several widths are damage; the smallest width is used, which is arbitrary.
        width = min(widths, default=0)
        pairs = [(at, vector) for at, vector in pairs if len(vector) == width]
        self._size = len(collection.ids)
        self._numbers = np.array([at for at, _ in pairs], np.int64)
        self._matrix = np.frombuffer(b"".join(vector for _, vector in pairs), np.int8).reshape(len(pairs), width).astype(np.float32) / STEPS
        self._held = np.zeros(self._size, bool)
        self._held[self._numbers] = True
        self._before = np.array(collection.before, np.int64)
        self._after = np.array(collection.after, np.int64)

    def __len__(self) -> int:
        return len(self._numbers)

    def near(self, question: bytes, wanted: Iterable[int]) -> Near:
        """Measure the similarity of these entries and of the `NEAREST_ENTRIES` of all."""
        np = self._numpy
        vector = np.frombuffer(question, "<f4")
        if not len(self) or vector.size != self._matrix.shape[1]:
            return Near({}, {})
        cosines = self._matrix @ vector
        # Entry 0 does not exist. It and entries without a vector count as average.
        mean = float(cosines.mean())
        by_number = np.full(self._size, mean, np.float32)
        by_number[self._numbers] = cosines
        lent = by_number + LENT * (by_number[self._before] + by_number[self._after])
        known = lent[self._numbers]
        standing = (lent - known.mean()) / (known.std() + 1e-9)
        first = min(NEAREST, len(self))
        nearest = self._numbers[np.argpartition(-known, first - 1)[:first]]
        numbers = {*wanted, *nearest.tolist()}
        return Near({at: float(by_number[at]) for at in numbers if self._held[at]}, {at: float(standing[at]) for at in numbers})


def fused(by_words: Mapping[int, float], near: Near, count: int) -> dict[int, float]:
    """Add both scores, standardised over all `count` entries.

    Adding ranks instead lowers the better of the two (parts.md section 2).
    """
    mean = sum(by_words.values()) / max(1, count)
    square = sum(score * score for score in by_words.values()) / max(1, count)
    spread = sqrt(max(0.0, square - mean * mean)) or 1.0
    return {
        number: (by_words.get(number, 0.0) - mean) / spread + MEANING * near.standing.get(number, 0.0)
        for number in by_words.keys() | near.standing.keys()
    }
