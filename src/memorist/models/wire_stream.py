"""Reading an SDK's event stream to its end, and describing what went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from memorist.core.messages import JsonObject
from memorist.models.faults import Fault, fault_of_object, status_of


class RawResponse(Protocol):
    """The part of an SDK's HTTP response that is read here."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers."""
        ...

    async def aread(self) -> bytes:
        """The whole body."""
        ...


class EventStream(Protocol):
    """The common part of `anthropic.AsyncStream[object]` and `openai.AsyncStream[object]`: decoded
    events, and the HTTP response.
    """

    @property
    def response(self) -> RawResponse:
        """The HTTP response."""
        ...

    def __aiter__(self) -> AsyncIterator[object]: ...


Assemble = Callable[[Iterable[JsonObject]], JsonObject | Fault]
"""Builds a reply from a stream's events; see `memorist.models.reply_assembly`."""


async def read_stream(stream: EventStream, assemble: Assemble, broken: tuple[type[Exception], ...]) -> JsonObject | Fault:
    """The reply in the stream, or the failure that ended it. `connection_errors` are the exceptions
    of a broken connection.
    """
    try:
        if "json" in (stream.response.headers.get("content-type") or ""):
            return plain_reply(await stream.response.aread())
        events = [event async for event in stream if isinstance(event, dict)]
    except broken as error:
        return Fault(kind="cut", message=str(error) or type(error).__name__)
    except ValueError as error:
        return Fault(kind="invalid", message=f"an event is not JSON: {error}")
    try:
        return assemble(events)
    except (KeyError, TypeError, AttributeError, msgspec.DecodeError) as error:
        return Fault(kind="invalid", message=f"an event is not of the format: {type(error).__name__} {error}")


def plain_reply(data: bytes) -> JsonObject | Fault:
    """Parse the reply of a server that answered without streaming although a stream was requested.
    """
    try:
        body = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        return Fault(kind="invalid", message=str(error))
    if not isinstance(body, dict):
        return Fault(kind="invalid", message="the reply is not a JSON object")
    problem = body.get("error")
    return fault_of_object(problem) if isinstance(problem, dict) else body


def status_fault(status: int, message: str, body: object, headers: Mapping[str, str]) -> Fault:
    """The failure behind an SDK exception: HTTP status, its message, the decoded body, the
    response's headers.

    A status below 400 means that the error came inside a stream: its type then determines the
    status.
    """
    outer: Mapping[str, object] = body if isinstance(body, Mapping) else {}
    inner = outer.get("error")
    error: Mapping[str, object] = inner if isinstance(inner, Mapping) else outer
    code = next((name for key in ("code", "type") if isinstance(name := error.get(key), str)), None)
    said = str(error.get("message") or message)
    if status < 400:
        return Fault(kind="status", message=said, code=code, status=status_of(code))
    retry = {"true": True, "false": False}.get(headers.get("x-should-retry") or "")
    return Fault(kind="status", message=said, code=code, status=status, retry_after=_seconds(headers), retry=retry)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds of `retry-after-ms` or `retry-after`; None for a date or nonsense."""
    for key, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers.get(key) or "") * unit
        except ValueError:
            continue
    return None
