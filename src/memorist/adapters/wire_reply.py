"""A reply as it came over the wire, decoded to what the engine observes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memorist.core.messages import JsonObject
from memorist.engine.host_history import to_plain_json
from memorist.errors import FormatError
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import CallFailure, build_failure_from_status, is_context_too_long
from memorist.models.event_stream import ReplyAssembler, parse_plain_reply
from memorist.models.reply_assembly import assemble_anthropic, assemble_chat, assemble_responses

_ASSEMBLERS: dict[str, ReplyAssembler] = {
    "anthropic": assemble_anthropic,
    "openai_responses": assemble_responses,
    "openai_chat": assemble_chat,
}
_PENDING_STATUSES = frozenset({"queued", "in_progress"})
"""Statuses of a Responses reply that runs in the background: it is not a reply yet."""
_PAUSED_REASON = "pause_turn"
"""Anthropic's stop reason of a turn that the host sends back unchanged, so that the model
continues.
"""

_DECODE_ERRORS = (LookupError, TypeError, AttributeError, ValueError, msgspec.DecodeError)
"""What decoding a reply raises when it is not of its format; the host must not see it."""


def parse_sse_events(data: bytes) -> Iterator[JsonObject]:
    """The events of a server-sent event stream that are JSON objects; others are skipped."""
    for block in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [
            line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")
        ]
        try:
            found = msgspec.json.decode(b"\n".join(lines)) if lines else None
        except msgspec.DecodeError:
            continue  # `[DONE]`, and what a server adds of its own
        if isinstance(found, dict):
            yield found


def read_wire_reply(format: str, content_type: str, data: bytes) -> JsonObject | None:
    """Return the reply in a response body of this content type; None when it is incomplete, an
    error, or still pending.
    """
    try:
        found = (
            parse_plain_reply(data)
            if "json" in content_type
            else _ASSEMBLERS[format](parse_sse_events(data))
        )
    except _DECODE_ERRORS:
        return None  # not of the format; the next request's history tells what the host made of it
    return (
        found if isinstance(found, dict) and found.get("status") not in _PENDING_STATUSES else None
    )


def is_too_long_response(status: int, data: bytes) -> bool:
    """Whether an error response says that the request does not fit the model's window."""
    try:
        body: Any = msgspec.json.decode(data)
    except msgspec.DecodeError:
        body = None
    return is_context_too_long(
        build_failure_from_status(status, data[:2_000].decode("utf-8", "replace"), body, {})
    )


def ends_turn(format: str, reply: object) -> bool:
    """Whether this reply ends the agent's turn: it calls no tool and is not paused."""
    try:
        body = to_plain_json(reply)
        if not isinstance(body, dict) or body.get("stop_reason") == _PAUSED_REASON:
            return False
        return not any(
            message.tool_uses for message in find_codec(format).decode_reply(body).messages
        )
    except (FormatError, *_DECODE_ERRORS):
        return False


# Whether a host's error says that the provider refused a request as too long. Pure.


MAX_CAUSES = 5
"""Longest chain of causes that is searched; hosts wrap an SDK's error once or twice."""


def is_too_long_error(error: BaseException | None) -> bool:
    """Judge by status, code and text of the error or of one of its causes, as SDKs carry them.

    Read are `status_code`, `code` and `str()`.
    """
    for _ in range(MAX_CAUSES):
        if error is None:
            return False
        status, code = getattr(error, "status_code", None), getattr(error, "code", None)
        fault = CallFailure(
            kind="status",
            message=str(error),
            status=status if isinstance(status, int) else 400,
            code=code if isinstance(code, str) else None,
        )
        if is_context_too_long(fault):
            return True
        error = error.__cause__
    return False
