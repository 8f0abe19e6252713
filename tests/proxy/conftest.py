"""A proxy that runs in a thread of its own, before a scripted provider."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from msgspec.structs import replace

from memorist.engine.engine import Memorist
from memorist.engine.tenants import Tenants
from memorist.proxy.proxy_server import open_proxy_socket, serve
from memorist.proxy.tenant_lookup import TenantIdentificationRules
from memorist.settings import ProxySettings, Settings
from memorist.testing import ScriptedServer
from support.copied_work import run_with_copies

KEY = "sk-" + "ant-made-" + "up-0123456789abcdef"
"""No key, in parts."""


class Answer:
    """An answer as it came over the wire."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.data = data

    @property
    def word(self) -> str:
        """What memorist did."""
        return self.headers.get("x-memorist", "")

    @property
    def session(self) -> str:
        """The session that it belongs to."""
        return self.headers.get("x-memorist-session", "")

    @property
    def body(self) -> Any:
        return json.loads(self.data)


class RunningProxy:
    """A proxy on loopback; a context manager."""

    def __init__(
        self,
        home: Path,
        settings: ProxySettings,
        *,
        engine: Callable[[Path], Memorist | Tenants],
        token: str = "",
        tenancy: TenantIdentificationRules | None = None,
    ) -> None:
        self.home = home
        self._settings = settings
        self._token = token
        self._engine = engine
        self._tenancy = tenancy or TenantIdentificationRules()
        self._listening = open_proxy_socket(settings, token, self._tenancy)
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main()), name="proxy", daemon=True
        )
        self.port: int = self._listening.getsockname()[1]
        self.engine: Memorist | Tenants
        self._loop: asyncio.AbstractEventLoop
        self._until: asyncio.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _main(self) -> None:
        self._loop, self._until = asyncio.get_running_loop(), asyncio.Event()
        async with self._engine(self.home) as self.engine:
            self.engine.run_heavy = run_with_copies
            self._ready.set()
            await serve(
                self.engine,
                self._listening,
                self._settings,
                token=self._token,
                until=self._until,
                tenancy=self._tenancy,
            )

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop it, and wait until all is written."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._until.set)
            self._thread.join(60)
            assert not self._thread.is_alive()

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request over a connection of its own; a body that is not bytes is written as JSON."""
        data = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            connection.request(
                method, path, data, {"content-type": "application/json", **(headers or {})}
            )
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def files(self) -> dict[str, bytes]:
        """Everything below the home folder."""
        return {
            path.relative_to(self.home).as_posix(): path.read_bytes()
            for path in self.home.rglob("*")
            if path.is_file()
        }

    def transcript(self, session: str) -> str:
        """The transcript of a session; the proxy must be closed."""
        (found,) = [
            data
            for name, data in self.files().items()
            if name.endswith(f"/{session}/transcript.jsonl")
        ]
        return found.decode()


Proxied = Callable[..., RunningProxy]


@pytest.fixture
def proxied(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Proxied]:
    """Makes proxies before a provider, or before several by name; all are closed at the end."""
    running: list[RunningProxy] = []
    caplog.set_level(logging.INFO, "memorist.proxy")

    def make(
        provider: ScriptedServer | str | Mapping[str, str],
        *,
        settings: Settings | None = None,
        engine: Callable[[Path], Memorist | Tenants] | None = None,
        token: str = "",
        tenancy: TenantIdentificationRules | None = None,
        **more: Any,
    ) -> RunningProxy:
        url = provider.url if isinstance(provider, ScriptedServer) else provider
        upstreams = {"anthropic": url, "openai": url} if isinstance(url, str) else dict(url)
        chosen = ProxySettings(port=0, upstreams=upstreams, **more)
        many = tenancy is not None and tenancy.has_tenants

        def opens(home: Path) -> Memorist | Tenants:
            made = replace(settings or Settings(), proxy=chosen)
            return Tenants(home, settings=made) if many else Memorist(home=home, settings=made)

        running.append(
            RunningProxy(
                tmp_path / "home", chosen, engine=engine or opens, token=token, tenancy=tenancy
            ).__enter__()
        )
        return running[-1]

    yield make
    for each in running:
        each.close()


def _read_request(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of a request. Raises EOFError where the client leaves before its end."""
    data, end = b"", -1
    while end < 0 or len(data) < end:
        if not (part := connection.recv(65_536)):
            raise EOFError
        data += part
        if end < 0 and b"\r\n\r\n" in data:
            head = data.partition(b"\r\n\r\n")[0]
            length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
            end = len(head) + 4 + int(length or 0)
    return head, data[len(head) + 4 :]


@contextmanager
def raw_provider(
    answer: Callable[[Any], None],
    bodies: list[bytes] | None = None,
    heads: list[bytes] | None = None,
) -> Iterator[str]:
    """A provider that does with each connection's socket what it is told to, after it has read a
    request, whose head goes to `heads` and whose body to `bodies`.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def one(connection: socket.socket) -> None:
        with connection:
            try:
                head, body = _read_request(connection)
            except EOFError:
                return
            if heads is not None:
                heads.append(head)
            if bodies is not None:
                bodies.append(body)
            answer(connection)

    def loop() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        ended.set()
        listening.shutdown(socket.SHUT_RDWR)  # closing alone leaves the thread waiting in `accept`
        listening.close()
        thread.join(30)


def anthropic(messages: list[Any], **more: Any) -> dict[str, Any]:
    """A Messages request."""
    return {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "messages": messages, **more}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}
