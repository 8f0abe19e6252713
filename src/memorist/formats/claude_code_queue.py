"""Prompts that Claude Code records in its queue alone.

What is typed while the agent works waits in a queue. What is sent at the end of a turn has a record
in the conversation. What is sent within a turn has one since 2.1.97; before, it stands in its
`queue-operation` and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from msgspec import Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import Message, Origin, TextBlock, WireInfo
from memorist.formats.request_codec import detect_origin_of_user_message
from memorist.formats.transcript_format import FAILURES, parse_iso_timestamp

QUEUE_KIND = "queue-operation"
_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})")
_FIRST_WITH_RECORDS = (2, 1, 97)
"""The version from which on recorded sessions hold such prompts as attachments."""
MAX_WAITING_PROMPTS = 100
"""Prompts that wait at once; of more the oldest are left out."""
_MESSAGES_OF_PROGRAMS = ("{", "<", "[", "/")
"""How a notice of a background task, another agent's message or a slash command begins."""
_ID_LENGTH = 16


class _QueueOperation(Struct, gc=False, rename="camel"):
    operation: str | None = None
    content: Any = None
    timestamp: str | None = None


class _QueuedPrompt(Struct):
    message: Message
    is_sent: bool = False
    """Sent within a turn."""


_operation = build_json_decoder(_QueueOperation)


def records_messages_in_queue_alone(version: str) -> bool:
    """Whether a version of Claude Code records in the queue alone what is sent within a turn."""
    found = _VERSION.fullmatch(version)
    return found is not None and tuple(map(int, found.groups())) < _FIRST_WITH_RECORDS


class QueuedPrompts:
    """The queue of one session, followed record by record."""

    def __init__(self) -> None:
        self._waiting: list[_QueuedPrompt] = []

    def on_operation(self, data: bytes, line: int, *, is_typed: bool) -> None:
        """Follow a record of the queue; `is_typed` as of the prompts around it."""
        try:
            done = _operation(data)
        except FAILURES:
            return
        first = next((each for each in self._waiting if not each.is_sent), None)
        if done.operation == "enqueue":
            self._enqueue(done, line, is_typed=is_typed)
        elif done.operation == "popAll":  # back into the field in which the user types
            self._waiting = [each for each in self._waiting if each.is_sent]
        elif done.operation == "dequeue" and first is not None:  # its record follows
            self._waiting.remove(first)
        elif done.operation == "remove" and first is not None:
            first.is_sent = True

    def _enqueue(self, done: _QueueOperation, line: int, *, is_typed: bool) -> None:
        text = done.content.strip() if isinstance(done.content, str) else ""
        origin, blocks = detect_origin_of_user_message((TextBlock(text),))
        is_users = origin is Origin.USER and not text.startswith(_MESSAGES_OF_PROGRAMS)
        key = f"{done.timestamp}\n{text}"  # the same in a copy that a resumed session begins with
        message = Message(
            id=f"queued-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:_ID_LENGTH]}",
            role="user",
            blocks=blocks,
            origin=origin if text and is_users else Origin.NOTIFICATION,
            timestamp=parse_iso_timestamp(done.timestamp),
            line=line,
            wire=WireInfo("claude_code", plain=True),
            is_typed=is_typed,
        )
        self._waiting.append(_QueuedPrompt(message))
        del self._waiting[:-MAX_WAITING_PROMPTS]

    def take_sent(self) -> Iterator[Message]:
        """What was sent within the turn since the last call."""
        sent = [each for each in self._waiting if each.is_sent]
        self._waiting = [each for each in self._waiting if not each.is_sent]
        yield from (each.message for each in sent if each.message.origin is Origin.USER)
