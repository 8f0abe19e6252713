"""The file of known conversations in a home, so that they continue after a restart."""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, field

from memorist.core.json_decoding import build_json_decoder
from memorist.engine.history_matching import KnownHistory
from memorist.errors import StoreError
from memorist.ports import FileSystem

MAX_STORED_CONVERSATIONS = 10_000
"""Conversations that are stored: as many as `MAX_CONVERSATIONS`.

Our choice; a line takes about a kilobyte.
"""
MAX_STALE_LINES = 10_000
"""Outdated lines that the file may hold; with one more it is rewritten. Our choice."""
SALT_BYTES = 16
"""Bytes of the salt."""

log = logging.getLogger("memorist.proxy")


class ConversationStore:
    """The conversation file of one home.

    If the disk refuses, that is logged once, and conversations are known only while the process
    runs.
    """

    def __init__(self, files: FileSystem, path: Path) -> None:
        self._files = files
        self._path = path
        self._refused = False
        data = self._read_or_create()
        self.salt = parse_key_salt(data) or secrets.token_bytes(SALT_BYTES)
        """What keys are hashed with in this home."""
        self._conversations = parse_stored_conversations(data, MAX_STORED_CONVERSATIONS)
        self._lines = data.count(b"\n")
        if not data.endswith(b"\n") or self._lines > len(self._conversations) + MAX_STALE_LINES:
            self._write()

    @property
    def conversations(self) -> Iterable[StoredConversation]:
        """All stored conversations, the one idle longest first."""
        return self._conversations.values()

    def save(self, entry: StoredConversation | None) -> None:
        """Store what is known of a conversation now."""
        if entry is None or entry == next(reversed(self._conversations.values()), None):
            return
        self._conversations[entry.key] = entry
        self._conversations.move_to_end(entry.key)
        while len(self._conversations) > MAX_STORED_CONVERSATIONS:
            self._conversations.popitem(last=False)
        self._lines += 1
        if self._lines > len(self._conversations) + MAX_STALE_LINES:
            self._write()
        elif not self._refused:
            try:
                self._files.append(self._path, encode_conversation_line(entry))
            except StoreError as error:
                self._on_refused(error)

    def _read_or_create(self) -> bytes:
        """The content of the file, which is created with a salt if missing.

        A file whose salt is unreadable is started over: none of its hashes could be found again.
        """
        beginning = encode_conversation_line(ConversationFileSalt(secrets.token_bytes(SALT_BYTES)))
        try:
            self._files.create(self._path, beginning)
            data = self._files.read(self._path)
            if not parse_key_salt(data):
                self._files.write(self._path, data := beginning)
        except (StoreError, FileNotFoundError) as error:
            self._on_refused(error)
            return beginning
        return data

    def _write(self) -> None:
        lines = [
            encode_conversation_line(ConversationFileSalt(self.salt)),
            *map(encode_conversation_line, self._conversations.values()),
        ]
        self._lines = len(lines)
        if not self._refused:
            try:
                self._files.write(self._path, b"".join(lines))
            except StoreError as error:
                self._on_refused(error)

    def _on_refused(self, error: Exception) -> None:
        self._refused = True
        log.warning("conversations without a name will be new ones after a restart: %s", error)


class StoredConversation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored conversation. The fields correspond to those of `ProxyConversation`."""

    id: str
    format: str
    is_main_agent: bool = field(default=True, name="main")
    has_typing_user: bool = field(default=True, name="interactive")
    name: str = ""
    declared_project: str | None = field(default=None, name="told")
    folder: str = ""
    shape: tuple[str, str] = ("", "")
    history: KnownHistory | None = None
    response: bytes = b""
    """A hash of the newest reply's id, where the provider keeps the history."""

    @property
    def key(self) -> tuple[str, ...]:
        """What a later line must share with this one to replace it."""
        return (self.id, self.format, self.name, self.declared_project or "")


class ConversationFileSalt(Struct, frozen=True):
    """The first line: the salt for hashing keys in this home."""

    salt: bytes


_encode_json = msgspec.json.Encoder().encode
_decode_conversation = build_json_decoder(StoredConversation)
_decode_header = build_json_decoder(ConversationFileSalt)


def encode_conversation_line(entry: StoredConversation | ConversationFileSalt) -> bytes:
    """Encode one line, including its line end."""
    return _encode_json(entry) + b"\n"


def parse_key_salt(data: bytes) -> bytes:
    """The salt in the first line; empty if there is none."""
    try:
        return _decode_header(data.partition(b"\n")[0]).salt
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b""


def parse_stored_conversations(
    data: bytes, limit: int
) -> OrderedDict[tuple[str, ...], StoredConversation]:
    """The newest line of each conversation, at most `limit`, the one idle longest first.

    Invalid or truncated lines are skipped.
    """
    found: OrderedDict[tuple[str, ...], StoredConversation] = OrderedDict()
    for line in data.split(b"\n")[1:]:
        try:
            entry = _decode_conversation(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        found[entry.key] = entry
        found.move_to_end(entry.key)
    while len(found) > limit:
        found.popitem(last=False)
    return found
