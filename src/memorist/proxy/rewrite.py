"""Encode a changed request: unchanged parts are copied from the client's bytes, only the rest is
encoded. Pure.

A provider's cache serves requests with the same prefix; all bytes before the first change stay
identical, including spaces and escapes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import msgspec

from memorist.core.messages import JsonObject
from memorist.proxy.bodies import Body

_encode = msgspec.json.Encoder().encode


def rewritten(body: Body, sent: JsonObject) -> bytes | None:
    """The bytes of `request`, based on the client's body; None if both are equal, so that the
    client's bytes are sent.

    A request that lost a key is encoded from scratch.
    """
    edits: list[tuple[int, int, bytes]] = []
    for name, place in body.places.items():
        if name not in sent:
            return _encode(sent)
        if name == body.key and body.spans and isinstance(sent[name], list):
            edits += _history(body, sent[name])
        elif sent[name] is not body.values[name] and sent[name] != body.values[name]:
            edits.append((place.start, place.end, _encode(sent[name])))
    added = {name: value for name, value in sent.items() if name not in body.places}
    if not edits and not added:
        return None
    return _applied(body, edits, added) if body.places else _encode(sent)


def _applied(body: Body, edits: list[tuple[int, int, bytes]], added: JsonObject) -> bytes:
    raw, parts, at = body.raw, list[bytes](), 0
    end = list(body.places.values())[-1].end
    more = b"".join(b"," + _encode(name) + b":" + _encode(value) for name, value in added.items())
    for start, stop, new in sorted([*edits, (end, end, more)], key=lambda edit: (edit[0], edit[1])):
        parts += [raw[at:start], new]
        at = stop
    return b"".join([*parts, raw[at:]])


def _history(body: Body, shown: Sequence[Any]) -> list[tuple[int, int, bytes]]:
    """The edit for the changed entries: none, or one span from the first change to the end of the
    list.
    """
    items = body.items
    same = _same(body, shown)
    if same == len(shown) == len(items):
        return []
    # Everything before `start` stays identical to the byte: the provider's prompt cache depends on it.
    start = body.spans[same - 1][1] if same else body.spans[0][0]
    entries = _Entries(body, same)
    new = b",".join([entries.written(entry) for entry in shown[same:]])
    entries.keep()
    return [(start, body.spans[-1][1], b"," + new if same and new else new)]


def _same(body: Body, shown: Sequence[Any]) -> int:
    """How many leading entries equal the client's."""
    known = len(body.same)
    if shown[:known] != body.same:
        differs = (at for at, entry in enumerate(body.same) if at >= len(shown) or (shown[at] is not entry and shown[at] != entry))
        del body.same[next(differs) :]
        return len(body.same)
    for mine, theirs in zip(shown[known:], body.items[known:], strict=False):
        if mine is not theirs and mine != theirs:
            break
        body.same.append(mine)
    return len(body.same)


class _Entries:
    """Encodes the entries from the first change on: with the client's bytes if its history has
    them, else from scratch.
    """

    def __init__(self, body: Body, same: int) -> None:
        self._body = body
        self._after = same - 1
        self._places: dict[Hashable, list[int]] | None = None
        self._used: dict[int, tuple[object, int | bytes]] = {}

    def keep(self) -> None:
        """Remember what was encoded for the next request."""
        self._body.written.clear()
        self._body.written.update(self._used)

    def written(self, entry: object) -> bytes:
        """The bytes of one entry."""
        found = self._body.written.get(id(entry))
        if found is None or found[0] is not entry:
            at = self._place(entry)
            found = (entry, _encode(entry) if at is None else at)
        self._used[id(entry)] = found
        if isinstance(found[1], bytes):
            return found[1]
        self._after = max(self._after, found[1])
        start, end = self._body.spans[found[1]]
        return self._body.raw[start:end]

    def _place(self, entry: object) -> int | None:
        if self._places is None:
            self._places = {}
            for index in range(self._after + 1, len(self._body.spans)):
                self._places.setdefault(_look(self._body.items[index]), []).append(index)
        return next((at for at in self._places.get(_look(entry), ()) if at > self._after and self._body.items[at] == entry), None)


def _look(entry: object) -> Hashable:
    """A cheap key that equal entries share and most others do not."""
    if not isinstance(entry, dict):
        return type(entry).__name__
    content = entry.get("content")
    blocks = content if isinstance(content, list) else ()
    size = len(content) if isinstance(content, str) else sum(_size(block) for block in blocks)
    return (
        f"{entry.get('role')} {entry.get('type')} {entry.get('id')} {entry.get('call_id')} {entry.get('tool_call_id')} {len(blocks)} {size}"
    )


def _size(block: object) -> int:
    text = block.get("text") or block.get("content") if isinstance(block, dict) else None
    return len(text) if isinstance(text, str | list) else 0
