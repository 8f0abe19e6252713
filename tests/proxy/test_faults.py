"""Whatever goes wrong with a client, a provider, or memorist itself: what was said goes through as
it came.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import anthropic as anthropic_sdk
import pytest

from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import StoreError
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.platforms.processes import is_running
from memorist.ports import FileSystem
from memorist.proxy import upstream_exchange
from memorist.proxy.heavy_work_process import HeavyWorkProcess
from memorist.proxy.upstream_exchange import UpstreamCallFailed
from memorist.settings import CompactionSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.testing import Say, ScriptedServer
from memorist.testing.steps import Hang, HttpError, InterruptedReply, ReplyParts
from proxy.conftest import KEY, Proxied, anthropic, assistant, raw_provider, user

HELLO = anthropic([user("Say hello.")])
NAMED = {"x-memorist-session": "s"}
MODEL = "claude-made-up"
PAGE = (
    "The importer reads rows from orders.csv and writes them to the table orders_2024; each "
    "row has a price in cents. "
)


# --- the provider


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_provider_is_reached_through_the_proxy_of_the_environment(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Where a company lets nothing else out; what runs on this machine is reached directly."""
    heads: list[bytes] = []
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"
    for name in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with raw_provider(lambda it: it.sendall(answer), heads=heads) as company:
        monkeypatch.setenv(variable, company)
        away = proxied({"anthropic": "http://models.example/base"})
        assert away.ask("/v1/messages", HELLO).status == 200
        monkeypatch.setenv("NO_PROXY", "models.example")
        assert away.ask("/v1/messages", HELLO).status == 502
    assert heads[0].startswith(b"POST http://models.example/base/v1/messages HTTP/1.1")
    assert len(heads) == 1

    with raw_provider(lambda it: it.sendall(answer), heads=heads) as near:
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
        assert proxied(near).ask("/v1/messages", HELLO).status == 200
    assert heads[1].startswith(b"POST /v1/messages HTTP/1.1")


@pytest.mark.covers("IN-3")
def test_a_provider_behind_tls_is_reached_by_a_tunnel_or_not_at_all(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy of the environment is asked for a tunnel; one that refuses it is told as such."""
    heads: list[bytes] = []
    refusal = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    for name in ("NO_PROXY", "no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with raw_provider(lambda it: it.sendall(refusal), heads=heads) as company:
        monkeypatch.setenv("HTTPS_PROXY", company)
        away = proxied({"anthropic": "https://models.example"})
        assert away.ask("/v1/messages", HELLO).status == 502
    assert heads[0].startswith(b"CONNECT models.example:443 HTTP/1.1")
    assert b"x-api-key" not in heads[0].lower()


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, None),
        (404, None),
        (429, None),
        (500, None),
        (529, None),
    ],
)
def test_an_error_comes_as_it_is(proxied: Proxied, status: int, kind: str | None) -> None:
    """Status, retry-after, request id and the very body; the conversation goes on with the retry,
    as the same session.
    """
    with ScriptedServer(
        [HttpError(code=status, message="not now", kind=kind, retry_after="17"), Say(text="Hello.")]
    ) as server:
        proxy = proxied(server)
        answer = proxy.ask("/v1/messages", HELLO, headers=NAMED)
        direct = json.loads(answer.data)
        again = proxy.ask("/v1/messages", HELLO, headers=NAMED)
        proxy.close()

    assert (answer.status, answer.headers["retry-after"], answer.headers["request-id"]) == (
        status,
        "17",
        "req_000001",
    )
    assert direct["error"]["message"] == "not now"
    assert (again.status, again.word) == (200, "unchanged")
    assert proxy.transcript("s").count("Say hello.") == 1


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("status", [429, 529])
def test_the_sdk_retries_through_the_proxy_as_the_provider_asks(
    proxied: Proxied, status: int
) -> None:
    """An overloaded provider is waited for by the client, as without the proxy."""
    with (
        ScriptedServer([HttpError(code=status, retry_after="0"), Say(text="Hello.")]) as server,
        anthropic_sdk.Anthropic(base_url=proxied(server).url, api_key=KEY, max_retries=1) as client,
    ):
        reply = client.messages.create(
            model="m", max_tokens=10, messages=[{"role": "user", "content": "Say hello."}]
        )

    assert reply.content[0].type == "text"
    assert len(server.received) == 2


@pytest.mark.covers("IN-3", "CP-15")
@pytest.mark.parametrize("streams", [False, True])
def test_a_request_that_the_provider_refuses_as_too_long_is_sent_once_more_smaller(
    proxied: Proxied, streams: bool
) -> None:
    """The client sees only the answer to the smaller one; when that is refused as well, it sees the
    refusal, and there is no third. A later session asks with what the refusals taught of the window,
    and has nothing smaller to send.
    """
    long = HttpError(
        code=400,
        message="prompt is too long: 210000 tokens > 200000 maximum",
        kind="invalid_request_error",
    )
    history: list[Any] = []
    for number in range(8):
        history += [user(f"Request {number}."), assistant(PAGE * 60)]
    chosen = Settings(
        models=ModelSettings(
            prices={MODEL: ModelPrice(window=100_000, max_output=1_000, input=3.0, output=15.0)}
        ),
        compaction=CompactionSettings(schedule="threshold"),
    )
    body = {**anthropic([*history, user("And now?")]), "model": MODEL, "stream": streams}
    with ScriptedServer([long, Say(text="Now this."), long, long, long]) as server:
        proxy = proxied(server, settings=chosen)
        first = proxy.ask("/v1/messages", body, headers=NAMED)
        second = proxy.ask(
            "/v1/messages",
            {
                **body,
                "messages": [*history, user("And now?"), assistant("Now this."), user("Then?")],
            },
            headers=NAMED,
        )

        third = proxy.ask("/v1/messages", body, headers={"x-memorist-session": "another"})

    assert (first.status, first.word.partition(":")[0]) == (200, "recovered")
    assert b"Now this." in first.data
    assert len(server.received[1].raw) < len(server.received[0].raw) / 2
    assert "And now?" in server.received[1].raw.decode()
    assert (second.status, third.status) == (400, 400)
    assert all(
        answer.body["error"]["message"].startswith("prompt is too long")
        for answer in (second, third)
    )
    sizes = [len(each.raw) for each in server.received]
    assert len(sizes) == 5
    assert sizes[3] < sizes[2], "the long reply that had stayed is cut"


@pytest.mark.covers("IN-3", "CP-15")
def test_a_refusal_inside_a_responses_stream_is_made_good_as_well(proxied: Proxied) -> None:
    """The Responses API answers 200 and says in the stream that the window is exceeded."""
    failed = {
        "type": "response.failed",
        "response": {
            "id": "resp_1",
            "error": {"code": "context_length_exceeded", "message": "too long"},
        },
    }
    whole = {
        "type": "response.completed",
        "response": {"id": "resp_2", "status": "completed", "output": [_said("Now this.")]},
    }
    sent: list[int] = []

    def answer(connection: socket.socket) -> None:
        event = whole if sent else failed
        sent.append(1)
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            + data
        )

    items = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"{number} {PAGE * 60}"}
        for number in range(17)
    ]
    with raw_provider(answer) as url:
        found = proxied(url).ask(
            "/v1/responses", {"model": "m", "stream": True, "input": items}, headers=NAMED
        )

    assert found.word.startswith("recovered")
    assert b"Now this." in found.data
    assert b"context_length" not in found.data


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("idle_until", [0, 1], ids=["closed at once", "reset by the request"])
def test_a_request_over_a_connection_that_the_server_just_closed_is_sent_once_more(
    proxied: Proxied, idle_until: int
) -> None:
    """llama.cpp closes a connection that was idle for five seconds; the client must not see that
    its request and the close crossed. What breaks off a connection of its own is not sent again.
    """
    got: list[bytes] = []
    answered: list[int] = []

    def answer(connection: socket.socket) -> None:
        if len(answered) > 1:
            return  # breaks off without an answer
        answered.append(1)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        if len(answered) == 1:
            got.append(connection.recv(1 if idle_until else 65_536))

    with raw_provider(answer, got) as url:
        proxy = proxied(url)
        first, second, third = (
            proxy.ask("/v1/messages", HELLO, headers=NAMED).status for _ in range(3)
        )

    assert (first, second, third) == (200, 200, 502)
    assert len(got) == 4


@pytest.mark.covers("IN-3")
def test_a_request_that_was_worked_on_for_a_while_is_not_sent_again(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider may have answered it, and wants its money: whether to ask again is the client's
    to say.
    """
    monkeypatch.setattr(upstream_exchange, "STALE_CONNECTION_SECONDS", 0.0)
    got: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        got.append(connection.recv(65_536))

    with raw_provider(answer) as url:
        proxy = proxied(url)
        found = [proxy.ask("/v1/messages", HELLO, headers=NAMED).status for _ in range(2)]

    assert found == [200, 502]
    assert len(got) == 1


def _said(text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text}],
    }


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("then", ["close", "end", "error"])
def test_a_stream_that_is_cut_is_cut_for_the_client_too_and_nothing_is_taken_of_it(
    proxied: Proxied, then: Any
) -> None:
    """What came is passed on; half a reply is no reply; the retry is the same conversation and is
    taken once.
    """
    body = {**HELLO, "stream": True}
    with ScriptedServer(
        [
            InterruptedReply(step=Say(text="Hello. " * 50), at=0.5, then=then),
            Say(text="Hello at last."),
        ]
    ) as server:
        proxy = proxied(server)
        try:
            first: bytes = proxy.ask("/v1/messages", body).data
        except (OSError, http.client.IncompleteRead) as error:
            first = getattr(error, "partial", b"")
        second = proxy.ask("/v1/messages", body)
        proxy.close()

    assert b"message_stop" not in first
    assert b"at last" in second.data
    transcript = proxy.transcript(second.session)
    assert [
        transcript.count(words) for words in ("Say hello.", "Hello at last.", "Hello. Hello.")
    ] == [1, 1, 0]


@pytest.mark.covers("IN-3")
def test_a_stream_is_passed_on_as_it_comes(proxied: Proxied) -> None:
    """The first half of a reply reaches the client while the provider still keeps the other half
    back.
    """
    with ScriptedServer(
        [InterruptedReply(step=Say(text="Hello there. " * 50), at=0.5, then="hang")]
    ) as server:
        proxy = proxied(server)
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            _send(client, proxy.port, {**HELLO, "stream": True})
            got = b""
            while b"Hello" not in got:
                part = client.recv(65_536)
                assert part
                got += part
        assert server.wait_left(1)  # the client hung up, and so the provider was let go


@pytest.mark.covers("IN-3")
def test_a_client_that_hangs_up_leaves_the_conversation_whole(proxied: Proxied) -> None:
    """In mid-stream; then it asks again, with the part of the reply that it had."""
    with ScriptedServer(
        [
            InterruptedReply(step=Say(text="Hello there. " * 50), at=0.5, then="hang"),
            Say(text="Gladly."),
        ]
    ) as server:
        proxy = proxied(server)
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            _send(client, proxy.port, {**HELLO, "stream": True}, NAMED)
            client.recv(65_536)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert server.wait_left(1)
        more = anthropic([user("Say hello."), assistant("Hello there. Hello"), user("Go on.")])
        answer = proxy.ask("/v1/messages", more, headers=NAMED)
        proxy.close()

    transcript = proxy.transcript("s")
    assert (answer.status, answer.word) == (200, "unchanged")
    assert [
        transcript.count(words)
        for words in ("Say hello.", "Hello there. Hello", "Go on.", "Gladly.")
    ] == [1, 1, 1, 1]


def test_users_who_stop_answers_leave_no_traceback_in_the_log(
    proxied: Proxied, caplog: pytest.LogCaptureFixture
) -> None:
    """Whenever they hang up: also when all that is missing is the end of the last chunk."""
    with ScriptedServer(lambda request: Say(text="Hello there. " * 20)) as server:
        proxy = proxied(server)
        for number in range(30):
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                _send(client, proxy.port, {**HELLO, "stream": True}, NAMED)
                client.recv(1 + 400 * (number % 10))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        answer = proxy.ask("/v1/messages", HELLO)
        proxy.close()

    assert answer.status == 200
    assert "Error handling request" not in caplog.text


@pytest.mark.covers("IN-3")
def test_a_client_that_hangs_up_in_mid_request_does_no_harm(proxied: Proxied) -> None:
    """Half a request goes nowhere; the next one is answered."""
    with ScriptedServer([Say(text="Hello.")]) as server:
        proxy = proxied(server)
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            _send(client, proxy.port, HELLO, length=10_000)
        assert proxy.ask("/v1/messages", HELLO).status == 200

    assert len(server.requests) == 1


def _send(
    client: socket.socket,
    port: int,
    body: object,
    headers: dict[str, str] | None = None,
    length: int | None = None,
) -> None:
    data = json.dumps(body).encode()
    lines = [
        f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json"
    ]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    client.sendall(
        "\r\n".join([*lines, f"content-length: {length or len(data)}", "", ""]).encode() + data
    )


@pytest.mark.covers("IN-3")
def test_a_provider_that_says_nothing_is_given_up_and_one_that_is_not_there_is_told(
    proxied: Proxied,
) -> None:
    """504 after the silence that is allowed, 502 at once; both in a form that the SDKs read, with
    the reason and no address's secrets.
    """
    with ScriptedServer([Hang()]) as server:
        silent = proxied(server, silent_seconds=0.5).ask("/v1/messages", HELLO)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    absent = proxied(f"http://127.0.0.1:{port}").ask("/v1/messages", HELLO)

    assert (silent.status, absent.status) == (504, 502)
    assert {answer.body["type"] for answer in (silent, absent)} == {"error"}
    assert all("memorist's proxy" in answer.body["error"]["message"] for answer in (silent, absent))


@pytest.mark.covers("IN-3")
def test_a_provider_that_stalls_in_mid_stream_is_given_up(proxied: Proxied) -> None:
    """The client has what came, and a broken connection."""
    with ScriptedServer(
        [InterruptedReply(step=Say(text="Hello there. " * 50), at=0.5, then="hang")]
    ) as server:
        proxy = proxied(
            server, silent_seconds=4.0
        )  # a busy machine must have sent the first half by then
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            _send(client, proxy.port, {**HELLO, "stream": True})
            got = _all(client)

    assert b"Hello there." in got
    assert b"0\r\n\r\n" not in got[-8:]


def _all(client: socket.socket) -> bytes:
    got = b""
    try:
        while part := client.recv(65_536):
            got += part
    except ConnectionError:
        pass
    return got


# --- the client


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("step", ["shrink", "start"])
def test_whatever_ends_an_exchange_lets_the_provider_go(
    proxied: Proxied, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that nobody reads would stay of the few that there are."""
    closed: list[bool] = []

    async def fails(*_: object) -> None:
        raise UpstreamCallFailed(502, "broken off")

    end = aiohttp.ClientResponse.close

    def close(response: aiohttp.ClientResponse) -> None:
        closed.append(True)
        end(response)

    monkeypatch.setattr(aiohttp.ClientResponse, "close", close)
    if step == "start":
        monkeypatch.setattr(upstream_exchange, "_read_start", fails)
    else:
        monkeypatch.setattr(upstream_exchange.ProxyExchange, "_shrink_if_refused", fails)
    with ScriptedServer([Say(text="Hello.")]) as server:
        assert proxied(server).ask("/v1/messages", HELLO, headers=NAMED).status == 502

    assert closed == [True]


# --- memorist


class Broken:
    """An engine whose sessions do what they are told instead of their work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], Any]) -> None:
        async def instead(*_: object, **__: object) -> object:
            found = work()
            return await found if asyncio.iscoroutine(found) else found

        monkeypatch.setattr(Session, name, instead)


def _raises(error: Exception) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize(
    "error",
    [
        ValueError(f"a text with {KEY}"),
        StoreError("the disk is full"),
        OSError(28, "No space left on device"),
        RecursionError(),
    ],
)
@pytest.mark.parametrize("point", ["prepare", "observe", "end_turn"])
def test_an_error_of_memorist_is_none_of_the_clients(
    proxied: Proxied,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    point: str,
) -> None:
    """The request goes out as it came and the answer comes back; the log says so, without what the
    error holds of the conversation.
    """
    Broken(monkeypatch, point, _raises(error))
    raw = json.dumps(HELLO, indent=2).encode()
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        answers = [proxy.ask("/v1/messages", raw, headers=NAMED) for _ in range(5)]
        proxy.close()

    assert {answer.status for answer in answers} == {200}
    assert [request.raw for request in server.received] == [raw] * 5
    if point == "prepare":
        assert all(answer.word.startswith("passed: ") for answer in answers)
        assert "rests" in answers[-1].word
    assert "could not do its part" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.covers("IN-3")
def test_a_turn_that_anthropic_paused_goes_on(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends the paused reply back, and the turn ends with the reply to that."""
    ended: list[Session] = []
    end_turn = Session.end_turn

    async def record_end(session: Session) -> None:
        ended.append(session)
        await end_turn(session)

    monkeypatch.setattr(Session, "end_turn", record_end)
    paused = ReplyParts(parts=(Say(text="Looking."),), stop_reason="pause_turn")
    with ScriptedServer([paused, Say(text="Hello.")]) as server:
        proxy = proxied(server)
        proxy.ask("/v1/messages", HELLO, headers=NAMED)
        continued = anthropic([user("Say hello."), assistant("Looking.")])
        proxy.ask("/v1/messages", continued, headers=NAMED)
        proxy.close()

    assert len(ended) == 1


@pytest.mark.covers("IN-3")
def test_a_memorist_that_hangs_is_left_behind(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its time limit the request goes out as it came."""
    Broken(monkeypatch, "prepare", lambda: asyncio.sleep(60))
    with ScriptedServer([Say(text="Hello.")]) as server:
        answer = proxied(server, prepare_seconds=0.3).ask("/v1/messages", HELLO)

    assert (answer.status, answer.word) == (200, "passed: it took too long")


class FullDisk(DiskFiles):
    """A disk that takes nothing more."""

    full = False

    def _refuse(self) -> None:
        if FullDisk.full:
            raise StoreError("cannot write: no space left on device")

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        self._refuse()
        super().write(path, data, expect=expect)

    def append(self, path: Path, data: bytes) -> None:
        self._refuse()
        super().append(path, data)


@pytest.mark.covers("IN-3")
def test_a_full_disk_stops_no_client(proxied: Proxied) -> None:
    """A huge result that cannot be put to disk, and a home folder that cannot be made: the client's
    work goes on.
    """
    files: FileSystem = FullDisk(durable=False)
    result = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "row\n" * 40_000}],
    }
    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}],
    }
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(
            server, engine=lambda home: Memorist(home=home, settings=Settings(), files=files)
        )
        first = proxy.ask("/v1/messages", HELLO, headers=NAMED)
        FullDisk.full = True
        try:
            second = proxy.ask(
                "/v1/messages", anthropic([user("Read it."), call, result]), headers=NAMED
            )
        finally:
            FullDisk.full = False
        proxy.close()
        proxy.home.joinpath("projects").rename(proxy.home / "gone")
        proxy.home.joinpath("projects").write_text("a file where a folder should be", "utf-8")
        third = proxied(server).ask("/v1/messages", HELLO, headers=NAMED)

    assert [answer.status for answer in (first, second, third)] == [200, 200, 200]
    assert third.word == "unchanged"
    assert not server.refusals


@pytest.mark.covers("IN-3")
def test_a_conversation_that_failed_goes_on_when_memorist_is_well_again(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is opened anew from disk, and takes in what it missed."""
    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server)
        proxy.ask("/v1/messages", anthropic([user("One.")]), headers=NAMED)
        with monkeypatch.context() as broken:
            Broken(broken, "prepare", _raises(RuntimeError()))
            missed = proxy.ask(
                "/v1/messages",
                anthropic([user("One."), assistant("Done."), user("Two.")]),
                headers=NAMED,
            )
        history = [
            user("One."),
            assistant("Done."),
            user("Two."),
            assistant("Done."),
            user("Three."),
        ]
        well = proxy.ask("/v1/messages", anthropic(history), headers=NAMED)
        proxy.close()

    transcript = proxy.transcript("s")
    assert (missed.word.partition(":")[0], well.word) == ("passed", "unchanged")
    assert [transcript.count(words) for words in ('"One."', '"Two."', '"Three."')] == [1, 1, 1]


def test_a_long_first_request_keeps_no_other_waiting(proxied: Proxied) -> None:
    """While a history of half a megabyte is read for the first time, which takes half a second or so, a
    request that came later goes out before it.
    """
    history = [
        (user if place % 2 == 0 else assistant)(f"{place}: the importer checks row {place}. " * 40)
        for place in range(301)
    ]
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        proxy.ask("/v1/messages", anthropic([user("Hello.")]), headers=NAMED)
        slow = threading.Thread(
            target=proxy.ask, args=("/v1/messages", anthropic(history)), daemon=True
        )
        slow.start()
        while not list(proxy.home.rglob("*/proxy-*")):
            assert slow.is_alive()
        proxy.ask("/v1/messages", anthropic([user("Quick.")]), headers=NAMED)
        slow.join(60)

    sent = [json.dumps(request.body) for request in server.received]
    assert ["Quick." in text for text in sent] == [False, True, False]


HEAVY = """
import asyncio, os
from memorist.proxy.heavy_work_process import HeavyWorkProcess

async def main():
    heavy = HeavyWorkProcess()
    print(await heavy.run(os.getpid), flush=True)
    await asyncio.sleep(600)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_the_process_for_heavy_work_ends_with_a_killed_proxy(tmp_path: Path) -> None:
    """It is another process, and no orphan stays behind."""
    script = tmp_path / "heavy.py"
    script.write_text(HEAVY, "utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as proxy:
        assert proxy.stdout is not None
        worker = int(proxy.stdout.readline())
        assert worker != proxy.pid
        proxy.kill()
    for _ in range(600):
        if not is_running(worker):
            return
        time.sleep(0.05)
    pytest.fail("the process went on")


async def test_heavy_work_goes_on_where_there_is_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine that refuses another process has the work done in a thread."""

    def refuse(**_: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr("memorist.proxy.heavy_work_process.ProcessPoolExecutor", refuse)

    assert await HeavyWorkProcess().run(sum, [1, 2]) == 3


async def test_a_long_history_arrives_in_the_other_process_as_it_was() -> None:
    """It is sent in parts, by position and by name; what is short is sent as it is."""
    messages = tuple(
        Message(
            id=str(number),
            role="user",
            blocks=(TextBlock(f"Row {number}, naïve \ud800."),),
            origin=Origin.USER,
            is_typed=True,
        )
        for number in range(1_000)
    )
    heavy = HeavyWorkProcess()
    with contextlib.closing(heavy):
        found: object = await heavy.run(dict, [(1, messages)], short=("a",), long=messages)
        assert await heavy.run(tuple, messages) == messages

    assert found == {1: messages, "short": ("a",), "long": messages}


def test_a_client_that_wants_a_websocket_is_told_to_use_http(proxied: Proxied) -> None:
    """By the status by which Codex turns to HTTP at once, with the header that RFC 9110 asks of it:
    it was passed on without the wish, and Codex tried for seven seconds before each turn.
    """
    with ScriptedServer([]) as server:
        proxy = proxied(server)
        wish = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        answer = proxy.ask("/v1/responses", method="GET", headers=wish)
    assert (answer.status, answer.headers["upgrade"]) == (426, "HTTP/1.1")
    assert "over HTTP" in answer.body["error"]["message"]
    assert not server.received
