"""Compaction that the provider does."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.compaction.provider_edits import (
    add_anthropic_compaction,
    add_openai_compaction,
    count_cleared_tokens,
    find_compaction_in_anthropic_reply,
    find_compaction_in_openai_reply,
)
from memorist.compaction.summary_parser import UnusableSummary

pytestmark = pytest.mark.covers("CP-13")

ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "abc"}


def test_anthropic_is_told_when_to_compact() -> None:
    """The trigger is never below what the API takes; the request itself is not changed."""
    body: dict[str, Any] = {"model": "m", "messages": []}

    change = add_anthropic_compaction(body, trigger=10_000)

    assert change.body["context_management"] == {
        "edits": [
            {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
        ]
    }
    assert change.betas == ("compact-2026-01-12",)
    assert "context_management" not in body
    assert add_anthropic_compaction(change.body, trigger=160_000).body is change.body


def test_the_compaction_block_of_a_reply_is_read() -> None:
    """None without one; unusable when it failed."""
    block = {"type": "compaction", "content": "so far", "signature": "s", "later": 1}

    assert find_compaction_in_anthropic_reply({"content": [{"type": "text", "text": "x"}]}) is False
    assert isinstance(
        find_compaction_in_anthropic_reply({"content": [{"type": "compaction", "content": None}]}),
        UnusableSummary,
    )
    assert (
        find_compaction_in_anthropic_reply({"content": [block], "stop_reason": "compaction"})
        is True
    )


def test_confirmed_edits_are_read_and_nonsense_is_nothing() -> None:
    """Whatever a reply holds there, reading does not fail."""
    edit = {"type": "clear_tool_uses_20250919", "cleared_input_tokens": 50, "cleared_tool_uses": 2}

    other = {"type": "clear_thinking_20251015", "cleared_input_tokens": 9}
    edits = [edit, 7, other, {**edit, "cleared_input_tokens": True}]
    assert count_cleared_tokens({"context_management": {"applied_edits": edits}}) == 50
    nonsense: list[dict[str, Any]] = [
        {},
        {"context_management": None},
        {"context_management": {"applied_edits": "x"}},
        {"context_management": []},
    ]
    for odd in nonsense:
        assert count_cleared_tokens(odd) == 0


def test_openai_is_told_its_threshold() -> None:
    """Beside what the host set; a host's own compaction entry holds."""
    body: dict[str, Any] = {"model": "m", "input": [], "context_management": [{"type": "other"}]}

    change = add_openai_compaction(body, threshold=200_000)

    assert change["context_management"] == [
        {"type": "other"},
        {"type": "compaction", "compact_threshold": 200_000},
    ]
    assert add_openai_compaction(change, threshold=5) == change
    assert body["context_management"] == [{"type": "other"}]


def test_exactly_one_compaction_item_is_taken() -> None:
    """None in an ordinary reply; two, or an empty one, is unusable."""
    assert find_compaction_in_openai_reply({"object": "response", "output": []}) is False
    assert find_compaction_in_openai_reply({"output": [{"type": "message"}, ITEM]}) is True
    for odd in (
        {"output": [ITEM, ITEM]},
        {"output": [{"type": "compaction", "encrypted_content": ""}]},
    ):
        assert isinstance(find_compaction_in_openai_reply(odd), UnusableSummary)
