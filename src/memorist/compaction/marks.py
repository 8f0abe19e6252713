"""Choose the cache breakpoints of an Anthropic request (CP-18; claude-code.md sections 3.1 and
3.2). Pure.

One breakpoint goes on the last system block (which covers the tools before it), one on the last
markable block of the last message. A third goes at the end of the part unchanged since the last
request, where so many blocks follow that the look-back from the last breakpoint would miss what was
written there: after a turn of many calls, and after every edit of the history, which otherwise
would lose everything back to the system prompt. At most four in all. Breakpoints set by the host
stay where and as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.core.tokens import BYTES_PER_TOKEN, family_factor

MARKS = 4
"""Breakpoints allowed per request; the automatic one (`cache_control` beside the messages) counts.
"""

STRIDE = 15
"""Blocks after the unchanged prefix above which it gets its own breakpoint: the look-back is about
20 (claude-code.md section 3.1), with some margin.
"""

Lifetime = Literal["5m", "1h"]

_MINIMA = (
    (re.compile(r"opus-5"), 512),
    (re.compile(r"opus-4-7"), 2_048),
    (re.compile(r"opus-4-[56]|haiku-4-5"), 4_096),
)
_MINIMUM = 1_024
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})
_encode = msgspec.json.Encoder().encode


class Place(Struct, frozen=True, order=True):
    """Position of a block in the order of the cache: part (0 tools, 1 system, 2 messages), entry,
    block within it.
    """

    part: int
    entry: int
    block: int = 0


@lru_cache(maxsize=64)
def minimum_tokens(model: str) -> int:
    """The shortest prefix that the provider caches for this model (claude-code.md section 3.1);
    1,024 for models not listed there.
    """
    lowered = model.lower()
    return next((minimum for pattern, minimum in _MINIMA if pattern.search(lowered)), _MINIMUM)


def mark(
    body: JsonObject,
    *,
    same: int = 0,
    bare: int = 0,
    ttl: Lifetime = "5m",
    settled: bool = False,
    copied: Callable[[list[Any]], list[Any]] = list,
) -> JsonObject:
    """The request with its cache breakpoints; `body` and everything in it stay unmodified, and
    unchanged entries are shared.

    `unchanged_entries` is the number of entries at the start of `messages` that equal those of the
    previous request (0 for the first): all of its entries where the history only grew, fewer where
    something in it was edited. The first `unmarked_entries` entries are known to carry none of the
    host's breakpoints, and are not scanned again. `known_cacheable` says that the end of the
    unchanged prefix already had a breakpoint: its length is not measured again. `copy_list` copies
    the list of messages that breakpoints are put into, for a caller that already has a copy.

    A breakpoint is omitted where the prefix is shorter than the model caches, where a block cannot
    carry one (reasoning, empty text), where four are present already, and where its lifetime would
    break the order of the host's own (longer before shorter).
    """
    host = host_marks(body, bare)
    automatic = isinstance(body.get("cache_control"), dict)
    free = MARKS - len(host) - automatic
    marks: dict[Place, Lifetime] = {}
    for place in _wanted(body, same, automatic=automatic):
        if not (settled and place.part == 2) and not _reaches(body, place):
            continue
        lifetime = _fitting(place, host, ttl) if host else ttl
        if len(marks) < free and place not in host and lifetime is not None:
            marks[place] = lifetime
    return _with_marks(body, marks, copied) if marks else body


def _wanted(body: JsonObject, same: int, *, automatic: bool) -> list[Place]:
    """The candidate positions, most useful first."""
    wanted: list[Place] = []
    messages = _list(body.get("messages"))
    last = None if automatic else _last_markable(messages)
    if last is not None:
        wanted.append(last)
    system = _list(body.get("system"))
    ends = [index for index, block in enumerate(system) if _markable(block)]
    if isinstance(body.get("system"), str) and body["system"]:
        ends = [0]
    if ends:
        wanted.append(Place(1, ends[-1]))
    between = _between(messages, same)
    if between is not None and between not in wanted:
        wanted.append(between)
    return wanted


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _content(message: object) -> Sequence[object]:
    """The blocks of a message; a string counts as one block."""
    content = message.get("content") if isinstance(message, dict) else None
    return ({"type": "text", "text": content},) if isinstance(content, str) else _list(content)


def _markable(block: object) -> bool:
    if not isinstance(block, dict) or block.get("type") in _UNMARKABLE:
        return False
    return block.get("type") != "text" or bool(block.get("text"))


def _last_markable(messages: Sequence[object], end: int | None = None) -> Place | None:
    for entry in range((len(messages) if end is None else end) - 1, -1, -1):
        blocks = _content(messages[entry])
        for index in range(len(blocks) - 1, -1, -1):
            if _markable(blocks[index]):
                return Place(2, entry, index)
    return None


def _between(messages: Sequence[object], same: int) -> Place | None:
    """The end of the unchanged prefix, where so many blocks follow that the look-back from the last
    breakpoint would miss it.
    """
    if not 0 < same < len(messages):
        return None
    blocks = 0
    for entry in range(same, len(messages)):
        blocks += len(_content(messages[entry]))
        if blocks > STRIDE:
            return _last_markable(messages, same)
    return None


def host_marks(body: JsonObject, start: int = 0) -> Mapping[Place, str]:
    """Every breakpoint in the body, including those inside a tool result, with its lifetime; of the
    messages those from `start` on.
    """
    found: dict[Place, str] = {}
    for part, key in enumerate(("tools", "system")):
        for index, block in enumerate(_list(body.get(key))):
            if (lifetime := _lifetime(block)) is not None:
                found[Place(part, index)] = lifetime
    for entry, message in enumerate(_list(body.get("messages"))[start:], start):
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            continue
        for index, block in enumerate(content):
            if (lifetime := _lifetime(block)) is not None:
                found[Place(2, entry, index)] = lifetime
    return found


def _lifetime(block: object) -> str | None:
    if not isinstance(block, dict):
        return None
    own = block.get("cache_control")
    if isinstance(own, dict):
        return str(own.get("ttl", "5m"))
    inner = block.get("content")
    if not isinstance(inner, list):
        return None
    return next((lifetime for part in reversed(inner) if (lifetime := _lifetime(part)) is not None), None)


def _fitting(place: Place, host: Mapping[Place, str], asked: Lifetime) -> Lifetime | None:
    """The lifetime with which a breakpoint here keeps the order of the host's breakpoints; None
    where none does.
    """
    long_after = any(lifetime == "1h" and other > place for other, lifetime in host.items())
    short_before = any(lifetime != "1h" and other < place for other, lifetime in host.items())
    if long_after:
        return None if short_before else "1h"
    return "5m" if short_before else asked


def _prefix(body: JsonObject, place: Place) -> Iterator[object]:
    """Tools, system blocks and messages up to and including the entry of the position."""
    system = body.get("system")
    parts = (_list(body.get("tools")), [system] if isinstance(system, str) else _list(system), _list(body.get("messages")))
    for part, entries in enumerate(parts[: place.part + 1]):
        # Not a slice: the history may be long, and its beginning is enough.
        yield from islice(entries, place.entry + 1) if part == place.part else entries


def _reaches(body: JsonObject, place: Place) -> bool:
    """Whether the prefix up to this position is as long as the model caches; counted only until it
    is, and encoded only where the texts alone are too short to tell.
    """
    model = str(body.get("model", ""))
    needed = minimum_tokens(model) * BYTES_PER_TOKEN / family_factor(model)
    size = 0
    for entry in islice(body["messages"], place.entry + 1) if place.part == 2 else ():
        size += _text_length(entry)
        if size >= needed:
            return True
    return any(size >= needed for size in accumulate(len(_encode(entry)) for entry in _prefix(body, place)))


def _text_length(entry: object) -> int:
    """Characters of an entry's texts: a lower bound of the bytes of its encoded form."""
    if isinstance(entry, dict):
        entry = entry.get("content", entry.get("text"))
    if isinstance(entry, str):
        return len(entry)
    size = 0
    for block in _list(entry):
        if isinstance(block, dict):
            text = block.get("text", block.get("content"))
            size += len(text) if isinstance(text, str) else 0
    return size


def _with_marks(body: JsonObject, marks: Mapping[Place, Lifetime], copied: Callable[[list[Any]], list[Any]]) -> JsonObject:
    """The body with breakpoints added to system blocks and message blocks. Each list is copied
    once: the history may be long.
    """
    marked = dict(body)
    for place, ttl in marks.items():
        control: JsonObject = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
        key = "system" if place.part == 1 else "messages"
        value = marked[key]
        if isinstance(value, str):
            value = marked[key] = [{"type": "text", "text": value}]
        elif value is body[key]:
            value = marked[key] = copied(value) if place.part == 2 else list(value)
        value[place.entry] = _marked_entry(value[place.entry], place, control)
    return marked


def _marked_entry(entry: JsonObject, place: Place, control: JsonObject) -> JsonObject:
    if place.part == 1:
        return {**entry, "cache_control": control}
    blocks = list(_content(entry))
    block = blocks[place.block]
    blocks[place.block] = {**block, "cache_control": control} if isinstance(block, dict) else block
    return {**entry, "content": blocks}
