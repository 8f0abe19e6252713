"""Choose the cache breakpoints of an Anthropic request (CP-18; Claude Code).
Pure.

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
from memorist.core.token_count import BYTES_PER_TOKEN, get_token_factor

MAX_BREAKPOINTS = 4
"""Breakpoints allowed per request; the automatic one (`cache_control` beside the messages) counts.
"""

LOOKBACK_BLOCKS = 15
"""Blocks after the unchanged prefix above which it gets its own breakpoint: the look-back is about
20 (Claude Code), with some margin.
"""

CacheLifetime = Literal["5m", "1h"]

_MINIMUM_BY_MODEL = (
    (re.compile(r"opus-5"), 512),
    (re.compile(r"opus-4-7"), 2_048),
    (re.compile(r"opus-4-[56]|haiku-4-5"), 4_096),
)
_DEFAULT_MINIMUM = 1_024
_UNMARKABLE_TYPES = frozenset({"thinking", "redacted_thinking"})
_encode = msgspec.json.Encoder().encode


class CacheOrderPosition(Struct, frozen=True, order=True):
    """Position of a block in the order of the cache: part (0 tools, 1 system, 2 messages), entry,
    block within it.
    """

    part: int
    entry: int
    block: int = 0


_AUTOMATIC = CacheOrderPosition(3, 0)
"""Where the provider puts the automatic breakpoint: behind all others."""


@lru_cache(maxsize=64)
def get_minimum_cacheable_tokens(model: str) -> int:
    """The shortest prefix that the provider caches for this model (Claude Code);
    1,024 for models not listed there.
    """
    lowered = model.lower()
    return next(
        (minimum for pattern, minimum in _MINIMUM_BY_MODEL if pattern.search(lowered)),
        _DEFAULT_MINIMUM,
    )


def add_cache_breakpoints(
    body: JsonObject,
    *,
    unchanged_entries: int = 0,
    unmarked_entries: int = 0,
    known_cacheable: bool = False,
    copy_list: Callable[[list[Any]], list[Any]] = list,
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
    host = find_host_breakpoints(body, unmarked_entries)
    automatic = list_mark_lifetimes({"cache_control": body.get("cache_control")})
    if automatic:
        host = {**host, _AUTOMATIC: automatic}
    free = MAX_BREAKPOINTS - sum(map(len, host.values()))
    marks: dict[CacheOrderPosition, CacheLifetime] = {}
    for position in _find_wanted_positions(body, unchanged_entries, automatic=bool(automatic)):
        if not (known_cacheable and position.part == 2) and not _is_cacheable(body, position):
            continue
        lifetime = _choose_lifetime(position, host) if host else "5m"
        if len(marks) < free and position not in host and lifetime is not None:
            marks[position] = lifetime
    return _insert_breakpoints(body, marks, copy_list) if marks else body


def _find_wanted_positions(
    body: JsonObject, same: int, *, automatic: bool
) -> list[CacheOrderPosition]:
    """The candidate positions, most useful first."""
    wanted: list[CacheOrderPosition] = []
    messages = _as_list(body.get("messages"))
    last = None if automatic else _find_last_markable(messages)
    if last is not None:
        wanted.append(last)
    system = _as_list(body.get("system"))
    ends = [index for index, block in enumerate(system) if _is_markable(block)]
    if isinstance(body.get("system"), str) and body["system"]:
        ends = [0]
    if ends:
        wanted.append(CacheOrderPosition(1, ends[-1]))
    between = _find_middle_position(messages, same)
    if between is not None and between not in wanted:
        wanted.append(between)
    return wanted


def _as_list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _content_blocks(message: object) -> Sequence[object]:
    """The blocks of a message; a string counts as one block."""
    content = message.get("content") if isinstance(message, dict) else None
    return ({"type": "text", "text": content},) if isinstance(content, str) else _as_list(content)


def _is_markable(block: object) -> bool:
    if not isinstance(block, dict) or block.get("type") in _UNMARKABLE_TYPES:
        return False
    return block.get("type") != "text" or bool(block.get("text"))


def _find_last_markable(
    messages: Sequence[object], end: int | None = None
) -> CacheOrderPosition | None:
    for entry in range((len(messages) if end is None else end) - 1, -1, -1):
        blocks = _content_blocks(messages[entry])
        for index in range(len(blocks) - 1, -1, -1):
            if _is_markable(blocks[index]):
                return CacheOrderPosition(2, entry, index)
    return None


def _find_middle_position(messages: Sequence[object], same: int) -> CacheOrderPosition | None:
    """The end of the unchanged prefix, where so many blocks follow that the look-back from the last
    breakpoint would miss it.
    """
    if not 0 < same < len(messages):
        return None
    blocks = 0
    for entry in range(same, len(messages)):
        blocks += len(_content_blocks(messages[entry]))
        if blocks > LOOKBACK_BLOCKS:
            return _find_last_markable(messages, same)
    return None


def find_host_breakpoints(
    body: JsonObject, start: int = 0
) -> Mapping[CacheOrderPosition, tuple[str, ...]]:
    """The lifetimes of the breakpoints on each block of the body that has any, those inside a tool
    result included; of the messages those from `start` on.
    """
    found: dict[CacheOrderPosition, tuple[str, ...]] = {}
    for part, key in enumerate(("tools", "system")):
        for index, block in enumerate(_as_list(body.get(key))):
            if lifetimes := list_mark_lifetimes(block):
                found[CacheOrderPosition(part, index)] = lifetimes
    for entry, message in enumerate(_as_list(body.get("messages"))[start:], start):
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            continue
        for index, block in enumerate(content):
            if lifetimes := list_mark_lifetimes(block):
                found[CacheOrderPosition(2, entry, index)] = lifetimes
    return found


def list_mark_lifetimes(block: object) -> tuple[str, ...]:
    """The lifetimes of the cache marks in and on a block, in order (`5m`, `1h`)."""
    if not isinstance(block, dict):
        return ()
    own, inner = block.get("cache_control"), block.get("content")
    return (
        *(each for part in _as_list(inner) for each in list_mark_lifetimes(part)),
        *((str(own.get("ttl", "5m")),) if isinstance(own, dict) else ()),
    )


def _choose_lifetime(
    position: CacheOrderPosition, host: Mapping[CacheOrderPosition, tuple[str, ...]]
) -> CacheLifetime | None:
    """The lifetime with which a breakpoint here keeps the order of the host's breakpoints: five
    minutes, unless the host has one for an hour behind it; None where none keeps it.
    """
    long_after = any("1h" in lifetimes and other > position for other, lifetimes in host.items())
    if not long_after:
        return "5m"
    short_before = any(
        set(lifetimes) != {"1h"} and other < position for other, lifetimes in host.items()
    )
    return None if short_before else "1h"


def _iterate_prefix(body: JsonObject, position: CacheOrderPosition) -> Iterator[object]:
    """Tools, system blocks and messages up to and including the entry of the position."""
    system = body.get("system")
    parts = (
        _as_list(body.get("tools")),
        [system] if isinstance(system, str) else _as_list(system),
        _as_list(body.get("messages")),
    )
    for part, entries in enumerate(parts[: position.part + 1]):
        # islice, not a slice: the history may be long, and only its beginning is needed.
        yield from islice(entries, position.entry + 1) if part == position.part else entries


def _is_cacheable(body: JsonObject, position: CacheOrderPosition) -> bool:
    """Whether the prefix up to this position is as long as the model caches; counted only until it
    is, and encoded only where the texts alone are too short to tell.
    """
    model = str(body.get("model", ""))
    needed = get_minimum_cacheable_tokens(model) * BYTES_PER_TOKEN / get_token_factor(model)
    size = 0
    for entry in islice(body["messages"], position.entry + 1) if position.part == 2 else ():
        size += _text_length(entry)
        if size >= needed:
            return True
    return any(
        size >= needed
        for size in accumulate(len(_encode(entry)) for entry in _iterate_prefix(body, position))
    )


def _text_length(entry: object) -> int:
    """Characters of an entry's texts: a lower bound of the bytes of its encoded form."""
    if isinstance(entry, dict):
        entry = entry.get("content", entry.get("text"))
    if isinstance(entry, str):
        return len(entry)
    size = 0
    for block in _as_list(entry):
        if isinstance(block, dict):
            text = block.get("text", block.get("content"))
            size += len(text) if isinstance(text, str) else 0
    return size


def _insert_breakpoints(
    body: JsonObject,
    marks: Mapping[CacheOrderPosition, CacheLifetime],
    copied: Callable[[list[Any]], list[Any]],
) -> JsonObject:
    """The body with breakpoints added to system blocks and message blocks. Each list is copied
    once: the history may be long.
    """
    marked = dict(body)
    for position, ttl in marks.items():
        control: JsonObject = (
            {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
        )
        key = "system" if position.part == 1 else "messages"
        value = marked[key]
        if isinstance(value, str):
            value = marked[key] = [{"type": "text", "text": value}]
        elif value is body[key]:
            value = marked[key] = copied(value) if position.part == 2 else list(value)
        value[position.entry] = _mark_entry(value[position.entry], position, control)
    return marked


def _mark_entry(entry: JsonObject, position: CacheOrderPosition, control: JsonObject) -> JsonObject:
    if position.part == 1:
        return {**entry, "cache_control": control}
    blocks = list(_content_blocks(entry))
    block = blocks[position.block]
    blocks[position.block] = (
        {**block, "cache_control": control} if isinstance(block, dict) else block
    )
    return {**entry, "content": blocks}
