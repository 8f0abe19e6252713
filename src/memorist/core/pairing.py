"""Tool calls and their results belong together; what follows from that for a history."""

from __future__ import annotations

from memorist.core.messages import Message, ToolResult, ToolUse


class OpenCalls:
    """The tool calls that have no result yet, as messages are added in order."""

    def __init__(self) -> None:
        self._open: dict[str, ToolUse] = {}

    def add(self, message: Message) -> None:
        """Take one more message into account."""
        for block in message.blocks:
            if isinstance(block, ToolUse):
                self._open[block.id] = block
            elif isinstance(block, ToolResult):
                self._open.pop(block.tool_use_id, None)

    def clear(self) -> None:
        """Forget all: the history was replaced."""
        self._open.clear()

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The open calls, oldest first."""
        return tuple(self._open.values())

    def __bool__(self) -> bool:
        return bool(self._open)
