"""Reading an SDK's event stream to its end, and describing what went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Protocol

import msgspec

from memorist.core.messages import JsonObject
from memorist.models.answer_repetition import (
    RepetitionDetector,
    assemble_streamed_reply_without_loop,
)
from memorist.models.call_failure import CallFailure
from memorist.models.reply_assembly import ReplyAssembler, parse_plain_reply


class SdkHttpResponse(Protocol):
    """The part of an SDK's HTTP response that is read here."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers."""
        ...

    async def aread(self) -> bytes:
        """The whole body."""
        ...

    async def aclose(self) -> None:
        """Close the connection's part of it."""
        ...


class SdkEventStream(Protocol):
    """The common part of `anthropic.AsyncStream[object]` and `openai.AsyncStream[object]`: decoded
    events, and the HTTP response.
    """

    @property
    def response(self) -> SdkHttpResponse:
        """The HTTP response."""
        ...

    def __aiter__(self) -> AsyncIterator[object]: ...


async def read_reply_stream(
    stream: SdkEventStream,
    assemble: ReplyAssembler,
    connection_errors: tuple[type[Exception], ...],
    events: list[JsonObject],
) -> JsonObject | CallFailure:
    """The reply in the stream, or the failure that ended it. `connection_errors` are the exceptions
    of a broken connection; `events` receives what came, also before an SDK's own error. A reply
    that only repeats itself is read no further: closing the stream ends it at the server as well.
    """
    try:
        if "json" in (stream.response.headers.get("content-type") or ""):
            return parse_plain_reply(await stream.response.aread())
        repeated, read = await _read_events(stream, events)
    except connection_errors as error:
        return CallFailure(kind="cut", message=str(error) or type(error).__name__)
    except (ValueError, RecursionError) as error:
        return CallFailure(
            kind="invalid", message=f"an event is not JSON: {error}", has_started=bool(events)
        )
    try:
        if repeated:
            return assemble_streamed_reply_without_loop(
                events, assemble, repeated=repeated, read=read
            )
        found = assemble(events)
    except (KeyError, TypeError, AttributeError, msgspec.DecodeError, RecursionError) as error:
        return CallFailure(
            kind="invalid",
            message=f"an event is not of the format: {type(error).__name__} {error}",
            has_started=True,
        )
    if isinstance(found, CallFailure) and len(events) > 1:  # its own event is the last one
        found = msgspec.structs.replace(found, has_started=True)
    return found


async def _read_events(stream: SdkEventStream, events: list[JsonObject]) -> tuple[int, int]:
    """Add the events, to the end or to where the answer is a loop; returns the characters that it
    repeated there, and those that were read.
    """
    watch = RepetitionDetector()
    decoded = aiter(stream)
    async for event in decoded:
        if not isinstance(event, dict):
            continue
        events.append(event)
        if repeated := watch.count_repeated(event):
            await _close_and_finish(stream, decoded)
            return repeated, watch.read
    return 0, watch.read


async def _close_and_finish(stream: SdkEventStream, decoded: AsyncIterator[object]) -> None:
    """Close the response, and let every generator between it and the SDK's events run to its end.
    A generator that is dropped half-way is ended later by the interpreter, which fails now and then
    where another thread collects garbage at that moment.
    """
    await stream.response.aclose()
    with suppress(Exception):  # whatever the rest of an answer that nobody wants ends with
        async for _ in decoded:
            pass
