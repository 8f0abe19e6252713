"""What a recorded session file holds, whatever wrote it: the values that the readers yield.

A reader is `read(lines) -> Iterator[Entry]`, where `lines` can be gone through more than once (the readers of tree- and marker-shaped files
look twice: once for the shape, once for the content). Memory stays bounded: a reader keeps an index, never the content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from memorist.core.messages import Message


class Line(NamedTuple):
    """One line of a file. `problem` is set, and `data` empty, where the line could not be taken (longer than the limit)."""

    number: int
    """Counted from 1."""
    data: bytes
    problem: str = ""


Lines = Iterable[Line]
"""Lines of one file; every `iter()` starts at its beginning again."""


class Head(Struct, frozen=True, kw_only=True):
    """What the file says about the session as a whole. Empty text where it does not say."""

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
    """The model's context window in tokens, where the file names it."""
    instructions: str = ""
    """Base instructions recorded with the session (Codex)."""


class Boundary(Struct, frozen=True, kw_only=True):
    """A compaction that the recorded agent made: what stood before is no longer in its context."""

    id: str
    line: int
    trigger: str = ""
    tokens_before: int | None = None
    timestamp: float | None = None
    kept: int = 0
    """Messages before the boundary that stayed in the context."""
    replacement: tuple[Message, ...] = ()
    """The history that replaced the old one, where the file holds it (Codex)."""


class RolledBack(Struct, frozen=True):
    """The user took back the last `turns` turns; the reader has left their messages out (`messages` of them)."""

    turns: int
    messages: int
    line: int
    kept: bool = False
    """The messages still stand before this marker: memorist's own transcript deletes nothing (CX-7, `context.rollback.surviving`)."""


class WorldRecord(Struct, frozen=True, kw_only=True):
    """What the model had been told about its surroundings from here on: whole, or as an RFC 7386 merge patch on what stood before (CX-3)."""

    full: bool
    state: dict[str, Any] | None
    """Snapshots by section, or the patch; None where the record cannot be read."""
    line: int = 0


class Measured(Struct, frozen=True):
    """Usage reported apart from a message (Codex `token_count`): the context in tokens after the last reply, and the call's own usage."""

    context: int
    line: int
    input: int = 0
    cache_read: int = 0
    output: int = 0
    window: int | None = None


class Aside(Struct, frozen=True):
    """A record that is no message of the main conversation, kept as it came: bookkeeping, progress, a side chain, an unknown kind."""

    kind: str
    line: int
    raw: bytes


class Skip(Struct, frozen=True):
    """A line that could not be used, and why, in one clause for a person."""

    line: int
    why: str


class Mend(Struct, frozen=True):
    """A line that was used after a repair, and what was repaired."""

    line: int
    why: str


Entry = Head | Message | Boundary | RolledBack | WorldRecord | Measured | Aside | Skip | Mend
"""The first entry is always the Head. Messages of the live conversation come in order."""
