"""Requests that never arrive whole, in hundreds, at the servers that run on uvicorn, and requests that
end in two places.
"""

from __future__ import annotations

import inspect
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from types import ModuleType

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from memorist import uvicorn_server
from memorist.mcp_server import http_server
from memorist.page import web_server
from memorist.team import team_server
from memorist.uvicorn_server import MAX_CONNECTIONS, BoundedUvicornConfig

ASK = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{len(await request.body())} bytes")


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A server with the bounds of all of them; gives its address."""
    application = Starlette(routes=[Route("/", _answer, methods=["GET", "POST"])])
    server = uvicorn.Server(BoundedUvicornConfig(application, lifespan="off"))
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
    monkeypatch.setattr(uvicorn_server, "MAX_HEADER_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(uvicorn_server, "MAX_BODY_ARRIVAL_SECONDS", 0.05)
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


def heard_until_closed(asking: socket.socket) -> bytes:
    """All that a server says until it closes the connection."""
    heard = b""
    with suppress(ConnectionResetError):
        while more := asking.recv(1_000):
            heard += more
    return heard


def test_a_body_that_comes_by_drops_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for a body counts from its headers, not from its last byte."""
    monkeypatch.setattr(uvicorn_server, "MAX_BODY_ARRIVAL_SECONDS", 0.3)
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    with serving() as address, closing(begun(address, head)) as asking:
        closed = False
        for _ in range(1_000):  # for fifty seconds at least
            try:
                asking.sendall(b"1\r\n \r\n")
            except OSError:
                closed = True
                break
            time.sleep(0.05)
    assert closed


@pytest.mark.parametrize("first", [b"content-length: 5", b"transfer-encoding: chunked"])
def test_a_request_with_two_lengths_is_refused_with_all_behind_it(first: bytes) -> None:
    """A reverse proxy that goes by the one and a server that goes by the other would see two
    requests where there is one: it is answered by 400, and what stands behind it by nothing.
    """
    both = (b"content-length: 5", b"transfer-encoding: chunked")
    lines = sorted(both, key=lambda line: line != first)
    head = b"\r\n".join([b"POST / HTTP/1.1", b"host: localhost", *lines])
    data = head + b"\r\n\r\n0\r\n\r\n" + ASK
    with serving() as address, closing(begun(address, data)) as asking:
        heard = heard_until_closed(asking)
    assert heard.startswith(b"HTTP/1.1 400")
    assert heard.count(b"HTTP/1.1") == 1


def test_a_websocket_is_an_ordinary_request() -> None:
    """None of the servers has one, and what checks requests sees this one too."""
    upgrade = b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    key = b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with serving() as address, closing(begun(address, ASK[:-2] + upgrade + key)) as asking:
        assert asking.recv(1_000).startswith(b"HTTP/1.1 200")


def test_connections_at_rest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answered connections that are kept open, as many as the server has, do not keep the next
    client from its answer.
    """
    monkeypatch.setattr(uvicorn_server, "MAX_CONNECTIONS", 4)
    with serving() as address, ExitStack() as open_now:
        for _ in range(12):
            resting = open_now.enter_context(closing(begun(address, ASK)))
            assert resting.recv(1_000).startswith(b"HTTP/1.1 200")


def test_bodies_that_never_end_keep_nobody_out_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the server has connections: they make room once the time is over in which a body
    is left undisturbed, also where each shows a valid token.
    """
    monkeypatch.setattr(uvicorn_server, "MAX_CONNECTIONS", 4)
    monkeypatch.setattr(uvicorn_server, "MIN_BODY_ARRIVAL_SECONDS", 0.2)
    body = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900\r\n\r\n1"
    with serving() as address, ExitStack() as open_now:
        for _ in range(8):
            open_now.enter_context(closing(begun(address, body)))
        time.sleep(0.4)
        with closing(begun(address, ASK)) as asking:
            assert asking.recv(1_000).startswith(b"HTTP/1.1 200")


def test_a_full_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all connections are those of requests that are under way, the next one is answered by
    503, not cut.
    """
    monkeypatch.setattr(uvicorn_server, "MAX_CONNECTIONS", 4)
    body = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n"
    with serving() as address, ExitStack() as open_now:
        for _ in range(3):
            busy = open_now.enter_context(
                closing(begun(address, body + b"expect: 100-continue\r\n\r\n1"))
            )
            assert busy.recv(100).startswith(b"HTTP/1.1 100")
        with closing(begun(address, ASK)) as asking:
            assert asking.recv(1_000).startswith(b"HTTP/1.1 503")


@pytest.mark.parametrize("module", [team_server, http_server, web_server])
def test_every_server_on_uvicorn_has_these_bounds(module: ModuleType) -> None:
    """None has settings of its own."""
    assert "BoundedUvicornConfig(" in inspect.getsource(module)
    assert "uvicorn.Config(" not in inspect.getsource(module)
