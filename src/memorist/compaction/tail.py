"""The plain tail window: the newest messages that fit, whole. The simplest strategy, and the
baseline for the others. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.compaction.result import Compacted, Cut
from memorist.core.messages import Message
from memorist.core.pairing import safe_starts
from memorist.core.tokens import estimate_message


def tail_start(sizes: Sequence[int], starts: Sequence[int], budget: int) -> int:
    """The first index in `starts` (ascending) from which all messages fit `budget`; the number of
    messages where there is none.
    """
    size = sum(sizes)
    before = 0
    for start in starts:
        size -= sum(sizes[before:start])
        before = start
        if size <= budget:
            return start
    return len(sizes)


def tail(messages: Sequence[Message], budget: int, *, factor: float = 1.0) -> Compacted:
    """The newest messages within `budget` estimated tokens, whole and in order; neither pairs nor
    replies are split (CP-10).

    Nothing is left where the newest reply with its results alone is larger.
    """
    sizes = [estimate_message(message, factor) for message in messages]
    first = tail_start(sizes, safe_starts(messages), budget)
    return Compacted(
        strategy="tail",
        messages=tuple(messages[first:]),
        tokens_before=sum(sizes),
        tokens_after=sum(sizes[first:]),
        cut=tuple(Cut(message.id, size, "older than the window") for message, size in zip(messages[:first], sizes[:first], strict=True)),
    )
