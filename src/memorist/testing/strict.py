"""What the real providers refuse: unpaired calls and results, cache marks, roles, window. Pure.

The messages are ours; they hold the words by which clients recognise the providers' errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.testing.cache import mark_of

MAX_MARKS = 4
"""Cache marks in one request (Anthropic's prompt caching guide)."""

_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "shell_call", "apply_patch_call", "computer_call"}


class Problem(Struct, frozen=True, kw_only=True):
    """Why a request is refused: HTTP status, message, and the provider's code where it has one."""

    message: str
    status: int = 400
    code: str | None = None


def check(wire_format: str, body: JsonObject, *, window: int, tokens: int) -> Problem | None:
    """Return the first problem of a request body in this format, with `tokens` input tokens; None
    when it may be answered.
    """
    if not isinstance(body.get("model"), str):
        return Problem(message="model: field required")
    match wire_format:
        case "anthropic":
            found = next(_anthropic(body), None)
        case "openai_responses":
            found = next(_responses(body), None)
        case _:
            found = next(_chat(body), None)
    if found is not None:
        return Problem(message=found)
    return too_long(wire_format, window=window, tokens=tokens) if tokens > window else None


def too_long(wire_format: str, *, window: int, tokens: int) -> Problem:
    """Build the refusal of a request that does not fit the window."""
    if wire_format == "anthropic":
        return Problem(message=f"prompt is too long: {tokens} tokens > {window} maximum")
    return Problem(
        message=f"This model's maximum context length is {window} tokens, and the request holds {tokens}.", code="context_length_exceeded"
    )


def _entries(value: object) -> list[JsonObject]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _anthropic(body: JsonObject) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: a positive number is required"
    messages = _entries(body.get("messages"))
    if not messages:
        yield "messages: at least one message is required"
    elif messages[0].get("role") != "user":
        yield "messages.0: the first message must have the role user"
    for index, message in enumerate(messages):
        if message.get("role") not in {"user", "assistant", "system"}:
            yield f"messages.{index}: unexpected role {message.get('role')}"
        if any(block.get("type") == "text" and not block.get("text") for block in _entries(message.get("content"))):
            yield f"messages.{index}: text content blocks must be non-empty"
        if not message.get("content") and index + 1 < len(messages):
            yield f"messages.{index}: all messages must have non-empty content"
    yield from _anthropic_pairs(messages)
    blocks = [*_entries(body.get("tools")), *_entries(body.get("system"))]
    blocks += [block for message in messages for block in _entries(message.get("content"))]
    marks = sum(mark_of(block) is not None for block in blocks)
    if marks > MAX_MARKS:
        yield f"a maximum of {MAX_MARKS} blocks with cache_control may be provided, found {marks}"


def _ids(message: JsonObject, kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in _entries(message.get("content")) if block.get("type") == kind]


def _anthropic_pairs(messages: list[JsonObject]) -> Iterator[str]:
    merged = _merged(messages)
    seen: set[str] = set()
    for index, message in enumerate(merged):
        calls = _ids(message, "tool_use", "id")
        if repeated := sorted(seen.intersection(calls)) or (sorted(calls) if len(set(calls)) < len(calls) else []):
            yield f"messages.{index}: `tool_use` ids must be unique: {', '.join(repeated)}"
        seen.update(calls)
        before = _ids(merged[index - 1], "tool_use", "id") if index else []
        results = _ids(message, "tool_result", "tool_use_id")
        if stray := [result for result in results if result not in before]:
            yield f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(stray)}"
        if missing := [call for call in before if call not in results]:
            yield f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}"
        if len(set(results)) < len(results):
            yield f"messages.{index}: each `tool_use` must have a single result"
    if merged and (open_calls := _ids(merged[-1], "tool_use", "id")):
        yield f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(open_calls)}"


def _merged(messages: list[JsonObject]) -> list[JsonObject]:
    """Merge neighbours of one role, as the provider does; system messages between them are ignored.
    """
    merged: list[JsonObject] = []
    for message in messages:
        if message.get("role") == "system":
            continue
        if merged and merged[-1].get("role") == message.get("role"):
            merged[-1] = merged[-1] | {"content": _entries(merged[-1].get("content")) + _entries(message.get("content"))}
        else:
            merged.append(message)
    return merged


def _responses(body: JsonObject) -> Iterator[str]:
    history = body.get("input")
    if not isinstance(history, str | list):
        yield "input: a text or a list is required"
    items = _entries(history)
    calls = [str(item.get("call_id")) for item in items if item.get("type") in _CALLS]
    continued = "previous_response_id" in body or "conversation" in body
    open_calls: dict[str, None] = {}
    for item in items:
        kind = str(item.get("type", "message"))
        number = str(item.get("call_id"))
        if kind in _CALLS and not (kind == "tool_search_call" and item.get("execution") == "server"):
            open_calls[number] = None
        elif kind.endswith("_output") and f"{kind.removesuffix('_output')}" in _ANSWERED and number not in calls and not continued:
            yield f"No tool call found for {kind.replace('_', ' ')} with call_id {number}."
        elif kind.endswith("_output"):
            open_calls.pop(number, None)
    for number in open_calls:
        yield f"No tool output found for function call {number}."


_ANSWERED = {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"}


def _chat(body: JsonObject) -> Iterator[str]:
    messages = _entries(body.get("messages"))
    if not messages:
        yield "messages: at least one message is required"
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            number = str(message.get("tool_call_id"))
            if number not in waiting:
                yield f"messages.[{index}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            waiting.discard(number)
            continue
        yield from _unanswered(waiting)
        waiting = _called(message.get("tool_calls"))
    yield from _unanswered(waiting)


def _called(calls: object) -> set[str]:
    return {str(call.get("id")) for call in _entries(calls)}


def _unanswered(waiting: Iterable[str]) -> Iterator[str]:
    if missing := sorted(waiting):
        yield f"An assistant message with 'tool_calls' must be followed by tool messages for each 'tool_call_id': {', '.join(missing)}"
