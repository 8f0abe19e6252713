"""The listening side of the proxy. It listens on this machine alone, unless it is told otherwise and knows a token (SF-6)."""

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
"""Connections that may wait to be taken. Ours."""
COLLECT = (50_000, 20, 50)
"""Thresholds of Python's collector: the bodies of requests make many objects and no cycles. Ours."""
ONE = Tenancy()
"""All share one home."""
END_SECONDS = 5.0
"""Longest wait for answers that are under way when the proxy is told to stop. Ours."""


def listen(settings: ProxySettings, token: str, tenancy: Tenancy = ONE) -> socket.socket:
    """A socket to serve on. Raises UsageError for a host beyond this machine without a token, StoreError where it cannot be had."""
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
    """Answer until the event is set; then let what is under way end, within a bound, and close every conversation.

    `engines` is the engine of the one home, or, where `tenancy` tells tenants apart, those of all of them. Every client must send the `token`, but
    tenants that have tokens of their own.
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
    """Answer until the process is told to stop (SIGINT, SIGTERM)."""
    until = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, until.set)
    gc.freeze()  # what was imported stays; a collection that looks through it makes somebody wait
    gc.set_threshold(*COLLECT)
    async with open_engines() as engines:
        await serve(engines, listening, settings, until=until, token=token, tenancy=tenancy)


def read_tenancy(settings: ProxySettings) -> Tenancy:
    """How the settings say that tenants are known. Raises SettingsError for a file that is none."""
    if settings.tenants in ("", HEADER):
        return Tenancy(by_header=settings.tenants == HEADER, unknown=settings.unknown_tenant)
    path = Path(settings.tenants).expanduser()
    try:
        text, mode = path.read_text("utf-8"), path.stat().st_mode
    except (OSError, ValueError) as error:
        raise SettingsError(f"the tenants' file {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return Tenancy(tokens=read_tokens(text, str(path), private=not mode & 0o077), unknown=settings.unknown_tenant)
