"""The provider's side: requests out, replies in, byte for byte."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
from yarl import URL

from memorist.proxy.headers import Pairs
from memorist.proxy_settings import ProxySettings

MOST_HEADER = 65_536
"""Bytes of one header line, in both directions: Codex lists every workspace in one. Our choice."""
PIECE = 131_072
"""Bytes of a body passed to the socket at once: the part that does not fit its buffer is copied
again each time. Measured.
"""
_AUTOMATIC = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")


class Unreachable(Exception):
    """The provider did not answer; `status` is the status to send to the client (502 or 504)."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Upstream:
    """Pooled connections to the providers. Construct it inside a running loop."""

    def __init__(self, settings: ProxySettings) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.connections, ttl_dns_cache=60, keepalive_timeout=30),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_seconds, sock_read=settings.silent_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_AUTOMATIC,
            auto_decompress=False,
            max_line_size=MOST_HEADER,
            max_field_size=MOST_HEADER,
            read_bufsize=1_048_576,
        )

    async def send(self, method: str, url: str, headers: Pairs, body: bytes | AsyncIterator[bytes] | None) -> aiohttp.ClientResponse:
        """Send a request and return the reply as soon as its headers arrived.

        Raises UpstreamUnreachable.
        """
        sized = headers
        data: bytes | AsyncIterator[bytes] | None = body
        if isinstance(body, bytes):
            sized = [*headers, ("Content-Length", str(len(body)))]
            data = body if len(body) < PIECE else pieces(body)
        try:
            return await self._session.request(method, URL(url, encoded=True), headers=sized, data=data, allow_redirects=False)
        except TimeoutError as error:
            raise Unreachable(504, "the provider did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(502, f"the provider could not be reached ({type(error).__name__})") from error

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """Yield a large body in chunks, so that other requests get their turn."""
    for at in range(0, len(body), PIECE):
        yield body[at : at + PIECE]
