"""Reading an SDK's event stream to its end, and describing what went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import msgspec

from memorist.core.messages import JsonObject
from memorist.models.answer_repetition import RepetitionDetector, assemble_reply_without_repetition
from memorist.models.call_failure import CallFailure
from memorist.models.reply_assembly import ReplyAssembler, parse_plain_reply


class SdkResponse(Protocol):
    """The part of an SDK's HTTP response that is read here."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers."""
        ...

    async def aread(self) -> bytes:
        """The whole body."""
        ...


class SdkEventStream(Protocol):
    """The common part of `anthropic.AsyncStream[object]` and `openai.AsyncStream[object]`: decoded
    events, and the HTTP response.
    """

    @property
    def response(self) -> SdkResponse:
        """The HTTP response."""
        ...

    def __aiter__(self) -> AsyncIterator[object]: ...


async def read_reply_stream(
    stream: SdkEventStream, assemble: ReplyAssembler, connection_errors: tuple[type[Exception], ...]
) -> JsonObject | CallFailure:
    """The reply in the stream, or the failure that ended it. `connection_errors` are the exceptions
    of a broken connection. A reply that only repeats itself is read no further: closing the stream
    ends it at the server as well.
    """
    try:
        if "json" in (stream.response.headers.get("content-type") or ""):
            return parse_plain_reply(await stream.response.aread())
        events, repeated, read = await _read_events(stream)
    except connection_errors as error:
        return CallFailure(kind="cut", message=str(error) or type(error).__name__)
    except (ValueError, RecursionError) as error:
        return CallFailure(kind="invalid", message=f"an event is not JSON: {error}")
    try:
        if repeated:
            return assemble_reply_without_repetition(events, assemble, repeated=repeated, read=read)
        return assemble(events)
    except (KeyError, TypeError, AttributeError, msgspec.DecodeError, RecursionError) as error:
        return CallFailure(
            kind="invalid", message=f"an event is not of the format: {type(error).__name__} {error}"
        )


async def _read_events(stream: SdkEventStream) -> tuple[list[JsonObject], int, int]:
    """The events, to the end or to where the answer is a loop; the characters that it repeated
    there, and those that were read.
    """
    watch = RepetitionDetector()
    events: list[JsonObject] = []
    async for event in stream:
        if not isinstance(event, dict):
            continue
        events.append(event)
        if repeated := watch.count_repeated(event):
            return events, repeated, watch.read
    return events, 0, watch.read
