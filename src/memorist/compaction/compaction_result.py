"""The result of a compaction, whatever the strategy: what was removed and restored. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

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
    removed_items: tuple[RemovedItem, ...] = ()
    restored_records: tuple[RestoredRecord, ...] = ()

    def replace_copies_by_given_messages(self, given: Sequence[Message]) -> CompactedHistory:
        """The same history after it came from another process as copies: each message that equals
        one of `given` is that object again.
        """
        by_id = {message.id: message for message in given}
        return replace(
            self,
            messages=tuple(
                by_id[message.id] if by_id.get(message.id) == message else message
                for message in self.messages
            ),
        )

    @property
    def added_messages(self) -> tuple[Message, ...]:
        """The messages that stood in no history before: memorist has written them."""
        return tuple(each for each in self.messages if each.id.startswith("memorist"))


class UnchangedHistory(Struct, frozen=True):
    """The history is unchanged, and why, in one sentence. An expected outcome, not an error."""

    why: str
    was_model_asked: bool = True
    """False where a model was due to be asked but was not: then it did not fail."""


CompactionStrategy = Literal[
    "auto", "micro", "session-memory", "full", "inline", "structural", "tail"
]
"""The strategies a user may ask for; `auto` is the ordered plan."""


CompactionResult = CompactedHistory | UnchangedHistory
