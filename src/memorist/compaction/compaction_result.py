"""The result of a compaction, whatever the strategy: what was removed and restored. Pure."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from memorist.core.messages import Message


class RemovedItem(Struct, frozen=True):
    """Something that is no longer shown in full, and can be fetched back by its id.

    `id` is a tool use's id where a result was cleared, shortened or stored on disk, and a message's
    id where a message was removed.
    """

    id: str
    tokens: int
    """Estimated tokens freed."""
    why: str
    """One clause for the user."""


class RestoredRecord(Struct, frozen=True):
    """Record of something that was restored after a compaction (CP-8)."""

    kind: Literal["file", "skill", "plan", "task", "user", "notes", "pointer"]
    what: str
    tokens: int


class CompactedHistory(Struct, frozen=True, kw_only=True):
    """The new history, and what became of the old one. Messages that are kept are the same objects
    as before.
    """

    strategy: str
    messages: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    cut: tuple[RemovedItem, ...] = ()
    restored: tuple[RestoredRecord, ...] = ()


class UnchangedHistory(Struct, frozen=True):
    """The history is unchanged, and why, in one sentence. An expected outcome, not an error."""

    why: str
    asked: bool = True
    """False where a model was due to be asked but was not: then it did not fail."""


CompactionStrategy = Literal[
    "auto", "micro", "session-memory", "full", "inline", "structural", "tail"
]
"""The strategies a user may ask for; `auto` is the ordered plan."""


CompactionResult = CompactedHistory | UnchangedHistory
