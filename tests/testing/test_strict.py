"""The scripted model refuses what the providers refuse."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.testing.request_checks import find_request_problem

MARKED = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
USE = {"type": "tool_use", "id": "t1", "name": "n", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
FUNCTION = {"type": "function_call", "call_id": "c1", "name": "n", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "n", "arguments": "{}"}}],
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
HELLO = {"role": "user", "content": "hello"}


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def anthropic(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 1, "messages": list(messages), **more}


GOOD = [
    ("anthropic", anthropic(HELLO)),
    (
        "anthropic",
        anthropic(
            HELLO, said("assistant", USE), said("user", RESULT, {"type": "text", "text": "and"})
        ),
    ),
    (
        "anthropic",
        anthropic(
            HELLO,
            said("assistant", USE),
            said("user", RESULT),
            said("user", {"type": "text", "text": "more"}),
        ),
    ),
    (
        "anthropic",
        anthropic(
            said("user", MARKED, MARKED),
            system=[MARKED],
            tools=[{"name": "t", "cache_control": {"type": "ephemeral"}}],
        ),
    ),
    ("openai_responses", {"model": "m", "input": "hello"}),
    (
        "openai_responses",
        {"model": "m", "input": [FUNCTION, {"role": "developer", "content": "hook"}, OUTPUT]},
    ),
    ("openai_responses", {"model": "m", "input": [OUTPUT], "previous_response_id": "r"}),
    (
        "openai_responses",
        {
            "model": "m",
            "input": [{"type": "made_up"}, {"type": "compaction", "encrypted_content": "x"}],
        },
    ),
    ("openai_chat", {"model": "m", "messages": [HELLO, CALLING, ANSWER, HELLO]}),
]
BAD = [
    ("anthropic", {"max_tokens": 1, "messages": [HELLO]}, "model"),
    ("anthropic", {"model": "m", "messages": [HELLO]}, "max_tokens"),
    ("anthropic", anthropic(), "at least one message"),
    ("anthropic", anthropic(said("assistant", {"type": "text", "text": "x"})), "first message"),
    ("anthropic", anthropic(said("user", {"type": "text", "text": ""})), "non-empty"),
    ("anthropic", anthropic(HELLO, said("assistant", USE)), "without `tool_result`"),
    ("anthropic", anthropic(HELLO, said("assistant", USE), HELLO), "without `tool_result`"),
    ("anthropic", anthropic(said("user", RESULT)), "unexpected `tool_use_id`"),
    (
        "anthropic",
        anthropic(HELLO, said("assistant", USE), said("user", RESULT, RESULT)),
        "single result",
    ),
    ("anthropic", anthropic(HELLO, said("assistant", USE, USE), said("user", RESULT)), "unique"),
    ("anthropic", anthropic(said("user", *[MARKED] * 5)), "maximum of 4"),
    ("anthropic", anthropic({"role": "tool", "content": "x"}, HELLO), "role"),
    ("openai_responses", {"model": "m"}, "input"),
    (
        "openai_responses",
        {"model": "m", "input": [FUNCTION]},
        "No tool output found for function call c1",
    ),
    ("openai_responses", {"model": "m", "input": [OUTPUT]}, "No tool call found"),
    ("openai_chat", {"model": "m", "messages": []}, "at least one message"),
    ("openai_chat", {"model": "m", "messages": [HELLO, CALLING]}, "tool_call_id"),
    ("openai_chat", {"model": "m", "messages": [HELLO, CALLING, HELLO, ANSWER]}, "tool_call_id"),
    ("openai_chat", {"model": "m", "messages": [HELLO, ANSWER]}, "role 'tool'"),
]


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(("wire_format", "body"), GOOD)
def test_a_legal_request_is_taken(wire_format: str, body: dict[str, Any]) -> None:
    """Nothing is refused that a provider takes; a hook's message may stand between a call and its
    output.
    """
    assert find_request_problem(wire_format, body, window=100, tokens=50) is None


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(("wire_format", "body", "word"), BAD)
def test_an_illegal_request_is_refused_with_the_reason(
    wire_format: str, body: dict[str, Any], word: str
) -> None:
    """Each rule speaks for itself."""
    problem = find_request_problem(wire_format, body, window=100, tokens=50)

    assert problem is not None
    assert problem.status == 400
    assert word in problem.message


@pytest.mark.covers("CP-2")
@pytest.mark.parametrize(("wire_format", "body"), [GOOD[0], GOOD[4], GOOD[8]])
def test_a_request_beyond_the_window_is_refused(wire_format: str, body: dict[str, Any]) -> None:
    """One token more than the window is too many."""
    assert find_request_problem(wire_format, body, window=100, tokens=100) is None
    problem = find_request_problem(wire_format, body, window=100, tokens=101)

    assert problem is not None
    assert "maximum" in problem.message
