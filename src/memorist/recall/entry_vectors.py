"""The vectors of entries in memory, and how near they are to a question: the cosine, and how far it
lies above chance.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from string import punctuation
from typing import Any

from msgspec import Struct

from memorist.ports import Embedder, WordEmbedder
from memorist.recall.calibration_texts import COHORT_LANGUAGES, COHORT_MEMORIES, COHORT_MESSAGES
from memorist.recall.lexical_score import EntryColumns
from memorist.recall.word_nearness import (
    WordEmbeddingScorer,
    multiply_on_one_thread,
    pack_content_word_vectors,
)

NEAREST_ENTRIES = 100
"""Entries that are added by similarity alone."""

MIN_SPREAD = 0.02
"""Added to each standard deviation of unrelated cosines: a cohort of equal texts would divide by
nothing.
"""

VECTOR_STEPS = 127
"""Vectors are quantised to integers from -127 to 127, a quarter of the space; recall stays the same
to three digits.
"""


def quantize_vector_to_int8(vector: bytes) -> bytes:
    """Quantise a vector of 32-bit floats to one byte per number."""
    np: Any = import_module("numpy")
    return bytes(
        np.rint(np.frombuffer(vector, "<f4") * VECTOR_STEPS)
        .clip(-VECTOR_STEPS, VECTOR_STEPS)
        .astype(np.int8)
        .tobytes()
    )


class EmbeddingSimilarities(Struct, frozen=True):
    """Similarity by entry number: the cosine, and how far it lies above chance, in standard
    deviations.
    """

    cosines: Mapping[int, float]
    above_chance: Mapping[int, float]


UNREAD_MARGIN = 0.05
NEAREST_COHORT = 4
"""How much nearer a text is to texts about something else in one other language than to the nearest
English ones, so many of them, where the model does not read it. Of 1,700 texts in English two came
above it, both of a name and few other words; of 168 texts in sixteen languages none below
(docs/ranking.md).
"""


MIN_LANGUAGE_WORDS = 4
"""Words in plain ASCII below which a text's language cannot be told: 'ls -la', 'merci', 'Vue 3 +
Pinia'. Our choice.
"""


VectorRows = Any
"""A numpy array: one vector a row, or one number for each row. numpy is an extra."""


class CalibrationVectors(Struct, frozen=True):
    """The vectors of the texts that nearness is calibrated against."""

    messages: Sequence[bytes]
    memories: Sequence[bytes]
    languages: Sequence[Sequence[bytes]]
    """Empty for an embedder that is there to read every language."""
    word_nearness: WordEmbeddingScorer | None = None
    """Compares with the memories' content words; None where the embedder tells no words apart."""


_COHORT_VECTORS: dict[str, CalibrationVectors] = {}
_COHORT_LOCK = threading.Lock()
"""Sessions begin with a thread each for memories and past sessions; both want the vectors."""


def embed_calibration_texts(
    embedder: Embedder, *, reads_every_language: bool = False
) -> CalibrationVectors:
    """Embed the texts of `memorist.recall.calibration_texts`, once for each embedder of this
    process. Takes a third of a second. Raises a ModelError.
    """
    with _COHORT_LOCK:
        if embedder.name not in _COHORT_VECTORS:
            words = (
                embedder.embed_texts_and_words(COHORT_MEMORIES)
                if isinstance(embedder, WordEmbedder)
                else ()
            )
            _COHORT_VECTORS[embedder.name] = CalibrationVectors(
                embedder.embed(COHORT_MESSAGES),
                [each.whole for each in words] or embedder.embed(COHORT_MEMORIES),
                [embedder.embed(texts) for texts in COHORT_LANGUAGES if not reads_every_language],
                WordEmbeddingScorer(
                    list(map(pack_content_word_vectors, words)), width=len(words[0].whole) // 4
                )
                if words
                else None,
            )
        return _COHORT_VECTORS[embedder.name]


def are_texts_read(vectors: VectorRows, cohort: CalibrationVectors) -> VectorRows:
    """Whether the model reads the languages of these texts, by their vectors in rows."""
    np: Any = import_module("numpy")
    if not cohort.languages or not len(vectors):
        return np.ones(len(vectors), bool)
    languages = np.stack([_stack_vectors(each).mean(axis=0) for each in cohort.languages])
    english = _stack_vectors([*cohort.messages, *cohort.memories])
    foreign = multiply_on_one_thread(vectors, languages).max(axis=1)
    near = np.sort(multiply_on_one_thread(vectors, english), axis=1)
    return foreign - near[:, -NEAREST_COHORT:].mean(axis=1) < UNREAD_MARGIN


def has_words_of_a_language(text: str) -> bool:
    """Whether a text is long enough, or has other letters, to tell its language: a name or a
    command that the model does not know is no reason to load another one.
    """
    plain = (word.strip(punctuation) for word in text.split())
    words = (word for word in plain if word.isalpha() and len(word) > 1)
    return not text.isascii() or sum(1 for _ in islice(words, MIN_LANGUAGE_WORDS)) >= (
        MIN_LANGUAGE_WORDS
    )


def _stack_vectors(vectors: Sequence[bytes]) -> VectorRows:
    np: Any = import_module("numpy")
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


def stack_quantized_vectors(vectors: Sequence[bytes]) -> VectorRows:
    """The rows of vectors that `quantize_vector_to_int8` gave."""
    np: Any = import_module("numpy")
    rows = np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1)
    return rows.astype(np.float32) / VECTOR_STEPS


class InMemoryEntryVectors:
    """The vectors of all entries that the model reads, 1.5 KB per entry in memory.

    A text in a language that it does not read is not compared.
    """

    def __init__(
        self,
        collection: EntryColumns,
        vectors: Iterable[tuple[str, bytes]],
        cohort: CalibrationVectors,
    ) -> None:
        self._numpy: Any = import_module("numpy")
        np = self._numpy
        by_fingerprint = dict(vectors)
        pairs = [
            (at, by_fingerprint[key])
            for at, key in enumerate(collection.fingerprints)
            if key and key in by_fingerprint
        ]
        widths = {len(vector) for _, vector in pairs}
        # Vectors of several widths are damage; the smallest width is used, which is arbitrary.
        width = min(widths, default=0)
        pairs = [(at, vector) for at, vector in pairs if len(vector) == width]
        self._cohort = cohort
        self._numbers = np.array([at for at, _ in pairs], np.int64)
        vectors_in_rows = [vector for _, vector in pairs]
        self._matrix = (
            stack_quantized_vectors(vectors_in_rows) if pairs else np.zeros((0, 0), np.float32)
        )
        self._messages, self._cohort_memories = map(
            _stack_vectors, (cohort.messages, cohort.memories)
        )
        self.has_unread = False
        """Whether entries were left out, as the model does not read them."""
        self._mean = self._spread = np.zeros(len(pairs), np.float32)
        if pairs and self._messages.shape[1] == width:
            is_read = self._leave_out_unread(self._matrix)
            self._numbers, self._matrix = self._numbers[is_read], self._matrix[is_read]
            self._mean, self._spread = self._measure_unrelated(self._matrix)

    def _leave_out_unread(self, vectors: VectorRows) -> VectorRows:
        is_read = are_texts_read(vectors, self._cohort)
        self.has_unread = self.has_unread or not is_read.all()
        return is_read

    def _measure_unrelated(self, vectors: VectorRows) -> tuple[VectorRows, VectorRows]:
        """Mean and standard deviation of the cosines of these texts to unrelated messages."""
        unrelated = self._messages @ vectors.T
        return unrelated.mean(axis=0), unrelated.std(axis=0) + MIN_SPREAD

    def remove(self, numbers: Sequence[int]) -> None:
        """Compare these entries no more: they are gone, or say something else."""
        kept = ~self._numpy.isin(self._numbers, numbers)
        if not kept.all():
            self._numbers, self._matrix = self._numbers[kept], self._matrix[kept]
            self._mean, self._spread = self._mean[kept], self._spread[kept]

    def add(self, columns: EntryColumns, vectors: Mapping[str, bytes]) -> None:
        """Compare the entries with these fingerprints too; needs one with a vector already."""
        np = self._numpy
        found = [
            (at, vectors[key]) for at, key in enumerate(columns.fingerprints) if key in vectors
        ]
        if not found:
            return  # nothing was embedded: entries whose vectors another process has taken away
        rows = stack_quantized_vectors([vector for _, vector in found])
        if rows.shape[1] != self._matrix.shape[1]:
            return
        is_read = self._leave_out_unread(rows)
        numbers, rows = np.array([at for at, _ in found], np.int64)[is_read], rows[is_read]
        self.remove(numbers)
        mean, spread = self._measure_unrelated(rows)
        at = np.searchsorted(self._numbers, numbers)
        self._numbers = np.insert(self._numbers, at, numbers)
        self._matrix = np.insert(self._matrix, at, rows, axis=0)
        self._mean = np.insert(self._mean, at, mean)
        self._spread = np.insert(self._spread, at, spread)

    def reads(self, question: bytes) -> bool:
        """Whether the model reads the language of a question, by its vector."""
        vector = _stack_vectors([question])
        return vector.shape[1] != self._messages.shape[1] or bool(
            are_texts_read(vector, self._cohort)[0]
        )

    def is_compared(self, number: int) -> bool:
        """Whether the entry of this number has a vector that is compared."""
        at = int(self._numpy.searchsorted(self._numbers, number))
        return at < len(self) and bool(self._numbers[at] == number)

    def __len__(self) -> int:
        return len(self._numbers)

    def measure_similarity(
        self, question: bytes, numbers: Iterable[int], excluded: Collection[int] = frozenset()
    ) -> EmbeddingSimilarities:
        """Measure the similarity of these entries and of the `NEAREST_ENTRIES` of all but those
        `excluded`.
        """
        np = self._numpy
        vector = np.frombuffer(question, "<f4")
        if not len(self) or vector.size != self._matrix.shape[1]:
            return EmbeddingSimilarities({}, {})
        cosines = multiply_on_one_thread(self._matrix, vector)
        unrelated = self._cohort_memories @ vector
        by_query = (cosines - unrelated.mean()) / (unrelated.std() + MIN_SPREAD)
        above = (by_query + (cosines - self._mean) / self._spread) / 2
        if excluded:
            above[np.isin(self._numbers, [*excluded])] = -np.inf
        first = min(NEAREST_ENTRIES, len(self))
        nearest = np.argpartition(-above, first - 1)[:first]
        nearest = nearest[np.isfinite(above[nearest])]
        at = np.searchsorted(self._numbers, np.array(list(numbers), np.int64))
        is_wanted = np.zeros(len(self), bool)
        is_wanted[nearest] = is_wanted[at[at < len(self)]] = True
        wanted = np.flatnonzero(is_wanted)  # union1d would import numpy.ma, which takes 50 ms
        found = self._numbers[wanted].tolist()
        return EmbeddingSimilarities(
            dict(zip(found, cosines[wanted].tolist(), strict=True)),
            dict(zip(found, above[wanted].tolist(), strict=True)),
        )


def add_entries_not_compared(
    found: EmbeddingSimilarities, others: EmbeddingSimilarities, compared: InMemoryEntryVectors
) -> EmbeddingSimilarities:
    """Add from another embedder the entries that the first one has not compared."""
    rest = [number for number in others.above_chance if not compared.is_compared(number)]
    return EmbeddingSimilarities(
        {**found.cosines, **{number: others.cosines[number] for number in rest}},
        {**found.above_chance, **{number: others.above_chance[number] for number in rest}},
    )
