"""The system clock, which implements the `Clock` port, and opening a listening socket."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memorist.core.lazy import lazy_module
from memorist.errors import StoreError

if TYPE_CHECKING:
    import asyncio
    import socket
else:
    # A command that reads a memory waits for neither.
    asyncio, socket = lazy_module("asyncio"), lazy_module("socket")


class SystemClock:
    """Real time."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        await asyncio.sleep(seconds)


def open_listening_socket(host: str, port: int, backlog: int) -> socket.socket:
    """Open a listening TCP socket; port 0 takes a free one.

    `backlog` is the number of connections that may wait to be accepted. Raises StoreError when the
    address cannot be bound.
    """
    listening = socket.socket(
        socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM
    )
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise StoreError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); choose another --port"
        ) from error
    listening.listen(backlog)
    return listening


def format_server_address(listening: socket.socket) -> str:
    """The address under which a server can be reached on this machine."""
    name, number = listening.getsockname()[:2]
    return f"http://{f'[{name}]' if ':' in name else name}:{number}"
