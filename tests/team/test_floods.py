"""Requests that never arrive whole, in hundreds, at the servers that run on uvicorn."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from memorist import uvicorn_server
from memorist.uvicorn_server import MAX_CONNECTIONS, BoundedConfig

ASK = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{len(await request.body())} bytes")


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A server with the bounds of all of them; gives its address."""
    application = Starlette(routes=[Route("/", _answer, methods=["GET", "POST"])])
    server = uvicorn.Server(BoundedConfig(application, lifespan="off"))
    with closing(socket.create_server(("127.0.0.1", 0), backlog=500)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join(20)


def begun(address: tuple[str, int], data: bytes) -> socket.socket:
    """A connection on which this was sent."""
    made = socket.create_connection(address, timeout=20)
    made.sendall(data)
    return made


def test_three_hundred_half_requests_keep_nobody_out() -> None:
    """Whoever sends the beginning of a header and no more, from more connections than the server
    has, does not keep the next request from its answer.
    """
    with serving() as address, ExitStack() as open_now:
        for _ in range(MAX_CONNECTIONS + 100):
            open_now.enter_context(closing(begun(address, b"GET / HTTP/1.1\r\nhost: loc")))
        with closing(begun(address, ASK)) as asking:
            assert asking.recv(1_000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET / HTTP/1.1\r\nhost: loc",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n1",
        ASK,
    ],
    ids=["nothing", "header", "body", "second"],
)
def test_a_request_that_does_not_arrive_is_closed(
    part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection without a request, a header or a body that stops, and a second request that
    stops: each ends by itself, after whole answers to what came whole.
    """
    monkeypatch.setattr(uvicorn_server, "HEADER_SECONDS", 0.05)
    monkeypatch.setattr(uvicorn_server, "BODY_SECONDS", 0.05)
    heard = b""
    with serving() as address, closing(begun(address, part)) as asking:
        try:
            if part.startswith(ASK):
                heard += asking.recv(1_000)
                asking.sendall(b"GET / HTT")
            while more := asking.recv(1_000):
                heard += more
        except ConnectionResetError:
            pass
    assert heard.count(b"HTTP/1.1 200") == part.count(ASK)


def test_a_flood_of_headers_is_refused() -> None:
    """Headers of a megabyte are answered by 400 and not kept in memory."""
    with serving() as address, closing(begun(address, ASK[:-2])) as asking:
        try:
            asking.sendall(b"x-flood: " + b"a" * 1_000_000)
            answer = asking.recv(1_000)
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
