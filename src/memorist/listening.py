"""Opening a listening socket."""

from __future__ import annotations

import socket

from memorist.errors import StoreError


def listen(host: str, port: int, waiting: int) -> socket.socket:
    """Open a listening TCP socket; port 0 takes a free one.

    `backlog` is the number of connections that may wait to be accepted. Raises StoreError when the
    address cannot be bound.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise StoreError(f"cannot listen on {host}:{port} ({error.strerror or error}); choose another --port") from error
    listening.listen(waiting)
    return listening
