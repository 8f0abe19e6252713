"""The HTTP client of the model SDKs, made safe: it follows no redirect, so that a key never goes to
another address than the one that was named, and it reads a bounded answer.

Needs one of the extras for model providers, and is loaded with them.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import httpx2

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Largest answer that is read, in bytes: some thirty times the longest reply of any model."""


_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def build_size_limited_http_client() -> httpx2.AsyncClient:
    """Build the client; connections are limited by the caller, time by the SDK's own settings."""

    async def bound(response: httpx2.Response) -> None:
        if isinstance(response.stream, AsyncIterable):
            response.stream = SizeLimitedStream(response.stream, MAX_REPLY_BYTES)

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx2.AsyncClient(
        follow_redirects=False,
        timeout=None,
        limits=limits,
        event_hooks={"response": [bound]},
        # What runs on this machine no proxy of the environment can reach.
        mounts={f"all://{host}": None for host in _LOOPBACK},
    )


class SizeLimitedStream(httpx2.AsyncByteStream):
    """The body of a response up to a limit in bytes. Iteration raises ValueError beyond it."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._limit:
                raise ValueError(f"the answer is larger than {self._limit:,} bytes")
            yield part

    async def aclose(self) -> None:
        """Close the connection's part of it."""
        await self._stream.aclose()
