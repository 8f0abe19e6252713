"""Protocols for what memorist needs from outside; `memorist.testing` ships a scripted or in-memory
implementation of each.

A host may pass its own. The pure modules use no port: only modules that do I/O, the engine, the
store, adapters and the command line do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from memorist.core.messages import JsonObject, Message, Usage
from memorist.core.token_count import TokenCounter


class HostInfo(Struct, frozen=True, kw_only=True):
    """The host's own description, as last known; reading it never waits (SM-1)."""

    remote: bool = False
    """The agent runs on a machine whose disk does not outlive the session."""
    auto_compact: bool = True
    """The conversation will be compacted when full, by memorist or by the host."""
    interactive: bool = True
    """A user is present. A program that asks one question and exits has no time for a dream (DR-1),
    and its prompts may come through a pipe: what they state waits for the user.
    """
    main: bool = True
    """It is the main agent. The prompts of a subagent are a model's words: it keeps no notes,
    learns and recalls nothing, and does not dream.
    """
    window: int | None = None
    """Context window of its model in tokens, where the host knows better than any table; None: the
    settings, the price table, or what the model's server shows.
    """
    count_tokens: TokenCounter | None = None
    """Counts the tokens of a text for that model, in place of the estimate by its bytes: until a
    provider reports usage, and for what came after it. Called once for each text of the history, in
    the engine's thread.
    """
    memory: bool = True
    """False for a session without memory: nothing is read, shown or written.
    `MEMORIST_OFF=1` in the environment does the same for every session of a process.
    """


class Request(Struct, frozen=True, kw_only=True):
    """One model call, in the wire format of the model. `body` is sent unchanged and is never
    modified in place.
    """

    format: str
    """Name of a codec in `memorist.formats.codec_registry`: `anthropic`, `openai_responses` or
    `openai_chat`.
    """
    body: JsonObject
    label: str = "request"
    """The purpose of the call in one word; shown in receipts and logs."""
    timeout_seconds: float | None = None
    """Time limit of this call with its retries; None uses the model's own."""


PAUSED_REASON = "pause_turn"
"""Anthropic's stop reason of a turn that the host sends back unchanged, so that the model
continues.
"""


class Reply(Struct, frozen=True, kw_only=True):
    """A model's reply: the wire object as received, and what a codec read from it."""

    format: str
    body: JsonObject
    messages: tuple[Message, ...]
    """One message for Anthropic and Chat Completions; one per output item for Responses."""
    usage: Usage
    stop_reason: str | None = None
    cost_usd: float | None = None
    """None when the price table does not know the model."""
    attempts: int = 1
    """Requests sent for this reply, retries included."""
    broken_off: int = 0
    """Of these, the ones that the provider broke off while it answered: it bills what it read."""

    @property
    def ends_turn(self) -> bool:
        """Whether the agent's turn is over with it: it calls no tool and is not paused."""
        calls = any(message.tool_uses for message in self.messages)
        return self.stop_reason != PAUSED_REASON and not calls


class Model(Protocol):
    """A language model that speaks one of the three wire formats."""

    @property
    def name(self) -> str:
        """The string it was chosen by, such as `anthropic:NAME`."""
        ...

    @property
    def format(self) -> str:
        """The wire format of its requests."""
        ...

    @property
    def window(self) -> int:
        """Context window in tokens."""
        ...

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply.

        Raises a `ModelError`; cancelling the task cancels the call and propagates.
        """
        ...

    async def close(self) -> None:
        """Close connections or stop the embedded server. May be called twice."""
        ...


@runtime_checkable
class ContextWindowSource(Protocol):
    """A model whose server can be asked for its window."""

    async def discover_window(self) -> int | None:
        """Ask once; None where the server does not tell."""
        ...


async def discover_window(model: Model) -> int:
    """The model's window in tokens, asked of its server where that can tell: before the first
    request is built, so that it is not refused for its length.
    """
    if isinstance(model, ContextWindowSource):
        await model.discover_window()
    return model.window


class Embedder(Protocol):
    """A model that turns texts into vectors that are close when the texts have similar meaning."""

    @property
    def name(self) -> str:
        """The model with its version or hash. Vectors of different names are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One unit-length vector for each text, as little-endian 32-bit floats, all of the same
        size. Raises a `ModelError`.
        """
        ...


class TextAndWordVectors(Struct, frozen=True):
    """The vectors of a text and of its words."""

    whole: bytes
    """What `Embedder.embed` gives for the text."""
    words: tuple[str, ...]
    """Its words and signs, in small letters, as far as the model reads."""
    vectors: bytes
    """One unit-length vector for each of them, behind each other; like `whole` in form and size."""


@runtime_checkable
class WordEmbedder(Embedder, Protocol):
    """An embedder that tells the words of a text apart, each as it is meant there."""

    def embed_texts_and_words(self, texts: Sequence[str]) -> list[TextAndWordVectors]:
        """The vectors of each text. Raises a `ModelError`."""
        ...


@runtime_checkable
class PartialEmbedder(Embedder, Protocol):
    """An embedder that does not read every language."""

    def get_multilingual_embedder(self) -> Embedder | None:
        """The embedder for what this one does not read; None without one. Loads no model yet."""
        ...


class Clock(Protocol):
    """Time, replaceable so that gates measured in minutes and hours can be tested."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        ...


class FileInfo(Struct, frozen=True):
    """A directory entry: size in bytes, modification time in nanoseconds, and its kind."""

    size: int
    modified_ns: int
    is_file: bool
    is_folder: bool
    is_link: bool
    links: int = 1
    """Number of hard links; 1 when the implementation does not know."""


class ReadableFileSystem(Protocol):
    """The read-only part of a file system. Paths are absolute.

    Every method raises `memorist.errors.StoreError` when the system refuses, and FileNotFoundError
    when the path does not exist.
    """

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` of them."""
        ...

    def lstat(self, path: Path) -> FileInfo | None:
        """What is at the path, without following links; None when there is nothing."""
        ...

    def resolve(self, path: Path) -> Path:
        """The real path: links followed as far as the path exists, `..` removed. Raises StoreError
        for a loop of links.
        """
        ...

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileInfo]]:
        """Relative path (with slashes) and info of every file and link below the folder, sorted;
        hidden folders are skipped.

        With `limit`, the search stops after that many.
        """
        ...


class FileSystem(ReadableFileSystem, Protocol):
    """A readable and writable file system. Its methods raise as those of `ReadableFileSystem`
    do.
    """

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """Replace the file atomically (temporary file in the same folder, flush, rename); missing
        folders are created with mode 0700, the file with 0600.

        With `expect`, the current bytes must equal it; otherwise `WriteConflict` is raised and
        nothing is written.
        """
        ...

    def create(self, path: Path, data: bytes) -> bool:
        """Create the file if it does not exist; False when it did."""
        ...

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """Every file below the folder, sorted, without following links; with `limit`, the search
        stops after that many files.
        """
        ...

    def append(self, path: Path, data: bytes) -> None:
        """Append to a file, which is created (0600) if it is missing."""
        ...

    def remove(self, path: Path) -> None:
        """Delete a file."""
        ...


Prices = Mapping[str, Any]
"""A price table: model name or prefix to prices; see `memorist.models.model_pricing`."""
