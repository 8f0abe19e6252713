"""What the next process is told of a conversation, so that it goes on after a restart: one line of JSON for each. Pure.

A line holds no word of what was said and no key: the ends of a history are hashes that only who has the history, the key of the provider and this home can
make again.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec
from msgspec import Struct


class Known(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a conversation. The fields are those of `lanes.Lane`."""

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
        """What a later line must share with this one to take its place."""
        return (self.id, self.format, self.name, self.told or "")


class Beginning(Struct, frozen=True):
    """The first line: what keys are hashed with in this home."""

    salt: bytes


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Known).decode
_beginning = msgspec.json.Decoder(Beginning).decode


def line_of(entry: Known | Beginning) -> bytes:
    """One line, its end included."""
    return _encode(entry) + b"\n"


def salt_of(data: bytes) -> bytes:
    """The salt in the first line; empty where there is none."""
    try:
        return _beginning(data.partition(b"\n")[0]).salt
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b""


def known_in(data: bytes, most: int) -> OrderedDict[tuple[str, ...], Known]:
    """The newest line of each conversation, at most so many, the one that was quiet longest first. What is no such line, or cut, is left out."""
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
