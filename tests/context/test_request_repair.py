"""A request that a provider would refuse, made into one that it takes."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.context.history_repair import repair_request
from memorist.errors import WireFormatError
from memorist.testing.request_checks import find_request_problem


def is_refused(body: dict[str, Any], spoken: str) -> bool:
    return find_request_problem(spoken, body, window=1_000, tokens=1) is not None


def call(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "run", "arguments": "{}"}}


CHAT: dict[str, Any] = {
    "model": "m",
    "temperature": 0.2,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Run both."},
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "fine"},
        {"role": "user", "content": "Leave it. What is left?"},
    ],
}
ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Run it."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "r", "input": {}}],
        },
        {"role": "user", "content": "Leave it. What is left?"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": [
        {"type": "function_call", "call_id": "a", "name": "r", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "gone", "output": "of no call"},
        {"role": "user", "content": "Leave it."},
    ],
}


@pytest.mark.parametrize(
    ("spoken", "body"),
    [("openai_chat", CHAT), ("anthropic", ANTHROPIC), ("openai_responses", RESPONSES)],
)
def test_a_call_without_a_result_gets_one(spoken: str, body: dict[str, Any]) -> None:
    """The rest of the request stays as it is, a second repair changes nothing, and so does one of
    the longer history: what was sent is sent again.
    """
    repaired = repair_request(body, spoken)

    assert is_refused(body, spoken)
    assert not is_refused(repaired, spoken)
    assert repair_request(repaired, spoken) is repaired
    key = "input" if spoken == "openai_responses" else "messages"
    assert {**repaired, key: None} == {**body, key: None}
    longer = {**body, key: [*body[key], {"role": "assistant", "content": "Nothing."}]}
    assert repair_request(longer, spoken)[key][:-1] == repaired[key]


def test_a_valid_request_is_the_same_object() -> None:
    """So is one whose calls the provider has."""
    valid = {"model": "m", "messages": CHAT["messages"][:2]}
    stored = {**RESPONSES, "previous_response_id": "resp_1"}

    assert repair_request(valid, "openai_chat") is valid
    assert repair_request(stored, "openai_responses") is stored
    with pytest.raises(WireFormatError):
        repair_request(valid, "gemini")
