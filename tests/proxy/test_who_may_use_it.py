"""Who may use the proxy, which keys it passes on, and what it closes."""

from __future__ import annotations

import logging
import socket

import pytest
from msgspec.structs import replace

from memorist.core.messages import Usage
from memorist.errors import UsageError
from memorist.proxy.proxy_server import open_proxy_socket
from memorist.settings import ProxySettings
from memorist.testing import CallTool, Say, ScriptedServer, Step
from memorist.testing.steps import Hang, HttpError
from proxy.conftest import KEY, Answer, Proxied, anthropic, raw_provider, user
from proxy.test_faults import HELLO, NAMED, _send
from support.other_user import let_another_user_connect

EVERYWHERE = ".".join(["0"] * 4)


@pytest.mark.covers("IN-3", "SF-1")
@pytest.mark.parametrize("header", ["x-api-key", "authorization", "api-key", "x-memorist-token"])
def test_keys_are_in_no_file_and_no_log(
    proxied: Proxied, caplog: pytest.LogCaptureFixture, header: str
) -> None:
    """After requests that succeed, fail and are passed on, with the key in a header and a query: it
    is nowhere below the home folder, nor in the log.
    """
    caplog.set_level(logging.DEBUG)
    value = f"Bearer {KEY}" if header == "authorization" else KEY
    steps: list[Step] = [
        Say(text="Hello."),
        HttpError(code=401, message="no such key"),
        CallTool(name="Read", input={}, usage=Usage(input=5, output=5)),
    ]
    with ScriptedServer(steps) as server:
        proxy = proxied(server, token=KEY if header == "x-memorist-token" else "")
        for _ in steps:
            proxy.ask(f"/v1/messages?key={KEY}", HELLO, headers={header: value, **NAMED})
        proxy.ask(f"/v1/models?key={KEY}", method="GET", headers={header: value})
        proxy.close()

    assert len(server.requests) == len(steps) + 1
    assert not [name for name, data in proxy.files().items() if KEY.encode() in data]
    ours = [
        record
        for record in caplog.records
        if record.name.startswith(("memorist", "aiohttp", "asyncio"))
    ]
    assert ours
    assert not [record for record in ours if KEY in record.getMessage()]


@pytest.mark.covers("IN-3")
def test_a_keys_header_reaches_its_provider_and_ours_do_not(proxied: Proxied) -> None:
    """The client's headers go on, but for those of the one connection and those that speak to
    memorist.
    """

    def answer(connection: socket.socket) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-upstream: yes\r\nset-cookie: "
            b"a=1\r\nset-cookie: b=2\r\nconnection: close\r\n\r\n{}"
        )

    with ScriptedServer([Say(text="Hello.")]) as server:
        headers = {
            "x-own": "1",
            "connection": "x-hop",
            "x-hop": "1",
            "x-memorist-project": "/srv/shop",
            "accept-encoding": "br, gzip;q=0.5",
        }
        proxied(server).ask("/v1/messages", HELLO, headers={**headers, **NAMED})
    with raw_provider(answer) as url:
        found: Answer = proxied(url).ask("/v1/models", method="GET")

    got = server.received[0].headers
    assert got["x-own"] == "1"
    assert got["accept-encoding"] == "gzip;q=0.5"
    assert not {
        name for name in got if name.startswith("x-memorist") or name in ("x-hop", "connection")
    }
    assert got["host"] == server.url.removeprefix("http://")
    assert found.headers["x-upstream"] == "yes"


@pytest.mark.covers("SF-6")
def test_it_listens_beyond_this_machine_only_with_a_token() -> None:
    """Without one it says what to do; with one it listens."""
    with pytest.raises(Exception, match="MEMORIST_PROXY_TOKEN"):
        open_proxy_socket(replace(ProxySettings(port=0), host=EVERYWHERE), "")
    with pytest.raises(UsageError, match=r"proxy\.lan can be reached from elsewhere"):
        open_proxy_socket(replace(ProxySettings(port=0), hosts=("proxy.lan",)), "")
    open_proxy_socket(replace(ProxySettings(port=0), host=EVERYWHERE), "token").close()


@pytest.mark.covers("SF-6")
def test_without_a_token_it_is_for_its_own_user(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user of this machine would be told what is remembered of a project that it names."""
    let_another_user_connect(monkeypatch)
    with ScriptedServer([Say(text="Hello.")]) as server:
        assert proxied(server).ask("/v1/messages", HELLO).status == 401
        assert server.requests == []
        guarded = proxied(server, token="secret-word")
        headers = {"x-memorist-token": "secret-word"}
        assert guarded.ask("/v1/messages", HELLO, headers=headers).status == 200


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:9"}, 200),
        ({"host": "proxy.lan"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "NULL"}, 403),
        ({"origin": "chrome-extension://abc"}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"x-memorist-token": "wrong"}, 401),
    ],
)
def test_a_page_in_a_browser_and_a_client_without_the_token_stay_outside(
    proxied: Proxied, headers: dict[str, str], status: int
) -> None:
    """By the Host header, by the page's origin, and by the token; none of it reaches the provider."""
    with ScriptedServer([Say(text="Hello.")]) as server:
        proxy = proxied(server, token="secret-word", hosts=("proxy.lan",))
        found = proxy.ask(
            "/v1/messages", HELLO, headers={"x-memorist-token": "secret-word", **headers}
        )

    assert found.status == status
    assert len(server.requests) == (status == 200)


@pytest.mark.covers("IN-3")
def test_several_providers_are_told_apart_by_the_path(proxied: Proxied) -> None:
    """A name first in the path chooses; else the format does; an unknown one is told."""
    with (
        ScriptedServer(lambda request: Say(text="One.")) as one,
        ScriptedServer(lambda request: Say(text="Two.")) as two,
    ):
        proxy = proxied({"anthropic": one.url, "openrouter": f"{two.url}/v1"})
        proxy.ask("/v1/messages", HELLO)
        proxy.ask("/openrouter/v1/chat/completions", {"model": "m", "messages": [user("Hello.")]})
        proxy.ask("/openrouter/v1/models?limit=3", method="GET")
        unknown = proxy.ask("/v1/responses", {"model": "m", "input": "Hello."})

    assert [request.path for request in one.requests] == ["/v1/messages"]
    assert [request.path for request in two.requests] == [
        "/v1/chat/completions",
        "/v1/models?limit=3",
    ]
    assert unknown.status == 404
    assert "no upstream" in unknown.body["error"]["message"]


def test_the_time_that_a_slow_conversation_takes_is_no_others(proxied: Proxied) -> None:
    """Two conversations at once: a provider that hangs for one answers the other."""
    with ScriptedServer(
        lambda request: Hang() if "wait" in str(request.body) else Say(text="Hello.")
    ) as server:
        proxy = proxied(server)
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            _send(client, proxy.port, anthropic([user("Please wait.")]))
            assert server.wait_received(1)
            assert proxy.ask("/v1/messages", HELLO).status == 200
            client.setblocking(False)
            with pytest.raises(BlockingIOError):  # it waits still
                client.recv(1)


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize(
    "path",
    [
        "/../x",
        "/a/%2e%2e/x",
        "/%252E%252e/x",
        "/v1/..%2fx",
        "/.%5c../x",
        "/v1/..;a=b/x",
        "/%u002e%u002e/x",
        "/%c0%ae%c0%ae/x",
        "/..%20/x",
        "/..%00/x",
        "/%2525252525" + "25" * 2_000,
    ],
)
def test_a_path_that_climbs_out_of_the_providers_base_is_refused(
    proxied: Proxied, path: str
) -> None:
    """`..` in any spelling reaches no provider: behind a base address it would name another place
    on the same host, with the client's key.
    """
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        found = proxied(f"{server.url}/tenant-a").ask(path, {})

    assert found.status == 400
    assert not server.received


@pytest.mark.covers("SF-6")
def test_requests_that_never_arrive_whole_are_closed(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that stops is answered by 408, and a header that stops closes the connection."""
    monkeypatch.setattr("memorist.proxy.body_limit.MAX_BODY_ARRIVAL_SECONDS", 0.1)
    monkeypatch.setattr("memorist.proxy.proxy_server.MAX_IDLE_CONNECTION_SECONDS", 0.1)
    head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n"
    heard = []
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        for part in (head, head + b"content-length: 99\r\n\r\n{"):
            with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as asking:
                asking.sendall(part)
                heard.append(asking.recv(1_000))

    assert heard[0] == b""
    assert heard[1].startswith(b"HTTP/1.1 408")
    assert not server.received


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize(
    "header",
    [f"x-api-key: {KEY}\x01", f"x-api-key: {KEY}{'y' * 70_000}", f"x-api-key {KEY}: a"],
    ids=["a sign that no header may have", "too long", "a name that is none"],
)
def test_what_is_not_http_is_refused_and_its_bytes_are_in_no_log(
    proxied: Proxied, caplog: pytest.LogCaptureFixture, header: str
) -> None:
    """One line says that it was refused, without the header that made it so."""
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as asking:
            asking.sendall(f"GET /v1/x HTTP/1.1\r\nhost: localhost\r\n{header}\r\n\r\n".encode())
            heard = asking.recv(1_000)

    assert b" 400 " in heard.partition(b"\r\n")[0]
    assert not server.received
    assert caplog.text.count("is not HTTP") == 1
    assert KEY not in caplog.text
    assert "Traceback" not in caplog.text
