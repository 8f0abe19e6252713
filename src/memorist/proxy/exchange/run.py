"""One client request and its reply: bytes in, bytes out, with the reply also read on the side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import aiohttp
from aiohttp import web
from msgspec import Struct
from multidict import CIMultiDict

from memorist.errors import FormatError
from memorist.proxy.headers import Pairs, plain, towards_client, towards_upstream
from memorist.proxy.replies import refused_as_too_long, unpacked
from memorist.proxy.route import Route, address
from memorist.proxy.taking.run import Taken, Taking
from memorist.proxy.upstream.run import Unreachable, Upstream
from memorist.proxy_settings import ProxySettings

MOST_REPLY = 67_108_864
"""Bytes of a reply that are read on the side; a longer one is only passed on. Our choice."""
MOST_ERROR = 1_048_576
"""Bytes of an error reply that are inspected. Our choice."""


class Means(Struct, frozen=True, kw_only=True):
    """What an exchange needs from its proxy."""

    taking: Taking
    upstream: Upstream
    settings: ProxySettings
    tenant: str = ""


class Exchange:
    """One client request and its reply."""

    def __init__(self, request: web.BaseRequest, headers: Mapping[str, str], way: Route, means: Means) -> None:
        self._means = means
        self._taking = means.taking
        self._request = request
        self._headers = headers
        self._way = way
        self.word = "passed"
        """What memorist did, for the log and the `x-memorist` header."""

    async def run(self) -> web.StreamResponse:
        """Handle the request. Raises UpstreamUnreachable."""
        if self._headers.get("expect", "").lower() == "100-continue":
            await self._request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request.writer.output_size = 0
        if not self._way.format:
            return await self._relayed(await self._passed(None), None)
        raw, whole = await self._body()
        if not whole:
            self.word = "passed: it is too large to be read"
            return await self._relayed(await self._passed(raw), None)
        taken = await self._taking.take(self._way, self._headers, raw, self._means.tenant)
        self.word = taken.word
        upstream = await self._sent(taken, taken.data)
        return await self._answered(taken, upstream)

    async def _answered(self, taken: Taken, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        begun = await _begun(upstream) if taken.prepared is not None else b""
        if begun and _may_refuse(upstream, begun) and refused_as_too_long(upstream.status, _lowered(upstream), _read(upstream, begun)):
            smaller = await self._taking.smaller(taken)
            if smaller is not None:
                upstream.close()
                self.word = "recovered: the provider refused it as too long, and a smaller one was sent"
                upstream, begun = await self._sent(taken, smaller), b""
        return await self._relayed(upstream, taken, begun)

    async def _body(self) -> tuple[bytes, bool]:
        """The request's body, and whether it is complete."""
        parts, size = [], 0
        async for part in self._request.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > self._means.settings.body_bytes:
                return b"".join(parts), False
        return (parts[0] if len(parts) == 1 else b"".join(parts)), True

    async def _sent(self, taken: Taken, data: bytes) -> aiohttp.ClientResponse:
        changed = taken.data is not data or taken.word == "changed"
        headers = towards_upstream(self._request.headers.items(), read=taken.call is not None, rewritten=changed)
        return await self._send(headers, data)

    async def _send(self, headers: Pairs, body: bytes | AsyncIterator[bytes] | None) -> aiohttp.ClientResponse:
        url = address(self._means.settings.upstreams[self._way.upstream], self._way.path)
        return await self._means.upstream.send(self._request.method, url, headers, body)

    async def _passed(self, begun: bytes | None) -> aiohttp.ClientResponse:
        """Pass the body through as it arrives; `begun` was read already."""
        headers = towards_upstream(self._request.headers.items(), read=False, rewritten=False)
        length = self._headers.get("content-length")
        if length is not None:
            headers.append(("Content-Length", length))
        body = self._stream(begun) if self._request.body_exists else None
        return await self._send(headers, body)

    async def _stream(self, begun: bytes | None) -> AsyncIterator[bytes]:
        if begun:
            yield begun
        async for part in self._request.content.iter_any():
            yield part

    async def _relayed(self, upstream: aiohttp.ClientResponse, taken: Taken | None, begun: bytes = b"") -> web.StreamResponse:
        """Pass the reply on as it arrives, and read it on the side."""
        headers = CIMultiDict(towards_client(upstream.headers.items()))
        headers["x-memorist"] = plain(self.word)
        if taken is not None and taken.prepared is not None:
            headers["x-memorist-session"] = plain(taken.prepared.session.id)
        answer = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=headers)
        parts: list[bytes] | None = [] if taken is not None and taken.call is not None and upstream.status < 400 else None
        try:
            await answer.prepare(self._request)
            size = 0
            if begun:
                await answer.write(begun)
                parts, size = _kept(parts, begun, size)
            async for part in upstream.content.iter_any():
                await answer.write(part)
                parts, size = _kept(parts, part, size)
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            self.word += f"; the answer was cut ({type(error).__name__})"
            if self._request.transport is not None:
                self._request.transport.abort()  # the client must see the cut, not a complete reply
            upstream.close()
            return answer
        except BaseException:
            # The client disconnected, or the proxy stops: the provider need not continue.
            upstream.close()
            raise
        # Before the end is written: the client may send its next request as soon as it sees that.
        if taken is not None and parts is not None:
            self._taking.replied(taken, upstream.headers.get("content-type", ""), _read(upstream, b"".join(parts)))
        await answer.write_eof()
        return answer


def _kept(parts: list[bytes] | None, part: bytes, size: int) -> tuple[list[bytes] | None, int]:
    if parts is None or size + len(part) > MOST_REPLY:
        return None, size
    parts.append(part)
    return parts, size + len(part)


async def _begun(upstream: aiohttp.ClientResponse) -> bytes:
    """All of an error reply, or the first bytes of a stream."""
    try:
        if upstream.status < 400:
            return await upstream.content.readany() if "event-stream" in upstream.headers.get("content-type", "") else b""
        parts, size = [], 0
        async for part in upstream.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > MOST_ERROR:
                break
        return b"".join(parts)
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(502, f"the provider broke off its answer ({type(error).__name__})") from error


def _may_refuse(upstream: aiohttp.ClientResponse, begun: bytes) -> bool:
    return upstream.status in (400, 413, 422, 500) or (upstream.status < 400 and b"error" in begun)


def _read(upstream: aiohttp.ClientResponse, data: bytes) -> bytes:
    try:
        return unpacked(data, upstream.headers.get("content-encoding", ""))
    except FormatError:
        return b""


def _lowered(upstream: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in upstream.headers.items()}
