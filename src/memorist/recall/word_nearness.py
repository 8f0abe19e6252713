"""Nearness in meaning word by word: how well a text has a counterpart for each word of a question,
each word as the embedding model understands it in its sentence.

One vector for a whole text blurs what it says of several things; a question in other words asks for
one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from memorist.core.search_words import QUERY_STOP_WORDS
from memorist.ports import TextAndWordVectors

MAX_QUESTION_WORDS = 64
"""Words of a question that are compared, its first: a pasted log is not asked word by word."""
MAX_TEXT_WORDS = 48
"""Words of a memory that are kept, its first without common ones: 18 KB."""
WORD_BY_WORD_SHARE = 0.5
FULL_QUESTION_WORDS = 10
"""Share of the nearness word by word in the nearness of a text, for a question of so many words or
more; of a shorter one proportionally less. "commit it" has a counterpart in every memory on
commits. Chosen on the repositories of one half (docs/ranking.md).
"""
MIN_SPREAD = 0.02
"""Added to the standard deviation of what unrelated texts give, as for whole texts."""
VECTOR_STEPS = 127
SINGLE_THREAD_PRODUCTS = 250_000
"""Products of two numbers that OpenBLAS leaves to one thread (262,144). Its threads wait for each
other on a busy machine: 10,000 vectors took 25 ms at once, in parts 0.7.
"""

Rows = Any
"""A numpy array with one vector a row. numpy is an extra."""


def multiply_on_one_thread(rows: Rows, others: Rows) -> Rows:
    """The product of each vector with each of the others, or with a single one."""
    np: Any = import_module("numpy")
    step = max(1, SINGLE_THREAD_PRODUCTS // others.size)
    return np.concatenate([rows[at : at + step] @ others.T for at in range(0, len(rows), step)])


def pack_content_word_vectors(text: TextAndWordVectors) -> bytes:
    """The vectors of a text's words without the commonest, each number as a whole one from -127 to
    127 in one byte; of all its words where it has no others.
    """
    np: Any = import_module("numpy")
    rows = _read_rows(text)
    kept = [
        at
        for at, word in enumerate(text.words)
        if word not in QUERY_STOP_WORDS and any(letter.isalnum() for letter in word)
    ][:MAX_TEXT_WORDS]
    chosen = rows[kept] if kept else rows[:MAX_TEXT_WORDS]
    return bytes(np.rint(chosen * VECTOR_STEPS).astype(np.int8).tobytes())


def _read_rows(text: TextAndWordVectors) -> Rows:
    np: Any = import_module("numpy")
    return np.frombuffer(text.vectors, "<f4").reshape(len(text.words), -1)


class WordEmbeddingScorer:
    """Measures texts against what unrelated memories (`cohort`) give for the same question. Texts
    are the bytes of `pack_content_word_vectors`, `width` the numbers of a vector.
    """

    def __init__(self, cohort: Sequence[bytes], width: int) -> None:
        self._np: Any = import_module("numpy")
        self._width = width
        self._cohort = self._stack(cohort)

    def combine_word_and_whole_nearness(
        self, question: TextAndWordVectors, wholes: Sequence[float], texts: Sequence[bytes]
    ) -> Rows:
        """The nearness of each text by its words and, as `wholes` say, as a whole, in standard
        deviations.
        """
        share = WORD_BY_WORD_SHARE * min(1.0, len(question.words) / FULL_QUESTION_WORDS)
        return (1 - share) * self._np.array(wholes) + share * self.measure_word_nearness(
            question, texts
        )

    def measure_word_nearness(self, question: TextAndWordVectors, texts: Sequence[bytes]) -> Rows:
        """How far each text lies above unrelated ones by its words, in standard deviations."""
        asked = _read_rows(question)[:MAX_QUESTION_WORDS]
        unrelated = self._cover(asked, *self._cohort)
        return (self._cover(asked, *self._stack(texts)) - unrelated.mean()) / (
            unrelated.std() + MIN_SPREAD
        )

    def _stack(self, texts: Sequence[bytes]) -> tuple[Rows, Sequence[int]]:
        """The vectors of all words, and where each text's begin."""
        words = self._np.frombuffer(b"".join(texts), self._np.int8).reshape(-1, self._width)
        starts = accumulate((len(each) // self._width for each in texts[:-1]), initial=0)
        return words.astype(self._np.float32), list(starts)

    def _cover(self, question: Rows, words: Rows, starts: Sequence[int]) -> Rows:
        """For each text the mean, over the question's words, of the nearest word's cosine."""
        nearest = self._np.maximum.reduceat(multiply_on_one_thread(words, question), starts, axis=0)
        return nearest.mean(axis=1) / VECTOR_STEPS
