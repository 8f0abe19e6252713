"""Turning memory off for the rest of a session, where its user says so."""

from __future__ import annotations

from collections.abc import Callable

from memorist.auto_memory.statements.session_requests import is_typed_no_memory_request
from memorist.core.messages import Message
from memorist.extensions import SessionExtension


class MemoryOffExtension(SessionExtension):
    """Calls `turn_off` at the message that asks for it."""

    def __init__(self, turn_off: Callable[[], None]) -> None:
        self._turn_off = turn_off

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Turn memory off where the message asks for it; also when the session is opened again."""
        del replayed
        if is_typed_no_memory_request(message):
            self._turn_off()
