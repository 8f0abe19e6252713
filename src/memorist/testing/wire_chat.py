"""Chat Completions as the scripted model speaks it: reply bodies, their streams, errors."""

from __future__ import annotations

from collections.abc import Iterator

from memorist.core.messages import JsonObject, Usage
from memorist.testing.steps import Call, Many, Say, Think, parts_of
from memorist.testing.wire import CREATED, Event, Facts, arguments_of, pieces
from memorist.testing.wire_responses import openai_error


def _usage(usage: Usage) -> JsonObject:
    total = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": total,
        "completion_tokens": usage.output,
        "total_tokens": total + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _tool_call(call: Call, number: int, index: int) -> JsonObject:
    made = call.id or f"call_{number:04d}_{index}"
    if call.custom:
        return {"id": made, "type": "custom", "custom": {"name": call.name, "input": arguments_of(call)}}
    return {"id": made, "type": "function", "function": {"name": call.name, "arguments": arguments_of(call)}}


def _message(parts: tuple[Say | Think | Call, ...], number: int) -> JsonObject:
    texts = [part.text for part in parts if isinstance(part, Say)]
    thoughts = [part.text for part in parts if isinstance(part, Think)]
    calls = [_tool_call(part, number, index) for index, part in enumerate(parts) if isinstance(part, Call)]
    message: JsonObject = {"role": "assistant", "content": "".join(texts) if texts else None, "refusal": None}
    if any(thoughts):
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


class ChatWire:
    """`wire.Wire` for Chat Completions. Reasoning goes into `reasoning_content`, as DeepSeek, vLLM and llama.cpp write it."""

    def reply(self, step: Say | Think | Call | Many, facts: Facts) -> JsonObject:
        """A `chat.completion` object."""
        parts = parts_of(step)
        stop = step.stop_reason if isinstance(step, Many) else None
        reason = stop or ("tool_calls" if any(isinstance(part, Call) for part in parts) else "stop")
        choice = {"index": 0, "message": _message(parts, facts.number), "logprobs": None, "finish_reason": reason}
        return {
            "id": f"chatcmpl-{facts.number:06d}",
            "object": "chat.completion",
            "created": CREATED,
            "model": facts.model,
            "choices": [choice],
            "usage": _usage(facts.usage),
            "system_fingerprint": "fp_scripted",
        }

    def events(self, body: JsonObject) -> list[Event]:
        """Chunks, then `[DONE]`. Usage, where the body has any, comes in a chunk of its own."""
        head = {key: value for key, value in body.items() if key not in {"choices", "usage"}} | {"object": "chat.completion.chunk"}
        with_usage = "usage" in body
        empty: JsonObject = {"usage": None} if with_usage else {}
        events: list[Event] = []
        for choice in body.get("choices", []):
            at = {"index": choice["index"], "logprobs": None}
            steps = [*((delta, None) for delta in _deltas(choice["message"])), ({}, choice.get("finish_reason"))]
            events += [Event("", head | {"choices": [at | {"delta": delta, "finish_reason": end}]} | empty) for delta, end in steps]
        if with_usage:
            events.append(Event("", head | {"choices": [], "usage": body.get("usage")}))
        events.append(Event("", "[DONE]"))
        return events

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """The error object."""
        return openai_error(status, message, kind)

    def error_event(self, message: str) -> Event:
        """A chunk that holds an error, as compatible servers send it."""
        return Event("", openai_error(503, message, None))


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    yield {"role": "assistant", "content": "" if message.get("content") is not None else None, "refusal": None}
    for key in ("reasoning_content", "content"):
        for piece in pieces(message.get(key) or ""):
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        yield from _call_deltas(index, call)


def _call_deltas(index: int, call: JsonObject) -> Iterator[JsonObject]:
    kind = call.get("type", "function")
    key = "input" if kind == "custom" else "arguments"
    yield {"tool_calls": [{"index": index, **call, kind: call[kind] | {key: ""}}]}
    for piece in pieces(call[kind][key]):
        yield {"tool_calls": [{"index": index, kind: {key: piece}}]}
