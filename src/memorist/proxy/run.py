"""The proxy between an agent and its model provider.

The agent uses it as its base URL and needs nothing else.

For a model call, the proxy reads the body, finds its conversation, and lets the engine prepare the
request; if that changes nothing or fails, the original bytes are sent. The reply's bytes go to the
client as they arrive and are read on the side. Every other request is passed through unread.
"""

from __future__ import annotations

import logging
import time

import msgspec
from aiohttp import web
from msgspec.structs import replace

from memorist.engine.memorist import Memorist
from memorist.engine.tenants import Tenants
from memorist.proxy.exchange.run import Exchange, Means
from memorist.proxy.headers import admitted, refusal
from memorist.proxy.homes.run import Homes
from memorist.proxy.route import route
from memorist.proxy.taking.run import Taking
from memorist.proxy.tenancy import Tenancy, tenant_of
from memorist.proxy.upstream.run import Unreachable, Upstream
from memorist.proxy_settings import ProxySettings

log = logging.getLogger("memorist.proxy")


class Proxy:
    """One proxy. `answer` handles a client's request. Construct it inside a running loop."""

    def __init__(self, engines: Memorist | Tenants, settings: ProxySettings, token: str, tenancy: Tenancy) -> None:
        self._settings = settings
        self._token = token
        self._tenancy = tenancy
        self._upstream = Upstream(settings)
        self.taking = Taking(Homes(engines), settings)

    async def close(self) -> None:
        """Close all conversations and connections."""
        await self.taking.conversations.close()
        await self._upstream.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request of a client."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        refused = refusal(headers, request.headers.getall("host", []), self._settings.hosts)
        tenant = tenant_of(headers, self._tenancy)
        refused = refused or admitted(headers, self._token, tenant, self._tenancy)
        if refused is not None:
            return _problem(*refused)
        way = route(request.method, _target(request), headers, self._settings.upstreams)
        if not way.upstream:
            return _problem(404, "no upstream of memorist's proxy matches; name one first in the path, such as /anthropic/v1/messages")
        began = time.monotonic()
        unknown = self._tenancy.many and not tenant
        means = Means(taking=self.taking, upstream=self._upstream, settings=self._settings, tenant=tenant)
        exchange = Exchange(request, headers, replace(way, format="") if unknown else way, means)
        if unknown:
            exchange.word = "passed: it is of no tenant that is known"
        try:
            answer = await exchange.run()
        except Unreachable as error:
            answer = _problem(error.status, f"memorist's proxy: {error}")
        log.info(
            "%s %s %s %d %s in %.0f ms",
            request.method, way.upstream, way.path.partition("?")[0][:120], answer.status, exchange.word, 1_000 * (time.monotonic() - began),
        )  # fmt: skip
        return answer


def _target(request: web.BaseRequest) -> str:
    """Path and query as the client wrote them."""
    path = request.path_qs if not request.raw_path.startswith("/") else request.raw_path
    return path if path.startswith("/") else f"/{path}"


def _problem(status: int, why: str) -> web.Response:
    """An error of the proxy itself, in a form that clients of every format understand."""
    error = {"type": "api_error" if status >= 500 else "invalid_request_error", "message": why, "code": "memorist_proxy", "param": None}
    body = msgspec.json.encode({"type": "error", "error": error})
    return web.Response(status=status, body=body, content_type="application/json", headers={"x-memorist": "refused"})
