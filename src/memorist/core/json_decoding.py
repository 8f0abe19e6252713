"""Decode JSON into typed values, safely in several threads.

msgspec learns what a type consists of when the type is first used, and two threads that use one for
the first time at once end the process (a segmentation fault in msgspec 0.22). So that is done
behind a lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value")


class _JsonDecoders:
    """One decoder for each type."""

    def __init__(self) -> None:
        self._known: dict[type[Any], Callable[[bytes | str], Any]] = {}
        self.renew_lock()

    def renew_lock(self) -> None:
        """In a child of fork too: another thread of its parent may have held the lock."""
        self._lock = threading.Lock()

    def get(self, as_type: type[Value]) -> Callable[[bytes | str], Value]:
        """The decoder of a type, made where there is none yet."""
        found = self._known.get(as_type)
        if found is None:
            with self._lock:
                found = self._known[as_type] = msgspec.json.Decoder(as_type).decode
        return found


_DECODERS = _JsonDecoders()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_DECODERS.renew_lock)


def build_json_decoder(as_type: type[Value]) -> Callable[[bytes | str], Value]:
    """What decodes JSON into a value of a type, one for all that ask for it."""
    return _DECODERS.get(as_type)


def decode_json(data: bytes | str, *, as_type: type[Value]) -> Value:
    """Decode JSON into a value of a type. Raises msgspec.ValidationError for a value of another
    type, and msgspec.DecodeError for whatever else cannot be decoded, also for bytes that are no
    UTF-8 and for lists within lists without end.
    """
    try:
        return _DECODERS.get(as_type)(data)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def convert_value(value: object, as_type: type[Value], *, strict: bool = True) -> Value:
    """Convert what was decoded, such as from TOML, into a value of a type; not `strict`: also from
    text, as of environment variables. Raises msgspec.ValidationError.
    """
    _DECODERS.get(as_type)  # the type is known from here on
    return msgspec.convert(value, as_type, strict=strict)
