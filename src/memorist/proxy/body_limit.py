"""How much of a request's body is read, and how long it may take to arrive."""

from __future__ import annotations

import asyncio

import aiohttp

LARGE_BODY_BYTES = 1_000_000
"""Bytes from which a body is joined, parsed and rewritten in a thread. Our choice: to parse a
megabyte takes 6 ms.
"""
MAX_BODY_ARRIVAL_SECONDS = 300.0
"""Longest time for a body that is read to arrive. Our choice: 64 MB over 2 Mbit/s."""


class BodyTooSlow(Exception):
    """The client's body did not arrive in time."""

    status = 408


async def read_request_body_up_to(content: aiohttp.StreamReader, limit: int) -> tuple[bytes, bool]:
    """A request's body up to `limit` bytes (`proxy.body_bytes`), and whether it is complete. Raises
    BodyTooSlow.
    """
    parts, size = [], 0
    try:
        async with asyncio.timeout(MAX_BODY_ARRIVAL_SECONDS):
            async for part in content.iter_any():
                parts.append(part)
                size += len(part)
                if size > limit:
                    return b"".join(parts), False
    except TimeoutError:
        content.set_exception(ConnectionError())  # nobody reads the rest
        raise BodyTooSlow("the request took too long to arrive") from None
    if size > LARGE_BODY_BYTES:
        return await asyncio.to_thread(b"".join, parts), True
    return (parts[0] if len(parts) == 1 else b"".join(parts)), True
