"""Baseline strategy: clear old tool results, then keep a tail window. Used for comparison in
benchmarks. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memorist.compaction.result import Compacted, Cut
from memorist.compaction.tail import tail
from memorist.core.messages import Block, Message, Text, ToolResult
from memorist.core.tokens import estimate_message, estimate_text

KEEP = 5
"""Newest results that are kept (claude-code.md section 15 and CP-5 keep as many)."""

CLEARED = "[old tool result cleared]"
"""Shorter than microcompact's text: what is cleared here, as in other agents, cannot be fetched
back.
"""


def clear(messages: Sequence[Message], keep: int = KEEP) -> tuple[Message, ...]:
    """The messages with all but the newest `keep` tool results replaced by a short text. Messages
    without such a result are the same objects.
    """
    left = keep
    cleared: list[Message] = []
    for message in reversed(messages):
        results = len(message.tool_results)
        cleared.append(message if results <= left else _cleared(message, left))
        left = max(0, left - results)
    return tuple(reversed(cleared))


def _cleared(message: Message, keep: int) -> Message:
    doomed = len(message.tool_results) - keep
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolResult):
            doomed -= 1
            blocks.append(
                block if doomed < 0 or len(block.text) <= len(CLEARED) else msgspec.structs.replace(block, content=(Text(CLEARED),))
            )
        else:
            blocks.append(block)
    return msgspec.structs.replace(message, blocks=tuple(blocks))


def clear_and_tail(messages: Sequence[Message], budget: int, *, keep: int = KEEP, factor: float = 1.0) -> Compacted:
    """Clear old tool results, then keep the newest messages within `budget` estimated tokens."""
    if sum(estimate_message(message, factor) for message in messages) <= budget:
        return msgspec.structs.replace(tail(messages, budget, factor=factor), strategy="clearing")
    cleared = clear(messages, keep)
    made = tail(cleared, budget, factor=factor)
    start = len(cleared) - len(made.messages)
    emptied = [cut for old, new in zip(messages[start:], made.messages, strict=True) for cut in _emptied(old, new, factor)]
    before = sum(estimate_message(message, factor) for message in messages)
    return msgspec.structs.replace(made, strategy="clearing", tokens_before=before, cut=(*made.cut, *emptied))


def _emptied(old: Message, new: Message, factor: float) -> list[Cut]:
    pairs = zip(old.tool_results, new.tool_results, strict=True)
    return [
        Cut(was.tool_use_id, estimate_text(was.text, factor) - estimate_text(now.text, factor), "an old tool result")
        for was, now in pairs
        if was is not now
    ]
