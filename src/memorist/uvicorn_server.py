"""How memorist's servers on uvicorn serve: with bounds on connections, and on the time that a
request may take to arrive, which uvicorn leaves open. Needs uvicorn (extras `team` and `mcp`).
"""

from __future__ import annotations

import asyncio
from typing import Literal, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_CONNECTIONS = 200
"""Connections at once. Where there are more, the ones that wait longest for their headers are
closed; where all have sent theirs, further requests are refused with 503. Our choice.
"""
HEADER_SECONDS = 10.0
"""Longest wait for the headers of a request, from its connection or its first byte. Our choice."""
BODY_SECONDS = 60.0
"""Longest wait for the body of a request after that. Our choice; the largest is a few megabytes."""


class BoundedConfig(uvicorn.Config):
    """uvicorn's settings with our bounds; `lifespan` is whether the application has start and
    end.
    """

    def __init__(self, app: ASGIApp, *, lifespan: Literal["on", "off"]) -> None:
        super().__init__(
            app,
            http=BoundedHttpProtocol,
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
        """Connections whose headers are not complete, the oldest first."""


class BoundedHttpProtocol(H11Protocol):
    """One connection, closed where its request does not arrive in time."""

    config: BoundedConfig
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._await_headers()
        if len(self.connections) >= MAX_CONNECTIONS:
            next(iter(self.config.awaiting_headers)).abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes in, and set or end the deadline by what is missing now."""
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            if self not in self.config.awaiting_headers and not self.transport.is_closing():
                self._await_headers()
            return
        self.config.awaiting_headers.pop(self, None)
        self._set_deadline(BODY_SECONDS if cycle.more_body else None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.config.awaiting_headers.pop(self, None)
        self._set_deadline(None)
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once, without an answer."""
        self.config.awaiting_headers.pop(self, None)
        self.transport.abort()

    def _await_headers(self) -> None:
        self.config.awaiting_headers[self] = None
        self._set_deadline(HEADER_SECONDS)

    def _set_deadline(self, seconds: float | None) -> None:
        """Close the connection in so many seconds; never for None."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.abort)
