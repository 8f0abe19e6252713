"""A reply as it came over the wire, decoded to what the engine observes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memorist.core.messages import JsonObject
from memorist.engine.host_history import as_sent
from memorist.errors import FormatError
from memorist.formats.registry import codec
from memorist.models.assemble import assemble_anthropic, assemble_chat, assemble_responses
from memorist.models.faults import too_long
from memorist.models.wire_stream import Assemble, plain_reply, status_fault

_ASSEMBLE: dict[str, Assemble] = {
    "anthropic": assemble_anthropic,
    "openai_responses": assemble_responses,
    "openai_chat": assemble_chat,
}
_UNDER_WAY = frozenset({"queued", "in_progress"})
"""Statuses of a Responses reply that runs in the background: it is not a reply yet."""
_PAUSED = "pause_turn"
"""Anthropic's stop reason of a turn that the host sends back unchanged, so that the model
continues.
"""

_ODD = (LookupError, TypeError, AttributeError, ValueError, msgspec.DecodeError)
"""What decoding a reply raises when it is not of its format; the host must not see it."""


def events(data: bytes) -> Iterator[JsonObject]:
    """The events of a server-sent event stream that are JSON objects; others are skipped."""
    for block in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        try:
            found = msgspec.json.decode(b"\n".join(lines)) if lines else None
        except msgspec.DecodeError:
            continue  # `[DONE]`, and what a server adds of its own
        if isinstance(found, dict):
            yield found


def reply_of(format: str, kind: str, data: bytes) -> JsonObject | None:
    """Return the reply in a response body of this content type; None when it is incomplete, an
    error, or still pending.
    """
    try:
        found = plain_reply(data) if "json" in kind else _ASSEMBLE[format](events(data))
    except _ODD:
        return None  # not of the format; the next request's history tells what the host made of it
    return found if isinstance(found, dict) and found.get("status") not in _UNDER_WAY else None


def refused_as_too_long(status: int, data: bytes) -> bool:
    """Whether an error response says that the request does not fit the model's window."""
    try:
        body: Any = msgspec.json.decode(data)
    except msgspec.DecodeError:
        body = None
    return too_long(status_fault(status, data[:2_000].decode("utf-8", "replace"), body, {}))


def over(format: str, reply: object) -> bool:
    """Whether this reply ends the agent's turn: it calls no tool and is not paused."""
    try:
        body = as_sent(reply)
        if not isinstance(body, dict) or body.get("stop_reason") == _PAUSED:
            return False
        return not any(message.tool_uses for message in codec(format).decode_reply(body).messages)
    except (FormatError, *_ODD):
        return False
