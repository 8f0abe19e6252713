"""The unnamed conversations of one client, told apart by their histories."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import uuid
from weakref import WeakValueDictionary

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.engine.history_matching import (
    NOT_READABLE,
    KnownHistory,
    UnnamedConversationFinder,
    hash_conversation_scope,
    hash_messages,
    read_request_history,
)
from memorist.engine.host_history import is_instructions, to_plain_json
from memorist.formats.codec_registry import find_codec

MAX_DEFAULT_CONVERSATIONS = 1_000
"""Unnamed conversations that can be gone on with; the one idle longest is forgotten. Our choice."""


class DefaultCall(Struct, frozen=True, eq=False, weakref=True):
    """A request of an unnamed conversation."""

    id: str
    """The conversation's."""
    scope: bytes
    known: KnownHistory


class DefaultConversations:
    """The unnamed conversations of one client. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histories: UnnamedConversationFinder[str] = UnnamedConversationFinder(
            MAX_DEFAULT_CONVERSATIONS
        )
        self._waiting: WeakValueDictionary[str, DefaultCall] = WeakValueDictionary()
        """By conversation, its newest call while somebody waits for the reply."""
        self.newest_id = str(uuid.uuid4())
        """Id of the one that was used last; of the first one before that."""

    def find_or_start(self, format: str, body: JsonObject, scope: str) -> DefaultCall:
        """Match a request to its conversation, or begin one. `scope` is what it shares with no
        other: user, project and wire format.
        """
        given = body.get("input" if format == "openai_responses" else "messages")
        history = read_request_history(
            format, given, hash_conversation_scope(scope), _hash_instructions(body, given)
        )
        with self._lock:
            match = self._histories.find(history, self._waiting.__contains__)
            if match is not None:
                id, known = match.key, match.continue_history()
            else:
                id = str(uuid.uuid4()) if len(self._histories) else self.newest_id
                known = history.begin()
            self._histories.remember(id, known)
            self.newest_id = id
            call = self._waiting[id] = DefaultCall(id, history.scope, known)
        return call

    def add_reply(self, call: DefaultCall, format: str, reply: object) -> None:
        """Note the reply to the newest request of a conversation, or None for a broken one."""
        with self._lock:
            if self._waiting.get(call.id) is call:
                del self._waiting[call.id]
        with contextlib.suppress(*NOT_READABLE):
            messages = find_codec(format).decode_reply(to_plain_json(reply)).messages
            known = call.known.with_reply(hash_messages(call.scope, messages))
            with self._lock:
                self._histories.remember(call.id, known)


def _hash_instructions(body: JsonObject, given: object) -> str:
    items = given if isinstance(given, list | tuple) else ()
    said = [body.get("system"), body.get("instructions"), *filter(is_instructions, items)]
    return hashlib.blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).hexdigest()
