"""The bytes of a request that memorist changed: all that stays is copied as the client wrote it, and only the rest is written anew. Pure.

A provider's cache serves what begins with the same text; what stands before the first change is the same to the byte, spaces and escapes included.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import msgspec

from memorist.core.messages import JsonObject
from memorist.proxy.bodies import Body

_encode = msgspec.json.Encoder().encode


def rewritten(body: Body, sent: JsonObject) -> bytes | None:
    """The bytes of the request `sent`, made from those of the client's; None where both say the same, so that the client's go out as they came.

    One that lost a key is written anew.
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
    """What to put in place of the entries that changed: none, or one stretch from the first change to the end of the list."""
    items = body.items
    same = 0
    for mine, theirs in zip(shown, items, strict=False):
        if mine is not theirs and mine != theirs:
            break
        same += 1
    if same == len(shown) == len(items):
        return []
    start = body.spans[same - 1][1] if same else body.spans[0][0]
    new = b",".join(_bytes(body, shown, same))
    if same and new:
        new = b"," + new
    return [(start, body.spans[-1][1], new)]


def _bytes(body: Body, shown: Sequence[Any], same: int) -> Iterator[bytes]:
    """Each entry from the first change on: as the client wrote it where the client's history has it, else written by us."""
    places: dict[Hashable, list[int]] = {}
    for index in range(same, len(body.spans)):
        places.setdefault(_look(body.items[index]), []).append(index)
    after = same - 1
    for entry in shown[same:]:
        found = next((at for at in places.get(_look(entry), ()) if at > after and body.items[at] == entry), None)
        if found is None:
            yield _encode(entry)
        else:
            after = found
            start, end = body.spans[found]
            yield body.raw[start:end]


def _look(entry: object) -> Hashable:
    """Something that entries which are alike have in common, and most others have not."""
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
