"""Taking back what was just said: "forget that" undoes what the message right before it stated."""

from __future__ import annotations

from collections.abc import Collection

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.write_result import WriteResult
from memorist.core.messages import Message


class RetractableWrites:
    """What the newest message with statements led to."""

    def __init__(self, memory: AutoMemory) -> None:
        self._memory = memory
        self._message_id = ""
        self._written: tuple[WriteResult, ...] = ()

    def on_written(self, message_id: str, written: WriteResult) -> None:
        """Note what a statement of a message led to."""
        before = self._written if self._message_id == message_id else ()
        self._message_id, self._written = message_id, (*before, written)

    def undo_previous_statements(self, message: Message, typed_ids: Collection[str]) -> None:
        """Take back what the message before this one stated, and nothing older; only where a person
        typed both. Raises StoreError.
        """
        said_in, written = self._message_id, self._written
        self._message_id, self._written = "", ()
        if said_in not in typed_ids or not message.is_typed:
            return
        for each in written:
            for waiting in each.proposals:
                self._memory.reject(waiting.id)
            if each.change_id:
                self._memory.undo(each.change_id)
