"""What the wire formats of the scripted model share: facts of a reply, server-sent events,
sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, Usage
from memorist.core.token_count import estimate_text_tokens
from memorist.testing.steps import (
    AnswerStep,
    CallTool,
    GivenReplyBody,
    ReplyParts,
    Say,
    Think,
    list_step_parts,
)

REPLY_CREATED_SECONDS = 1_700_000_000
"""The creation time in every scripted reply; constant, so that replies are the same in every run.
"""

_encode = msgspec.json.encode


class ScriptedEvent(NamedTuple):
    """One server-sent event.

    `name` is empty where the format has no `event:` line; `data` is an object, or the text of a
    closing mark.
    """

    name: str
    data: JsonObject | str

    def encode(self) -> bytes:
        """The event in wire form."""
        data = self.data.encode() if isinstance(self.data, str) else _encode(self.data)
        head = f"event: {self.name}\n".encode() if self.name else b""
        return head + b"data: " + data + b"\n\n"


class ReplyMetadata(Struct, frozen=True, kw_only=True):
    """What a reply needs besides its step: the call's number from 1, the model's name, the
    tokens.
    """

    number: int
    model: str
    usage: Usage
    cache_write_long: int = 0
    request: JsonObject


class ScriptedWire(Protocol):
    """One wire format of the scripted model. All methods are pure."""

    def reply(self, step: Say | Think | CallTool | ReplyParts, facts: ReplyMetadata) -> JsonObject:
        """The whole reply in unstreamed form."""
        ...

    def events(self, body: JsonObject) -> list[ScriptedEvent]:
        """The reply as a stream."""
        ...

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """An error body."""
        ...

    def error_event(self, message: str) -> ScriptedEvent:
        """An overload in the middle of a stream."""
        ...


def split_text(text: str) -> Iterator[str]:
    """Split a text as a model's stream does: at least 40 characters a piece, at most about 16
    pieces; nothing for an empty text.
    """
    size = max(40, len(text) // 16)
    for start in range(0, len(text), size):
        yield text[start : start + size]


def render_call_arguments(call: CallTool) -> str:
    """The exact text of a call's arguments."""
    return call.arguments if call.arguments is not None else _encode(call.input).decode()


def estimate_output_tokens(step: Say | Think | CallTool | ReplyParts) -> int:
    """Estimated output tokens of a step, at least 1."""
    total = 0
    for part in list_step_parts(step):
        match part:
            case Say(text=text) | Think(text=text):
                total += estimate_text_tokens(text)
            case CallTool():
                total += estimate_text_tokens(part.name + render_call_arguments(part))
    return max(1, total)


def build_reply_body(wire: ScriptedWire, step: AnswerStep, facts: ReplyMetadata) -> JsonObject:
    """Build the reply body of an answering step."""
    return step.body if isinstance(step, GivenReplyBody) else wire.reply(step, facts)


# The Messages API as the scripted model speaks it: reply bodies, their streams, errors.


_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""Error type by status (Anthropic's API errors page)."""


def _build_block(part: Say | Think | CallTool, number: int, index: int) -> JsonObject:
    match part:
        case Say(text=text):
            return {"type": "text", "text": text}
        case Think(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case CallTool(name=name):
            given = part.input if part.arguments is None else msgspec.json.decode(part.arguments)
            return {
                "type": "tool_use",
                "id": part.id or f"toolu_{number:04d}_{index}",
                "name": name,
                "input": given,
            }


class AnthropicWire:
    """`ScriptedWire` for Messages."""

    def reply(self, step: Say | Think | CallTool | ReplyParts, facts: ReplyMetadata) -> JsonObject:
        """A `message` object."""
        parts = list_step_parts(step)
        stop = step.stop_reason if isinstance(step, ReplyParts) else None
        usage = facts.usage
        return {
            "id": f"msg_{facts.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": facts.model,
            "content": [
                _build_block(part, facts.number, index) for index, part in enumerate(parts)
            ],
            "stop_reason": stop
            or ("tool_use" if any(isinstance(part, CallTool) for part in parts) else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": usage.cache_write - facts.cache_write_long,
                    "ephemeral_1h_input_tokens": facts.cache_write_long,
                },
                "output_tokens": usage.output,
                "service_tier": "standard",
            },
        }

    def events(self, body: JsonObject) -> list[ScriptedEvent]:
        """`message_start` to `message_stop`."""
        usage = dict(body.get("usage") or {})
        started = body | {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage | {"output_tokens": 1},
        }
        events = [_build_event("message_start", message=started), _build_event("ping")]
        for index, block in enumerate(body.get("content", [])):
            events += _block_events(index, block)
        delta = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
        extra = (
            {"context_management": body["context_management"]}
            if "context_management" in body
            else {}
        )
        events.append(
            _build_event("message_delta", delta=delta, usage=_closing_usage(usage), **extra)
        )
        events.append(_build_event("message_stop"))
        return events

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """The error object."""
        error = {"type": kind or _ERROR_TYPES.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error, "request_id": "req_scripted"}

    def error_event(self, message: str) -> ScriptedEvent:
        """`event: error` with an overload."""
        return ScriptedEvent("error", self.error(529, message, None))


def _closing_usage(usage: JsonObject) -> JsonObject:
    return {
        key: value for key, value in usage.items() if key not in {"cache_creation", "service_tier"}
    }


def _build_event(kind: str, **data: object) -> ScriptedEvent:
    return ScriptedEvent(kind, {"type": kind, **data})


def _block_events(index: int, block: JsonObject) -> list[ScriptedEvent]:
    start, deltas = _split_block(block)
    events = [_build_event("content_block_start", index=index, content_block=start)]
    events += [_build_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    events.append(_build_event("content_block_stop", index=index))
    return events


def _split_block(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Split a block into its form in `content_block_start` and the deltas that fill it.

    Unknown blocks are sent whole.
    """
    match block.get("type"):
        case "text":
            return block | {"text": ""}, [
                {"type": "text_delta", "text": piece} for piece in split_text(block["text"])
            ]
        case "thinking":
            deltas: list[JsonObject] = [
                {"type": "thinking_delta", "thinking": piece}
                for piece in split_text(block["thinking"])
            ]
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
            return block | {"thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            text = msgspec.json.encode(block.get("input", {})).decode()
            return block | {"input": {}}, [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in ("", *split_text(text))
            ]
        case _:
            return block, []


# The Responses API as the scripted model speaks it: reply bodies, their streams, errors.


_ERROR_CODES = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    403: "permission_denied",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}
"""Error code by status (OpenAI's error codes page)."""


def build_openai_error(status: int, message: str, kind: str | None) -> JsonObject:
    """The error object of both OpenAI APIs."""
    code = kind or _ERROR_CODES.get(status, "server_error")
    sort = "invalid_request_error" if 400 <= status < 500 and status != 429 else code
    return {"error": {"message": message, "type": sort, "param": None, "code": code}}


def _wire_responses_build_usage(usage: Usage) -> JsonObject:
    total = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": total,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total + usage.output,
    }


def _build_item(part: Say | Think | CallTool, number: int, index: int) -> JsonObject:
    tail = f"{number:04d}_{index}"
    match part:
        case Say(text=text):
            content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
            return {
                "type": "message",
                "id": f"msg_{tail}",
                "status": "completed",
                "role": "assistant",
                "content": content,
            }
        case Think(text=text, signature=signature):
            summary = [{"type": "summary_text", "text": text}]
            return {
                "type": "reasoning",
                "id": f"rs_{tail}",
                "summary": summary,
                "encrypted_content": signature,
            }
        case CallTool():
            return _build_call_item(part, tail)


def _build_call_item(call: CallTool, tail: str) -> JsonObject:
    item: JsonObject = {
        "type": "custom_tool_call" if call.custom else "function_call",
        "id": f"{'ctc' if call.custom else 'fc'}_{tail}",
    }
    item["status"] = "completed"
    item["call_id"] = call.id or f"call_{tail}"
    item["name"] = call.name
    item["input" if call.custom else "arguments"] = render_call_arguments(call)
    if call.namespace is not None:
        item["namespace"] = call.namespace
    return item


class ResponsesWire:
    """`ScriptedWire` for Responses."""

    def reply(self, step: Say | Think | CallTool | ReplyParts, facts: ReplyMetadata) -> JsonObject:
        """A `response` object. `stop_reason` other than `completed` makes it incomplete for that
        reason.
        """
        stop = step.stop_reason if isinstance(step, ReplyParts) else None
        whole = stop in {None, "completed"}
        asked = facts.request
        return {
            "id": f"resp_{facts.number:06d}",
            "object": "response",
            "created_at": REPLY_CREATED_SECONDS,
            "status": "completed" if whole else "incomplete",
            "error": None,
            "incomplete_details": None if whole else {"reason": stop},
            "instructions": asked.get("instructions"),
            "metadata": asked.get("metadata") or {},
            "model": facts.model,
            "output": [
                _build_item(part, facts.number, index)
                for index, part in enumerate(list_step_parts(step))
            ],
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
            "usage": _wire_responses_build_usage(facts.usage),
        }

    def events(self, body: JsonObject) -> list[ScriptedEvent]:
        """`response.created` to the closing event, numbered."""
        status = body.get("status", "completed")
        started = body | {
            "status": "in_progress",
            "output": [],
            "usage": None,
            "incomplete_details": None,
            "error": None,
        }
        plain: list[JsonObject] = [
            {"type": "response.created", "response": started},
            {"type": "response.in_progress", "response": started},
        ]
        for index, item in enumerate(body.get("output", [])):
            plain += _item_events(index, item)
        plain.append({"type": f"response.{status}", "response": body})
        return [
            ScriptedEvent(data["type"], data | {"sequence_number": number})
            for number, data in enumerate(plain)
        ]

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """The error object."""
        return build_openai_error(status, message, kind)

    def error_event(self, message: str) -> ScriptedEvent:
        """An `error` event with a server error."""
        return ScriptedEvent(
            "error",
            {
                "type": "error",
                "code": "server_error",
                "message": message,
                "param": None,
                "sequence_number": 0,
            },
        )


def _item_events(index: int, item: JsonObject) -> list[JsonObject]:
    where: JsonObject = {"output_index": index}
    started, middle = _split_item(item)
    events: list[JsonObject] = [{"type": "response.output_item.added", **where, "item": started}]
    events += [{**data, **where, "item_id": item.get("id")} for data in middle]
    events.append({"type": "response.output_item.done", **where, "item": item})
    return events


def _split_item(item: JsonObject) -> tuple[JsonObject, Iterator[JsonObject]]:
    """Split an item into its form in `output_item.added` and the events that fill it.

    Unknown items are sent whole.
    """
    match item.get("type"):
        case "message":
            return item | {"status": "in_progress", "content": []}, _message_events(item)
        case "reasoning":
            return item | {"summary": [], "encrypted_content": None}, _reasoning_events(item)
        case "function_call":
            return item | {"status": "in_progress", "arguments": ""}, _text_events(
                "response.function_call_arguments", "arguments", item
            )
        case "custom_tool_call":
            return item | {"status": "in_progress", "input": ""}, _text_events(
                "response.custom_tool_call_input", "input", item
            )
        case _:
            return item, iter(())


def _text_events(kind: str, key: str, item: JsonObject, **where: object) -> Iterator[JsonObject]:
    for piece in split_text(item[key]):
        yield {"type": f"{kind}.delta", "delta": piece, **where}
    yield {"type": f"{kind}.done", key: item[key], **where}


def _message_events(item: JsonObject) -> Iterator[JsonObject]:
    for position, part in enumerate(item["content"]):
        where = {"content_index": position}
        text = part.get("type") == "output_text"
        yield {
            "type": "response.content_part.added",
            "part": part | {"text": ""} if text else part,
            **where,
        }
        if text:
            yield from (
                {**data, "logprobs": []}
                for data in _text_events("response.output_text", "text", part, **where)
            )
        yield {"type": "response.content_part.done", "part": part, **where}


def _reasoning_events(item: JsonObject) -> Iterator[JsonObject]:
    for position, part in enumerate(item.get("summary", [])):
        where = {"summary_index": position}
        yield {
            "type": "response.reasoning_summary_part.added",
            "part": part | {"text": ""},
            **where,
        }
        yield from _text_events("response.reasoning_summary_text", "text", part, **where)
        yield {"type": "response.reasoning_summary_part.done", "part": part, **where}


# Chat Completions as the scripted model speaks it: reply bodies, their streams, errors.


def _build_usage(usage: Usage) -> JsonObject:
    total = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": total,
        "completion_tokens": usage.output,
        "total_tokens": total + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _build_tool_call(call: CallTool, number: int, index: int) -> JsonObject:
    call_id = call.id or f"call_{number:04d}_{index}"
    if call.custom:
        return {
            "id": call_id,
            "type": "custom",
            "custom": {"name": call.name, "input": render_call_arguments(call)},
        }
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": render_call_arguments(call)},
    }


def _build_message(parts: tuple[Say | Think | CallTool, ...], number: int) -> JsonObject:
    texts = [part.text for part in parts if isinstance(part, Say)]
    thoughts = [part.text for part in parts if isinstance(part, Think)]
    calls = [
        _build_tool_call(part, number, index)
        for index, part in enumerate(parts)
        if isinstance(part, CallTool)
    ]
    message: JsonObject = {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        "refusal": None,
    }
    if any(thoughts):
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


class ChatWire:
    """`ScriptedWire` for Chat Completions. Reasoning goes into `reasoning_content`, as DeepSeek,
    vLLM and llama.cpp write it.
    """

    def reply(self, step: Say | Think | CallTool | ReplyParts, facts: ReplyMetadata) -> JsonObject:
        """A `chat.completion` object."""
        parts = list_step_parts(step)
        stop = step.stop_reason if isinstance(step, ReplyParts) else None
        reason = stop or (
            "tool_calls" if any(isinstance(part, CallTool) for part in parts) else "stop"
        )
        choice = {
            "index": 0,
            "message": _build_message(parts, facts.number),
            "logprobs": None,
            "finish_reason": reason,
        }
        return {
            "id": f"chatcmpl-{facts.number:06d}",
            "object": "chat.completion",
            "created": REPLY_CREATED_SECONDS,
            "model": facts.model,
            "choices": [choice],
            "usage": _build_usage(facts.usage),
            "system_fingerprint": "fp_scripted",
        }

    def events(self, body: JsonObject) -> list[ScriptedEvent]:
        """Chunks, then `[DONE]`. Usage, where the body has any, comes in a chunk of its own."""
        head = {key: value for key, value in body.items() if key not in {"choices", "usage"}} | {
            "object": "chat.completion.chunk"
        }
        with_usage = "usage" in body
        empty: JsonObject = {"usage": None} if with_usage else {}
        events: list[ScriptedEvent] = []
        for choice in body.get("choices", []):
            at = {"index": choice["index"], "logprobs": None}
            steps = [
                *((delta, None) for delta in _deltas(choice["message"])),
                ({}, choice.get("finish_reason")),
            ]
            events += [
                ScriptedEvent(
                    "", head | {"choices": [at | {"delta": delta, "finish_reason": end}]} | empty
                )
                for delta, end in steps
            ]
        if with_usage:
            events.append(ScriptedEvent("", head | {"choices": [], "usage": body.get("usage")}))
        events.append(ScriptedEvent("", "[DONE]"))
        return events

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """The error object."""
        return build_openai_error(status, message, kind)

    def error_event(self, message: str) -> ScriptedEvent:
        """A chunk that holds an error, as compatible servers send it."""
        return ScriptedEvent("", build_openai_error(503, message, None))


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    yield {
        "role": "assistant",
        "content": "" if message.get("content") is not None else None,
        "refusal": None,
    }
    for key in ("reasoning_content", "content"):
        for piece in split_text(message.get(key) or ""):
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        yield from _call_deltas(index, call)


def _call_deltas(index: int, call: JsonObject) -> Iterator[JsonObject]:
    kind = call.get("type", "function")
    key = "input" if kind == "custom" else "arguments"
    yield {"tool_calls": [{"index": index, **call, kind: call[kind] | {key: ""}}]}
    for piece in split_text(call[kind][key]):
        yield {"tool_calls": [{"index": index, kind: {key: piece}}]}
