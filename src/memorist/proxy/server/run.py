"""The listening side of the proxy. It listens on this machine alone, unless it is told otherwise and knows a token (SF-6)."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable

from aiohttp import web

from memorist.engine import Memorist
from memorist.errors import UsageError
from memorist.listening import listen as open_socket
from memorist.proxy.run import Proxy
from memorist.proxy.upstream.run import MOST_HEADER
from memorist.proxy_settings import ProxySettings
from memorist.safety.doors import LOOPBACK

BACKLOG = 500
"""Connections that may wait to be taken. Ours."""
COLLECT = (50_000, 20, 50)
"""Thresholds of Python's collector: the bodies of requests make many objects and no cycles. Ours."""
END_SECONDS = 5.0
"""Longest wait for answers that are under way when the proxy is told to stop. Ours."""


def listen(settings: ProxySettings, token: str) -> socket.socket:
    """A socket to serve on. Raises UsageError for a host beyond this machine without a token, StoreError where it cannot be had."""
    if settings.host not in LOOPBACK and not token:
        raise UsageError(
            f"{settings.host} can be reached from elsewhere, and anybody could use the proxy; put a token into MEMORIST_PROXY_TOKEN first"
        )
    listening = open_socket(settings.host, settings.port, BACKLOG)
    listening.setblocking(False)
    return listening


async def serve(engine: Memorist, listening: socket.socket, settings: ProxySettings, *, token: str = "", until: asyncio.Event) -> None:
    """Answer until the event is set; then let what is under way end, within a bound, and close every conversation."""
    proxy = Proxy(engine, settings, token)
    server = web.Server(
        proxy.answer,
        handler_cancellation=True,
        auto_decompress=False,
        access_log=None,
        max_line_size=MOST_HEADER,
        max_field_size=MOST_HEADER,
        read_bufsize=1_048_576,
    )
    open_now = await asyncio.get_running_loop().create_server(server, sock=listening)
    try:
        await until.wait()
    finally:
        open_now.close()
        server.pre_shutdown()
        await server.shutdown(END_SECONDS)
        await proxy.close()


async def serve_until_told(open_engine: Callable[[], Memorist], listening: socket.socket, settings: ProxySettings, token: str) -> None:
    """Answer until the process is told to stop (SIGINT, SIGTERM)."""
    until = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, until.set)
    gc.freeze()  # what was imported stays; a collection that looks through it makes somebody wait
    gc.set_threshold(*COLLECT)
    async with open_engine() as engine:
        await serve(engine, listening, settings, token=token, until=until)
