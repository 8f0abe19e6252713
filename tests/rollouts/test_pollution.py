"""Which sessions took in content from outside."""

from __future__ import annotations

import pytest

from memorist.core.messages import Block, Message, Origin, TextBlock, ToolUse, UnknownBlock
from memorist.rollouts.structural_task_log import message_involves_web_or_mcp


def message(*blocks: Block) -> Message:
    return Message(id="m", role="assistant", origin=Origin.MODEL, blocks=blocks)


@pytest.mark.covers("RO-9")
@pytest.mark.parametrize(
    "block",
    [
        ToolUse(id="1", name="WebSearch", input={}),
        ToolUse(id="1", name="mcp__memory__recall", input={}),
        ToolUse(id="1", name="recall", input={}, namespace="mcp__memory"),
        UnknownBlock(
            kind="web_search_call", raw={"type": "web_search_call", "status": "completed"}
        ),
        UnknownBlock(kind="mcp_tool_use", raw={"type": "mcp_tool_use", "name": "x"}),
        UnknownBlock(kind="tool_search_output", raw={"type": "tool_search_output", "tools": []}),
    ],
    ids=str,
)
def test_the_web_and_mcp_servers_pollute(block: Block) -> None:
    """By the tool's name, by its namespace, by the kind of the item."""
    assert message_involves_web_or_mcp(message(block))
    assert message_involves_web_or_mcp(message(TextBlock(text="hi"), block))


@pytest.mark.covers("RO-9")
@pytest.mark.parametrize(
    "block",
    [
        ToolUse(id="1", name="Bash", input={"command": "curl https://example.org"}),
        ToolUse(id="1", name="Grep", input={"pattern": "mcp__"}),
        TextBlock(text="I looked it up with WebSearch"),
        UnknownBlock(kind="reasoning", raw={"type": "reasoning", "name": 3}),
    ],
    ids=str,
)
def test_the_sessions_own_tools_and_words_do_not(block: Block) -> None:
    """Nor does talk of such tools. A command that fetches something is not told apart from others."""
    assert not message_involves_web_or_mcp(message(block))
