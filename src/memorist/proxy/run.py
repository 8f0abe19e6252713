"""The proxy: between an agent and its provider, with the engine beside. An agent names the proxy as its base address and needs nothing else.

Of a model call the body is read, the conversation found that it is of, and the request prepared; where that changes nothing, or anything goes wrong, the
bytes go out as they came. The answer's bytes go to the client as they come, and are read on the side. Every other request is passed on unread.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping

import aiohttp
import msgspec
from aiohttp import web
from msgspec import Struct
from multidict import CIMultiDict

from memorist.engine import Memorist
from memorist.errors import FormatError
from memorist.formats.registry import codec
from memorist.models.faults import Fault
from memorist.proxy.bodies import Body, read
from memorist.proxy.conversations.run import Conversations, Failed, Prepared
from memorist.proxy.headers import Pairs, caller_of, refusal, towards_client, towards_upstream
from memorist.proxy.identify import identify
from memorist.proxy.lanes import Aside, Asked, Call, Lanes, Link, links_of
from memorist.proxy.replies import refused_as_too_long, reply_of, unpacked
from memorist.proxy.rewrite import rewritten
from memorist.proxy.route import Route, address, route
from memorist.proxy.upstream.run import Unreachable, Upstream
from memorist.proxy_settings import ProxySettings

MOST_REPLY = 67_108_864
"""Bytes of an answer that are read on the side; a longer one is only passed on. Ours."""
MOST_ERROR = 1_048_576
"""Bytes of a refusal that are looked at. Ours."""
MOST_KEPT = 134_217_728
"""Bytes of earlier bodies that are kept, so that only what is new of the next one is read. Ours."""
LIKE = 1_024
"""Bytes with which a body begins that goes on from an earlier one. Ours."""

log = logging.getLogger("memorist.proxy")


class Taken(Struct, frozen=True):
    """What became of a model call: the bytes to send, and a word for the client."""

    data: bytes
    word: str
    call: Call | None = None
    body: Body | None = None
    prepared: Prepared | None = None


class Kept(Struct, frozen=True):
    """A body that was read, for the next one."""

    body: Body
    links: list[Link]


class Readings:
    """Bodies that were read lately, by how they begin."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, bytes], Kept] = OrderedDict()
        self._size = 0

    def read(self, format: str, raw: bytes) -> tuple[Body, list[Link], tuple[str, bytes]]:
        """The body, and the links of the entries that it shares with an earlier one. Raises FormatError."""
        key = (format, raw[:LIKE])
        kept = self._kept.get(key)
        body = read(raw, codec(format).history_key(), kept.body if kept else None)
        return body, kept.links[: body.shared] if kept else [], key

    def keep(self, key: tuple[str, bytes], body: Body, links: list[Link]) -> None:
        """For the next request."""
        old = self._kept.pop(key, None)
        self._size += len(body.raw) - (len(old.body.raw) if old else 0)
        self._kept[key] = Kept(body, links)
        while self._size > MOST_KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].body.raw)


class Proxy:
    """One proxy. `answer` takes a request of a client; made inside a running loop."""

    def __init__(self, engine: Memorist, settings: ProxySettings, token: str = "") -> None:
        self._settings = settings
        self._token = token
        self._upstream = Upstream(settings)
        self._lanes = Lanes(lambda: f"proxy-{secrets.token_hex(8)}")
        self._salt = secrets.token_bytes(16)
        self._readings = Readings()
        self.conversations = Conversations(engine, settings)

    async def close(self) -> None:
        """End conversations and connections."""
        await self.conversations.close()
        await self._upstream.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request of a client."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        refused = refusal(headers, request.headers.getall("host", []), self._settings.hosts, self._token)
        if refused is not None:
            return _problem(*refused)
        way = route(request.method, _target(request), headers, self._settings.upstreams)
        if not way.upstream:
            return _problem(404, "no upstream of memorist's proxy fits; name one first in the path, such as /anthropic/v1/messages")
        began = time.monotonic()
        exchange = Exchange(self, request, headers, way)
        try:
            answer = await exchange.run()
        except Unreachable as error:
            answer = _problem(error.status, f"memorist's proxy: {error}")
        log.info(
            "%s %s %s %d %s in %.0f ms",
            request.method, way.upstream, way.path.partition("?")[0][:120], answer.status, exchange.word, 1_000 * (time.monotonic() - began),
        )  # fmt: skip
        return answer

    async def take(self, way: Route, headers: Mapping[str, str], raw: bytes) -> Taken:
        """What to send for a model call with this body. Never raises: what goes wrong is in the word."""
        try:
            plain = unpacked(raw, headers.get("content-encoding", ""))
            body, before, key = self._readings.read(way.format, plain)
            who = identify(headers, body)
            asked = Asked(format=way.format, who=who, caller=caller_of(headers, self._salt), body=body, before=before)
            found = self._lanes.call(asked)
            named = who.certainty in ("named", "likely")
            self._readings.keep(key, body, [] if named or isinstance(found, Aside) else links_of(way.format, body.items, before))
        except FormatError as error:
            return Taken(raw, f"passed: {error}")
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            # A client of a format that is not known as well as we think: its request is passed on, and said.
            log.warning("a request could not be understood (%s); it is passed on as it came", type(error).__name__)
            return Taken(raw, "passed: it could not be understood")
        if isinstance(found, Aside):
            return Taken(raw, f"passed: {found.why}")
        try:
            prepared = await self.conversations.prepare(found.lane, found.request)
        except Failed as error:
            return Taken(raw, f"passed: {error}", found, body)
        new = written(found, body, prepared.request)
        if new is None:
            return Taken(raw, "unchanged", found, body, prepared)
        return Taken(new, "changed", found, body, prepared)

    async def smaller(self, taken: Taken) -> bytes | None:
        """The bytes of a smaller request, once, after the provider refused one as too long."""
        if taken.call is None or taken.body is None or taken.prepared is None:
            return None
        try:
            request = await self.conversations.recover(taken.call.lane, taken.prepared)
        except Failed:
            return None
        return None if request is None else written(taken.call, taken.body, request)

    def replied(self, taken: Taken, content_type: str, data: bytes) -> None:
        """The whole answer to a model call has come."""
        if taken.call is None:
            return
        reply = reply_of(taken.call.lane.format, content_type, data)
        if isinstance(reply, Fault):
            return
        try:
            messages = codec(taken.call.lane.format).decode_reply(reply).messages
        except FormatError:
            log.warning("an answer could not be understood; it was passed on as it came")
            return
        self._lanes.replied(taken.call, reply, messages)
        if taken.prepared is not None:
            self.conversations.observe(taken.call.lane, taken.prepared, reply)

    async def send(
        self, request: web.BaseRequest, way: Route, headers: Pairs, body: bytes | AsyncIterator[bytes] | None
    ) -> aiohttp.ClientResponse:
        """Send a request to its provider. Raises Unreachable."""
        return await self._upstream.send(request.method, address(self._settings.upstreams[way.upstream], way.path), headers, body)

    @property
    def most(self) -> int:
        """Bytes of the largest request that is read."""
        return self._settings.body_bytes


def written(call: Call, body: Body, sent: Mapping[str, object]) -> bytes | None:
    """The bytes of the request to send; None where it says what the client's says."""
    if call.whole:
        return rewritten(body, dict(sent))
    return None if sent == call.request else msgspec.json.encode(sent)


class Exchange:
    """One request of a client and the answer to it."""

    def __init__(self, proxy: Proxy, request: web.BaseRequest, headers: Mapping[str, str], way: Route) -> None:
        self._proxy = proxy
        self._request = request
        self._headers = headers
        self._way = way
        self.word = "passed"
        """What memorist did, for the log and the client."""

    async def run(self) -> web.StreamResponse:
        """Do it. Raises Unreachable."""
        if self._headers.get("expect", "").lower() == "100-continue":
            await self._request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request.writer.output_size = 0
        if not self._way.format:
            return await self._relayed(await self._passed(None), None)
        raw, whole = await self._body()
        if not whole:
            self.word = "passed: it is too large to be read"
            return await self._relayed(await self._passed(raw), None)
        taken = await self._proxy.take(self._way, self._headers, raw)
        self.word = taken.word
        upstream = await self._sent(taken, taken.data)
        return await self._answered(taken, upstream)

    async def _answered(self, taken: Taken, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        begun = await _begun(upstream) if taken.prepared is not None else b""
        if begun and _may_refuse(upstream, begun) and refused_as_too_long(upstream.status, _lowered(upstream), _read(upstream, begun)):
            smaller = await self._proxy.smaller(taken)
            if smaller is not None:
                upstream.close()
                self.word = "recovered: the provider refused it as too long, and a smaller one was sent"
                upstream, begun = await self._sent(taken, smaller), b""
        return await self._relayed(upstream, taken, begun)

    async def _body(self) -> tuple[bytes, bool]:
        """The request's body, and whether that is all of it."""
        parts, size = [], 0
        async for part in self._request.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > self._proxy.most:
                return b"".join(parts), False
        return (parts[0] if len(parts) == 1 else b"".join(parts)), True

    async def _sent(self, taken: Taken, data: bytes) -> aiohttp.ClientResponse:
        changed = taken.data is not data or taken.word == "changed"
        headers = towards_upstream(self._request.headers.items(), read=taken.call is not None, rewritten=changed)
        return await self._proxy.send(self._request, self._way, headers, data)

    async def _passed(self, begun: bytes | None) -> aiohttp.ClientResponse:
        """Pass a body on as it comes; `begun` was read already."""
        headers = towards_upstream(self._request.headers.items(), read=False, rewritten=False)
        length = self._headers.get("content-length")
        if length is not None:
            headers.append(("Content-Length", length))
        body = self._stream(begun) if self._request.body_exists else None
        return await self._proxy.send(self._request, self._way, headers, body)

    async def _stream(self, begun: bytes | None) -> AsyncIterator[bytes]:
        if begun:
            yield begun
        async for part in self._request.content.iter_any():
            yield part

    async def _relayed(self, upstream: aiohttp.ClientResponse, taken: Taken | None, begun: bytes = b"") -> web.StreamResponse:
        """Pass the answer on as it comes, and read it on the side."""
        headers = CIMultiDict(towards_client(upstream.headers.items()))
        headers["x-memorist"] = self.word.encode("ascii", "replace").decode()[:200]
        if taken is not None and taken.prepared is not None:
            headers["x-memorist-session"] = taken.prepared.session.id.encode("ascii", "replace").decode()
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
                self._request.transport.abort()  # the client sees what the proxy saw
            upstream.close()
            return answer
        except BaseException:
            # The client went away, or the proxy ends: the provider need not go on.
            upstream.close()
            raise
        if taken is not None and parts is not None:
            self._proxy.replied(taken, upstream.headers.get("content-type", ""), _read(upstream, b"".join(parts)))
        await answer.write_eof()
        return answer


def _kept(parts: list[bytes] | None, part: bytes, size: int) -> tuple[list[bytes] | None, int]:
    if parts is None or size + len(part) > MOST_REPLY:
        return None, size
    parts.append(part)
    return parts, size + len(part)


async def _begun(upstream: aiohttp.ClientResponse) -> bytes:
    """The whole of a refusal, or the first bytes of an answer that streams."""
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


def _target(request: web.BaseRequest) -> str:
    """Path and query as the client wrote them."""
    path = request.path_qs if not request.raw_path.startswith("/") else request.raw_path
    return path if path.startswith("/") else f"/{path}"


def _problem(status: int, why: str) -> web.Response:
    """An error of our own, in a form that clients of each format understand."""
    error = {"type": "api_error" if status >= 500 else "invalid_request_error", "message": why, "code": "memorist_proxy", "param": None}
    body = msgspec.json.encode({"type": "error", "error": error})
    return web.Response(status=status, body=body, content_type="application/json", headers={"x-memorist": "refused"})
