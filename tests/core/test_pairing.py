"""Calls and their results."""

from __future__ import annotations

from memorist.core.messages import Message, Origin, Text, ToolResult, ToolUse
from memorist.core.pairing import OpenCalls


def test_a_call_is_open_until_its_result_comes() -> None:
    """Parallel calls close one by one."""
    calls = OpenCalls()
    calls.add(Message(id="a", role="assistant", blocks=(ToolUse("1", "Read", {}), ToolUse("2", "Bash", {})), origin=Origin.MODEL))
    calls.add(Message(id="b", role="user", blocks=(ToolResult("1", (Text("ok"),)),), origin=Origin.TOOL))

    assert [call.id for call in calls.calls] == ["2"]


def test_a_result_without_its_call_changes_nothing() -> None:
    """Orphans are not counted below zero."""
    calls = OpenCalls()
    calls.add(Message(id="b", role="user", blocks=(ToolResult("9", ()),), origin=Origin.TOOL))

    assert not calls
