"""Whatever goes wrong with a client, a provider, or memorist itself: what was said goes through as
it came.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
import logging
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import aiohttp
import anthropic as anthropic_sdk
import pytest
import zstandard
from msgspec.structs import replace

from memorist.core.messages import Message, Origin, TextBlock, Usage
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import StoreError, UsageError
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.platforms.processes import is_running
from memorist.ports import FileSystem
from memorist.proxy import body_limit, upstream_exchange
from memorist.proxy.heavy_work_process import HeavyWorkProcess
from memorist.proxy.proxy_server import open_proxy_socket
from memorist.proxy.upstream_exchange import UpstreamCallFailed
from memorist.settings import CompactionSettings, ProxySettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.testing import CallTool, Say, ScriptedServer, Step
from memorist.testing.steps import (
    DelayReply,
    Garbage,
    GivenReplyBody,
    Hang,
    HttpError,
    InterruptedReply,
    ReplyParts,
)
from proxy.conftest import KEY, Answer, Proxied, anthropic, assistant, raw_provider, user
from support.other_user import let_another_user_connect
from support.sweeps import sampled

HELLO = anthropic([user("Say hello.")])
NAMED = {"x-memorist-session": "s"}
MODEL = "claude-made-up"
EVERYWHERE = ".".join(["0"] * 4)
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


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize(
    "step",
    [
        Garbage(),
        Garbage(text="[1, 2]"),
        GivenReplyBody(body={"type": "message", "content": 7}),
        DelayReply(seconds=0.2, step=Say(text="x")),
    ],
)
def test_an_answer_that_is_no_answer_goes_to_the_client_as_it_is(
    proxied: Proxied, step: Any
) -> None:
    """Broken JSON, JSON of another shape, a slow one: 200 as the provider said, and the next
    request is answered.
    """
    with ScriptedServer([step, Say(text="Hello.")]) as server:
        proxy = proxied(server)
        odd = proxy.ask("/v1/messages", HELLO, headers=NAMED)
        fine = proxy.ask("/v1/messages", HELLO, headers=NAMED)

    assert (odd.status, fine.status, fine.word) == (200, 200, "unchanged")


# --- the client


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_packed_request_is_read_and_goes_on_packed(proxied: Proxied, encoding: str) -> None:
    """Unpacked only for reading: the provider gets the very bytes; where memorist changes something
    it gets plain ones.
    """
    pack: Callable[[bytes], bytes] = (
        gzip.compress if encoding == "gzip" else zstandard.ZstdCompressor().compress
    )
    data = pack(json.dumps(HELLO).encode())
    with ScriptedServer([Say(text="Hello.")]) as server:
        proxy = proxied(server)
        found = proxy.ask("/v1/messages", data, headers={"content-encoding": encoding, **NAMED})
        proxy.close()

    assert (found.status, found.word) == (200, "unchanged")
    assert server.received[0].headers["content-encoding"] == encoding
    assert int(server.received[0].headers["content-length"]) == len(data)
    assert proxy.transcript("s").count("Say hello.") == 1


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\x00\x01", "gzip"),
        (b"\x00\x01", "zstd"),
        (b"\x00\x01", "br"),
        (lambda: zstandard.ZstdCompressor(1).compress(b" " * 100_000_000), "zstd"),
        (lambda: gzip.compress(b" " * 100_000_000, 1), "gzip"),
        (b'{"messages": [', ""),
        (b'{"messages": 7}', ""),
        (b'{"messages": [7, null, {"role": 3}]}', ""),
        (b"[" * 100_000, ""),
        (b"", ""),
    ],
    ids=[
        "no gzip",
        "no zstd",
        "another way",
        "zstd bomb",
        "gzip bomb",
        "cut",
        "no list",
        "no entries",
        "deep",
        "empty",
    ],
)
def test_a_request_that_cannot_be_read_is_the_providers_to_judge(
    proxied: Proxied, data: bytes | Callable[[], bytes], encoding: str
) -> None:
    """It goes on as it came, and the provider's refusal comes back."""
    got: list[int] = []
    body = data() if callable(data) else data  # a bomb is made by the one process that needs it

    def answer(connection: socket.socket) -> None:
        got.append(1)
        connection.sendall(
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\nconnection: close\r\n\r\nnever"
        )

    with raw_provider(answer) as url:
        found = proxied(url).ask(
            "/v1/messages", body, headers={"content-encoding": encoding} if encoding else {}
        )

    assert (found.status, found.data, found.word.partition(":")[0] in ("passed", "unchanged")) == (
        400,
        b"never",
        True,
    )
    assert got == [1]


@pytest.mark.covers("IN-3")
def test_half_of_a_pair_and_half_an_emoji_do_no_harm(proxied: Proxied) -> None:
    """A tool call without its result is the provider's to refuse; half a surrogate pair goes out as
    it came, and the session goes on.
    """
    half = (
        b'{"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": '
        b'"\\ud83d half"}]}'
    )
    got: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")

    open_call = [
        user("Read it."),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}],
        },
    ]
    with raw_provider(answer, got) as url:
        first = proxied(url).ask("/v1/messages", half, headers=NAMED)
    with ScriptedServer([Say(text="Whole.")]) as server:
        proxy = proxied(server)
        refused = proxy.ask(
            "/v1/messages",
            anthropic([*open_call, user("And?")]),
            headers={"x-memorist-session": "pair"},
        )
        result = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}],
        }
        mended = proxy.ask(
            "/v1/messages", anthropic([*open_call, result]), headers={"x-memorist-session": "pair"}
        )

    assert (first.status, first.word) == (200, "unchanged")
    assert got == [half]
    assert (refused.status, mended.status) == (400, 200)


@pytest.mark.covers("IN-3")
def test_tools_that_change_in_mid_session_and_an_id_that_is_used_again_keep_to_their_session(
    proxied: Proxied,
) -> None:
    """Other tools, another model, another system prompt under the same name: the same session. The
    name in another format is another one.
    """
    tool = {"name": "Read", "description": "Read.", "input_schema": {"type": "object"}}
    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server)
        first = proxy.ask("/v1/messages", anthropic([user("One.")], tools=[tool]), headers=NAMED)
        history = [user("One."), assistant("Done."), user("Two.")]
        second = proxy.ask(
            "/v1/messages",
            anthropic(history, tools=[{**tool, "name": "Write"}], system="Other."),
            headers=NAMED,
        )
        anew = proxy.ask("/v1/messages", anthropic([user("Something else.")]), headers=NAMED)
        other = proxy.ask(
            "/v1/chat/completions", {"model": "m", "messages": [user("Hello.")]}, headers=NAMED
        )
        proxy.close()

    assert [answer.session for answer in (first, second, anew)] == ["s", "s", "s"]
    assert other.session not in ("", "s")
    assert proxy.transcript("s").count("Something else.") == 1
    assert not server.refusals


@pytest.mark.covers("IN-3")
def test_a_name_that_no_header_can_hold_does_no_harm(proxied: Proxied) -> None:
    """Line ends, a null character and letters of another script in what names a conversation:
    answered, and the header holds signs that it may.
    """
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        found = proxy.ask(
            "/v1/responses",
            {"model": "m", "input": "Hello.", "prompt_cache_key": "a\r\nset-cookie: b\0Ж/../.."},
        )
        proxy.close()

    assert (found.status, found.word) == (200, "unchanged")
    assert found.session.startswith("a??set-cookie: b??/../..-proxy-")
    assert "set-cookie" not in found.headers
    assert (
        len(
            [
                name
                for name in proxy.files()
                if name.startswith("projects/no-project/") and name.endswith("/transcript.jsonl")
            ]
        )
        == 1
    )


@pytest.mark.covers("IN-3")
def test_a_client_that_asks_first_whether_it_may_send_is_told_so(proxied: Proxied) -> None:
    """As curl does with large bodies."""
    with ScriptedServer([Say(text="Hello.")]) as server:
        proxy = proxied(server)
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as client:
            data = json.dumps(HELLO).encode()
            head = (
                f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nexpect: "
                f"100-continue\r\nconnection: close\r\ncontent-length: {len(data)}\r\n\r\n"
            )
            client.sendall(head.encode())
            told = client.recv(65_536)
            client.sendall(data)
            answer = _all(client)

    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"Hello." in answer


def _odd(*_: object) -> Any:
    raise KeyError("what nobody thought of")


@pytest.mark.covers("IN-3")
def test_what_nobody_thought_of_in_a_request_or_an_answer_is_passed_on(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a request, writing one, or reading an answer fails in a way of its own: the bytes go
    on.
    """
    raw = json.dumps(anthropic([user("Hello.")])).encode()
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        words = []
        for name in ("read_declared_conversation", "encode_request", "parse_reply_or_call_failure"):
            with monkeypatch.context() as broken:
                broken.setattr(f"memorist.proxy.call_pipeline.{name}", _odd)
                words.append(proxy.ask("/v1/messages", raw).word)

    assert [request.raw for request in server.received] == [raw] * 3
    assert [word.partition(" in ")[0] for word in words] == [
        "passed: KeyError",
        "passed: KeyError",
        "unchanged",
    ]


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("size", sampled([1_500_000, 32_000_000], {1_500_000}))
def test_many_megabytes_go_through(proxied: Proxied, size: int) -> None:
    """Of a size that is read: taken in; of one beyond it: passed on unread, byte for byte."""
    large = anthropic([user("Look."), assistant("Yes?"), user("x" * size)])
    with ScriptedServer(lambda request: Say(text="Seen."), strict=False) as server:
        proxy = proxied(server)
        read = proxy.ask("/v1/messages", large, headers=NAMED)
        beyond = proxied(server, body_bytes=1_000_000).ask("/v1/messages", large)

    assert (read.status, read.session) == (200, "s")
    assert (beyond.status, beyond.word) == (200, "passed: it is too large to be read")
    assert server.received[1].raw == json.dumps(large).encode()


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("size", [99, 100, 101, 250])
async def test_a_body_is_read_up_to_its_limit_and_one_that_never_comes_is_given_up(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a longer one what was read is handed on with the rest unread; the body that stops is
    refused, and what comes of it later is read by nobody.
    """
    content = aiohttp.StreamReader(Mock(_reading_paused=False), 2**16)
    parts = [b"x" * 50] * (size // 50) + [b"x" * (size % 50)]
    for part in parts:
        content.feed_data(part)
    if size <= 100:
        content.feed_eof()
    read, is_whole = await body_limit.read_request_body_up_to(content, 100)
    assert (is_whole, read) == (size <= 100, b"x" * min(size, max(len(read), 100)))

    monkeypatch.setattr(body_limit, "MAX_BODY_ARRIVAL_SECONDS", 0.0)
    slow = aiohttp.StreamReader(Mock(_reading_paused=False), 2**16)
    with pytest.raises(body_limit.BodyTooSlow):
        await body_limit.read_request_body_up_to(slow, 100)
    assert isinstance(slow.exception(), ConnectionError)


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_beyond_its_bound_is_passed_on_whole_and_taken_in_by_nobody(
    proxied: Proxied, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a reply that is too long to be read, nor an error that goes on and on."""
    monkeypatch.setattr(upstream_exchange, "MAX_REPLY_BYTES", 300)
    monkeypatch.setattr(upstream_exchange, "MAX_ERROR_BYTES", 300)
    said = json.dumps({"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "A long tale. " * 2_000}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()  # fmt: skip

    def answer(connection: socket.socket) -> None:
        head = (
            f"HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {len(said)}"
        )
        connection.sendall(f"{head}\r\n\r\n".encode() + said)

    with raw_provider(answer) as url:
        proxy = proxied(url)
        found = proxy.ask("/v1/messages", HELLO, headers=NAMED)
        proxy.close()

    assert (found.status, found.data) == (status, said)
    assert "A long tale" not in proxy.transcript(found.session)


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
