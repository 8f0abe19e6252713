"""Parse a request's body without losing a byte: its values, and the position of each part. Pure.

A history grows at its end, so of a request that begins with the bytes of an earlier one only the
rest is parsed; the earlier objects are used again.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import JsonObject
from memorist.errors import WireFormatError

MAX_CHANGED_NEWEST_ENTRIES = 8
"""How many of the newest entries may differ from the earlier request (a host moves its cache marks,
at most 4); as `host_history.COMPARED_NEWEST_ENTRIES`.
"""

_decode_object = build_json_decoder(dict[str, msgspec.Raw])
_decode_list = build_json_decoder(list[msgspec.Raw])
_decode_value = msgspec.json.Decoder().decode

_NAME = re.compile(rb'[\s,{]*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_GAP = re.compile(rb"[\s,]*")
_MORE = re.compile(rb"\s*[,\]]")
_END = re.compile(rb"\s*\}\s*")
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    rb"(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""A surrogate pair, a lone surrogate, or any other escape."""


class KeySpan(Struct, frozen=True):
    """The position of a key in the body: where its name begins, and where its value begins and
    ends.
    """

    key_start: int
    start: int
    end: int


class RequestBody(Struct, frozen=True):
    """A parsed request body."""

    raw: bytes
    history_key: str
    """The key of the history."""
    values: JsonObject
    """The decoded values; those that an earlier request had too are the same objects."""
    key_spans: dict[str, KeySpan]
    """Positions of the keys, in order."""
    entry_spans: list[tuple[int, int]]
    """Start and end of each entry of the history; empty if the history is not a list."""
    shared_entries: int = 0
    """Number of entries that were parsed with an earlier request."""
    equal_entries: list[Any] = []
    """Objects known to equal the first entries of the history, in order, so that comparing them
    again is comparing addresses.
    """
    encoded_entries: dict[int, tuple[Any, int | bytes]] = {}
    """Objects encoded before, by their `id`: their index in the history, or the bytes that memorist
    wrote.
    """

    @property
    def items(self) -> list[Any]:
        """The entries of the history; none if it is not a list."""
        found = self.values.get(self.history_key)
        return found if isinstance(found, list) else []


def parse_request_body(raw: bytes, key: str, earlier: RequestBody | None = None) -> RequestBody:
    """Parse a body whose history is under `key`; `earlier` is a body that it may extend.

    Raises WireFormatError if it is not a JSON object or repeats a key.
    """
    try:
        found = (
            None if earlier is None or earlier.history_key != key else _parse_grown(raw, earlier)
        )
        return found or _parse_whole(raw, key)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireFormatError(
            f"the body of a request is a JSON object ({type(error).__name__})"
        ) from error


def _parse_whole(raw: bytes, key: str) -> RequestBody:
    data = raw
    try:
        top = _decode_object(data)
    except msgspec.DecodeError:
        data = replace_lone_surrogate_escapes(raw)
        top = _decode_object(data)
    key_spans = _locate_keys(data, top, 0)
    spans: list[tuple[int, int]] = []
    values: JsonObject = {}
    for name, value in top.items():
        if name == key and data[key_spans[name].start : key_spans[name].start + 1] == b"[":
            entries = _decode_list(value)
            spans = _locate_entries(data, entries, key_spans[name].start + 1)
            values[name] = [_decode_value(entry) for entry in entries]
        else:
            values[name] = _decode_value(value)
    return RequestBody(raw, key, values, key_spans, spans)


def replace_lone_surrogate_escapes(raw: bytes) -> bytes:
    """Replace each lone surrogate escape by the replacement character's; no offset changes."""
    return _ESCAPES.sub(lambda found: b"\\ufffd" if found["half"] else found[0], raw)


def _locate_keys(data: bytes, top: Mapping[str, msgspec.Raw], at: int) -> dict[str, KeySpan]:
    """The positions of consecutive keys from `at` to the end of the body."""
    spans = {}
    for name, value in top.items():
        found = _NAME.match(data, at)
        if found is None or _decode_value(found[1]) != name:
            raise WireFormatError("a request that repeats a key is not read")
        at = found.end() + len(memoryview(value))
        spans[name] = KeySpan(found.start(1), found.end(), at)
    if _END.fullmatch(data, at) is None:
        raise WireFormatError("a request that repeats a key is not read")
    return spans


def _locate_entries(data: bytes, entries: list[msgspec.Raw], at: int) -> list[tuple[int, int]]:
    spans = []
    for entry in entries:
        found = _GAP.match(data, at)
        start = at if found is None else found.end()
        at = start + len(memoryview(entry))
        spans.append((start, at))
    return spans


def _parse_grown(raw: bytes, before: RequestBody) -> RequestBody | None:
    """Parse the body as an extension of an earlier one; None if it is not."""
    count = count_shared_entries(raw, before)
    if not count:
        return None
    end = before.entry_spans[count - 1][1]
    opening = b'{"' + before.history_key.encode() + b'":[0'
    data = opening + raw[end:]  # what follows the entries that are known, as a body of its own
    try:
        top = _decode_object(data)
    except msgspec.DecodeError:
        data = replace_lone_surrogate_escapes(data)
        top = _decode_object(data)
    moved = end - len(opening)
    walked = _locate_keys(data, top, 0)
    entries = _decode_list(top[before.history_key])[1:]
    after = _locate_entries(data, entries, len(opening))
    values, key_spans = dict[str, Any](), dict[str, KeySpan]()
    for name, span in before.key_spans.items():
        if name == before.history_key:
            break
        values[name], key_spans[name] = before.values[name], span
    for name, span in walked.items():
        if name in key_spans:
            return None
        values[name] = (
            _reuse_value(before, name, data[span.start : span.end])
            if name != before.history_key
            else None
        )
        key_spans[name] = KeySpan(span.key_start + moved, span.start + moved, span.end + moved)
    values[before.history_key] = [
        *before.items[:count],
        *(_decode_value(entry) for entry in entries),
    ]
    old = before.key_spans[before.history_key]
    key_spans[before.history_key] = KeySpan(
        old.key_start, old.start, key_spans[before.history_key].end
    )
    spans = [*before.entry_spans[:count], *((start + moved, stop + moved) for start, stop in after)]
    written = {
        key: found
        for key, found in before.encoded_entries.items()
        if isinstance(found[1], bytes) or found[1] < count
    }
    return RequestBody(
        raw,
        before.history_key,
        values,
        key_spans,
        spans,
        count,
        before.equal_entries[:count],
        written,
    )


def count_shared_entries(raw: bytes, earlier: RequestBody) -> int:
    """How many entries of the earlier body this one begins with, where all bytes before them are
    the same.

    Fast for a body of another history.
    """
    known = len(earlier.entry_spans)
    for count in range(known, max(0, known - MAX_CHANGED_NEWEST_ENTRIES), -1):
        end = earlier.entry_spans[count - 1][1]
        if raw[end - 64 : end] != earlier.raw[end - 64 : end] or not raw.startswith(
            earlier.raw[:end]
        ):
            continue
        return count if _MORE.match(raw, end) else 0
    return 0


def _reuse_value(before: RequestBody, name: str, data: bytes) -> object:
    span = before.key_spans.get(name)
    if span is not None and before.raw[span.start : span.end] == data:
        return before.values[name]
    return _decode_value(data)


# Encode a changed request: unchanged parts are copied from the client's bytes, only the rest is
# encoded.


_encode_json = msgspec.json.Encoder().encode


def encode_changed_request_body(body: RequestBody, request: JsonObject) -> bytes | None:
    """The bytes of `request`, based on the client's body; None if both are equal, so that the
    client's bytes are sent.

    A request that lost a key is encoded from scratch.
    """
    edits: list[tuple[int, int, bytes]] = []
    for name, span in body.key_spans.items():
        if name not in request:
            return _encode_json(request)
        if name == body.history_key and body.entry_spans and isinstance(request[name], list):
            edits += _edit_history(body, request[name])
        elif request[name] is not body.values[name] and request[name] != body.values[name]:
            edits.append((span.start, span.end, _encode_json(request[name])))
    added = {name: value for name, value in request.items() if name not in body.key_spans}
    if not edits and not added:
        return None
    return _apply_edits(body, edits, added) if body.key_spans else _encode_json(request)


def _apply_edits(
    body: RequestBody, edits: list[tuple[int, int, bytes]], added: JsonObject
) -> bytes:
    raw, parts, at = body.raw, list[bytes](), 0
    end = list(body.key_spans.values())[-1].end
    more = b"".join(
        b"," + _encode_json(name) + b":" + _encode_json(value) for name, value in added.items()
    )
    for start, stop, new in sorted([*edits, (end, end, more)], key=lambda edit: (edit[0], edit[1])):
        parts += [raw[at:start], new]
        at = stop
    return b"".join([*parts, raw[at:]])


def _edit_history(body: RequestBody, shown: Sequence[Any]) -> list[tuple[int, int, bytes]]:
    """The edit for the changed entries: none, or one span from the first change to the end of the
    list.
    """
    items = body.items
    same = _count_equal_entries(body, shown)
    if same == len(shown) == len(items):
        return []
    # Everything before `start` stays identical to the byte: the provider's prompt cache depends on
    # it.
    start = body.entry_spans[same - 1][1] if same else body.entry_spans[0][0]
    entries = _EntryEncoder(body, same)
    new = b",".join([entries.encode(entry) for entry in shown[same:]])
    entries.save()
    return [(start, body.entry_spans[-1][1], b"," + new if same and new else new)]


def _count_equal_entries(body: RequestBody, shown: Sequence[Any]) -> int:
    """How many leading entries equal the client's."""
    known = len(body.equal_entries)
    if shown[:known] != body.equal_entries:
        differs = (
            at
            for at, entry in enumerate(body.equal_entries)
            if at >= len(shown) or (shown[at] is not entry and shown[at] != entry)
        )
        del body.equal_entries[next(differs) :]
        return len(body.equal_entries)
    for mine, theirs in zip(shown[known:], body.items[known:], strict=False):
        if mine is not theirs and mine != theirs:
            break
        body.equal_entries.append(mine)
    return len(body.equal_entries)


class _EntryEncoder:
    """Encodes the entries from the first change on: with the client's bytes if its history has
    them, else from scratch.
    """

    def __init__(self, body: RequestBody, same: int) -> None:
        self._body = body
        self._after = same - 1
        self._places: dict[Hashable, list[int]] | None = None
        self._used: dict[int, tuple[object, int | bytes]] = {}

    def save(self) -> None:
        """Remember what was encoded for the next request."""
        self._body.encoded_entries.clear()
        self._body.encoded_entries.update(self._used)

    def encode(self, entry: object) -> bytes:
        """The bytes of one entry."""
        found = self._body.encoded_entries.get(id(entry))
        if found is None or found[0] is not entry:
            at = self._find(entry)
            found = (entry, _encode_json(entry) if at is None else at)
        self._used[id(entry)] = found
        if isinstance(found[1], bytes):
            return found[1]
        self._after = max(self._after, found[1])
        start, end = self._body.entry_spans[found[1]]
        return self._body.raw[start:end]

    def _find(self, entry: object) -> int | None:
        if self._places is None:
            self._places = {}
            for index in range(self._after + 1, len(self._body.entry_spans)):
                self._places.setdefault(_rough_key(self._body.items[index]), []).append(index)
        return next(
            (
                at
                for at in self._places.get(_rough_key(entry), ())
                if at > self._after and self._body.items[at] == entry
            ),
            None,
        )


def _rough_key(entry: object) -> Hashable:
    """A cheap key that equal entries share and most others do not."""
    if not isinstance(entry, dict):
        return type(entry).__name__
    content = entry.get("content")
    blocks = content if isinstance(content, list) else ()
    size = len(content) if isinstance(content, str) else sum(_block_size(block) for block in blocks)
    return (
        f"{entry.get('role')} {entry.get('type')} {entry.get('id')} {entry.get('call_id')} "
        f"{entry.get('tool_call_id')} {len(blocks)} {size}"
    )


def _block_size(block: object) -> int:
    text = block.get("text") or block.get("content") if isinstance(block, dict) else None
    return len(text) if isinstance(text, str | list) else 0
