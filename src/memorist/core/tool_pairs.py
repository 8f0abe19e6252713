"""Tool calls and their results belong together, and so do the records of one reply. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from memorist.core.messages import (
    Message,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)


class OpenToolCalls:
    """The tool calls without a result so far, as messages are added in order."""

    def __init__(self) -> None:
        self._open: dict[str, ToolUse] = {}

    def add(self, message: Message) -> None:
        """Account for one more message."""
        for block in message.blocks:
            if isinstance(block, ToolUse):
                self._open[block.id] = block
            elif isinstance(block, ToolResult):
                self._open.pop(block.tool_use_id, None)

    def clear(self) -> None:
        """Forget every call, because the history was replaced."""
        self._open.clear()

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The open calls, oldest first."""
        return tuple(self._open.values())

    def __bool__(self) -> bool:
        return bool(self._open)


def starts_reply(message: Message, previous: Message | None) -> bool:
    """Whether `message`, which follows `previous`, begins a new reply of the model.

    A new reply id begins one. Where the wire gives no ids, the first assistant message after
    another role's message does.
    """
    if message.role != "assistant":
        return False
    if message.reply_id is not None:
        return previous is None or previous.reply_id != message.reply_id
    return previous is None or previous.role != "assistant" or previous.reply_id is not None


def find_cut_points(messages: Sequence[Message]) -> tuple[int, ...]:
    """Find every index at which a history may be cut, ascending: 0, and each index that separates
    neither a call from its result nor the records of one reply.

    The number of messages (nothing kept) is included unless the newest reply waits for a tool
    result. A call that a later reply followed without a result, and a result without its call, bind
    nothing. A message of reasoning alone belongs to the assistant message after it. Runs in linear
    time.
    """
    steps = [0] * (len(messages) + 1)
    for first, last in _find_bonds(messages):
        # Cutting at first + 1 … last would part the two.
        steps[first + 1] += 1
        if last + 1 <= len(messages):
            steps[last + 1] -= 1
    return tuple(index for index, bound in enumerate(accumulate(steps)) if bound == 0)


def move_back_to_cut_point(messages: Sequence[Message], index: int) -> int:
    """The nearest index at or before `index` at which the history may be cut."""
    starts = find_cut_points(messages)
    return starts[bisect_right(starts, index) - 1] if starts else 0


def _find_bonds(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Pairs (first, last) of indexes that must stay on the same side of a cut; `last` is the number
    of messages for a call that is still open.
    """
    bonds: list[tuple[int, int]] = []
    calls: dict[str, int] = {}
    replies: dict[str, int] = {}
    newest_reply = 0
    answering: Message | None = None
    for index, message in enumerate(messages):
        before = messages[index - 1] if index else None
        if message.role == "assistant" and starts_reply(
            message, answering if message.reply_id is not None else before
        ):
            newest_reply = index
        if message.role == "assistant":
            answering = message
        if message.reply_id is not None:
            bonds.append((replies.setdefault(message.reply_id, index), index))
        elif before is not None and _is_only_thinking(before) and message.role == "assistant":
            bonds.append((index - 1, index))
        for block in message.blocks:
            if isinstance(block, ToolUse):
                calls[block.id] = index
            elif isinstance(block, ToolResult) and block.tool_use_id in calls:
                bonds.append((calls.pop(block.tool_use_id), index))
    return bonds + [(index, len(messages)) for index in calls.values() if index >= newest_reply]


def _is_only_thinking(message: Message) -> bool:
    return (
        message.role == "assistant"
        and message.reply_id is None
        and bool(message.blocks)
        and all(
            isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in message.blocks
        )
    )


def holds_same_objects(left: Sequence[object], right: Sequence[object]) -> bool:
    """Whether two lists of messages or blocks hold the very same objects, so that nothing was
    changed.
    """
    return len(left) == len(right) and all(
        one is other for one, other in zip(left, right, strict=True)
    )
