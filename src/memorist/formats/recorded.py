"""The entries of a recorded session file of any client: the values that the readers yield.

A reader is `read_session(lines) -> Iterator[TranscriptEntry]`, where `lines` can be iterated more
than once (readers of files with a tree or with rollback markers make two passes: one for the
structure, one for the content). Memory stays bounded: a reader keeps an index, never the content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from memorist.core.messages import Message


class Line(NamedTuple):
    """One line of a file. `problem` is set, and `data` empty, when the line could not be read
    (longer than the limit).
    """

    number: int
    """Counted from 1."""
    data: bytes
    problem: str = ""


Lines = Iterable[Line]
"""Lines of one file; every `iter()` starts at its beginning."""


class Head(Struct, frozen=True, kw_only=True):
    """The session's metadata. Empty text when the file does not record it."""

    session: str
    format: str
    """`claude_code`, `codex` or `memorist`."""
    cwd: str = ""
    model: str = ""
    version: str = ""
    branch: str = ""
    title: str = ""
    started: float | None = None
    """Seconds since the epoch, UTC."""
    window: int | None = None
    """The model's context window in tokens, when the file names it."""
    instructions: str = ""
    """Base instructions recorded with the session (Codex)."""


class Boundary(Struct, frozen=True, kw_only=True):
    """A compaction that the recorded agent made: what came before is no longer in its context."""

    id: str
    line: int
    trigger: str = ""
    tokens_before: int | None = None
    timestamp: float | None = None
    kept: int = 0
    """Messages before the boundary that stayed in the context."""
    replacement: tuple[Message, ...] = ()
    """The history that replaced the old one, when the file holds it (Codex)."""


class RolledBack(Struct, frozen=True):
    """The user rolled back the last `turns` turns; the reader left out their `messages` messages.
    """

    turns: int
    messages: int
    line: int
    kept: bool = False
    """The messages still stand before this marker: memorist's own transcript deletes nothing (CX-7,
    `context.rollback.surviving`).
    """


class WorldRecord(Struct, frozen=True, kw_only=True):
    """The environment as told to the model from here on: in full, or as an RFC 7386 merge patch on
    the previous state (CX-3).
    """

    full: bool
    state: dict[str, Any] | None
    """Snapshots by section, or the patch; None when the record cannot be read."""
    line: int = 0


class Measured(Struct, frozen=True):
    """Usage reported apart from a message (Codex `token_count`): the context in tokens after the
    last reply, and the call's own usage.
    """

    context: int
    line: int
    input: int = 0
    cache_read: int = 0
    output: int = 0
    window: int | None = None


class Aside(Struct, frozen=True):
    """A record outside the main conversation, kept as received: bookkeeping, progress, a side
    chain, an unknown kind.
    """

    kind: str
    line: int
    raw: bytes


class Skip(Struct, frozen=True):
    """A line that could not be used, and why, in one clause for the user."""

    line: int
    why: str


class Mend(Struct, frozen=True):
    """A line that was used after a repair, and what was repaired."""

    line: int
    why: str


Entry = Head | Message | Boundary | RolledBack | WorldRecord | Measured | Aside | Skip | Mend
"""The first entry is always the `SessionHead`. Messages of the live conversation come in order."""
