"""The Responses API as the scripted model speaks it: reply bodies, their streams, errors."""

from __future__ import annotations

from collections.abc import Iterator

from memorist.core.messages import JsonObject, Usage
from memorist.testing.steps import Call, Many, Say, Think, parts_of
from memorist.testing.wire import CREATED, Event, Facts, arguments_of, pieces

_CODES = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    403: "permission_denied",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}
"""Error code by status (OpenAI's error codes page)."""


def openai_error(status: int, message: str, kind: str | None) -> JsonObject:
    """The error object of both OpenAI APIs."""
    code = kind or _CODES.get(status, "server_error")
    sort = "invalid_request_error" if 400 <= status < 500 and status != 429 else code
    return {"error": {"message": message, "type": sort, "param": None, "code": code}}


def _usage(usage: Usage) -> JsonObject:
    total = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": total,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total + usage.output,
    }


def _item(part: Say | Think | Call, number: int, index: int) -> JsonObject:
    tail = f"{number:04d}_{index}"
    match part:
        case Say(text=text):
            content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
            return {"type": "message", "id": f"msg_{tail}", "status": "completed", "role": "assistant", "content": content}
        case Think(text=text, signature=signature):
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": f"rs_{tail}", "summary": summary, "encrypted_content": signature}
        case Call():
            return _call_item(part, tail)


def _call_item(call: Call, tail: str) -> JsonObject:
    item: JsonObject = {"type": "custom_tool_call" if call.custom else "function_call", "id": f"{'ctc' if call.custom else 'fc'}_{tail}"}
    item["status"] = "completed"
    item["call_id"] = call.id or f"call_{tail}"
    item["name"] = call.name
    item["input" if call.custom else "arguments"] = arguments_of(call)
    if call.namespace is not None:
        item["namespace"] = call.namespace
    return item


class ResponsesWire:
    """`wire.Wire` for Responses."""

    def reply(self, step: Say | Think | Call | Many, facts: Facts) -> JsonObject:
        """A `response` object. `stop_reason` other than `completed` makes it incomplete for that reason."""
        stop = step.stop_reason if isinstance(step, Many) else None
        whole = stop in {None, "completed"}
        asked = facts.request
        return {
            "id": f"resp_{facts.number:06d}",
            "object": "response",
            "created_at": CREATED,
            "status": "completed" if whole else "incomplete",
            "error": None,
            "incomplete_details": None if whole else {"reason": stop},
            "instructions": asked.get("instructions"),
            "metadata": asked.get("metadata") or {},
            "model": facts.model,
            "output": [_item(part, facts.number, index) for index, part in enumerate(parts_of(step))],
            "parallel_tool_calls": asked.get("parallel_tool_calls", True),
            "previous_response_id": asked.get("previous_response_id"),
            "reasoning": asked.get("reasoning") or {"effort": None, "summary": None},
            "store": asked.get("store", True),
            "temperature": asked.get("temperature", 1.0),
            "text": asked.get("text") or {"format": {"type": "text"}},
            "tool_choice": asked.get("tool_choice", "auto"),
            "tools": [],
            "top_p": asked.get("top_p", 1.0),
            "truncation": asked.get("truncation", "disabled"),
            "usage": _usage(facts.usage),
        }

    def events(self, body: JsonObject) -> list[Event]:
        """`response.created` to the closing event, numbered."""
        status = body.get("status", "completed")
        begun = body | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None, "error": None}
        plain: list[JsonObject] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(body.get("output", [])):
            plain += _item_events(index, item)
        plain.append({"type": f"response.{status}", "response": body})
        return [Event(data["type"], data | {"sequence_number": number}) for number, data in enumerate(plain)]

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """The error object."""
        return openai_error(status, message, kind)

    def error_event(self, message: str) -> Event:
        """An `error` event with a server error."""
        return Event("error", {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0})


def _item_events(index: int, item: JsonObject) -> list[JsonObject]:
    where: JsonObject = {"output_index": index}
    begun, middle = _opened(item)
    events: list[JsonObject] = [{"type": "response.output_item.added", **where, "item": begun}]
    events += [{**data, **where, "item_id": item.get("id")} for data in middle]
    events.append({"type": "response.output_item.done", **where, "item": item})
    return events


def _opened(item: JsonObject) -> tuple[JsonObject, Iterator[JsonObject]]:
    """Split an item into its form in `output_item.added` and the events that fill it.

    Unknown items are sent whole.
    """
    match item.get("type"):
        case "message":
            return item | {"status": "in_progress", "content": []}, _message_events(item)
        case "reasoning":
            return item | {"summary": [], "encrypted_content": None}, _reasoning_events(item)
        case "function_call":
            return item | {"status": "in_progress", "arguments": ""}, _text_events("response.function_call_arguments", "arguments", item)
        case "custom_tool_call":
            return item | {"status": "in_progress", "input": ""}, _text_events("response.custom_tool_call_input", "input", item)
        case _:
            return item, iter(())


def _text_events(kind: str, key: str, item: JsonObject, **where: object) -> Iterator[JsonObject]:
    for piece in pieces(item[key]):
        yield {"type": f"{kind}.delta", "delta": piece, **where}
    yield {"type": f"{kind}.done", key: item[key], **where}


def _message_events(item: JsonObject) -> Iterator[JsonObject]:
    for position, part in enumerate(item["content"]):
        where = {"content_index": position}
        text = part.get("type") == "output_text"
        yield {"type": "response.content_part.added", "part": part | {"text": ""} if text else part, **where}
        if text:
            yield from ({**data, "logprobs": []} for data in _text_events("response.output_text", "text", part, **where))
        yield {"type": "response.content_part.done", "part": part, **where}


def _reasoning_events(item: JsonObject) -> Iterator[JsonObject]:
    for position, part in enumerate(item.get("summary", [])):
        where = {"summary_index": position}
        yield {"type": "response.reasoning_summary_part.added", "part": part | {"text": ""}, **where}
        yield from _text_events("response.reasoning_summary_text", "text", part, **where)
        yield {"type": "response.reasoning_summary_part.done", "part": part, **where}
