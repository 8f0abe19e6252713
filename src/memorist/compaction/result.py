"""What a way of compaction makes of a history, whatever the way: values that all of them share. Pure."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from memorist.core.messages import Message

Strategy = Literal["auto", "micro", "session-memory", "full", "inline", "structural", "tail"]
"""The ways that a person may ask for; `auto` is the ordered plan."""


class Cut(Struct, frozen=True):
    """Something that is no longer shown in full, and can be fetched back by its id.

    `id` is a tool use's id where a result was cleared, shortened or moved to disk, and a message's id where a message was cut.
    """

    id: str
    tokens: int
    """Estimated tokens that this frees."""
    why: str
    """In one clause, for a person."""


class Restored(Struct, frozen=True):
    """Something that was put in again after a compaction (CP-8)."""

    kind: Literal["file", "skill", "plan", "task", "user", "notes", "pointer"]
    what: str
    tokens: int


class Compacted(Struct, frozen=True, kw_only=True):
    """The new history, and what became of the old one. The messages of the old one that are kept are the very same objects."""

    strategy: str
    messages: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    cut: tuple[Cut, ...] = ()
    restored: tuple[Restored, ...] = ()
    lead: int = 0
    """So many messages at the front stand as they did before the conversation."""


class Unchanged(Struct, frozen=True):
    """Nothing was done, and why, in one sentence. An expected outcome, not an error."""

    why: str
    asked: bool = True
    """False where a model was to be asked and was not: then it has not failed."""


Outcome = Compacted | Unchanged
