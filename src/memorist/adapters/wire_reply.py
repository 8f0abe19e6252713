"""A reply as it came over the wire, read back to what the engine observes. Pure."""

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
"""States of a Responses reply that is made in the background: it is no reply yet."""
_PAUSED = "pause_turn"
"""Anthropic's stop reason of a turn that the host sends back as it is, so that the model goes on."""

_ODD = (LookupError, TypeError, AttributeError, ValueError, msgspec.DecodeError)
"""What reading a reply raises where it is not of its format; a host must not hear of it."""


def events(data: bytes) -> Iterator[JsonObject]:
    """The events of a stream of server-sent events that are JSON objects; others are looked over."""
    for block in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        try:
            found = msgspec.json.decode(b"\n".join(lines)) if lines else None
        except msgspec.DecodeError:
            continue  # `[DONE]`, and what a server adds of its own
        if isinstance(found, dict):
            yield found


def reply_of(format: str, kind: str, data: bytes) -> JsonObject | None:
    """The reply in the body of an answer of this content type; None where it is broken off, an error, or not made yet."""
    try:
        found = plain_reply(data) if "json" in kind else _ASSEMBLE[format](events(data))
    except _ODD:
        return None  # an event is not of the format; the next request's history says what the host made of it
    return found if isinstance(found, dict) and found.get("status") not in _UNDER_WAY else None


def refused_as_too_long(status: int, data: bytes) -> bool:
    """Whether an answer with an error status says that the request does not fit the model's window."""
    try:
        body: Any = msgspec.json.decode(data)
    except msgspec.DecodeError:
        body = None
    return too_long(status_fault(status, data[:2_000].decode("utf-8", "replace"), body, {}))


def over(format: str, reply: object) -> bool:
    """Whether the agent is done when it has this reply: it calls no tool, and is not paused."""
    try:
        body = as_sent(reply)
        if not isinstance(body, dict) or body.get("stop_reason") == _PAUSED:
            return False
        return not any(message.tool_uses for message in codec(format).decode_reply(body).messages)
    except (FormatError, *_ODD):
        return False
