"""The Messages API as the scripted model speaks it: reply bodies, their streams, errors."""

from __future__ import annotations

import msgspec

from memorist.core.messages import JsonObject
from memorist.testing.steps import Call, Many, Say, Think, parts_of
from memorist.testing.wire import Event, Facts, pieces

_KINDS = {
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


def _block(part: Say | Think | Call, number: int, index: int) -> JsonObject:
    match part:
        case Say(text=text):
            return {"type": "text", "text": text}
        case Think(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Call(name=name):
            given = part.input if part.arguments is None else msgspec.json.decode(part.arguments)
            return {"type": "tool_use", "id": part.id or f"toolu_{number:04d}_{index}", "name": name, "input": given}


class AnthropicWire:
    """`wire.Wire` for Messages."""

    def reply(self, step: Say | Think | Call | Many, facts: Facts) -> JsonObject:
        """A `message` object."""
        parts = parts_of(step)
        stop = step.stop_reason if isinstance(step, Many) else None
        usage = facts.usage
        return {
            "id": f"msg_{facts.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": facts.model,
            "content": [_block(part, facts.number, index) for index, part in enumerate(parts)],
            "stop_reason": stop or ("tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"),
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

    def events(self, body: JsonObject) -> list[Event]:
        """`message_start` to `message_stop`."""
        usage = dict(body.get("usage") or {})
        begun = body | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage | {"output_tokens": 1}}
        events = [_event("message_start", message=begun), _event("ping")]
        for index, block in enumerate(body.get("content", [])):
            events += _block_events(index, block)
        delta = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
        extra = {"context_management": body["context_management"]} if "context_management" in body else {}
        events.append(_event("message_delta", delta=delta, usage=_closing_usage(usage), **extra))
        events.append(_event("message_stop"))
        return events

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """The error object."""
        error = {"type": kind or _KINDS.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error, "request_id": "req_scripted"}

    def error_event(self, message: str) -> Event:
        """`event: error` with an overload."""
        return Event("error", self.error(529, message, None))


def _closing_usage(usage: JsonObject) -> JsonObject:
    return {key: value for key, value in usage.items() if key not in {"cache_creation", "service_tier"}}


def _event(kind: str, **data: object) -> Event:
    return Event(kind, {"type": kind, **data})


def _block_events(index: int, block: JsonObject) -> list[Event]:
    start, deltas = _opened(block)
    events = [_event("content_block_start", index=index, content_block=start)]
    events += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    events.append(_event("content_block_stop", index=index))
    return events


def _opened(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Split a block into its form in `content_block_start` and the deltas that fill it.

    Unknown blocks are sent whole.
    """
    match block.get("type"):
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        case "thinking":
            deltas: list[JsonObject] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
            return block | {"thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            text = msgspec.json.encode(block.get("input", {})).decode()
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(text))]
        case _:
            return block, []
