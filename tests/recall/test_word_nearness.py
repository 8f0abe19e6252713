"""Nearness in meaning is measured word by word as well, for memories."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from memorist.ports import TextAndWordVectors
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.ranker import Ranker

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.covers("RC-3")
MEANINGS = ("upload|push", "half|partial", "lunch|meal", "garden|plants")
SHIP = SearchEntry(id="ship.md", body="notes: push may be partial lunch")
FOOD = SearchEntry(id="food.md", body="notes: push may be lunch garden")
ASKED = "upload half notes"


class WordToy:
    """An embedder to which all texts are alike as wholes, and words have one of four meanings."""

    name = "words:1"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [each.whole for each in self.embed_texts_and_words(texts)]

    def embed_texts_and_words(self, texts: Sequence[str]) -> list[TextAndWordVectors]:
        return [self._embed(text.lower().split()) for text in texts]

    def _embed(self, words: Sequence[str]) -> TextAndWordVectors:
        rows = [
            [float(word in kind.split("|")) for kind in MEANINGS] + [float(len(word) % 2)]
            for word in words
        ]
        whole = struct.pack("<5f", 0.5, 0.5, 0.5, 0.5, 0.0)
        return TextAndWordVectors(
            whole, tuple(words), b"".join(struct.pack("<5f", *row) for row in rows)
        )


class WholeToy:
    """The same without words, as an embedder of a host may be."""

    name = "wholes:1"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [struct.pack("<5f", 0.5, 0.5, 0.5, 0.5, 0.0) for _ in texts]


def rank(ranker: Ranker) -> list[tuple[str, float]]:
    return [(each.id, round(each.nearness or 0.0, 3)) for each in ranker.search(ASKED)]


def test_what_answers_each_word_of_the_question_comes_first(tmp_path: Path) -> None:
    """Of two memories that are as near as wholes, the one that has both words in other words."""
    with Ranker(tmp_path / "i", embedder=WordToy()) as ranker:
        ranker.sync([FOOD, SHIP])
        ranker.embed_missing_vectors([FOOD, SHIP])
        found = rank(ranker)

    assert [id for id, _ in found] == ["ship.md", "food.md"]
    assert found[0][1] > found[1][1]


def test_an_index_of_whole_texts_gets_its_words_with_the_next_embedding(tmp_path: Path) -> None:
    """Until then it is ranked by whole texts, as an older version left it."""
    with Ranker(tmp_path / "i", embedder=WordToy(), compares_words=False) as older:
        older.sync([FOOD, SHIP])
        older.embed_missing_vectors([FOOD, SHIP])
        before = rank(older)
    with Ranker(tmp_path / "i", embedder=WordToy()) as ranker:
        same = rank(ranker)
        ranker.embed_missing_vectors([FOOD, SHIP])
        after = rank(ranker)

    assert before == same == [("food.md", before[0][1]), ("ship.md", before[0][1])]
    assert after[0][0] == "ship.md"


def test_an_embedder_without_words_ranks_by_whole_texts(tmp_path: Path) -> None:
    """Any `Embedder` serves; nothing asks it for words."""
    with Ranker(tmp_path / "i", embedder=WholeToy()) as ranker:
        ranker.sync([FOOD, SHIP])
        assert ranker.embed_missing_vectors([FOOD, SHIP]) == 0
        assert [id for id, _ in rank(ranker)] == ["food.md", "ship.md"]


def test_common_words_take_no_room(tmp_path: Path) -> None:
    """The words of an entry are kept without those that say nothing, one byte a number."""
    path = tmp_path / "i"
    with Ranker(path, embedder=WordToy()) as ranker:
        entries = [
            SearchEntry(id="a.md", body="push the partial"),
            SearchEntry(id="b.md", body="we"),
        ]
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)
        ranker.search(ASKED)
        sizes = sorted(map(len, ranker._load_word_vectors(WordToy(), [1, 2]).values()))

    assert sizes == [5, 10]
