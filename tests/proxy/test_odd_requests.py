"""Requests and answers that are none, or are too large, packed or broken: they go through as they
came.
"""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest
import zstandard

from memorist.proxy import body_limit, upstream_exchange
from memorist.testing import Say, ScriptedServer
from memorist.testing.steps import DelayReply, Garbage, GivenReplyBody
from proxy.conftest import Proxied, anthropic, assistant, raw_provider, user
from proxy.test_faults import HELLO, NAMED, _all
from support.sweeps import sampled


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
