"""How memorist's servers on uvicorn serve: with bounds on connections, and on the time that a
request may take to arrive, which uvicorn leaves open; without websockets, which none of them has;
and no request whose end two servers could see in two places. Needs uvicorn (extras `team`, `mcp`
and `ui`).
"""

from __future__ import annotations

import asyncio
from typing import Literal, cast

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_CONNECTIONS = 200
"""Connections at once. Where there are more, the one that waits longest for the headers of a
request, its first or its next, is closed, else the one whose body has been arriving the longest;
where all are answered, or send a body that began just now, further requests are refused with 503.
Our choice.
"""
MAX_HEADER_WAIT_SECONDS = 10.0
"""Longest wait for the headers of a request, from its connection or its first byte. Our choice."""
MAX_BODY_ARRIVAL_SECONDS = 60.0
"""Longest time from a request's headers to the end of its body. Our choice; the largest is a few
megabytes.
"""
MIN_BODY_ARRIVAL_SECONDS = 2.0
"""How long a body may arrive before its connection makes room for others. Our choice: a few
megabytes take less, and a flood of bodies that never end keeps nobody out for longer.
"""


class RequestSmugglingGuard:
    """Refuses a request that gives its length twice, as `Content-Length` and by chunks. HTTP lets a
    server go by the chunks; a reverse proxy before it that goes by the length would see another
    request in the body (RFC 9112, 6.1).
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it and close the connection."""
        names = {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= names:
            refused = PlainTextResponse(
                "A request has one length.", 400, headers={"connection": "close"}
            )
            await refused(scope, receive, send)
        else:
            await self._inner(scope, receive, send)


class BoundedUvicornConfig(uvicorn.Config):
    """uvicorn's settings with our bounds; `lifespan` is whether the application has start and
    end.
    """

    def __init__(self, app: ASGIApp, *, lifespan: Literal["on", "off"]) -> None:
        super().__init__(
            RequestSmugglingGuard(app),
            http=BoundedHttpProtocol,
            ws="none",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            lifespan=lifespan,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=5,
        )
        self.awaiting_headers: dict[BoundedHttpProtocol, None] = {}
        """Connections that wait for the headers of a request, the oldest first."""
        self.awaiting_bodies: dict[BoundedHttpProtocol, float] = {}
        """Connections whose body is arriving, and since when, the oldest first."""

    def close_longest_waiting_connection(self, now: float) -> None:
        """Close the connection that has kept the server waiting the longest."""
        for waiting in self.awaiting_headers:
            waiting.abort()
            return
        for arriving, since in self.awaiting_bodies.items():
            if now - since >= MIN_BODY_ARRIVAL_SECONDS:
                arriving.abort()
            return


class BoundedHttpProtocol(H11Protocol):
    """One connection, closed where its request does not arrive in time."""

    config: BoundedUvicornConfig
    _deadline: asyncio.TimerHandle | None = None
    _arriving: RequestResponseCycle | None = None
    """The request whose body is awaited."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(cast("asyncio.Transport", transport))
        if len(self.connections) >= MAX_CONNECTIONS:
            self.config.close_longest_waiting_connection(self.loop.time())
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Take bytes in, and set or end the deadline by what is missing now."""
        super().data_received(data)
        self._note_progress()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is here already."""
        super().on_response_complete()
        self._note_progress()

    def _note_progress(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self.config.awaiting_bodies.pop(self, None)
            if self not in self.config.awaiting_headers and not self.transport.is_closing():
                self._await_headers()
            return
        self.config.awaiting_headers.pop(self, None)
        if not cycle.more_body:
            self.config.awaiting_bodies.pop(self, None)
            self._set_deadline(None)
        elif cycle is not self._arriving:
            self._arriving = cycle
            self.config.awaiting_bodies[self] = self.loop.time()
            self._set_deadline(MAX_BODY_ARRIVAL_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.config.awaiting_headers.pop(self, None)
        self.config.awaiting_bodies.pop(self, None)
        self._set_deadline(None)
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once, without an answer."""
        self.config.awaiting_headers.pop(self, None)
        self.config.awaiting_bodies.pop(self, None)
        self.transport.abort()

    def _await_headers(self) -> None:
        self.config.awaiting_headers[self] = None
        self._set_deadline(MAX_HEADER_WAIT_SECONDS)

    def _set_deadline(self, seconds: float | None) -> None:
        """Close the connection in so many seconds; never for None."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.abort)
