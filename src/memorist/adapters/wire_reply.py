"""A reply as it came over the wire, decoded to what the engine observes. Pure."""

from __future__ import annotations

from memorist.core.messages import JsonObject
from memorist.engine.host_history import to_plain_json
from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import CallFailure, is_context_too_long
from memorist.models.reply_assembly import parse_reply_or_call_failure

_PENDING_STATUSES = frozenset({"queued", "in_progress"})
"""Statuses of a Responses reply that runs in the background: it is not a reply yet."""


def assemble_reply_json(format: str, content_type: str, data: bytes) -> JsonObject | None:
    """Return the reply in a response body of this content type; None when it is incomplete, an
    error, or still pending.
    """
    found = parse_reply_or_call_failure(format, content_type, data)
    if isinstance(found, CallFailure) or found.get("status") in _PENDING_STATUSES:
        return None  # the next request's history tells what the host made of it
    return found


def ends_turn(format: str, reply: object) -> bool:
    """Whether this reply ends the agent's turn: it calls no tool and is not paused."""
    try:
        body = to_plain_json(reply)
        return isinstance(body, dict) and find_codec(format).decode_reply(body).ends_turn
    except (LookupError, TypeError, AttributeError, ValueError, WireFormatError, RecursionError):
        return False  # it is not of its format, which the host must not see


# Whether a host's error says that the provider refused a request as too long.


MAX_ERROR_CAUSES = 5
"""Longest chain of causes that is searched; hosts wrap an SDK's error once or twice."""


def is_too_long_error(error: BaseException | None) -> bool:
    """Judge by status, code and text of the error or of one of its causes, as SDKs carry them.

    Read are `status_code`, `code` and `str()`.
    """
    for _ in range(MAX_ERROR_CAUSES):
        if error is None:
            return False
        if isinstance(error, BaseExceptionGroup):  # of a host that tried several models
            return any(map(is_too_long_error, error.exceptions))
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
