"""The scripted server satisfies the real SDKs, streaming and not."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
import zstandard

from memorist.core.messages import Usage
from memorist.errors import ContextTooLong, ModelRequestRejected, ModelTimeout, ModelUnavailable
from memorist.testing import (
    CallTool,
    DelayReply,
    Fail,
    HttpError,
    ReplyParts,
    Say,
    ScriptedServer,
    Think,
)
from memorist.testing.steps import Step

FULL = ReplyParts(
    parts=(
        Think(text="consider " * 20),
        Say(text="I look. " * 20),
        CallTool(name="Read", input={"path": "ä" * 90}),
    )
)
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that always gives the full reply."""
    with ScriptedServer(lambda _: FULL) as running:
        yield running


def claude(server: ScriptedServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0)


def gpt(server: ScriptedServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.openai_url, api_key="any", max_retries=0)


@pytest.mark.covers("IN-3")
def test_the_anthropic_sdk_reads_streams_and_bodies_alike(server: ScriptedServer) -> None:
    """The SDK's own accumulation of the stream equals the unstreamed message."""
    with claude(server) as client:
        plain = client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=HELLO)
        with client.messages.stream(
            model="claude-sonnet-5", max_tokens=9, messages=HELLO
        ) as stream:
            kinds = {event.type for event in stream}
            streamed = stream.get_final_message()
        counted = client.messages.count_tokens(model="claude-sonnet-5", messages=HELLO)

    assert streamed.stop_reason == plain.stop_reason == "tool_use"
    assert [block.model_dump(exclude={"id"}) for block in streamed.content] == [
        block.model_dump(exclude={"id"}) for block in plain.content
    ]
    assert streamed.usage.input_tokens == plain.usage.input_tokens == counted.input_tokens
    assert {"thinking", "signature", "text", "input_json", "message_stop"} <= kinds


@pytest.mark.covers("IN-3")
def test_the_openai_sdk_reads_responses_streams_and_bodies_alike(server: ScriptedServer) -> None:
    """Every event is one the SDK knows, and the final response equals the unstreamed one."""
    with gpt(server) as client:
        plain = client.responses.create(model="gpt-5", input="hello")
        with client.responses.stream(model="gpt-5", input="hello") as stream:
            events = list(stream)
            streamed = stream.get_final_response()

    assert [item.to_dict() | {"id": ""} for item in streamed.output] != []
    assert streamed.output_text == plain.output_text == "I look. " * 20
    assert [item.type for item in streamed.output] == ["reasoning", "message", "function_call"]
    assert [event.sequence_number for event in events] == sorted(
        event.sequence_number for event in events
    )
    assert {
        "response.function_call_arguments.done",
        "response.reasoning_summary_text.delta",
        "response.completed",
    } <= {event.type for event in events}


@pytest.mark.covers("IN-3")
def test_the_openai_sdk_reads_chat_streams_and_bodies_alike(server: ScriptedServer) -> None:
    """Tool-call pieces are joined by the SDK to the call of the unstreamed reply."""
    with gpt(server) as client:
        plain = client.chat.completions.create(model="gpt-5", messages=HELLO)
        with client.chat.completions.stream(
            model="gpt-5", messages=HELLO, stream_options={"include_usage": True}
        ) as stream:
            for _ in stream:
                continue
            streamed = stream.get_final_completion()

    call = streamed.choices[0].message.tool_calls
    assert call is not None
    assert json.loads(call[0].function.arguments) == {"path": "ä" * 90}
    assert streamed.choices[0].message.content == plain.choices[0].message.content
    assert streamed.choices[0].finish_reason == "tool_calls"
    assert streamed.usage == plain.usage


@pytest.mark.covers("IN-3")
def test_usage_comes_in_a_chat_stream_only_when_asked_for(server: ScriptedServer) -> None:
    """As the real API does."""
    with gpt(server) as client:
        chunks = list(client.chat.completions.create(model="gpt-5", messages=HELLO, stream=True))

    assert all(chunk.usage is None for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.covers("FK-8")
def test_a_steps_own_usage_is_what_the_client_sees() -> None:
    """This is how a test triggers a client's own compaction."""
    usage = Usage(input=5, cache_read=250_000, cache_write=7, output=3)
    with (
        ScriptedServer(lambda _: Say(text="x", usage=usage)) as server,
        claude(server) as client,
        gpt(server) as other,
    ):
        seen = client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=HELLO).usage
        counted = other.responses.create(model="gpt-5", input="x").usage

    assert (
        seen.input_tokens,
        seen.cache_read_input_tokens,
        seen.cache_creation_input_tokens,
        seen.output_tokens,
    ) == (5, 250_000, 7, 3)
    assert counted is not None
    assert (
        counted.input_tokens,
        counted.input_tokens_details.cached_tokens,
        counted.output_tokens,
    ) == (250_012, 250_000, 3)


@pytest.mark.covers("FK-1")
def test_cache_reads_show_in_usage_until_the_cache_is_forgotten() -> None:
    """Written, read, and written again after `forget_cache`."""
    marked: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "long " * 300, "cache_control": {"type": "ephemeral"}}
            ],
        }
    ]
    with ScriptedServer(lambda _: Say(text="x")) as server, claude(server) as client:
        seen = []
        for _ in range(3):
            usage = client.messages.create(
                model="claude-sonnet-5", max_tokens=9, messages=marked
            ).usage
            seen.append((usage.cache_creation_input_tokens, usage.cache_read_input_tokens))
            if len(seen) == 2:
                server.forget_cache()

    written = seen[0][0]
    assert written
    assert seen == [(written, 0), (0, written), (written, 0)]


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    ("step", "error"),
    [
        (HttpError(code=429, retry_after="1"), anthropic.RateLimitError),
        (HttpError(code=529), anthropic.OverloadedError),
        (Fail(error=ModelUnavailable("busy")), anthropic.OverloadedError),
        (Fail(error=ModelRequestRejected("no")), anthropic.BadRequestError),
        (Fail(error=ContextTooLong("long")), anthropic.BadRequestError),
    ],
)
def test_scripted_failures_are_the_sdks_errors(step: Step, error: type[Exception]) -> None:
    """Status, type and header as the provider sends them."""
    with ScriptedServer([step]) as server, claude(server) as client, pytest.raises(error) as caught:
        client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=HELLO)

    if isinstance(step, HttpError) and step.retry_after:
        assert isinstance(caught.value, anthropic.APIStatusError)
        assert caught.value.response.headers["retry-after"] == "1"


@pytest.mark.covers("SF-5")
def test_a_scripted_time_out_never_answers() -> None:
    """The client's own limit ends the call."""
    with ScriptedServer([Fail(error=ModelTimeout("slow"))]) as server, claude(server) as client:
        with pytest.raises(anthropic.APITimeoutError):
            client.messages.create(
                model="claude-sonnet-5", max_tokens=9, messages=HELLO, timeout=0.2
            )

        assert server.wait_left(1)


@pytest.mark.covers("SF-5")
def test_a_delayed_step_answers_after_its_time() -> None:
    """The reply is whole."""
    with (
        ScriptedServer([DelayReply(seconds=0.05, step=Say(text="late"))]) as server,
        gpt(server) as client,
    ):
        assert client.responses.create(model="gpt-5", input="x").output_text == "late"


@pytest.mark.covers("SG-1")
def test_the_server_stops_after_its_number_of_calls() -> None:
    """An agent that never ends meets a refusal that it does not try again."""
    with ScriptedServer(lambda _: Say(text="again"), max_calls=2) as server, gpt(server) as client:
        for _ in range(2):
            client.responses.create(model="gpt-5", input="x")
        with pytest.raises(openai.BadRequestError, match="used up"):
            client.responses.create(model="gpt-5", input="x")

    assert len(server.refusals) == 1


@pytest.mark.covers("SF-5")
def test_a_script_that_is_used_up_says_so() -> None:
    """The refusal names the call that had no step."""
    with (
        ScriptedServer([]) as server,
        gpt(server) as client,
        pytest.raises(openai.BadRequestError, match="call 1"),
    ):
        client.responses.create(model="gpt-5", input="x")


@pytest.mark.covers("IN-3")
def test_everything_that_was_received_is_kept_but_keys() -> None:
    """Path with query, headers, bytes and JSON; other paths too; compressed bodies are unpacked."""
    raw = json.dumps({"model": "m", "input": "x", "ü": 1}).encode()
    with ScriptedServer([Say(text="ok")]) as server:
        connection = http.client.HTTPConnection(
            "127.0.0.1", int(server.url.rpartition(":")[2]), timeout=5
        )
        packed = zstandard.ZstdCompressor().compress(raw)
        headers = {"Authorization": "Bearer s3cret", "X-Own": "kept", "Content-Encoding": "zstd"}
        connection.request("POST", "/v1/responses?beta=true", body=packed, headers=headers)
        assert connection.getresponse().read()
        connection.request("HEAD", "/")
        assert connection.getresponse().read() == b""
        connection.request("GET", "/v1/models")
        assert json.loads(connection.getresponse().read())["data"]
        connection.request(
            "POST",
            "/elsewhere",
            body=iter([b"{}"]),
            encode_chunked=True,
            headers={"Transfer-Encoding": "chunked"},
        )
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (404, True)
        connection.close()

    first = server.received[0]
    assert (first.path, first.raw, first.body, first.format) == (
        "/v1/responses?beta=true",
        raw,
        json.loads(raw),
        "openai_responses",
    )
    assert first.headers["x-own"] == "kept"
    assert "s3cret" not in repr(server.requests)
    assert [request.method for request in server.requests] == ["POST", "HEAD", "GET", "POST"]
    assert len(server.received) == 1


@pytest.mark.covers("SF-5")
def test_what_a_script_function_raises_reaches_the_test() -> None:
    """An assertion inside a script fails the test, not only the call."""

    def script(request: object) -> Step:
        raise AssertionError(f"not expected: {type(request).__name__}")

    server = ScriptedServer(script)
    with pytest.raises(AssertionError, match="not expected: Request"), server:
        _fail(server)


def _fail(server: ScriptedServer) -> None:
    with gpt(server) as client, pytest.raises(openai.APIConnectionError):
        client.responses.create(model="gpt-5", input="x")


@pytest.mark.covers("SF-5")
def test_closing_twice_is_harmless_and_frees_the_port() -> None:
    """After the end nothing listens."""
    with ScriptedServer([]) as server:
        pass
    server.close()
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
