"""How near entries are to a question in meaning: vectors by number, and scores of two kinds added. Pure; needs numpy (extra `embed`) once it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from math import sqrt
from typing import Any

from msgspec import Struct

from memorist.recall.collection import Collection

MEANING = 0.3
"""What a standard deviation of nearness counts, in standard deviations of the score by words. Chosen like the weights of `rank`."""

LENT = 0.3
"""What an entry is lent of the nearness of each neighbour."""

NEAREST = 100
"""Entries that come in by meaning alone."""

STEPS = 127
"""Vectors are kept as whole numbers from -127 to 127, a quarter of the room; the order of answers stays the same to the third digit of recall."""


def packed(vector: bytes) -> bytes:
    """A vector of 32-bit floats as one byte a number."""
    np: Any = import_module("numpy")
    return bytes(np.rint(np.frombuffer(vector, "<f4") * STEPS).clip(-STEPS, STEPS).astype(np.int8).tobytes())


class Near(Struct, frozen=True):
    """How near each entry is, by number: the cosine, and how much it stands out with what its neighbours lend, in standard deviations."""

    cosines: Mapping[int, float]
    standing: Mapping[int, float]


class Vectors:
    """The vectors of a collection, 1.5 KB an entry in memory."""

    def __init__(self, collection: Collection, found: Iterable[tuple[str, bytes]]) -> None:
        self._numpy: Any = import_module("numpy")
        np = self._numpy
        by_fingerprint = dict(found)
        pairs = [(at, by_fingerprint[key]) for at, key in enumerate(collection.fingerprints) if key and key in by_fingerprint]
        widths = {len(vector) for _, vector in pairs}
        # A vector of another width than the rest is damage; the widest kind is no better guess than the first.
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
        """How near the wanted entries are, and the `NEAREST` of all."""
        np = self._numpy
        vector = np.frombuffer(question, "<f4")
        if not len(self) or vector.size != self._matrix.shape[1]:
            return Near({}, {})
        cosines = self._matrix @ vector
        # Number 0 is nobody, and lends nothing; an entry without a vector is as near as the mean.
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
    """Both scores added in standard deviations over all `count` entries. Adding ranks instead lowers the better of the two (parts.md section 2)."""
    mean = sum(by_words.values()) / max(1, count)
    square = sum(score * score for score in by_words.values()) / max(1, count)
    spread = sqrt(max(0.0, square - mean * mean)) or 1.0
    return {
        number: (by_words.get(number, 0.0) - mean) / spread + MEANING * near.standing.get(number, 0.0)
        for number in by_words.keys() | near.standing.keys()
    }
