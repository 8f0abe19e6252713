"""One client's HTTP connection to the scripted server."""

from __future__ import annotations

import gzip
import select
import socket
import time
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Protocol, cast

import msgspec
import zstandard

from memorist.core.messages import JsonObject
from memorist.testing.received import Received
from memorist.testing.server_streams import Outgoing

MAX_BODY = 256 * 1024 * 1024
"""Largest request body in bytes; the server is for tests and keeps all bodies."""

_SECRET = {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"}


class Owner(Protocol):
    """What a connection needs of its server."""

    @property
    def closing(self) -> Event:
        """Set when the server stops."""
        ...

    def opened(self, connection: Connection) -> None:
        """A client connected."""
        ...

    def ended(self, connection: Connection) -> None:
        """A connection is over."""
        ...

    def client_left(self, number: int) -> None:
        """The client of this request disconnected before the response was complete."""
        ...

    def answer(self, request: Received) -> tuple[int, Outgoing]:
        """Record a request; return its number and what to send."""
        ...


class Connection(BaseHTTPRequestHandler):
    """Reads requests, sends what the server's script says, and notices a client that disconnects.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _owner(self) -> Owner:
        return cast("Owner", vars(self.server)["owner"])

    def setup(self) -> None:
        """Register with the server."""
        super().setup()
        self._owner.opened(self)

    def finish(self) -> None:
        """Unregister from the server, whatever happened."""
        try:
            super().finish()
        finally:
            self._owner.ended(self)

    def sever(self) -> None:
        """Break the connection; called from another thread."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            # Already closed.
            return

    def log_message(self, *_: object) -> None:
        """Log nothing: tests read `ScriptedServer.requests`."""

    def serve(self) -> None:
        """Answer one request, whatever its method."""
        try:
            raw = self._read_body()
        except ConnectionError:
            self.close_connection = True
            return
        except (OSError, ValueError, zstandard.ZstdError) as error:
            self.send_error(400, f"the body cannot be read: {error}")
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in _SECRET}
        request = Received(method=self.command, path=self.path, headers=headers, raw=raw, body=_object(raw))
        number, outgoing = self._owner.answer(request)
        try:
            self._send(number, outgoing)
        except ConnectionError:
            self.close_connection = True
            self._owner.client_left(number)

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = self._read_chunks()
        else:
            size = int(self.headers.get("content-length") or 0)
            if size > MAX_BODY:
                raise ValueError("the body is too large")
            raw = self.rfile.read(size)
            if len(raw) < size:
                raise ConnectionError("the client went away")
        match self.headers.get("content-encoding", "").lower():
            case "gzip":
                return gzip.decompress(raw)
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
            case _:
                return raw

    def _read_chunks(self) -> bytes:
        chunks: list[bytes] = []
        total = 0
        while size := int(self.rfile.readline(64).partition(b";")[0], 16):
            total += size
            if total > MAX_BODY:
                raise ValueError("the body is too large")
            chunks.append(self.rfile.read(size))
            self.rfile.readline(4)
        while self.rfile.readline(65_536) not in {b"\r\n", b"\n", b""}:
            continue
        return b"".join(chunks)

    def _send(self, number: int, outgoing: Outgoing) -> None:
        if outgoing.hang:
            self._hold(number, None)
            return
        if outgoing.delay and not self._hold(number, outgoing.delay):
            return
        self.send_response(outgoing.status)
        for name, value in outgoing.headers.items():
            self.send_header(name, value)
        self.send_header("request-id", f"req_{number:06d}")
        if outgoing.streamed:
            self.send_header("transfer-encoding", "chunked")
        else:
            length = sum(map(len, outgoing.pieces)) if outgoing.length is None else outgoing.length
            self.send_header("content-length", str(length))
        self.end_headers()
        if self.command == "HEAD":
            return
        for piece in outgoing.pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if outgoing.streamed else piece)
        self._end(number, outgoing)

    def _end(self, number: int, outgoing: Outgoing) -> None:
        match outgoing.then:
            case "end":
                if outgoing.streamed:
                    self.wfile.write(b"0\r\n\r\n")
            case "close":
                self.close_connection = True
                self.sever()
            case "hang":
                self._hold(number, None)

    def _hold(self, number: int, seconds: float | None) -> bool:
        """Keep the connection silent.

        True when the time is over and the client is still connected.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while not self._owner.closing.wait(0.01):
            if end is not None and time.monotonic() >= end:
                return True
            if self._gone():
                self._owner.client_left(number)
                break
        self.close_connection = True
        return False

    def _gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        if not readable:
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True


# The base class looks methods up by name (`do_GET`, …).
for _method in ("GET", "HEAD", "POST"):
    setattr(Connection, f"do_{_method}", Connection.serve)


def _object(raw: bytes) -> JsonObject:
    try:
        body = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return {}
    return body if isinstance(body, dict) else {}
