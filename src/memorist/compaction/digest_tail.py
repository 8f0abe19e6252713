"""Which messages stay as they are beside a digest. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from memorist.compaction.tail import atoms, tail_start
from memorist.core.messages import Message, Origin, Text, ToolResult
from memorist.core.pairing import OpenCalls
from memorist.core.tokens import estimate_message
from memorist.core.truncate import cut_middle

TAIL_SHARE = 0.2
"""Part of the budget for newest messages as they are. Measured between 0.1 and 0.3 it makes no difference to what is kept of the earlier
conversation; the assistant's next step rests on them."""


class Window(Struct, frozen=True):
    """The messages from index `first` on, as they stay."""

    first: int
    messages: tuple[Message, ...]
    tokens: int


def window(messages: Sequence[Message], sizes: Sequence[int], budget: int, *, needed: int, factor: float) -> Window:
    """The newest messages, whole pieces only. What must stay does: a new request of the user, and calls that wait for a result.

    `needed` tokens are wanted for the last request where it does not stay as a message. Results beside a waiting call are shortened where they would
    not fit.
    """
    found = atoms(messages)
    first = tail_start(sizes, found, max(0, min(int(budget * TAIL_SHARE), budget - needed)))
    start = found[-1][0] if found else 0
    if first > start and _must_stay(messages[start:]):
        last = tuple(messages[start:])
        if sum(sizes[start:]) > budget // 2:
            last = tuple(_shortened(message, budget // 2, len(last)) for message in last)
        return Window(start, last, sum(estimate_message(message, factor) for message in last))
    return Window(first, tuple(messages[first:]), sum(sizes[first:]))


def _must_stay(piece: Sequence[Message]) -> bool:
    calls = OpenCalls()
    for message in piece:
        calls.add(message)
    return bool(calls) or piece[-1].origin is Origin.USER


def _shortened(message: Message, room: int, share: int) -> Message:
    """The message with its results cut to an equal share of the room."""
    results = message.tool_results
    if not results:
        return message
    most = max(20, room // (share * len(results)) // 2)
    if estimate_message(message) <= most:
        return message
    blocks = tuple(
        msgspec.structs.replace(block, content=(Text(cut_middle(block.text, most)),)) if isinstance(block, ToolResult) else block
        for block in message.blocks
    )
    return msgspec.structs.replace(message, blocks=blocks)
