"""The stored form of a conversation, so that it continues after a restart: one line of JSON each.

Pure.

A line holds no message text and no API key: the ends of a history are hashes that cannot be
reproduced without the history, the provider's key and this home's salt.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec
from msgspec import Struct


class Known(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored conversation. The fields correspond to those of `ProxyConversation`."""

    id: str
    format: str
    main: bool = True
    name: str = ""
    told: str | None = None
    folder: str = ""
    shape: tuple[str, str] = ("", "")
    asked: bytes = b""
    answered: bytes = b""

    @property
    def key(self) -> tuple[str, ...]:
        """What a later line must share with this one to replace it."""
        return (self.id, self.format, self.name, self.told or "")


class Beginning(Struct, frozen=True):
    """The first line: the salt for hashing keys in this home."""

    salt: bytes


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Known).decode
_beginning = msgspec.json.Decoder(Beginning).decode


def line_of(entry: Known | Beginning) -> bytes:
    """Encode one line, including its line end."""
    return _encode(entry) + b"\n"


def salt_of(data: bytes) -> bytes:
    """The salt in the first line; empty if there is none."""
    try:
        return _beginning(data.partition(b"\n")[0]).salt
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b""


def known_in(data: bytes, most: int) -> OrderedDict[tuple[str, ...], Known]:
    """The newest line of each conversation, at most `limit`, the one idle longest first.

    Invalid or truncated lines are skipped.
    """
    found: OrderedDict[tuple[str, ...], Known] = OrderedDict()
    for line in data.split(b"\n")[1:]:
        try:
            entry = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        found[entry.key] = entry
        found.move_to_end(entry.key)
    while len(found) > most:
        found.popitem(last=False)
    return found
