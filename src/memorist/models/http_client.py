"""The HTTP client of the model SDKs, made safe: it follows no redirect, so that a key never goes to
another address than the one that was named, and it reads a bounded answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Largest answer that is read, in bytes: some thirty times the longest reply of any model."""


def build_http_client(client_type: type[Any], limit: int = MAX_REPLY_BYTES) -> Any:  # noqa: ANN401 - the SDK's own class
    """Build a client of the SDK's own class (`DefaultAsyncHttpxClient`)."""
    library = import_module(client_type.__mro__[-3].__module__.split(".")[0])

    class BoundedStream(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any) -> None:  # noqa: ANN401
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in self._stream:
                size += len(part)
                if size > limit:
                    raise ValueError(f"the answer is larger than {limit:,} bytes")
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    class BoundedClient(client_type):  # type: ignore[misc]
        async def send(self, request: Any, **options: Any) -> Any:  # noqa: ANN401
            whole = not options.pop("stream", False)
            response = await super().send(request, stream=True, **options)
            response.stream = BoundedStream(response.stream)
            if whole:
                await response.aread()
            return response

    return BoundedClient(follow_redirects=False, timeout=None)
