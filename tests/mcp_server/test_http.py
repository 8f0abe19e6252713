"""`memorist mcp --http`: the same tools over HTTP, on this machine; who may come in, and clients
that hang up (SF-6).
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.datastructures import Headers

from mcp_server.conftest import Asker, folder
from memorist.cli.main import memorist_group
from memorist.errors import UsageError
from memorist.mcp_server.http_server import (
    MAX_BODY_BYTES,
    MCP_PATH,
    McpAccessPolicy,
    build_access_policy,
    build_asgi_app,
)
from memorist.mcp_server.stdio_server import McpServer
from memorist.safety.server_access import LOOPBACK_NAMES
from memorist.uvicorn_server import BoundedUvicornConfig
from support.other_user import let_another_user_connect

TOKEN = "0aK9xmP2qLr7" + "vBn4wZs8tYc3"
EVERYWHERE = ".".join("0000")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}


@contextmanager
def serving_here(shop: Path, policy: McpAccessPolicy | None = None) -> Iterator[str]:
    """A server in a thread, as a process takes a second to load the SDK; gives its address."""
    tools = McpServer(None, shop)
    server = uvicorn.Server(
        BoundedUvicornConfig(build_asgi_app(tools, policy or McpAccessPolicy()), lifespan="on")
    )
    with closing(tools), closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}{MCP_PATH}"
        finally:
            server.should_exit = True
            thread.join(20)


@contextmanager
def serving(shop: Path, *options: str, token: str = "") -> Iterator[str]:
    """A server in a process; gives its address."""
    environment = {**os.environ, **({"MEMORIST_MCP_TOKEN": token} if token else {})}
    command = [sys.executable, "-m", "memorist", "mcp", "--http", "--port", "0", *options]
    with subprocess.Popen(
        command, cwd=shop, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("memorist mcp at http://"), line + process.stderr.read()
            yield line.split()[-1]
        finally:
            process.terminate()
            assert process.wait(30) == 0 or process.returncode == -15


def ask(url: str, body: object = HELLO, **headers: str) -> int:
    """The status of one request."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=300)
    given_ = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    connection.request(
        "POST",
        where.path,
        json.dumps(body),
        given_ | {name.replace("_", "-"): value for name, value in headers.items()},
    )
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.covers("IN-2", "AM-4")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_are_served_over_http(shop: Path, tmp_path: Path, mode: str) -> None:
    """Two clients at once, one that says where it works and one that does not: each has its own
    project's memory, in both eras of the protocol.
    """
    import mcp_types as types

    bank = folder(tmp_path / "bank")

    async def told(context: object) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": bank.as_uri()})])

    with serving_here(shop) as url:
        async with (
            Client(url, mode=mode) as one,
            Client(url, mode=mode, list_roots_callback=told) as two,
        ):
            await Asker(one).ask(
                "memory_write", text="The door is green.", kind="project", description="The door"
            )
            await Asker(two).ask(
                "memory_write", text="The gold is heavy.", kind="project", description="The gold"
            )
            seen = [await Asker(client).resource("memorist://memory") for client in (one, two)]

    assert "door" in seen[0]
    assert "gold" not in seen[0]
    assert "gold" in seen[1]
    assert "door" not in seen[1]


@pytest.mark.covers("SF-6")
async def test_a_token_is_needed_where_there_is_one(shop: Path) -> None:
    """With it a client is served by the program, also under a name that is allowed; without it, or
    with another one, none is, and the answer says how.
    """
    with serving(shop, "--allow-host", "shop.example", token=TOKEN) as url:
        refused = [
            ask(url),
            ask(url, authorization=f"Bearer {TOKEN}x"),
            ask(url, authorization=TOKEN),
        ]
        allowed = ask(url, host="SHOP.example", authorization=f"Bearer {TOKEN}")
        carrier = httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"})
        async with carrier, Client(streamable_http_client(url, http_client=carrier)) as client:
            status = await Asker(client).ask("status")

    assert refused == [401, 401, 401]
    assert allowed == 200
    assert "memories: 0" in status
    assert TOKEN not in status


@pytest.mark.covers("SF-6")
def test_without_a_token_the_server_is_for_its_own_user(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user of this machine reads and writes nothing; with a token it is served."""
    let_another_user_connect(monkeypatch)
    with serving_here(shop) as url:
        assert ask(url) == 401
    with serving_here(shop, McpAccessPolicy(token=TOKEN)) as url:
        assert ask(url, authorization=f"Bearer {TOKEN}") == 200


@pytest.mark.covers("SF-6")
def test_beyond_this_machine_a_token_is_needed(shop: Path) -> None:
    """Without one, or with one that can be guessed, the server does not start, and says why."""
    with pytest.raises(UsageError, match="MEMORIST_MCP_TOKEN"):
        build_access_policy(EVERYWHERE, (), "")
    with pytest.raises(UsageError, match=r"shop\.example can be reached from elsewhere"):
        build_access_policy("127.0.0.1", ["Shop.example"], "")
    with pytest.raises(UsageError, match="too short"):
        build_access_policy("127.0.0.1", (), "secret")
    assert build_access_policy(EVERYWHERE, ["Shop.example"], TOKEN).hosts >= {
        "shop.example",
        "localhost",
    }
    refused = CliRunner().invoke(
        memorist_group, ["mcp", "--http", "--host", EVERYWHERE, "--port", "0"]
    )
    assert isinstance(refused.exception, UsageError)


@pytest.mark.covers("SF-6")
def test_no_page_in_a_browser_reaches_it(shop: Path) -> None:
    """A name that is not this machine's, none, two, and another origin are refused on every path; a
    page of this machine is not.
    """
    policy = McpAccessPolicy(hosts=LOOPBACK_NAMES | {"shop.example"})
    with serving_here(shop, policy) as url:
        port = urlsplit(url).port
        statuses = {
            "rebound": ask(url, host=f"evil.example:{port}"),
            "suffix": ask(url, host=f"localhost.evil.example:{port}"),
            "other path": ask(url.replace("/mcp", "/"), host="evil.example"),
            "origin": ask(url, origin="https://evil.example"),
            "no origin": ask(url, origin="null"),
            "own": ask(url, host=f"localhost:{port}", origin=f"http://localhost:{port}"),
            "allowed": ask(url, host="SHOP.example"),
        }
        with socket.create_connection(("127.0.0.1", port or 0), 30) as raw:
            raw.sendall(b"POST /mcp HTTP/1.0\r\ncontent-length: 0\r\n\r\n")
            statuses["none"] = int(raw.recv(100).split()[1])

    assert statuses == {
        "rebound": 421, "suffix": 421, "other path": 421, "origin": 403, "no origin": 403, "own": 200, "allowed": 200, "none": 421
    }  # fmt: skip


@given(
    host=st.text(max_size=40),
    origin=st.one_of(st.none(), st.text(max_size=40)),
    shown=st.text(max_size=60),
)
def test_the_doors_open_for_nothing_but_the_names_and_the_token(
    host: str, origin: str | None, shown: str
) -> None:
    """Any header that is no known name is refused, and any token but the one."""
    raw = [("host", host), ("authorization", shown)] + (
        [("origin", origin)] if origin is not None else []
    )
    headers = Headers(
        raw=[(name.encode(), value.encode("utf-8", "replace")) for name, value in raw]
    )

    assert McpAccessPolicy(token=TOKEN).find_refusal(headers) is not None
    if McpAccessPolicy().find_refusal(headers) is None:
        assert host.strip().lower().startswith(("127.0.0.1", "localhost", "[::1]"))


async def test_clients_that_hang_up_harm_nobody(shop: Path) -> None:
    """Half a request, a request whose answer nobody reads, one that is too large, one that is no
    JSON: the next client is served.
    """
    with serving_here(shop) as url:
        port = urlsplit(url).port or 0
        head = (
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
            b"application/json\r\naccept: application/json, text/event-stream\r\n"
        )
        body = json.dumps(HELLO).encode()
        for sent in (
            head[:30],
            head + b"content-length: 500\r\n\r\n{",
            head + b"content-length: %d\r\n\r\n" % len(body) + body,
        ):
            with socket.create_connection(("127.0.0.1", port), 30) as raw:
                raw.sendall(sent)
        assert ask(url, "x" * (MAX_BODY_BYTES + 1)) == 413
        assert ask(url, ["no", "request"]) == 400
        async with Client(url) as client:
            status = await Asker(client).ask("status")

    assert "memories: 0" in status
