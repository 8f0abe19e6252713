"""A reply as it goes by on the wire: the client gets the same bytes, memorist the whole of it or
nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("httpx2", reason="the SDKs of Anthropic and OpenAI bring httpx2")

import httpx2

from memorist.adapters.response_tap import atap_response, attach_response_body_callback
from memorist.adapters.wire_reply import assemble_reply_json, ends_turn
from memorist.models.call_failure import is_too_long_response
from memorist.models.reply_assembly import parse_sse_json_objects

REPLY: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "A ship."}],
    "stop_reason": "end_turn",
}
FORMATS = st.sampled_from(["anthropic", "openai_responses", "openai_chat"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "index", "delta", "content", "choices", "output"]), inner
        )
    ),
    max_leaves=8,
)


class Parts(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that comes in parts."""

    def __init__(self, body: bytes, size: int) -> None:
        self.parts = [body[start : start + size] for start in range(0, len(body), size)]
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_a_body_is_heard_once_and_whole(coded: bool, later: bool) -> None:
    """Packed or not: the client reads what the server sent, and what is handed on is unpacked."""
    body = json.dumps(REPLY).encode() * 50
    sent = gzip.compress(body) if coded else body
    stream = Parts(sent, 7)
    response = httpx2.Response(
        200,
        headers={"content-type": "application/json"}
        | ({"content-encoding": "gzip"} if coded else {}),
        stream=stream,
    )
    heard: list[tuple[str, bytes]] = []

    async def hear(kind: str, data: bytes) -> None:
        heard.append((kind, data))

    async def read() -> bytes:
        await atap_response(response, hear)
        whole = await response.aread()
        await response.aclose()
        return whole

    if later:
        whole = asyncio.run(read())
    else:
        attach_response_body_callback(response, lambda kind, data: heard.append((kind, data)))
        whole = response.read()
        response.close()

    assert whole == body
    assert heard == [("application/json", body)]
    assert stream.closed


@pytest.mark.covers("IN-1")
def test_a_body_that_is_left_early_is_handed_on_as_far_as_it_came() -> None:
    """A packed one that breaks off is not handed on, and nothing is raised at the client."""
    for coded in (False, True):
        sent = gzip.compress(b"x" * 9_000) if coded else b"x" * 9_000
        response = httpx2.Response(
            200, headers={"content-encoding": "gzip"} if coded else {}, stream=Parts(sent, 5)
        )
        heard: dict[str, bytes] = {}
        attach_response_body_callback(response, heard.__setitem__)
        next(response.iter_raw())
        response.close()

        assert all(len(data) < 9_000 for data in heard.values())


@pytest.mark.covers("IN-1")
@given(
    format=FORMATS,
    kind=st.sampled_from(["application/json", "text/event-stream", ""]),
    data=st.binary(max_size=80) | JSON.map(lambda value: json.dumps(value).encode()),
)
def test_whatever_comes_is_a_reply_or_none(format: str, kind: str, data: bytes) -> None:
    """Nothing that a server sends raises an error at the host."""
    for body in (data, b"event: x\ndata: " + data + b"\n\n"):
        found = assemble_reply_json(format, kind, body)
        assert found is None or isinstance(found, dict)
        assert isinstance(is_too_long_response(400, body), bool)


@pytest.mark.covers("IN-1")
@given(format=FORMATS, reply=JSON)
def test_whatever_a_reply_holds_the_turn_is_over_or_not(format: str, reply: object) -> None:
    """An odd one is no end of a turn that anybody relies on."""
    assert isinstance(ends_turn(format, reply), bool)


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("content_type", ["text/event-stream; charset=utf-8", "text/plain", ""])
def test_a_stream_is_read_whatever_its_content_type_says(content_type: str) -> None:
    """Compatible servers name a stream as plain text or not at all; a whole reply stays one."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]}
    stream = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
    whole = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}

    assembled = assemble_reply_json("openai_chat", content_type, stream)
    assert assembled is not None
    assert assembled["choices"][0]["message"]["content"] == "Hello"
    if "event-stream" not in content_type:
        sent = json.dumps(whole, indent=1).encode()
        assert assemble_reply_json("openai_chat", content_type, sent) == whole


def test_events_are_read_with_any_line_ends() -> None:
    """Comments, names and what is no JSON are looked over."""
    stream = (
        b': hello\n\nevent: a\ndata: {"n": 1}\n\ndata: {"n":\ndata:  2}\r\n\r\ndata: '
        b'[DONE]\n\ndata: 5\r\rdata:{"n": 3}'
    )

    assert [event["n"] for event in parse_sse_json_objects(stream)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        (REPLY, True),
        (REPLY | {"stop_reason": "pause_turn"}, False),
        (
            REPLY | {"content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
            False,
        ),
        ({"type": "message"}, False),
    ],
)
def test_a_turn_is_over_when_no_tool_is_called(reply: dict[str, Any], ended: bool) -> None:
    """A turn that Anthropic paused goes on."""
    assert ends_turn("anthropic", reply) is ended
