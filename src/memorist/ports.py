"""What memorist needs from the world, as small protocols; `memorist.testing` ships a scripted or in-memory version of each.

A host may pass its own. Nothing in the pure middle of a subsystem uses a port: only `run.py` modules, the engine, the store, adapters and
the command line do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from memorist.core.messages import JsonObject, Message, Usage


class Request(Struct, frozen=True, kw_only=True):
    """One call to a model, in the wire format the model speaks. `body` is sent as it stands; it is never changed in place."""

    format: str
    """Name of a codec in `memorist.formats.registry`: `anthropic`, `openai_responses` or `openai_chat`."""
    body: JsonObject
    label: str = "request"
    """What the call is for, in one word; shown in receipts and logs."""
    timeout_seconds: float | None = None
    """Time limit of this call with its retries; None takes the model's own."""


class Reply(Struct, frozen=True, kw_only=True):
    """What a model answered: the wire object as it came, and what a codec read from it."""

    format: str
    body: JsonObject
    messages: tuple[Message, ...]
    """One message for Anthropic and Chat Completions; one per output item for Responses."""
    usage: Usage
    stop_reason: str | None = None
    cost_usd: float | None = None
    """None when the price table does not know the model."""
    attempts: int = 1
    """Requests that were sent for this answer, retries included."""


class Model(Protocol):
    """A language model behind one of the three wire formats."""

    @property
    def name(self) -> str:
        """The string it was chosen by, such as `anthropic:NAME`."""
        ...

    @property
    def format(self) -> str:
        """The wire format its requests must have."""
        ...

    @property
    def window(self) -> int:
        """Context window in tokens."""
        ...

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply.

        Raises a `ModelError`; cancellation of the task cancels the call and passes through.
        """
        ...

    async def close(self) -> None:
        """Free connections or the embedded server. May be called twice."""
        ...


class Embedder(Protocol):
    """A model that turns texts into vectors, near each other when their texts mean alike."""

    @property
    def name(self) -> str:
        """The model with its version or hash. Vectors of different names are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length 1 for each text, as little-endian 32-bit floats, all of one size. Raises a `ModelError`."""
        ...


class Clock(Protocol):
    """Time, so that gates measured in minutes and hours can be tested."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class FileFacts(Struct, frozen=True):
    """What a directory entry tells: size in bytes, modification time in nanoseconds, and what it is."""

    size: int
    modified_ns: int
    is_file: bool
    is_folder: bool
    is_link: bool
    links: int = 1
    """Names that the same file has (hard links); 1 where the store does not know."""


class ReadableFiles(Protocol):
    """The part of a file system that looks and reads. Paths are absolute. Every method raises `memorist.errors.StoreError` when the system refuses,
    and FileNotFoundError when the path is not there.
    """

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` of them."""
        ...

    def facts(self, path: Path) -> FileFacts | None:
        """What is at the path, links not followed; None when there is nothing."""
        ...

    def resolve(self, path: Path) -> Path:
        """The real path: links followed as far as the path exists, `..` removed. Raises StoreError for a loop of links."""
        ...

    def scan(self, folder: Path, *, limit: int | None = None) -> list[tuple[str, FileFacts]]:
        """Path relative to the folder (with slashes) and facts of every file and link below it, sorted; hidden folders are left out.

        With `limit`, the search stops at that many.
        """
        ...


class Files(ReadableFiles, Protocol):
    """A file system, to read and to write. Its methods raise as those of `ReadableFiles` do."""

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        """Replace the file in one step (temporary file in the same folder, flush, rename); missing folders are made, 0700, the file 0600.

        With `expect`, the present bytes must equal it, else `WriteConflict` is raised and nothing is written.
        """
        ...

    def create(self, path: Path, data: bytes) -> bool:
        """Make the file if there is none; False when there was one already."""
        ...

    def walk(self, folder: Path, *, limit: int | None = None) -> list[Path]:
        """Every file below the folder, sorted, links not followed; with `limit`, the search stops at that many files."""
        ...

    def append(self, path: Path, data: bytes) -> None:
        """Add to the end of a file, which is made if it is missing (0600)."""
        ...

    def remove(self, path: Path) -> None:
        """Delete a file."""
        ...


Prices = Mapping[str, Any]
"""A price table: model name or prefix to prices; see `memorist.models.prices`."""
