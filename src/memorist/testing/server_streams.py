"""What the scripted server sends for a step: status, headers, chunks of the body, and what happens
after the last one.

Pure.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from msgspec import Struct, field

from memorist.core.messages import JsonObject
from memorist.testing.steps import Cut, Status
from memorist.testing.wire import Wire


class Outgoing(Struct, frozen=True, kw_only=True):
    """A response.

    `pieces` of a stream are sent one by one; those of a plain response are one body of `length`
    bytes.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    streamed: bool = False
    length: int | None = None
    """Content length that a plain response claims; None for the true length."""
    delay: float = 0.0
    """Seconds before the response begins."""
    hang: bool = False
    """Send nothing at all."""
    then: Literal["end", "close", "hang"] = "end"
    """After the last piece: end properly, break the connection, or keep it open in silence."""


def json_reply(status: int, body: JsonObject, headers: dict[str, str] | None = None) -> Outgoing:
    """Build a plain JSON response."""
    return Outgoing(status=status, headers={"content-type": "application/json", **(headers or {})}, pieces=(msgspec.json.encode(body),))


def error_reply(wire: Wire, status: Status) -> Outgoing:
    """Build an error in the format's own body."""
    headers = {} if status.retry_after is None else {"retry-after": status.retry_after}
    return json_reply(status.code, wire.error(status.code, status.message, status.kind), headers)


def whole_reply(wire: Wire, answer: JsonObject, request: JsonObject, *, delay: float = 0.0, plain: bool = False) -> Outgoing:
    """Build the whole reply, streamed if the request asks for it and `plain` is not set."""
    if plain or not request.get("stream"):
        return msgspec.structs.replace(json_reply(200, answer), delay=delay)
    pieces = tuple(event.encode() for event in wire.events(_as_asked(answer, request)))
    return Outgoing(headers=_STREAM, pieces=pieces, streamed=True, delay=delay)


def _as_asked(answer: JsonObject, request: JsonObject) -> JsonObject:
    """Drop the usage unless requested: Chat Completions streams it only on request."""
    options = request.get("stream_options")
    if answer.get("object") != "chat.completion" or (isinstance(options, dict) and options.get("include_usage")):
        return answer
    return {key: value for key, value in answer.items() if key != "usage"}


def broken_reply(wire: Wire, cut: Cut, answer: JsonObject, request: JsonObject) -> Outgoing:
    """Build the first part of a reply, followed by what `cut` says."""
    whole = whole_reply(wire, answer, request)
    if not whole.streamed:
        data = whole.pieces[0]
        claimed = None if cut.then in {"end", "error"} else len(data)
        then = "end" if cut.then == "error" else cut.then
        return msgspec.structs.replace(whole, pieces=(data[: int(len(data) * cut.at)],), length=claimed, then=then)
    # Always hold back the closing events: a cut that leaves the reply complete would test nothing.
    kept = max(0, min(math.ceil(len(whole.pieces) * cut.at), len(whole.pieces) - _CLOSING))
    pieces = whole.pieces[:kept]
    if cut.then == "error":
        return msgspec.structs.replace(whole, pieces=(*pieces, wire.error_event("Overloaded").encode()))
    return msgspec.structs.replace(whole, pieces=pieces, then=cut.then)


def garbage_reply(text: str, *, streamed: bool) -> Outgoing:
    """Build a body that is not JSON, with status 200."""
    if streamed:
        return Outgoing(headers=_STREAM, pieces=(f"event: message_start\ndata: {text}\n\n".encode(),), streamed=True)
    return Outgoing(headers={"content-type": "application/json"}, pieces=(text.encode(),))


_CLOSING = 3
"""Events at the end of any stream without which the reply is incomplete: finish reason, usage and
`[DONE]` of Chat Completions.
"""

_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
