"""Record an HTTP response while its client reads it: the client gets the same bytes at the same
time, and the whole body is handed on at the end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx2

BodyCallback = Callable[[str, bytes], None]
"""Called once with the content type and the body, when the response was read or closed."""
AsyncBodyCallback = Callable[[str, bytes], Awaitable[None]]
"""The same, async."""

_ENCODING_HEADER = "content-encoding"


class _TappedStream:
    """Records the bytes on their way to the client."""

    def __init__(self, response: httpx2.Response) -> None:
        self._inner: Any = response.stream
        self._headers = response.headers
        self._parts: list[bytes] = []
        self._is_delivered = False

    def __getattr__(self, name: str) -> object:
        """Attributes that an SDK sets on its streams, such as a tracer."""
        found: object = getattr(self._inner, name)
        return found

    def take_body(self) -> tuple[str, bytes] | None:
        """Content type and decoded body, once; None after that, or when the bytes cannot be decoded
        because they are incomplete.
        """
        if self._is_delivered:
            return None
        self._is_delivered = True
        coded = (
            {_ENCODING_HEADER: self._headers[_ENCODING_HEADER]}
            if _ENCODING_HEADER in self._headers
            else {}
        )
        try:
            return response_content_type(self._headers), httpx2.Response(
                200, headers=coded, content=b"".join(self._parts)
            ).content
        except httpx2.DecodingError:
            return None


class _SyncTappedStream(_TappedStream, httpx2.SyncByteStream):
    def __init__(self, response: httpx2.Response, callback: BodyCallback) -> None:
        super().__init__(response)
        self._callback = callback

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            self._parts.append(part)
            yield part
        self._deliver()

    def close(self) -> None:
        try:
            self._deliver()
        finally:
            self._inner.close()

    def _deliver(self) -> None:
        body = self.take_body()
        if body is not None:
            self._callback(*body)


class _AsyncTappedStream(_TappedStream, httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, callback: AsyncBodyCallback) -> None:
        super().__init__(response)
        self._callback = callback

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._parts.append(part)
            yield part
        await self._deliver()

    async def aclose(self) -> None:
        try:
            await self._deliver()
        finally:
            await self._inner.aclose()

    async def _deliver(self) -> None:
        body = self.take_body()
        if body is not None:
            await self._callback(*body)


def response_content_type(headers: httpx2.Headers) -> str:
    """The content type of a response."""
    return str(headers.get("content-type") or "")


def attach_response_body_callback(response: httpx2.Response, callback: BodyCallback) -> None:
    """Call `callback` when the client has read the response; at once if it was read already."""
    body = _body_if_read(response)
    if body is None:
        response.stream = _SyncTappedStream(response, callback)
    else:
        callback(response_content_type(response.headers), body)


async def atap_response(response: httpx2.Response, callback: AsyncBodyCallback) -> None:
    """As `attach_response_body_callback`, async."""
    body = _body_if_read(response)
    if body is None:
        response.stream = _AsyncTappedStream(response, callback)
    else:
        await callback(response_content_type(response.headers), body)


def _body_if_read(response: httpx2.Response) -> bytes | None:
    try:
        return response.content
    except httpx2.ResponseNotRead:
        return None
