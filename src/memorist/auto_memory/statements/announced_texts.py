"""Texts of somebody else that the user's message before them announced ("translate my next
message"). Pure.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.auto_memory.statements.user_prose import announces_text_in_next_message
from memorist.core.messages import Message, Origin


class AnnouncedTextTracker:
    """Follows the messages of one session, in their order."""

    def __init__(self) -> None:
        self._is_announced = False

    def mark(self, message: Message) -> Message:
        """The message; one that holds an announced text as one that nobody typed: what it states
        waits at most, and proves nothing.
        """
        if message.origin is not Origin.USER or not message.text.strip():
            return message
        is_announced = self._is_announced
        self._is_announced = announces_text_in_next_message(message.text)
        return replace(message, is_typed=False) if is_announced else message
