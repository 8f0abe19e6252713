"""The proxy's HTTP server.

It listens on this machine only, unless told otherwise and given a token (SF-6).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import secrets
import socket
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from weakref import WeakKeyDictionary

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec.structs import replace

from memorist.engine.engine import Memorist
from memorist.engine.tenants import Tenants
from memorist.errors import UsageError
from memorist.platforms import processes
from memorist.platforms.loopback_peers import is_connection_of_other_user
from memorist.proxy.body_limit import BodyTooSlow
from memorist.proxy.call_pipeline import CallPipeline
from memorist.proxy.header_rules import find_host_or_origin_refusal, find_token_or_tenant_refusal
from memorist.proxy.heavy_work_process import HeavyWorkProcess
from memorist.proxy.provider_routing import find_provider_route, has_dot_segment
from memorist.proxy.proxy_metrics import CONTENT_TYPE, ProxyMetrics
from memorist.proxy.proxy_session_pool import TenantSessionOpener
from memorist.proxy.tenant_lookup import TenantIdentificationRules, find_tenant
from memorist.proxy.upstream_exchange import (
    MAX_HEADER_BYTES,
    ProxyExchange,
    ProxyExchangeDependencies,
    UpstreamCallFailed,
    UpstreamConnectionPool,
)
from memorist.safety.server_access import LOOPBACK_NAMES, is_same_token
from memorist.settings import ProxySettings
from memorist.system import open_listening_socket

# The proxy between an agent and its model provider.


OTHER_USER_REFUSAL = (
    "memorist's proxy answers the user that it runs as; with a token in MEMORIST_PROXY_TOKEN it "
    "answers whoever sends that in the header x-memorist-token"
)
log = logging.getLogger("memorist.proxy")
http_log = logging.getLogger("memorist.proxy.http")


def withhold_request_bytes_from_log(record: logging.LogRecord) -> bool:
    """Make one line of the log entry for a request that is not HTTP: the parser's message quotes
    the request, which may hold a key.
    """
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        record.msg, record.args = (
            "a request that is not HTTP is refused (%s)",
            (type(error).__name__,),
        )
        record.exc_info = record.exc_text = None
    return True


http_log.addFilter(withhold_request_bytes_from_log)


class Proxy:
    """One proxy. `answer` handles a client's request. Construct it inside a running loop."""

    def __init__(
        self,
        engines: Memorist | Tenants,
        settings: ProxySettings,
        token: str,
        tenancy: TenantIdentificationRules,
    ) -> None:
        self._settings = settings
        self._token = token
        self._tenancy = tenancy
        self._upstream = UpstreamConnectionPool(settings)
        self._metrics = ProxyMetrics()
        self._other_users = WeakKeyDictionary[asyncio.BaseTransport, bool]()
        """Whether a connection was opened by another user of this machine."""
        self.pipeline = CallPipeline(TenantSessionOpener(engines), settings)

    async def close(self) -> None:
        """Close all conversations and connections."""
        await self.pipeline.pool.close()
        await self._upstream.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request of a client."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        refused = find_host_or_origin_refusal(
            headers, request.headers.getall("host", []), self._settings.hosts
        )
        if refused is None and self._is_of_other_user(request.transport):
            refused = 401, OTHER_USER_REFUSAL
        if refused is None and request.method in ("GET", "HEAD"):
            own = self._answer_own(request.path, headers)
            if own is not None:
                return own
        tenant = find_tenant(headers, self._tenancy)
        refused = (
            refused
            or find_token_or_tenant_refusal(headers, self._token, tenant, self._tenancy)
            or _find_upgrade_refusal(headers)
        )
        if refused is not None:
            return _error_response(*refused)
        way = find_provider_route(
            request.method, _request_target(request), headers, self._settings.upstreams
        )
        if not way.upstream:
            return _error_response(
                404,
                "no upstream of memorist's proxy matches; name one first in the path, such as "
                "/anthropic/v1/messages",
            )
        if has_dot_segment(way.path):
            return _error_response(400, "a path with `.` or `..` in it is not passed on")
        began = time.monotonic()
        unknown = self._tenancy.has_tenants and not tenant
        dependencies = ProxyExchangeDependencies(
            pipeline=self.pipeline, upstream=self._upstream, settings=self._settings, tenant=tenant
        )
        exchange = ProxyExchange(
            request, headers, replace(way, format="") if unknown else way, dependencies
        )
        if unknown:
            exchange.outcome = "passed: it is of no tenant that is known"
        try:
            answer = await exchange.run()
        except (UpstreamCallFailed, BodyTooSlow) as error:
            answer = _error_response(error.status, f"memorist's proxy: {error}")
        self._metrics.record_answer(
            way.upstream, answer.status, exchange.outcome, time.monotonic() - began
        )
        log.info(
            "%s %s %s %d %s in %.0f ms",
            request.method, way.upstream, way.path.partition("?")[0][:120], answer.status,
            exchange.outcome, 1_000 * (time.monotonic() - began),
        )  # fmt: skip
        return answer

    def _is_of_other_user(self, connection: asyncio.BaseTransport | None) -> bool:
        """Whether another user of this machine sends the request, where none needs a token."""
        if self._token or self._tenancy.tokens or connection is None:
            return False
        if connection not in self._other_users:
            self._other_users[connection] = is_connection_of_other_user(
                connection.get_extra_info("peername"), connection.get_extra_info("sockname")
            )
        return self._other_users[connection]

    def _answer_own(self, path: str, headers: Mapping[str, str]) -> web.Response | None:
        """The answer to a question about the proxy itself; None where it is for a provider.

        Figures need the proxy's token where there is one, and are not for tenants.
        """
        if path == "/healthz":
            return web.Response(body=b'{"ok":true}', content_type="application/json")
        if path != "/metrics":
            return None
        if (self._token or self._tenancy.has_tenants) and not is_same_token(
            headers.get("x-memorist-token", ""), self._token or secrets.token_hex()
        ):
            return _error_response(401, "the proxy's figures need its token in x-memorist-token")
        text = self._metrics.render_prometheus_text(
            len(self.pipeline.pool), self.pipeline.cached_bytes
        )
        return web.Response(body=text, headers={"content-type": CONTENT_TYPE})


def _find_upgrade_refusal(headers: Mapping[str, str]) -> tuple[int, str] | None:
    """The answer to a client that asks for a websocket: Codex then sends the same over HTTP at
    once, and tries for seven seconds after any other answer.
    """
    if headers.get("upgrade", "").lower() != "websocket":
        return None
    return (
        HTTPStatus.UPGRADE_REQUIRED,
        "memorist's proxy has no websockets; send the request over HTTP",
    )


def _request_target(request: web.BaseRequest) -> str:
    """Path and query as the client wrote them."""
    path = request.path_qs if not request.raw_path.startswith("/") else request.raw_path
    return path if path.startswith("/") else f"/{path}"


def _error_response(status: int, why: str) -> web.Response:
    """An error of the proxy itself, in a form that clients of every format understand."""
    error = {
        "type": "api_error" if status >= 500 else "invalid_request_error",
        "message": why,
        "code": "memorist_proxy",
        "param": None,
    }
    body = msgspec.json.encode({"type": "error", "error": error})
    headers = {"x-memorist": "refused"}
    if status == HTTPStatus.UPGRADE_REQUIRED:  # RFC 9110: it names what to speak instead
        headers |= {"upgrade": "HTTP/1.1", "connection": "upgrade"}
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


CONNECTION_BACKLOG = 500
"""Connections that may wait to be accepted. Our choice."""
GC_THRESHOLDS = (50_000, 20, 50)
"""Thresholds of Python's garbage collector: request bodies make many objects and no cycles.

Our choice.
"""
GARBAGE_COLLECTION_INTERVAL_SECONDS = 60.0
"""Seconds between two full collections. Our choice: closed sessions and connections refer to
themselves, and by the thresholds alone they would stay for hours.
"""
MAX_IDLE_CONNECTION_SECONDS = 75.0
"""How long a connection may be open without a whole request line and headers, and between two
requests. nginx's default for the latter.
"""
THREAD_SWITCH_SECONDS = 0.0001
"""How long the thread of a long reading may keep the interpreter from the loop: a request needs it
some ten times or more. Our choice; Python's own is fifty times that.
"""
SINGLE_HOME = TenantIdentificationRules()
"""All clients share one home."""
MAX_SHUTDOWN_WAIT_SECONDS = 5.0
"""Longest wait for replies in progress when the proxy is stopped. Our choice."""


def open_proxy_socket(
    settings: ProxySettings, token: str, tenancy: TenantIdentificationRules = SINGLE_HOME
) -> socket.socket:
    """Open the socket to serve on.

    Raises UsageError for a host or a name beyond this machine without a token, StoreError if the
    address is unavailable.
    """
    guarded = token or (tenancy.tokens and tenancy.unknown == "refuse")
    beyond = sorted({settings.host, *settings.hosts} - LOOPBACK_NAMES)
    if beyond and not guarded:
        raise UsageError(
            f"{', '.join(beyond)} can be reached from elsewhere, and anybody could use the proxy; "
            f"put a token into MEMORIST_PROXY_TOKEN first"
        )
    listening = open_listening_socket(settings.host, settings.port, CONNECTION_BACKLOG)
    listening.setblocking(False)
    return listening


async def serve(
    engines: Memorist | Tenants,
    listening: socket.socket,
    settings: ProxySettings,
    *,
    until: asyncio.Event,
    token: str = "",
    tenancy: TenantIdentificationRules = SINGLE_HOME,
) -> None:
    """Serve until the event is set; then let replies in progress finish within a bound, and close
    every conversation.

    `engines` is the engine of the one home or, where `tenancy` has tenants, those of all of them.
    Every client must send `token`, except tenants with tokens of their own.
    """
    proxy = Proxy(engines, settings, token, tenancy)
    server = web.Server(
        proxy.answer,
        handler_cancellation=True,
        auto_decompress=False,
        access_log=None,
        logger=http_log,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        read_bufsize=1_048_576,
        keepalive_timeout=MAX_IDLE_CONNECTION_SECONDS,
    )
    open_now = await asyncio.get_running_loop().create_server(server, sock=listening)
    try:
        await until.wait()
    finally:
        open_now.close()
        server.pre_shutdown()
        await server.shutdown(MAX_SHUTDOWN_WAIT_SECONDS)
        await proxy.close()


async def serve_until_signal(
    open_engines: Callable[[], Memorist | Tenants],
    listening: socket.socket,
    settings: ProxySettings,
    token: str,
    tenancy: TenantIdentificationRules,
) -> None:
    """Serve until the process receives SIGINT or SIGTERM."""
    until = asyncio.Event()
    processes.call_on_termination_signals(asyncio.get_running_loop(), until.set)
    gc.freeze()  # imported modules stay for good; a collection that scans them would delay requests
    gc.set_threshold(*GC_THRESHOLDS)
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    heavy = HeavyWorkProcess()
    with contextlib.closing(heavy):
        async with open_engines() as engines:
            engines.run_heavy = heavy.run
            collecting = asyncio.create_task(collect_garbage_periodically())
            try:
                await serve(engines, listening, settings, until=until, token=token, tenancy=tenancy)
            finally:
                collecting.cancel()


async def collect_garbage_periodically() -> None:
    """Free what closed sessions and connections leave behind, again and again."""
    while True:
        await asyncio.sleep(GARBAGE_COLLECTION_INTERVAL_SECONDS)
        gc.collect()
