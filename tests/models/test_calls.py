"""Calls over the real SDKs to a server on loopback: what goes out, what comes back, what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memorist.core.messages import TextBlock, ThinkingBlock, ToolUse, Usage
from memorist.errors import ContextTooLong, ModelRequestRejected, ModelTimeout, ModelUnavailable
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS
from memorist.models.model_choice import create_model_from_string
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Model, Request
from memorist.testing import (
    CallTool,
    FrozenClock,
    Garbage,
    GivenReplyBody,
    Hang,
    HttpError,
    InterruptedReply,
    ReplyParts,
    Say,
    ScriptedServer,
    Step,
    Think,
    check_model,
)

Open = Callable[..., Model]


def body_for(
    model: Model, text: str = "hello", *, system: str = "be short", **more: Any
) -> dict[str, Any]:
    return {
        **find_codec(model.format).build_request(
            "claude-sonnet-4-5", system=system, text=text, max_output=100
        ),
        **more,
    }


async def ask(
    model: Model, body: dict[str, Any] | None = None, seconds: float | None = None
) -> Any:
    return await model.send(
        Request(
            format=model.format,
            body=body_for(model) if body is None else body,
            timeout_seconds=seconds,
        )
    )


@pytest.mark.covers("FM-2")
async def test_a_text_comes_back_whole_from_its_stream(open_at: Open) -> None:
    """The reply is what the server said, put together from many pieces."""
    said = "Grüße, 世界 🙂\n" * 40
    with ScriptedServer([Say(text=said)]) as server:
        reply = await ask(open_at(server))

    assert [block.text for message in reply.messages for block in message.blocks] == [said]
    assert reply.attempts == 1
    assert server.received[0].body["stream"] is True


@pytest.mark.covers("FM-2")
async def test_reasoning_and_calls_come_back_in_order(open_at: Open) -> None:
    """Thinking with its signature, text and two calls with their exact arguments."""
    step = ReplyParts(
        parts=(
            Think(text="consider"),
            Say(text="I look."),
            CallTool(name="Read", input={"path": "/a b/ü.md", "n": [1, {"x": None}]}),
            CallTool(name="Bash", input={}, id="call_mine"),
        )
    )
    with ScriptedServer([step]) as server:
        reply = await ask(open_at(server))

    blocks = [block for message in reply.messages for block in message.blocks]
    assert [type(block) for block in blocks] == [ThinkingBlock, TextBlock, ToolUse, ToolUse]
    assert blocks[0].text == "consider"
    assert blocks[2].input == {"path": "/a b/ü.md", "n": [1, {"x": None}]}
    assert (blocks[3].id, blocks[3].input) == ("call_mine", {})


@pytest.mark.covers("FM-2")
async def test_custom_and_namespaced_calls_pass(clock: FrozenClock) -> None:
    """Responses has calls with free text and calls into a namespace; both arrive as they were made."""
    step = ReplyParts(
        parts=(
            CallTool(name="patch", arguments="*** free text", custom=True),
            CallTool(name="recall", namespace="mcp__memory"),
        )
    )
    with ScriptedServer([step]) as server:
        model = create_model_from_string(
            f"openai:gpt-5@{server.openai_url}", clock=clock, environment={}
        )
        assert model is not None
        reply = await ask(model)
        await model.close()

    calls = [call for message in reply.messages for call in message.tool_uses]
    assert (calls[0].name, calls[0].arguments) == ("patch", "*** free text")
    assert (calls[1].name, calls[1].namespace) == ("recall", "mcp__memory")


@pytest.mark.covers("FK-1")
async def test_the_body_reaches_the_wire_unchanged(open_at: Open) -> None:
    """Known and unknown keys, deep values, nulls and key order inside values: all arrive as they
    were given, and the given body stays. A compatible server gets its output limit in both
    spellings.
    """
    extras: dict[str, Any] = {
        "x_unknown": {"b": 1, "a": [None, True, 1.5, "ü"]},
        "metadata": {"user_id": "u"},
        "temperature": 0,
        "nothing": None,
    }
    with ScriptedServer([Say(text="ok")]) as server:
        model = open_at(server)
        body = body_for(model, **extras)
        before = repr(body)
        await ask(model, body)

    sent = dict(server.received[0].body)
    assert repr(body) == before
    assert sent.pop("stream") is True
    assert sent.pop("stream_options", {"include_usage": True}) == {"include_usage": True}
    if model.format == "openai_chat":
        assert sent.pop("max_tokens") == body["max_completion_tokens"]
    assert sent == body
    assert list(sent["x_unknown"]) == ["b", "a"]


@pytest.mark.covers("FK-1", "FK-8")
async def test_a_longer_request_reads_its_beginning_from_the_cache(open_at: Open) -> None:
    """The second request, which extends the first, is counted as a cache read of the first."""
    mark = {"cache_control": {"type": "ephemeral"}}
    with ScriptedServer(lambda _: Say(text="ok")) as server:
        model = open_at(server)
        wire = find_codec(model.format)
        body = body_for(model, text="long " * 3_000)
        if model.format == "anthropic":
            body["messages"] = [
                {"role": "user", "content": [{"type": "text", "text": "long " * 3_000, **mark}]}
            ]
        first = await ask(model, body)
        second = await ask(
            model,
            wire.append_reply_and_messages(body, first.body, wire.build_user_messages("and?")),
        )

    whole = first.usage.input + first.usage.cache_write
    assert first.usage.cache_read == 0
    assert whole - 256 < second.usage.cache_read <= whole
    assert second.usage.context_tokens > first.usage.context_tokens


@pytest.mark.covers("FK-8", "CP-18")
async def test_a_call_costs_what_the_table_says(open_at: Open) -> None:
    """Input, cache reads, cache writes and output at the model's own prices."""
    usage = Usage(input=1_000, cache_read=2_000, cache_write=0, output=100)
    with ScriptedServer([Say(text="ok", usage=usage)]) as server:
        reply = await ask(open_at(server))

    assert reply.usage == usage
    assert reply.cost_usd == pytest.approx((1_000 * 3 + 2_000 * 0.3 + 100 * 15) / 1e6)


@pytest.mark.covers("CP-18")
async def test_an_hour_long_cache_write_costs_its_own_price(clock: FrozenClock) -> None:
    """Anthropic's one-hour writes cost twice the input price."""
    block = {
        "type": "text",
        "text": "long " * 400,
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    }
    with ScriptedServer([Say(text="ok")]) as server:
        model = create_model_from_string(
            f"anthropic:claude-sonnet-4-5@{server.url}", clock=clock, environment={}
        )
        assert model is not None
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": [block]}],
        }
        reply = await ask(model, body)
        await model.close()

    assert reply.usage.cache_write > 400
    assert reply.cost_usd == pytest.approx(
        (reply.usage.cache_write * 6 + reply.usage.output * 15) / 1e6
    )


@pytest.mark.covers("CP-18")
async def test_the_users_price_goes_before_ours(open_at: Open) -> None:
    """A price in the settings decides; a model that no table knows has no cost."""
    usage = Usage(input=1_000_000, output=0)
    with ScriptedServer([Say(text="ok", usage=usage), Say(text="ok", usage=usage)]) as server:
        model = open_at(server, prices={"claude-sonnet-4-5": ModelPrice(input=7.0)})
        priced = await ask(model)
        unknown = await ask(model, {**body_for(model), "model": "nobody-knows"})

    assert priced.cost_usd == pytest.approx(7.0)
    assert unknown.cost_usd is None


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_passing_refusals_are_tried_again(
    open_at: Open, clock: FrozenClock, status: int
) -> None:
    """Each of these statuses is followed by another attempt, after a wait that grows."""
    with ScriptedServer(
        [HttpError(code=status), HttpError(code=status), Say(text="at last")]
    ) as server:
        reply = await ask(open_at(server))

    assert reply.messages[0].text == "at last"
    assert reply.attempts == 3
    assert 0.375 <= clock.slept[0] <= 0.5
    assert 0.75 <= clock.slept[1] <= 1.0
    assert server.received[0].raw == server.received[2].raw


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_lasting_refusals_are_not_tried_again(open_at: Open, status: int) -> None:
    """One request, one error that says what to do, in the provider's words."""
    with ScriptedServer([HttpError(code=status, message="made-up reason")]) as server:
        model = open_at(server)
        with pytest.raises(ModelRequestRejected, match="made-up reason"):
            await ask(model)

    assert len(server.received) == 1


@pytest.mark.covers("SF-5")
async def test_a_model_that_keeps_refusing_is_unavailable(
    open_at: Open, clock: FrozenClock
) -> None:
    """After the last attempt the error says how often it was tried."""
    with ScriptedServer(lambda _: HttpError(code=529, message="overloaded")) as server:
        model = open_at(server, attempts=3)
        with pytest.raises(ModelUnavailable, match="3 attempts"):
            await ask(model)

    assert len(server.received) == 3
    assert len(clock.slept) == 2


@pytest.mark.covers("SF-5")
async def test_retry_after_is_honoured_up_to_a_cap(open_at: Open, clock: FrozenClock) -> None:
    """The provider's own wait counts, unless it is longer than the settings allow."""
    steps: list[Step] = [
        HttpError(code=429, retry_after="7"),
        HttpError(code=429, retry_after="9999"),
        Say(text="ok"),
    ]
    with ScriptedServer(steps) as server:
        await ask(open_at(server, retry_after_cap_seconds=20.0))

    assert clock.slept == [7.0, 20.0]


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("then", ["close", "end", "error"])
@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
async def test_a_cut_stream_is_tried_again(open_at: Open, then: Any, at: float) -> None:
    """A stream that breaks, ends early or turns into an error gives no half reply: the call is made
    again.
    """
    with ScriptedServer(
        [InterruptedReply(step=Say(text="never " * 99), at=at, then=then), Say(text="whole")]
    ) as server:
        reply = await ask(open_at(server))

    assert reply.messages[0].text == "whole"
    assert reply.attempts == 2


@pytest.mark.covers("SF-5")
async def test_calls_that_were_broken_off_are_counted_apart(open_at: Open) -> None:
    """The provider bills what it had read, also of a call that succeeds in the end, fails for good,
    or meets its time limit later.
    """
    cut = InterruptedReply(step=Say(text="never " * 99), then="close")
    steps: list[Step] = [HttpError(code=500), cut, Say(text="whole"), cut, cut, cut, cut, Hang()]
    with ScriptedServer(steps) as server:
        model = open_at(server, attempts=3)
        reply = await ask(model)
        with pytest.raises(ModelUnavailable) as failed:
            await ask(model)
        with pytest.raises(ModelTimeout) as late:
            await ask(model, seconds=3)

    assert (reply.attempts, reply.broken_off) == (3, 1)
    assert (failed.value.attempts, failed.value.broken_off) == (3, 3)
    assert (late.value.attempts, late.value.broken_off) == (2, 1)


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(("at", "broken_off"), [(0.0, 0), (0.5, 1)])
async def test_an_error_within_an_answer_is_a_call_that_was_broken_off(
    open_at: Open, at: float, broken_off: int
) -> None:
    """An overload after the answer has begun is billed as a broken connection is; one in place of
    an answer is not.
    """
    failing = InterruptedReply(step=Say(text="never " * 99), at=at, then="error")
    with ScriptedServer([failing, Say(text="whole")]) as server:
        reply = await ask(open_at(server))

    assert (reply.attempts, reply.broken_off) == (2, broken_off)


@pytest.mark.covers("SF-5")
async def test_a_reply_that_is_not_json_is_tried_again(open_at: Open) -> None:
    """Broken JSON costs one attempt; when there are no more, the model is unavailable."""
    steps: list[Step] = [Garbage(), Say(text="whole"), Garbage(), Garbage()]
    with ScriptedServer(steps) as server:
        model = open_at(server, attempts=2)
        reply = await ask(model)
        with pytest.raises(ModelUnavailable, match="not valid"):
            await ask(model)

    assert reply.attempts == 2


@pytest.mark.covers("SF-5")
async def test_a_server_that_does_not_stream_is_understood(open_at: Open) -> None:
    """Some compatible servers answer with the whole body although asked for a stream."""
    with ScriptedServer([Say(text="plain")]) as first:
        reply = await ask(open_at(first))
    with ScriptedServer([GivenReplyBody(body=reply.body, plain=True)]) as server:
        again = await ask(open_at(server))

    assert again == reply


@pytest.mark.covers("SF-5")
async def test_a_silent_server_meets_the_time_limit(open_at: Open) -> None:
    """The limit holds over all attempts, and the connection is closed."""
    with ScriptedServer([Hang()]) as server:
        model = open_at(server)
        for seconds in (0.3, 3, 30):  # until the request has reached the server
            with pytest.raises(ModelTimeout, match="timeout_seconds"):
                await ask(model, seconds=seconds)
            if server.requests:
                break

        assert server.wait_left(1)


@pytest.mark.covers("SF-5")
async def test_a_stream_that_falls_silent_meets_the_time_limit(open_at: Open) -> None:
    """A reply that begins and never ends is given up; the settings' own limit counts where the
    request names none.
    """
    with ScriptedServer([InterruptedReply(step=Say(text="half " * 50), then="hang")]) as server:
        model = open_at(server, timeout_seconds=0.3)
        with pytest.raises(ModelTimeout):
            await ask(model)

        assert server.wait_left(1)


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    "step",
    [Hang(), InterruptedReply(step=Say(text="half " * 50), then="hang")],
    ids=["before", "within"],
)
async def test_cancelling_closes_the_call(open_at: Open, step: Any) -> None:
    """Cancellation passes through at once, the server sees the client go, and the model can be used
    again.
    """
    with ScriptedServer([step, Say(text="next")]) as server:
        model = open_at(server)
        call = asyncio.ensure_future(ask(model))
        assert await asyncio.to_thread(server.wait_received, 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert await asyncio.to_thread(server.wait_left, 1)
        assert (await ask(model)).messages[0].text == "next"
    assert len(server.received) == 2


@pytest.mark.covers("SF-5", "CP-2")
async def test_a_request_beyond_the_window_is_told_apart(open_at: Open) -> None:
    """A provider's refusal of a long request becomes ContextTooLong, after one request."""
    with ScriptedServer([], window=1_000) as server:
        model = open_at(server)
        with pytest.raises(ContextTooLong):
            await ask(model, body_for(model, text="long " * 3_000))

    assert len(server.received) == 1


@pytest.mark.covers("SF-5")
async def test_a_server_that_is_not_there_is_unavailable(kind: str, clock: FrozenClock) -> None:
    """A refused connection is tried again and then reported with what to check."""
    with ScriptedServer([]) as server:
        url = server.url if kind == "anthropic" else server.openai_url
    model = create_model_from_string(f"{kind}:gone@{url}", clock=clock, environment={})
    assert model is not None
    with pytest.raises(ModelUnavailable, match="could not be reached after 4 attempts"):
        await ask(model)
    await model.close()

    assert len(clock.slept) == 3


@pytest.mark.covers("SF-5")
async def test_every_wire_model_passes_the_conformance_checks(open_at: Open) -> None:
    """The rules that hold for any model hold for these."""
    with ScriptedServer(lambda _: Say(text="yes")) as server:
        await check_model(lambda: open_at(server))

    assert server.refusals == []


@pytest.mark.covers("SF-1")
async def test_keys_are_sent_but_never_recorded(open_at: Open) -> None:
    """The scripted server keeps no header that holds a key."""
    with ScriptedServer([Say(text="ok")]) as server:
        await ask(open_at(server, headers={"x-own": "kept"}))

    assert server.received[0].headers["x-own"] == "kept"
    assert not {"authorization", "x-api-key", "cookie"} & set(server.received[0].headers)


@pytest.mark.covers("SF-5")
async def test_a_server_that_loads_its_model_is_waited_for(clock: FrozenClock) -> None:
    """It is up and says so (llama.cpp: 503, Loading model); that is no failed attempt, however
    often it says it.
    """
    loading = HttpError(code=503, message="Loading model", kind="unavailable_error")
    with ScriptedServer([loading] * 9 + [Say(text="ready")]) as server:
        model = create_model_from_string(
            f"openai-chat:m@{server.openai_url}", clock=clock, environment={}
        )
        assert model is not None
        reply = await ask(model)
        await model.close()

    assert reply.messages[0].text == "ready"
    assert reply.attempts == 1


@pytest.mark.covers("FM-2")
async def test_the_window_is_the_one_that_the_server_has() -> None:
    """A compatible server is asked once, before the first request; a refusal corrects it; a setting
    counts before both.
    """
    refusal = HttpError(
        code=400,
        kind="exceed_context_size_error",
        message="request (5200 tokens) exceeds the available context size (4096 tokens)",
    )
    with ScriptedServer([Say(text="a"), Say(text="b"), refusal], window=16_384) as server:
        address = f"openai-chat:m@{server.openai_url}"
        model = create_model_from_string(address, environment={})
        fixed = create_model_from_string(address, ModelSettings(window=9_000), environment={})
        assert model is not None
        assert fixed is not None
        before = model.window
        for each in (model, fixed):
            await ask(each)
        asked = model.window
        with pytest.raises(ContextTooLong) as refused:
            await ask(model)
        await model.close()
        await fixed.close()

    assert (before, asked, model.window, fixed.window) == (128_000, 16_384, 4_096, 9_000)
    assert (refused.value.tokens, refused.value.window) == (5_200, 4_096)
    assert sum(request.path == "/v1/models" for request in server.requests) == 1


@pytest.mark.covers("FM-2")
async def test_a_compatible_server_gets_functions_in_place_of_custom_tools() -> None:
    """A session of Codex holds calls to custom tools, for one of which llama.cpp refuses the whole
    request: they go out as functions of one text, with their ids.
    """
    call = {"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": 'a "b"'}}
    plain = {"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call, plain]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "tool", "tool_call_id": "c2", "content": "done"},
        ],
        "tools": [{"type": "custom", "custom": {"name": "apply_patch"}}],
    }
    with ScriptedServer([Say(text="ok")]) as server:
        model = create_model_from_string(f"openai-chat:m@{server.openai_url}", environment={})
        assert model is not None
        await model.send(Request(format="openai_chat", body=body))
        await model.close()

    sent = server.received[-1].body
    first, second = sent["messages"][1]["tool_calls"]
    assert first == {
        "id": "c1",
        "type": "function",
        "function": {"name": "apply_patch", "arguments": '{"input":"a \\"b\\""}'},
    }
    assert second == plain
    assert [tool["type"] for tool in sent["tools"]] == ["function"]


@pytest.mark.covers("FK-8")
async def test_every_request_is_bounded_by_the_settings(open_at: Open) -> None:
    """`models.max_output` holds for each request, whatever its caller asks for; a smaller limit
    stays.
    """
    with ScriptedServer(lambda _: Say(text="ok")) as server:
        for most in (50, 5_000):
            model = open_at(server, max_output=most)
            await ask(model)

    limits = [
        {request.body[key] for key in OUTPUT_LIMIT_KEYS if key in request.body}
        for request in server.received
    ]
    assert limits == [{50}, {100}]


@pytest.mark.covers("FK-8")
async def test_no_more_output_is_asked_for_than_the_model_is_known_to_give() -> None:
    """A provider refuses the request otherwise; a thought's budget must stay below the limit."""
    with ScriptedServer(lambda _: Say(text="ok")) as server:
        model = create_model_from_string(
            f"openai-chat:gpt-4o-mini@{server.openai_url}", ModelSettings(), environment={}
        )
        assert model is not None
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]}
        for more in ({}, {"thinking": {"type": "enabled", "budget_tokens": 18_000}}):
            limited = {**body, **more, "max_completion_tokens": 20_000}
            await model.send(Request(format="openai_chat", body=limited, label="t"))
        await model.close()

    assert [each.body["max_completion_tokens"] for each in server.received] == [16_384, 20_000]


async def test_a_compatible_server_gets_a_low_temperature_and_both_limits() -> None:
    """Many servers read only `max_tokens`, and sample at 0.8 where nothing is said."""
    with ScriptedServer(lambda _: Say(text="ok")) as server:
        address = f"openai-chat:m@{server.openai_url}"
        for settings in (ModelSettings(), ModelSettings(temperature=None)):
            model = create_model_from_string(address, settings, environment={})
            assert model is not None
            await ask(model)
            await model.close()

    first, second = (request.body for request in server.received)
    assert (first["max_tokens"], first["max_completion_tokens"], first["temperature"]) == (
        100,
        100,
        0.0,
    )
    assert "temperature" not in second
