"""The proxy's HTTP server.

It listens on this machine only, unless told otherwise and given a token (SF-6).
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from memorist.engine.memorist import Memorist
from memorist.engine.tenants import Tenants
from memorist.errors import SettingsError, UsageError
from memorist.listening import listen as open_socket
from memorist.proxy.run import Proxy
from memorist.proxy.tenancy import HEADER, Tenancy, read_tokens
from memorist.proxy.upstream.run import MOST_HEADER
from memorist.proxy_settings import ProxySettings
from memorist.safety.doors import LOOPBACK

BACKLOG = 500
"""Connections that may wait to be accepted. Our choice."""
COLLECT = (50_000, 20, 50)
"""Thresholds of Python's garbage collector: request bodies make many objects and no cycles.

Our choice.
"""
ONE = Tenancy()
"""All clients share one home."""
END_SECONDS = 5.0
"""Longest wait for replies in progress when the proxy is stopped. Our choice."""


def listen(settings: ProxySettings, token: str, tenancy: Tenancy = ONE) -> socket.socket:
    """Open the socket to serve on.

    Raises UsageError for a host beyond this machine without a token, StoreError if the address is
    unavailable.
    """
    guarded = token or (tenancy.tokens and tenancy.unknown == "refuse")
    if settings.host not in LOOPBACK and not guarded:
        raise UsageError(
            f"{settings.host} can be reached from elsewhere, and anybody could use the proxy; put a token into MEMORIST_PROXY_TOKEN first"
        )
    listening = open_socket(settings.host, settings.port, BACKLOG)
    listening.setblocking(False)
    return listening


async def serve(
    engines: Memorist | Tenants,
    listening: socket.socket,
    settings: ProxySettings,
    *,
    until: asyncio.Event,
    token: str = "",
    tenancy: Tenancy = ONE,
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


async def serve_until_told(
    open_engines: Callable[[], Memorist | Tenants], listening: socket.socket, settings: ProxySettings, token: str, tenancy: Tenancy
) -> None:
    """Serve until the process receives SIGINT or SIGTERM."""
    until = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, until.set)
    gc.freeze()  # imported modules stay for good; a collection that scans them would delay requests
    gc.set_threshold(*COLLECT)
    async with open_engines() as engines:
        await serve(engines, listening, settings, until=until, token=token, tenancy=tenancy)


def read_tenancy(settings: ProxySettings) -> Tenancy:
    """Read how tenants are identified. Raises SettingsError for an invalid tenants file."""
    if settings.tenants in ("", HEADER):
        return Tenancy(by_header=settings.tenants == HEADER, unknown=settings.unknown_tenant)
    path = Path(settings.tenants).expanduser()
    try:
        text, mode = path.read_text("utf-8"), path.stat().st_mode
    except (OSError, ValueError) as error:
        raise SettingsError(f"the tenants' file {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return Tenancy(tokens=read_tokens(text, str(path), private=not mode & 0o077), unknown=settings.unknown_tenant)
