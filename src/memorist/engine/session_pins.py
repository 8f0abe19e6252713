"""Texts that the user wants kept in sight in one session."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from memorist.auto_memory.statements.no_memory_and_pin_requests import find_text_to_pin_in_message
from memorist.core.json_decoding import decode_json
from memorist.core.messages import Message, Origin, TextBlock
from memorist.errors import StoreError, WriteConflict
from memorist.extensions import HistoryChange, SessionExtension, SessionView
from memorist.ports import FileSystem
from memorist.runtime import SessionContext
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.store.disk_files import read_if_exists, replace_content_if_unchanged
from memorist.store.home_layout import SessionLayout

PIN_ID_PREFIX = "memorist-pin-"
MAX_PINS = 20
"""Texts that one session keeps in sight, the newest. Our choice."""
MAX_PIN_TRIES = 20
"""Tries while other processes pin: where a link leads nowhere, each of them fails."""
PIN_HEADING = "The user wants this kept in sight for this session:"


def read_pins(files: FileSystem, layout: SessionLayout) -> tuple[str, ...]:
    """The texts that a session keeps in sight, oldest first."""
    return _parse_pins(read_if_exists(files, layout.pins))


def _parse_pins(data: bytes | None) -> tuple[str, ...]:
    try:
        return decode_json(data or b"[]", as_type=tuple[str, ...])
    except msgspec.DecodeError:
        return ()


def add_pin(files: FileSystem, layout: SessionLayout, text: str) -> str:
    """Keep a text in sight; one that is there already is not added. Returns it without secrets.
    What other processes pin meanwhile is kept.

    Raises StoreError.
    """
    clean = redact(text.strip()).text
    for _ in range(MAX_PIN_TRIES - 1):
        with contextlib.suppress(WriteConflict):
            _add_pin_once(files, layout, clean)
            return clean
    _add_pin_once(files, layout, clean)
    return clean


def _add_pin_once(files: FileSystem, layout: SessionLayout, clean: str) -> None:
    before = read_if_exists(files, layout.pins)
    pins = _parse_pins(before)
    if clean and clean not in pins:
        after = msgspec.json.encode((*pins, clean)[-MAX_PINS:])
        replace_content_if_unchanged(files, layout.pins, before, after)


class PinnedTextExtension(SessionExtension):
    """Shows a session's pinned texts again when the conversation was compacted, and those that were
    pinned from outside at the next request.
    """

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._shown: set[str] = set()
        self._count = 0
        self._history_replaced = False

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Pin what the user asks to keep in sight; it is in the message itself for now."""
        del replayed
        text = find_text_to_pin_in_message(message)
        if text:
            self.pin(text)

    def pin(self, text: str) -> None:
        """Keep a text in sight that is in the conversation already."""
        with contextlib.suppress(StoreError):
            self._shown.add(add_pin(self._context.runtime.files, self._context.layout, text))

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Show all of them again."""
        del reason
        self._shown.clear()
        self._history_replaced = True

    def take_pins_missing_from_view(self) -> str:
        """The pinned texts that are not in the conversation; empty for none."""
        with contextlib.suppress(StoreError):
            pins = read_pins(self._context.runtime.files, self._context.layout)
            due = [text for text in pins if text not in self._shown]
            self._shown.update(due)
            if due:
                return "\n".join((PIN_HEADING, *(f"- {neutralize_markup(text)}" for text in due)))
        return ""

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """Show what is pinned and not in the view."""
        del new_messages
        at_start = self._history_replaced or not view.has_model_reply
        if not (at_start or view.accepts_messages):
            return
        text = self.take_pins_missing_from_view()
        self._history_replaced = False
        if not text:
            return
        self._count += 1
        message = Message(
            id=f"{PIN_ID_PREFIX}{self._context.id[:40]}-{self._count}",
            role="user",
            blocks=(TextBlock(text),),
            origin=Origin.INJECTED,
            timestamp=self._context.runtime.clock.now(),
        )
        if at_start:
            view.insert_at_start(message)
        else:
            view.insert(message)
