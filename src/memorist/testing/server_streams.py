"""What the scripted server sends for a step: status, headers, pieces of body, and what happens after the last piece. Pure."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from msgspec import Struct, field

from memorist.core.messages import JsonObject
from memorist.testing.steps import Cut, Status
from memorist.testing.wire import Wire


class Outgoing(Struct, frozen=True, kw_only=True):
    """An answer. `pieces` of a stream go out one by one; those of a plain answer are one body of `length` bytes in all."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    streamed: bool = False
    length: int | None = None
    """Length that a plain answer claims; None for the length it has."""
    delay: float = 0.0
    """Seconds before the answer begins."""
    hang: bool = False
    """Send nothing at all."""
    then: Literal["end", "close", "hang"] = "end"
    """After the last piece: end properly, break the connection, or keep it open in silence."""


def json_reply(status: int, body: JsonObject, headers: dict[str, str] | None = None) -> Outgoing:
    """A plain JSON answer."""
    return Outgoing(status=status, headers={"content-type": "application/json", **(headers or {})}, pieces=(msgspec.json.encode(body),))


def error_reply(wire: Wire, status: Status) -> Outgoing:
    """An error in the format's own body."""
    headers = {} if status.retry_after is None else {"retry-after": status.retry_after}
    return json_reply(status.code, wire.error(status.code, status.message, status.kind), headers)


def whole_reply(wire: Wire, answer: JsonObject, request: JsonObject, *, delay: float = 0.0, plain: bool = False) -> Outgoing:
    """The whole reply, streamed if the request asks for it and `plain` does not forbid it."""
    if plain or not request.get("stream"):
        return msgspec.structs.replace(json_reply(200, answer), delay=delay)
    pieces = tuple(event.encode() for event in wire.events(_as_asked(answer, request)))
    return Outgoing(headers=_STREAM, pieces=pieces, streamed=True, delay=delay)


def _as_asked(answer: JsonObject, request: JsonObject) -> JsonObject:
    """Chat Completions streams its usage only to those who ask for it."""
    options = request.get("stream_options")
    if answer.get("object") != "chat.completion" or (isinstance(options, dict) and options.get("include_usage")):
        return answer
    return {key: value for key, value in answer.items() if key != "usage"}


def broken_reply(wire: Wire, cut: Cut, answer: JsonObject, request: JsonObject) -> Outgoing:
    """The first part of the reply, and then what `cut` asks for."""
    whole = whole_reply(wire, answer, request)
    if not whole.streamed:
        data = whole.pieces[0]
        claimed = None if cut.then in {"end", "error"} else len(data)
        then = "end" if cut.then == "error" else cut.then
        return msgspec.structs.replace(whole, pieces=(data[: int(len(data) * cut.at)],), length=claimed, then=then)
    # The closing events are held back at least: a cut that leaves the reply whole would test nothing.
    kept = max(0, min(math.ceil(len(whole.pieces) * cut.at), len(whole.pieces) - _CLOSING))
    pieces = whole.pieces[:kept]
    if cut.then == "error":
        return msgspec.structs.replace(whole, pieces=(*pieces, wire.error_event("Overloaded").encode()))
    return msgspec.structs.replace(whole, pieces=pieces, then=cut.then)


def garbage_reply(text: str, *, streamed: bool) -> Outgoing:
    """A body that is not JSON, with status 200."""
    if streamed:
        return Outgoing(headers=_STREAM, pieces=(f"event: message_start\ndata: {text}\n\n".encode(),), streamed=True)
    return Outgoing(headers={"content-type": "application/json"}, pieces=(text.encode(),))


_CLOSING = 3
"""Events at the end of any stream without which the reply is not whole: finish reason, usage and `[DONE]` of Chat Completions."""

_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
