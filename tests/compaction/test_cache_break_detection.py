"""A fall of cache reads is noticed, and its cause is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.cache_break_detection import detect_cache_break, fingerprint_request
from memorist.core.messages import Usage
from memorist.events import CacheBroke

READ, GREP = (
    {"name": "Read", "input_schema": {"type": "object"}},
    {"name": "Grep", "input_schema": {"type": "object"}},
)


def text(said: str, ttl: str | None = None) -> dict[str, Any]:
    return {"type": "text", "text": said} | (
        {"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {}
    )


def body(**changes: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-4-6",
        "max_tokens": 1_000,
        "thinking": {"type": "adaptive"},
        "tools": [READ, GREP],
        "system": [text("rules"), text("folder", "5m")],
        "messages": [
            {"role": "user", "content": [text("one")]},
            {"role": "assistant", "content": [text("two", "5m")]},
        ],
    } | changes


def found(before: dict[str, Any], now: dict[str, Any], gap: float = 10.0) -> CacheBroke | None:
    return detect_cache_break(
        fingerprint_request(before),
        fingerprint_request(now),
        Usage(cache_read=50_000),
        Usage(cache_read=0),
        gap,
    )


@pytest.mark.covers("CP-19")
@pytest.mark.parametrize(
    ("change", "cause", "what"),
    [
        ({"tools": [READ]}, "tools", "removed: Grep"),
        ({"tools": [READ, GREP, {"name": "mcp__x"}]}, "tools", "added: mcp__x"),
        ({"tools": [READ, GREP | {"description": "new"}]}, "tools", "changed: Grep"),
        ({"tools": [GREP, READ]}, "tools", "order"),
        ({"system": [text("rules"), text("other folder", "5m")]}, "system", "block 1 of 2"),
        ({"system": "rules"}, "system", "block 1 of 1"),
        ({"model": "claude-opus-5"}, "model", "claude-opus-4-6 became claude-opus-5"),
        ({"thinking": {"type": "disabled"}}, "params", "changed: thinking"),
        ({"tool_choice": {"type": "none"}}, "params", "added: tool_choice"),
        ({"messages": [{"role": "user", "content": "another"}]}, "messages", "entry 0 of 1"),
        ({"messages": [{"role": "user", "content": "one"}]}, "messages", "first 1 of 2"),
    ],
)
def test_the_cause_is_what_the_sender_changed(
    change: dict[str, Any], cause: str, what: str
) -> None:
    """Which tool, which block, which parameter, which entry."""
    broken = found(body(), body(**change))

    assert broken is not None
    assert broken.cause == cause
    assert what in broken.what
    assert broken.tokens == 50_000


@pytest.mark.covers("CP-19")
def test_the_first_cause_in_order_is_named() -> None:
    """Tools stand before the system prompt, and what was sent before the time that passed."""
    broken = found(body(), body(tools=[READ], system="x", model="y", messages=[]), gap=9_999)

    assert broken is not None
    assert broken.cause == "tools"


@pytest.mark.covers("CP-19")
@pytest.mark.parametrize(
    ("marks", "gap", "cause", "what"),
    [
        ("5m", 299, "provider", "short"),
        ("5m", 301, "time", "5 min"),
        ("1h", 301, "provider", "short"),
        ("1h", 3_601, "time", "1 h"),
        (None, 301, "time", "5 min"),
    ],
)
def test_time_is_the_cause_when_the_lifetime_has_passed(
    marks: str | None, gap: float, cause: str, what: str
) -> None:
    """Five minutes explain nothing where every mark is for an hour; what nothing explains is the
    provider's.
    """
    same = body(
        system=[text("rules", marks)], messages=[{"role": "user", "content": [text("one", marks)]}]
    )
    broken = found(same, same, gap)

    assert broken is not None
    assert broken.cause == cause
    assert what in broken.what


@pytest.mark.covers("CP-19")
def test_lost_marks_are_named() -> None:
    """Without marks nothing is cached, though no byte of the text changed."""
    bare = body(system="rules\nfolder", messages=[])
    marked = bare | {"cache_control": {"type": "ephemeral"}}
    broken = found(marked, bare)

    assert broken is not None
    assert (broken.cause, "no cache mark" in broken.what) == ("marks", True)


@pytest.mark.covers("CP-19")
@pytest.mark.parametrize(
    ("before", "now", "flagged"),
    [
        (40_000, 38_000, False),
        (40_000, 37_999, True),
        (100_000, 95_000, False),
        (100_000, 94_999, True),
        (1_900, 0, False),
        (10, 20, False),
    ],
)
def test_small_falls_are_not_flagged(before: int, now: int, *, flagged: bool) -> None:
    """More than 5 % and more than 2,000 tokens (Claude Code)."""
    one = fingerprint_request(body())

    assert (
        detect_cache_break(one, one, Usage(cache_read=before), Usage(cache_read=now), 1.0)
        is not None
    ) is flagged


@pytest.mark.covers("CP-19")
def test_a_fall_that_we_caused_is_expected() -> None:
    """After a compaction of ours, and with nothing to compare with, nothing is flagged."""
    one, cut = fingerprint_request(body()), fingerprint_request(body(messages=[]))

    assert (
        detect_cache_break(one, cut, Usage(cache_read=50_000), Usage(), 1.0, expected=True) is None
    )
    assert detect_cache_break(one, cut, None, Usage(), 1.0) is None


@pytest.mark.covers("CP-19")
def test_moving_marks_and_a_growing_history_are_no_change() -> None:
    """Marks move every turn and a string is the same as its one block; then only the provider is
    left.
    """
    moved = body(
        system=[text("rules"), text("folder", "5m")],
        messages=[
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [text("two")]},
            {"role": "user", "content": [text("x", "5m")]},
        ],
    )
    broken = found(body(), moved)

    assert broken is not None
    assert broken.cause == "provider"


@pytest.mark.covers("CP-19")
def test_the_other_formats_are_read_too() -> None:
    """Instructions and input of Responses; functions of Chat Completions."""
    responses = {
        "model": "m",
        "instructions": "rules",
        "input": [{"role": "user", "content": "one"}],
        "tools": [{"type": "function", "name": "f"}],
    }
    chat = {
        "model": "m",
        "messages": [{"role": "system", "content": "rules"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }

    changes: list[dict[str, Any]] = [{"instructions": "x"}, {"reasoning": {}}, {"input": "y"}]
    causes = [
        broken.cause for change in changes if (broken := found(responses, responses | change))
    ]
    assert causes == ["system", "params", "messages"]
    broken = found(chat, chat | {"tools": []})
    assert broken is not None
    assert broken.what == "removed: f"


MESSAGES = st.lists(
    st.text("abc", min_size=1, max_size=4).map(lambda said: {"role": "user", "content": said}),
    max_size=8,
)


@pytest.mark.covers("CP-19")
@given(MESSAGES, MESSAGES)
def test_a_growing_history_keeps_its_hashes(
    history: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    """For any history that grows, the hashes of the earlier messages stay; they hold no text."""
    before = fingerprint_request(body(messages=history))
    grown = fingerprint_request(body(messages=[*history, *more]))

    assert grown.messages[: len(history)] == before.messages
    assert "rules" not in repr(before)
