"""Redact secrets in structured values before they are written to a session's files. Pure.

Each string is redacted by itself, so that what comes out is as sound as what came in, and the same
value always gives the same bytes. The name of a tool's argument counts as the name of a key:
`{"password": …}`.
"""

from __future__ import annotations

from operator import is_
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from memorist.core.json_decoding import convert_value
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Block, Message
from memorist.safety.secrets import CLEAN, redact, redact_id_keeping_ids_distinct

JsonT = TypeVar("JsonT")
"""The type of a value, which stays as it is."""
_ID_KEYS = frozenset({"id", "tool_use_id", "call_id", "tool_call_id", "message"})
"""Keys whose strings are identifiers, by which one entry refers to another."""
_UNREAD_KEYS = frozenset({"signature", "encrypted_content"})
"""Keys whose strings only a provider can read."""
_ENCODED = lazy_pattern(r"(?:data:[\w/.+;=-]{1,80},)?[A-Za-z0-9+/_\r\n-]{64,}={0,2}\s*\Z")
"""A picture, or what only a provider can read, under the key `data`; all else there is text."""
_MAX_ENCODED_CHARS = 1_000
"""Characters of such a value that are looked at. Our choice."""
_ARGUMENT_KEYS = frozenset({"input", "arguments"})
"""Keys of a tool call's arguments, whose names tell what a value is."""
_MAX_LEVELS = 100
"""Levels of objects and lists; what is deeper is redacted as one text, within Python's limit of a
thousand calls.
"""
TOO_DEEP = "(nested too deep to be kept)"
"""In place of what is nested deeper than can be encoded, by most of Python's limit."""
_MAX_NAMED_CHARS = 500
"""Characters of a value that is judged by its name as well; a longer one is a text."""


def encode_redacted(value: object) -> bytes:
    """Encode as JSON without secrets; a value without any gives the bytes that msgspec gives."""
    plain = msgspec.to_builtins(value)
    clean = redact_json(plain)
    return msgspec.json.encode(value if clean is plain else clean)


def redact_json(value: JsonT) -> JsonT:
    """The value with a mark for each secret in its strings; the same object where there is none."""
    return cast("JsonT", _redact_value(value))


def redact_message(message: Message) -> Message:
    """The message with a mark for each secret in its blocks; the same object where there is none.
    What is made of a message shortens and joins its words, and a rule no longer knows half a secret
    or one whose line is gone.
    """
    plain = msgspec.to_builtins(message.blocks)
    clean = redact_json(plain)
    if clean is plain:
        return message
    return replace(message, blocks=convert_value(clean, tuple[Block, ...]))


def _redact_value(value: object, *, named: bool = False, level: int = 0) -> object:
    if isinstance(value, str):
        return redact(value).text
    if level > _MAX_LEVELS and isinstance(value, dict | list | tuple):
        try:
            return redact(msgspec.json.encode(value).decode()).text
        except RecursionError:
            return TOO_DEEP
    if isinstance(value, dict):
        return _redact_object(value, named=named, level=level + 1)
    if isinstance(value, list | tuple):
        items = [_redact_value(inner, named=named, level=level + 1) for inner in value]
        return value if all(map(is_, items, value)) else items
    return value


def _redact_object(value: dict[object, object], *, named: bool, level: int) -> dict[object, object]:
    """The object itself where nothing in it is a secret, which is nearly always."""
    legible = named or value.get("type") == "text"
    changed: dict[object, tuple[object, object]] = {}
    for key, inner in value.items():
        names = named or key in _ARGUMENT_KEYS
        if not names and (inner in CLEAN if isinstance(inner, str) else _is_plain(inner)):
            continue
        shown = redact_id_keeping_ids_distinct(key) if named and isinstance(key, str) else key
        if isinstance(inner, str):
            clean = _redact_text(key, inner, named=names, legible=legible)
        else:
            clean = _redact_value(inner, named=names, level=level)
        if clean is not inner or shown is not key:
            changed[key] = shown, clean
    if not changed:
        return value
    return dict(changed.get(key, (key, inner)) for key, inner in value.items())


def _is_plain(value: object) -> bool:
    """Whether a value is a number, true, false or nothing."""
    return not isinstance(value, dict | list | tuple)


def _is_unread(key: object, value: str) -> bool:
    is_encoded = key == "data" and _ENCODED.match(value[:_MAX_ENCODED_CHARS]) is not None
    return is_encoded or key in _UNREAD_KEYS


def _redact_text(key: object, value: str, *, named: bool, legible: bool) -> object:
    """`legible` says that the value is text, whatever its key."""
    if (not legible and _is_unread(key, value)) or (not named and value in CLEAN):
        return value
    if key in _ID_KEYS and not named:
        return redact_id_keeping_ids_distinct(value)
    if named and len(value) <= _MAX_NAMED_CHARS:
        prefix = f"{key}="
        found = redact(prefix + value).text
        if found.startswith(prefix) and found != prefix + value:
            return found.removeprefix(prefix)
    return redact(value).text
