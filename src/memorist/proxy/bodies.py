"""Parse a request's body without losing a byte: its values, and the position of each part. Pure.

A history grows at its end, so of a request that begins with the bytes of an earlier one only the
rest is parsed; the earlier objects are used again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.errors import FormatError

MOVING = 8
"""How many of the newest entries may differ from the earlier request (a host moves its cache marks,
at most 4); as `host_history.WINDOW`.
"""

_top = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_any = msgspec.json.Decoder().decode

_NAME = re.compile(rb'[\s,{]*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_GAP = re.compile(rb"[\s,]*")
_MORE = re.compile(rb"\s*[,\]]")
_END = re.compile(rb"\s*\}\s*")
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""A surrogate pair, a lone surrogate, or any other escape."""


class Place(Struct, frozen=True):
    """The position of a key in the body: where its name begins, and where its value begins and
    ends.
    """

    name: int
    start: int
    end: int


class Body(Struct, frozen=True):
    """A parsed request body."""

    raw: bytes
    key: str
    """The key of the history."""
    values: JsonObject
    """The decoded values; those that an earlier request had too are the same objects."""
    places: dict[str, Place]
    """Positions of the keys, in order."""
    spans: list[tuple[int, int]]
    """Start and end of each entry of the history; empty if the history is not a list."""
    shared: int = 0
    """Number of entries that were parsed with an earlier request."""
    same: list[Any] = []
    """Objects known to equal the first entries of the history, in order, so that comparing them
    again is comparing addresses.
    """
    written: dict[int, tuple[Any, int | bytes]] = {}
    """Objects encoded before, by their `id`: their index in the history, or the bytes that memorist
    wrote.
    """

    @property
    def items(self) -> list[Any]:
        """The entries of the history; none if it is not a list."""
        found = self.values.get(self.key)
        return found if isinstance(found, list) else []


def read(raw: bytes, key: str, before: Body | None = None) -> Body:
    """Parse a body whose history is under `key`; `earlier` is a body that it may extend.

    Raises FormatError if it is not a JSON object or repeats a key.
    """
    try:
        found = None if before is None or before.key != key else _grown(raw, before)
        return found or _whole(raw, key)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"the body of a request is a JSON object ({type(error).__name__})") from error


def _whole(raw: bytes, key: str) -> Body:
    data = raw
    try:
        top = _top(data)
    except msgspec.DecodeError:
        data = whole_pairs(raw)
        top = _top(data)
    places = _walked(data, top, 0)
    spans: list[tuple[int, int]] = []
    values: JsonObject = {}
    for name, value in top.items():
        if name == key and data[places[name].start : places[name].start + 1] == b"[":
            entries = _list(value)
            spans = _entries(data, entries, places[name].start + 1)
            values[name] = [_any(entry) for entry in entries]
        else:
            values[name] = _any(value)
    return Body(raw, key, values, places, spans)


def whole_pairs(raw: bytes) -> bytes:
    """Replace each lone surrogate escape by the replacement character's; no offset changes."""
    return _ESCAPES.sub(lambda found: b"\\ufffd" if found["half"] else found[0], raw)


def _walked(data: bytes, top: Mapping[str, msgspec.Raw], at: int) -> dict[str, Place]:
    """The positions of consecutive keys from `at` to the end of the body."""
    places = {}
    for name, value in top.items():
        found = _NAME.match(data, at)
        if found is None or _any(found[1]) != name:
            raise FormatError("a request that repeats a key is not read")
        at = found.end() + len(memoryview(value))
        places[name] = Place(found.start(1), found.end(), at)
    if _END.fullmatch(data, at) is None:
        raise FormatError("a request that repeats a key is not read")
    return places


def _entries(data: bytes, entries: list[msgspec.Raw], at: int) -> list[tuple[int, int]]:
    spans = []
    for entry in entries:
        found = _GAP.match(data, at)
        start = at if found is None else found.end()
        at = start + len(memoryview(entry))
        spans.append((start, at))
    return spans


def _grown(raw: bytes, before: Body) -> Body | None:
    """Parse the body as an extension of an earlier one; None if it is not."""
    count = begun(raw, before)
    if not count:
        return None
    end = before.spans[count - 1][1]
    opening = b'{"' + before.key.encode() + b'":[0'
    data = opening + raw[end:]  # what follows the entries that are known, as a body of its own
    try:
        top = _top(data)
    except msgspec.DecodeError:
        data = whole_pairs(data)
        top = _top(data)
    moved = end - len(opening)
    walked = _walked(data, top, 0)
    entries = _list(top[before.key])[1:]
    after = _entries(data, entries, len(opening))
    values, places = dict[str, Any](), dict[str, Place]()
    for name, place in before.places.items():
        if name == before.key:
            break
        values[name], places[name] = before.values[name], place
    for name, place in walked.items():
        if name in places:
            return None
        values[name] = _again(before, name, data[place.start : place.end]) if name != before.key else None
        places[name] = Place(place.name + moved, place.start + moved, place.end + moved)
    values[before.key] = [*before.items[:count], *(_any(entry) for entry in entries)]
    old = before.places[before.key]
    places[before.key] = Place(old.name, old.start, places[before.key].end)
    spans = [*before.spans[:count], *((start + moved, stop + moved) for start, stop in after)]
    written = {key: found for key, found in before.written.items() if isinstance(found[1], bytes) or found[1] < count}
    return Body(raw, before.key, values, places, spans, count, before.same[:count], written)


def begun(raw: bytes, before: Body) -> int:
    """How many entries of the earlier body this one begins with, where all bytes before them are
    the same.

    Fast for a body of another history.
    """
    known = len(before.spans)
    for count in range(known, max(0, known - MOVING), -1):
        end = before.spans[count - 1][1]
        if raw[end - 64 : end] != before.raw[end - 64 : end] or not raw.startswith(before.raw[:end]):
            continue
        return count if _MORE.match(raw, end) else 0
    return 0


def _again(before: Body, name: str, data: bytes) -> object:
    place = before.places.get(name)
    if place is not None and before.raw[place.start : place.end] == data:
        return before.values[name]
    return _any(data)
