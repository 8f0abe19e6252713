"""Choose the newest messages that stay unchanged beside an extractive summary. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from memorist.compaction.tail import tail_start
from memorist.core.messages import Message, Origin, Text, ToolResult
from memorist.core.pairing import safe_starts
from memorist.core.tokens import estimate_message, estimate_text
from memorist.core.truncate import cut_middle

TAIL_SHARE = 0.15
"""Share of the budget for the newest messages. Between 0.1 and 0.3 it makes no difference to what
is kept of the earlier conversation; the assistant's next step relies on them.
"""

_MARK = 12
"""Tokens of the mark that `cut_middle` inserts."""


class Window(Struct, frozen=True):
    """The messages from index `first` on, as they are kept."""

    first: int
    messages: tuple[Message, ...]
    tokens: int


def window(messages: Sequence[Message], sizes: Sequence[int], budget: int, *, needed: int, factor: float) -> Window:
    """The newest messages that fit and can be cut off without splitting pairs or replies. Two
    things stay whatever they cost: a new request of the user, and calls that wait for a result.

    `needed` tokens are reserved for the last request where it is not kept as a message. Results
    beside a waiting call are shortened where they would not fit.
    """
    starts = safe_starts(messages)
    end = len(messages)
    first = tail_start(sizes, starts, max(0, min(int(budget * TAIL_SHARE), budget - needed)))
    newest = max((start for start in starts if start < end), default=0)
    if first <= newest or (end in starts and messages[-1].origin is not Origin.USER):
        return Window(first, tuple(messages[first:]), sum(sizes[first:]))
    kept = tuple(messages[newest:])
    if sum(sizes[newest:]) > budget - needed:
        kept = _shortened(kept, int((budget - needed) / factor))
    return Window(newest, kept, sum(estimate_message(message, factor) for message in kept))


def _shortened(kept: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """The messages with their results cut to equal size, so that all fit where possible."""
    results = [result for message in kept for result in message.tool_results]
    if not results:
        return kept
    fixed = sum(estimate_message(message) for message in kept) - sum(estimate_text(result.text) for result in results)
    most = max(1, (room - fixed) // len(results) - _MARK)
    return tuple(_cut(message, most) if message.tool_results else message for message in kept)


def _cut(message: Message, most: int) -> Message:
    blocks = tuple(
        msgspec.structs.replace(block, content=(Text(cut_middle(block.text, most)),)) if isinstance(block, ToolResult) else block
        for block in message.blocks
    )
    return msgspec.structs.replace(message, blocks=blocks)
