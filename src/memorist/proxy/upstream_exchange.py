"""One client request and its reply: bytes in, bytes out, with the reply also read on the side."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import web
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from memorist.errors import WireFormatError
from memorist.proxy.body_limit import read_request_body_up_to
from memorist.proxy.call_pipeline import CallPipeline, PreparedCall
from memorist.proxy.header_rules import (
    HeaderPairs,
    filter_reply_headers,
    filter_request_headers,
    sanitize_header_value,
)
from memorist.proxy.provider_routing import ProviderRoute, join_url
from memorist.proxy.upstream_reply import decompress_body, is_context_overflow
from memorist.settings import ProxySettings

# The provider's side: requests out, replies in, byte for byte.


MAX_HEADER_BYTES = 65_536
"""Bytes of one header line, in both directions: Codex lists every workspace in one. Our choice."""
CHUNK_BYTES = 131_072
"""Bytes of a body passed to the socket at once: the part that does not fit its buffer is copied
again each time. Measured.
"""
STALE_CONNECTION_SECONDS = 5.0
"""How soon a connection breaks that the server was closing when the request was sent over it. What
breaks later may have been answered, and paid for, already. Our choice; it takes one way there and
back.
"""
_SKIPPED_HEADERS = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")


class UpstreamCallFailed(Exception):
    """The provider did not answer; `status` is the status to send to the client (502 or 504)."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _ConnectionUse:
    """Whether a request went over a connection that had carried another."""

    is_reused = False


async def _on_connection_reused(session: object, use: SimpleNamespace, params: object) -> None:
    del session, params
    use.trace_request_ctx.is_reused = True


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def find_outgoing_proxy(url: str) -> str | None:
    """The HTTP proxy that the environment names for an address (`HTTPS_PROXY`, `ALL_PROXY`, but for
    `NO_PROXY`); None for this machine, which no such proxy reaches, and for SOCKS.
    """
    address = URL(url, encoded=True)
    host = address.host or ""
    if host in _LOOPBACK or proxy_bypass(host):
        return None
    known = getproxies()
    candidates = (known.get(address.scheme), known.get("all"))
    return next((each for each in candidates if each and each.startswith("http")), None)


class UpstreamConnectionPool:
    """Pooled connections to the providers. Construct it inside a running loop."""

    def __init__(self, settings: ProxySettings) -> None:
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(_on_connection_reused)
        self._session = aiohttp.ClientSession(
            trace_configs=[tracing],
            connector=aiohttp.TCPConnector(
                limit=settings.connections, ttl_dns_cache=60, keepalive_timeout=30
            ),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=settings.connect_seconds, sock_read=settings.silent_seconds
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_SKIPPED_HEADERS,
            auto_decompress=False,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            read_bufsize=1_048_576,
        )

    async def send(
        self,
        method: str,
        url: str,
        headers: HeaderPairs,
        body: bytes | AsyncIterator[bytes] | None,
        *,
        retry: bool = True,
    ) -> aiohttp.ClientResponse:
        """Send a request and return the reply as soon as its headers arrived.

        A server closes a connection that was idle for too long, some after five seconds, and may
        do so just when the next request is sent over it: a model call whose connection broke at
        once is sent once more, one that was worked on for a while, or is only passed through (an
        upload, a cancellation), is not. Raises UpstreamCallFailed.
        """
        began = time.monotonic()
        sized = headers
        data: bytes | AsyncIterator[bytes] | None = body
        if isinstance(body, bytes):
            sized = [*headers, ("Content-Length", str(len(body)))]
            data = body if len(body) < CHUNK_BYTES else split_request_body_into_chunks(body)
        use = _ConnectionUse()
        try:
            return await self._session.request(
                method,
                URL(url, encoded=True),
                headers=sized,
                data=data,
                allow_redirects=False,
                proxy=find_outgoing_proxy(url),
                trace_request_ctx=use,
            )
        except TimeoutError as error:
            raise UpstreamCallFailed(504, "the provider did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            lost = (
                use.is_reused
                and isinstance(error, aiohttp.ClientConnectionError)
                and time.monotonic() - began < STALE_CONNECTION_SECONDS
            )
            if lost and retry and isinstance(body, bytes):
                return await self.send(method, url, headers, body, retry=False)
            raise UpstreamCallFailed(
                502, f"the provider could not be reached ({type(error).__name__})"
            ) from error

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


async def split_request_body_into_chunks(body: bytes) -> AsyncIterator[bytes]:
    """Yield a large body in chunks, so that other requests get their turn."""
    for at in range(0, len(body), CHUNK_BYTES):
        yield body[at : at + CHUNK_BYTES]


MAX_REPLY_BYTES = 67_108_864
"""Bytes of a reply that are read on the side, packed and unpacked; a longer one is only passed on.
Our choice.
"""
MAX_ERROR_BYTES = 1_048_576
"""Bytes of an error reply that are inspected. Our choice."""


class ProxyExchangeDependencies(Struct, frozen=True, kw_only=True):
    """What an exchange needs from its proxy."""

    pipeline: CallPipeline
    upstream: UpstreamConnectionPool
    settings: ProxySettings
    tenant: str = ""


class ProxyExchange:
    """One client request and its reply."""

    def __init__(
        self,
        request: web.BaseRequest,
        headers: Mapping[str, str],
        route: ProviderRoute,
        dependencies: ProxyExchangeDependencies,
    ) -> None:
        self._dependencies = dependencies
        self._pipeline = dependencies.pipeline
        self._request = request
        self._headers = headers
        self._route = route
        self.outcome = "passed"
        """What memorist did, for the log and the `x-memorist` header."""

    async def run(self) -> web.StreamResponse:
        """Handle the request. Raises UpstreamCallFailed, BodyTooSlow."""
        if self._headers.get("expect", "").lower() == "100-continue":
            await self._request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request.writer.output_size = 0
        if not self._route.format:
            return await self._relay(await self._pass_through(None), None)
        limit = self._dependencies.settings.body_bytes
        raw, whole = await read_request_body_up_to(self._request.content, limit)
        if not whole:
            self.outcome = "passed: it is too large to be read"
            return await self._relay(await self._pass_through(raw), None)
        call = await self._pipeline.prepare_call(
            self._route, self._headers, raw, self._dependencies.tenant
        )
        self.outcome = call.outcome
        try:
            upstream = await self._send_prepared(call, call.data)
            return await self._answer(call, upstream)
        finally:
            self._pipeline.end_call(call)

    async def _answer(
        self, call: PreparedCall, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        try:
            first_bytes = await _read_start(upstream) if call.prepared is not None else b""
            smaller = await self._shrink_if_refused(call, upstream, first_bytes)
        except BaseException:
            # As when the client leaves meanwhile: nobody else holds the connection.
            upstream.close()
            raise
        if smaller is not None:
            upstream.close()
            self.outcome = (
                "recovered: the provider refused it as too long, and a smaller one was sent"
            )
            upstream, first_bytes = await self._send_prepared(call, smaller), b""
        return await self._relay(upstream, call, first_bytes)

    async def _shrink_if_refused(
        self, call: PreparedCall, upstream: aiohttp.ClientResponse, first_bytes: bytes
    ) -> bytes | None:
        """A smaller request where the reply begins as a refusal of one that was too long."""
        if (
            first_bytes
            and _may_refuse(upstream, first_bytes)
            and is_context_overflow(upstream.status, _decode_body(upstream, first_bytes))
        ):
            return await self._pipeline.shrink_refused_request(call)
        return None

    async def _send_prepared(self, call: PreparedCall, data: bytes) -> aiohttp.ClientResponse:
        changed = call.data is not data or call.outcome == "changed"
        headers = filter_request_headers(
            self._request.headers.items(), read=call.call is not None, rewritten=changed
        )
        return await self._send(headers, data)

    async def _send(
        self, headers: HeaderPairs, body: bytes | AsyncIterator[bytes] | None
    ) -> aiohttp.ClientResponse:
        url = join_url(
            self._dependencies.settings.upstreams[self._route.upstream], self._route.path
        )
        return await self._dependencies.upstream.send(self._request.method, url, headers, body)

    async def _pass_through(self, first_bytes: bytes | None) -> aiohttp.ClientResponse:
        """Pass the body through as it arrives; `first_bytes` was read already."""
        headers = filter_request_headers(self._request.headers.items(), read=False, rewritten=False)
        length = self._headers.get("content-length")
        if length is not None:
            headers.append(("Content-Length", length))
        body = self._stream_body(first_bytes) if self._request.body_exists else None
        return await self._send(headers, body)

    async def _stream_body(self, first_bytes: bytes | None) -> AsyncIterator[bytes]:
        if first_bytes:
            yield first_bytes
        async for part in self._request.content.iter_any():
            yield part

    async def _relay(
        self, upstream: aiohttp.ClientResponse, call: PreparedCall | None, first_bytes: bytes = b""
    ) -> web.StreamResponse:
        """Pass the reply on as it arrives, and read it on the side."""
        headers = CIMultiDict(filter_reply_headers(upstream.headers.items()))
        headers["x-memorist"] = sanitize_header_value(self.outcome)
        if call is not None and call.prepared is not None:
            headers["x-memorist-session"] = sanitize_header_value(call.prepared.session.id)
        answer = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=headers)
        recorder = ReplyRecorder(self._pipeline, call, upstream)
        try:
            await answer.prepare(self._request)
            if first_bytes:
                recorder.append(first_bytes)
                await answer.write(first_bytes)
            async for part in upstream.content.iter_any():
                recorder.append(part)
                await answer.write(part)
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            self.outcome += f"; the answer was cut ({type(error).__name__})"
            if self._request.transport is not None:
                self._request.transport.abort()  # the client must see the cut, not a complete reply
            upstream.close()
            return answer
        except BaseException:
            # The client disconnected, or the proxy stops: the provider need not continue.
            upstream.close()
            raise
        recorder.record_once()
        with contextlib.suppress(ConnectionError):  # it has all but the end, and left
            await answer.write_eof()
        return answer


_LAST_EVENTS = (
    b'"message_stop"',
    b'"response.completed"',
    b'"response.incomplete"',
    b"\ndata: [DONE]",
)
"""What only the last event of a stream holds: in a text its quotes and line breaks are escaped."""
_OVERLAP = max(map(len, _LAST_EVENTS)) - 1


class ReplyEndDetector:
    """Finds the part of a reply with which the client has all of it and may send its next request:
    the one that fills the announced length, or holds the end of a stream's last event. Only then
    has the reply to be recorded before the part is sent; a connection may stay open for longer.
    """

    def __init__(self, length: int | None) -> None:
        self._left = length
        self._before = b""
        self._is_last_event = False

    def append_and_check_end(self, part: bytes) -> bool:
        """Whether the reply is complete with this part, the next one."""
        if self._left is not None:
            self._left -= len(part)
            if self._left <= 0:
                return True
        text = self._before + part
        begins = max(map(text.find, _LAST_EVENTS))
        if begins >= 0 and not self._is_last_event:
            self._is_last_event = True
            text = text[begins + 1 :]
        self._before = text[-_OVERLAP:]
        return self._is_last_event and (b"\n\n" in text or b"\r\n\r\n" in text)


class ReplyRecorder:
    """Has a reply recorded before its client can continue from it; one that is too large, or that
    the provider refused, is none.
    """

    def __init__(
        self, pipeline: CallPipeline, call: PreparedCall | None, upstream: aiohttp.ClientResponse
    ) -> None:
        self._pipeline = pipeline
        self._call = call if call is not None and call.call is not None else None
        self._upstream = upstream
        self._ending = ReplyEndDetector(upstream.content_length)
        self._parts: list[bytes] = []
        self._left = MAX_REPLY_BYTES if upstream.status < 400 else -1

    def append(self, part: bytes) -> None:
        """Add the next part, before it is sent."""
        self._left -= len(part)
        if self._call is None or self._left < 0:
            self._call, self._parts = None, []
            return
        self._parts.append(part)
        if self._ending.append_and_check_end(part):
            self.record_once()

    def record_once(self) -> None:
        """Record the reply, once: it is complete, or the provider closed the connection."""
        if self._call is not None and self._left >= 0:
            data = _decode_body(self._upstream, b"".join(self._parts))
            kind = self._upstream.headers.get("content-type", "")
            self._pipeline.on_reply(self._call, kind, data)
        self._call = None


async def _read_start(upstream: aiohttp.ClientResponse) -> bytes:
    """All of an error reply, or the first bytes of a stream."""
    try:
        if upstream.status < 400:
            if "event-stream" in upstream.headers.get("content-type", ""):
                return await upstream.content.readany()
            return b""
        parts, size = [], 0
        async for part in upstream.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > MAX_ERROR_BYTES:
                break
        return b"".join(parts)
    except (aiohttp.ClientError, OSError) as error:
        raise UpstreamCallFailed(
            502, f"the provider broke off its answer ({type(error).__name__})"
        ) from error


def _may_refuse(upstream: aiohttp.ClientResponse, first_bytes: bytes) -> bool:
    return upstream.status in (400, 413, 422, 500) or (
        upstream.status < 400 and b"error" in first_bytes
    )


def _decode_body(upstream: aiohttp.ClientResponse, data: bytes) -> bytes:
    try:
        return decompress_body(data, upstream.headers.get("content-encoding", ""), MAX_REPLY_BYTES)
    except WireFormatError:
        return b""
