"""What the real providers refuse: unpaired calls and results, cache marks, roles, window. Pure.

The messages are ours; they hold the words by which clients recognise the providers' errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.testing.prompt_cache import get_cache_mark_lifetime
from memorist.testing.wire_formats import AnthropicWire, ChatWire, ResponsesWire, ScriptedWire

MAX_CACHE_MARKS = 4
"""Cache marks in one request (Anthropic's prompt caching guide)."""

_CALL_TYPES = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "tool_search_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
}


class RequestProblem(Struct, frozen=True, kw_only=True):
    """Why a request is refused: HTTP status, message, and the provider's code where it has one."""

    message: str
    status: int = 400
    code: str | None = None


def find_request_problem(
    wire_format: str, body: JsonObject, *, window: int, tokens: int
) -> RequestProblem | None:
    """Return the first problem of a request body in this format, with `tokens` input tokens; None
    when it may be answered.
    """
    if not isinstance(body.get("model"), str):
        return RequestProblem(message="model: field required")
    match wire_format:
        case "anthropic":
            found = next(_anthropic_problems(body), None)
        case "openai_responses":
            found = next(_responses_problems(body), None)
        case _:
            found = next(_chat_problems(body), None)
    if found is not None:
        return RequestProblem(message=found)
    if tokens > window:
        return build_too_long_problem(wire_format, window=window, tokens=tokens)
    return None


def build_too_long_problem(wire_format: str, *, window: int, tokens: int) -> RequestProblem:
    """Build the refusal of a request that does not fit the window."""
    if wire_format == "anthropic":
        return RequestProblem(message=f"prompt is too long: {tokens} tokens > {window} maximum")
    return RequestProblem(
        message=f"This model's maximum context length is {window} tokens, and the request "
        f"holds {tokens}.",
        code="context_length_exceeded",
    )


def _object_entries(value: object) -> list[JsonObject]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _anthropic_problems(body: JsonObject) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: a positive number is required"
    messages = _object_entries(body.get("messages"))
    if not messages:
        yield "messages: at least one message is required"
    elif messages[0].get("role") != "user":
        yield "messages.0: the first message must have the role user"
    for index, message in enumerate(messages):
        if message.get("role") not in {"user", "assistant", "system"}:
            yield f"messages.{index}: unexpected role {message.get('role')}"
        if any(
            block.get("type") == "text" and not block.get("text")
            for block in _object_entries(message.get("content"))
        ):
            yield f"messages.{index}: text content blocks must be non-empty"
        if not message.get("content") and index + 1 < len(messages):
            yield f"messages.{index}: all messages must have non-empty content"
    yield from _anthropic_pairing_problems(messages)
    blocks = [*_object_entries(body.get("tools")), *_object_entries(body.get("system"))]
    blocks += [block for message in messages for block in _object_entries(message.get("content"))]
    marks = sum(get_cache_mark_lifetime(block) is not None for block in blocks)
    if marks > MAX_CACHE_MARKS:
        yield (
            f"a maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided, "
            f"found {marks}"
        )


def _block_ids(message: JsonObject, kind: str, key: str) -> list[str]:
    return [
        str(block.get(key))
        for block in _object_entries(message.get("content"))
        if block.get("type") == kind
    ]


def _anthropic_pairing_problems(messages: list[JsonObject]) -> Iterator[str]:
    merged = _merge_neighbours(messages)
    seen: set[str] = set()
    for index, message in enumerate(merged):
        calls = _block_ids(message, "tool_use", "id")
        if repeated := sorted(seen.intersection(calls)) or (
            sorted(calls) if len(set(calls)) < len(calls) else []
        ):
            yield f"messages.{index}: `tool_use` ids must be unique: {', '.join(repeated)}"
        seen.update(calls)
        before = _block_ids(merged[index - 1], "tool_use", "id") if index else []
        results = _block_ids(message, "tool_result", "tool_use_id")
        if stray := [result for result in results if result not in before]:
            yield (
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{', '.join(stray)}"
            )
        if missing := [call for call in before if call not in results]:
            yield (
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}"
            )
        if len(set(results)) < len(results):
            yield f"messages.{index}: each `tool_use` must have a single result"
    if merged and (open_calls := _block_ids(merged[-1], "tool_use", "id")):
        yield (
            f"`tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(open_calls)}"
        )


def _merge_neighbours(messages: list[JsonObject]) -> list[JsonObject]:
    """Merge neighbours of one role, as the provider does; system messages between them are
    ignored.
    """
    merged: list[JsonObject] = []
    for message in messages:
        if message.get("role") == "system":
            continue
        if merged and merged[-1].get("role") == message.get("role"):
            merged[-1] = merged[-1] | {
                "content": _object_entries(merged[-1].get("content"))
                + _object_entries(message.get("content"))
            }
        else:
            merged.append(message)
    return merged


def _responses_problems(body: JsonObject) -> Iterator[str]:
    history = body.get("input")
    if not isinstance(history, str | list):
        yield "input: a text or a list is required"
    items = _object_entries(history)
    calls = [str(item.get("call_id")) for item in items if item.get("type") in _CALL_TYPES]
    continued = "previous_response_id" in body or "conversation" in body
    open_calls: dict[str, None] = {}
    for item in items:
        kind = str(item.get("type", "message"))
        number = str(item.get("call_id"))
        if kind in _CALL_TYPES and not (
            kind == "tool_search_call" and item.get("execution") == "server"
        ):
            open_calls[number] = None
        elif (
            kind.endswith("_output")
            and f"{kind.removesuffix('_output')}" in _PAIRED_CALL_TYPES
            and number not in calls
            and not continued
        ):
            yield f"No tool call found for {kind.replace('_', ' ')} with call_id {number}."
        elif kind.endswith("_output"):
            open_calls.pop(number, None)
    for number in open_calls:
        yield f"No tool output found for function call {number}."


_PAIRED_CALL_TYPES = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
}


def _chat_problems(body: JsonObject) -> Iterator[str]:
    messages = _object_entries(body.get("messages"))
    if not messages:
        yield "messages: at least one message is required"
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            number = str(message.get("tool_call_id"))
            if number not in waiting:
                yield (
                    f"messages.[{index}]: messages with role 'tool' must be a response to a "
                    f"preceding message with 'tool_calls'"
                )
            waiting.discard(number)
            continue
        yield from _unanswered_problems(waiting)
        waiting = _call_ids(message.get("tool_calls"))
    yield from _unanswered_problems(waiting)


def _call_ids(calls: object) -> set[str]:
    return {str(call.get("id")) for call in _object_entries(calls)}


def _unanswered_problems(waiting: Iterable[str]) -> Iterator[str]:
    if missing := sorted(waiting):
        yield (
            f"An assistant message with 'tool_calls' must be followed by tool messages for "
            f"each 'tool_call_id': {', '.join(missing)}"
        )


WIRES: dict[str, ScriptedWire] = {
    "anthropic": AnthropicWire(),
    "openai_responses": ResponsesWire(),
    "openai_chat": ChatWire(),
}
"""The scripted model's side of each wire format."""
