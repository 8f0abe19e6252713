"""The scripted model behaves as a real one does, without a network."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memorist.core.messages import Usage
from memorist.errors import (
    ContextTooLong,
    ModelRequestRejected,
    ModelTimeout,
    ModelUnavailable,
    UsageError,
)
from memorist.formats.codec_registry import find_codec
from memorist.ports import Request
from memorist.testing import (
    CallTool,
    DelayReply,
    Fail,
    FrozenClock,
    Garbage,
    GivenReplyBody,
    Hang,
    HttpError,
    InterruptedReply,
    ReplyParts,
    Say,
    ScriptedModel,
    check_model,
)
from memorist.testing.steps import Step

FORMATS = ["anthropic", "openai_responses", "openai_chat"]


def request(wire_format: str = "anthropic", **more: Any) -> Request:
    body = find_codec(wire_format).build_request(
        "claude-sonnet-4-5", system="s", text="hello", max_output=9
    )
    return Request(format=wire_format, body=body, **more)


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize("wire_format", FORMATS)
async def test_it_passes_the_conformance_checks(wire_format: str) -> None:
    """The rules that hold for any model hold for it, in each format."""
    await check_model(lambda: ScriptedModel(lambda _: Say(text="yes"), format=wire_format))


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize("wire_format", FORMATS)
async def test_steps_are_played_in_order_and_requests_kept(wire_format: str) -> None:
    """Text, a call, a raw body; every request can be looked at after."""
    raw = (
        await ScriptedModel([Say(text="third")], format=wire_format).send(request(wire_format))
    ).body
    steps: list[Step] = [
        Say(text="first"),
        ReplyParts(parts=(Say(text="second"), CallTool(name="Read", input={"a": 1}))),
        GivenReplyBody(body=raw),
    ]
    model = ScriptedModel(steps, format=wire_format)
    replies = [await model.send(request(wire_format, label=str(number))) for number in range(3)]

    assert replies[0].messages[0].text == "first"
    assert replies[1].messages[-1].tool_uses[0].input == {"a": 1}
    assert replies[2].body == raw
    assert [sent.label for sent in model.requests] == ["0", "1", "2"]


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    ("step", "error"),
    [
        (Fail(error=ContextTooLong("x")), ContextTooLong),
        (HttpError(code=529), ModelUnavailable),
        (HttpError(code=401), ModelRequestRejected),
        (HttpError(code=400, message="prompt is too long"), ContextTooLong),
        (InterruptedReply(step=Say(text="x")), ModelUnavailable),
        (Garbage(), ModelUnavailable),
        (Hang(), ModelTimeout),
        (InterruptedReply(step=Say(text="x"), then="hang"), ModelTimeout),
    ],
)
async def test_each_fault_is_the_error_a_real_model_raises(
    step: Step, error: type[Exception]
) -> None:
    """After its last attempt, or when the limit passes."""
    with pytest.raises(error):
        await ScriptedModel([step]).send(request(timeout_seconds=0.05))


async def test_what_is_no_step_is_named() -> None:
    """A text in the place of a reply, as of a first try, be it in a list or of a function."""
    texts: Any = ["hello"]
    for script in (texts, lambda _: texts[0]):
        with pytest.raises(UsageError, match=r"Say\(text=…\), not of 'hello'"):
            await ScriptedModel(script).send(request())


@pytest.mark.covers("SF-5")
async def test_a_used_up_script_refuses() -> None:
    """A call too many is told by its number."""
    model = ScriptedModel([Say(text="x")])
    await model.send(request())
    with pytest.raises(ModelRequestRejected, match="call 2"):
        await model.send(request())


@pytest.mark.covers("FM-2")
async def test_an_illegal_request_is_refused_unless_told_otherwise() -> None:
    """An unpaired call is a bug in the caller that the scripted model brings to light."""
    wrong = Request(format="anthropic", body={"messages": []})
    with pytest.raises(ModelRequestRejected):
        await ScriptedModel([Say(text="x")]).send(wrong)

    assert (await ScriptedModel([Say(text="x")], strict=False).send(wrong)).messages[0].text == "x"


@pytest.mark.covers("CP-2")
async def test_the_window_is_enforced() -> None:
    """More than the window is ContextTooLong."""
    with pytest.raises(ContextTooLong):
        await ScriptedModel([Say(text="x")], window=5).send(request())


@pytest.mark.covers("FK-1", "FK-8")
async def test_a_forks_request_is_a_cache_read_of_its_parents() -> None:
    """The parent's marked request is read whole; only the reply to it and the fork's own tail are
    new.
    """
    model = ScriptedModel(lambda _: Say(text="reply"))
    wire = find_codec("anthropic")
    block = {"type": "text", "text": "long " * 500, "cache_control": {"type": "ephemeral"}}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [block]}],
    }
    parent = await model.send(Request(format="anthropic", body=body))
    fork = await model.send(
        Request(
            format="anthropic",
            body=wire.append_reply_and_messages(
                body, parent.body, wire.build_user_messages("update the notes")
            ),
        )
    )

    assert fork.usage.cache_read == parent.usage.cache_write
    assert fork.usage.cache_write == 0
    assert 0 < fork.usage.input < 60
    assert fork.cost_usd is not None
    assert parent.cost_usd is not None
    assert fork.cost_usd < parent.cost_usd


@pytest.mark.covers("FK-8")
async def test_usage_can_be_given() -> None:
    """A step's own usage replaces the counted one."""
    usage = Usage(input=95_000, output=2)

    assert (await ScriptedModel([Say(text="x", usage=usage)]).send(request())).usage == usage


@pytest.mark.covers("SF-5")
async def test_a_hanging_call_can_be_cancelled() -> None:
    """Cancellation passes through."""
    call = asyncio.ensure_future(ScriptedModel([Hang()]).send(request()))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.covers("SF-5")
async def test_a_delay_passes_on_the_given_clock() -> None:
    """No real time is spent."""
    clock = FrozenClock()
    await ScriptedModel([DelayReply(seconds=3_600, step=Say(text="x"))], clock=clock).send(
        request()
    )

    assert clock.slept == [3_600]
