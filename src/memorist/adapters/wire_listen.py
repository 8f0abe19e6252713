"""Record an HTTP response while its client reads it: the client gets the same bytes at the same
time, and the whole body is handed on at the end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx2

Heard = Callable[[str, bytes], None]
"""Called once with the content type and the body, when the response was read or closed."""
HeardLater = Callable[[str, bytes], Awaitable[None]]
"""The same, async."""

_ENCODING = "content-encoding"


class _Heard:
    """Records the bytes on their way to the client."""

    def __init__(self, response: httpx2.Response) -> None:
        self._inner: Any = response.stream
        self._headers = response.headers
        self._parts: list[bytes] = []
        self._told = False

    def __getattr__(self, name: str) -> object:
        """Attributes that an SDK sets on its streams, such as a tracer."""
        found: object = getattr(self._inner, name)
        return found

    def taken(self) -> tuple[str, bytes] | None:
        """Content type and decoded body, once; None after that, or when the bytes cannot be decoded
        because they are incomplete.
        """
        if self._told:
            return None
        self._told = True
        coded = {_ENCODING: self._headers[_ENCODING]} if _ENCODING in self._headers else {}
        try:
            return kind_of(self._headers), httpx2.Response(200, headers=coded, content=b"".join(self._parts)).content
        except httpx2.DecodingError:
            return None


class _Listening(_Heard, httpx2.SyncByteStream):
    def __init__(self, response: httpx2.Response, heard: Heard) -> None:
        super().__init__(response)
        self._heard = heard

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            self._parts.append(part)
            yield part
        self._tell()

    def close(self) -> None:
        try:
            self._tell()
        finally:
            self._inner.close()

    def _tell(self) -> None:
        taken = self.taken()
        if taken is not None:
            self._heard(*taken)


class _ListeningLater(_Heard, httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, heard: HeardLater) -> None:
        super().__init__(response)
        self._heard = heard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._parts.append(part)
            yield part
        await self._tell()

    async def aclose(self) -> None:
        try:
            await self._tell()
        finally:
            await self._inner.aclose()

    async def _tell(self) -> None:
        taken = self.taken()
        if taken is not None:
            await self._heard(*taken)


def kind_of(headers: httpx2.Headers) -> str:
    """The content type of a response."""
    return str(headers.get("content-type") or "")


def listen(response: httpx2.Response, heard: Heard) -> None:
    """Call `callback` when the client has read the response; at once if it was read already."""
    body = _read(response)
    if body is None:
        response.stream = _Listening(response, heard)
    else:
        heard(kind_of(response.headers), body)


async def listen_later(response: httpx2.Response, heard: HeardLater) -> None:
    """As `tap_response`, async."""
    body = _read(response)
    if body is None:
        response.stream = _ListeningLater(response, heard)
    else:
        await heard(kind_of(response.headers), body)


def _read(response: httpx2.Response) -> bytes | None:
    try:
        return response.content
    except httpx2.ResponseNotRead:
        return None
