"""The plain tail window: the newest messages that fit, whole. The simplest compaction, and what others are measured against. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.compaction.result import Compacted, Cut
from memorist.core.messages import Message
from memorist.core.tokens import estimate_message


def atoms(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """The history in pieces that must stay together, as (start, end): a tool use with its result, the records of one reply (CP-10).

    What stands between the two ends of a pair is in the piece as well. A result whose use is missing, and a use without result, stand alone.
    """
    last: dict[str, int] = {}
    for index, message in enumerate(messages):
        for key in _keys(message):
            last[key] = index
    pieces: list[tuple[int, int]] = []
    start = end = 0
    for index, message in enumerate(messages):
        if index > end:
            pieces.append((start, end + 1))
            start = end = index
        end = max([end, *(last[key] for key in _keys(message))])
    if messages:
        pieces.append((start, len(messages)))
    return pieces


def _keys(message: Message) -> list[str]:
    keys = [f"call {use.id}" for use in message.tool_uses] + [f"call {result.tool_use_id}" for result in message.tool_results]
    return [*keys, f"reply {message.reply_id}"] if message.reply_id is not None else keys


def tail_start(sizes: Sequence[int], pieces: Sequence[tuple[int, int]], budget: int) -> int:
    """Index of the first message of the longest run of whole pieces at the end that fits; the number of messages where none does."""
    room = budget
    first = pieces[-1][1] if pieces else 0
    for start, end in reversed(pieces):
        room -= sum(sizes[start:end])
        if room < 0:
            break
        first = start
    return first


def tail(messages: Sequence[Message], budget: int, *, factor: float = 1.0) -> Compacted:
    """The newest messages within `budget` estimated tokens, whole and in order. Nothing is left where the last piece alone is larger."""
    sizes = [estimate_message(message, factor) for message in messages]
    first = tail_start(sizes, atoms(messages), budget)
    return Compacted(
        strategy="tail",
        messages=tuple(messages[first:]),
        tokens_before=sum(sizes),
        tokens_after=sum(sizes[first:]),
        cut=tuple(Cut(message.id, size, "older than the window") for message, size in zip(messages[:first], sizes[:first], strict=True)),
    )
