"""The socket of a process that only its user may reach: a Unix socket at a path or, where there is
none, a loopback port, whose number and token are in a private file at that path.

Imports only compiled modules: the program that is started for every hook loads it.
"""

from __future__ import annotations

import _socket
import os

HAS_UNIX = hasattr(_socket, "AF_UNIX")
TOKEN_HEX_DIGITS = 32
"""Length of the token in hexadecimal digits, which the client sends first; 128 bits. Our choice."""
_LOOPBACK = "127.0.0.1"


def connect(path: str, seconds: float) -> _socket.socket:
    """Connect within a time limit, which the socket keeps.

    Raises OSError: ConnectionRefusedError or FileNotFoundError where nobody listens.
    """
    line = _socket.socket(_socket.AF_UNIX if HAS_UNIX else _socket.AF_INET, _socket.SOCK_STREAM)
    try:
        line.settimeout(seconds)
        if HAS_UNIX:
            line.connect(path)
        else:
            port, token = _read_address(path)
            line.connect((_LOOPBACK, port))
            line.sendall(token)
    except OSError:
        line.close()
        raise
    return line


def _read_address(path: str) -> tuple[int, bytes]:
    try:
        with open(path, "rb") as file:
            port, token = file.read(100).split()
        return int(port), token
    except ValueError:
        raise ConnectionRefusedError(path) from None


def listen(path: str, queued: int) -> tuple[_socket.socket, bytes]:
    """Listen at a path that only the user may open, replacing what is there; also the token
    that every connection must send first, empty for a Unix socket. Raises OSError.
    """
    if os.path.lexists(path):
        os.unlink(path)
    line = _socket.socket(_socket.AF_UNIX if HAS_UNIX else _socket.AF_INET, _socket.SOCK_STREAM)
    token = b"" if HAS_UNIX else os.urandom(TOKEN_HEX_DIGITS // 2).hex().encode()
    before = os.umask(0o177)
    try:
        line.bind(path if HAS_UNIX else (_LOOPBACK, 0))
        line.listen(queued)
        if token:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(descriptor, b"%d %s" % (line.getsockname()[1], token))
            os.close(descriptor)
    except OSError:
        line.close()
        raise
    finally:
        os.umask(before)
    return line, token
