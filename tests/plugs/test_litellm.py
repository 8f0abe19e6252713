"""LiteLLM: the story through its callbacks, blocking calls and the router; and what is its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugs.story import (
    MAX_OUTPUT,
    MODEL,
    TOOL,
    Talk,
    World,
    go_on_while_locked,
    leave_streams,
    read_large_pages,
    run_story,
    tell_users_apart,
)

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = (
    "True"  # else its import asks for a list of prices on the network
)
pytest.importorskip(
    "litellm", reason="litellm is not installed; `make test-plugs PLUGS=litellm` brings it"
)

import litellm

from memorist.adapters.litellm import FEATURES, MemoristLogger
from memorist.errors import ContextTooLong
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import CompactionSettings, Settings
from memorist.testing import Fail, Say, ScriptedServer

pytestmark = [pytest.mark.filterwarnings("default")]
QUESTION = {"role": "user", "content": "Fix the importer, please."}
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def no_callbacks() -> Iterator[None]:
    """No test's callbacks outlive it."""
    yield
    litellm.callbacks = []


class LiteLLM:
    """A loop of one's own over LiteLLM."""

    reaches = FEATURES

    def __init__(self, how: str) -> None:
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        plug = None
        if world.attached is not None:
            plug = MemoristLogger(project=world.project, attached=world.attached, session=session)
        litellm.callbacks = [] if plug is None or not self.how.startswith("hook") else [plug]
        return Conversation(world, plug, self.how)


class Conversation:
    def __init__(self, world: World, plug: MemoristLogger | None, how: str) -> None:
        self.tool = world.tool
        self.plug: Any = plug if plug is not None and not how.startswith("hook") else litellm
        self.how = how
        self.runner = asyncio.Runner()
        self.history: list[Any] = []
        tool = {
            "type": "function",
            "function": {"name": TOOL, "description": world.tool.__doc__, "parameters": SCHEMA},
        }
        anthropic = "anthropic" in how
        self.given: dict[str, Any] = {
            "model": f"{'anthropic' if anthropic else 'openai'}/{MODEL}",
            "api_base": world.server.url if anthropic else world.server.openai_url,
            "api_key": "none",
            "max_tokens": MAX_OUTPUT,
            "max_retries": 0,
            "tools": [tool],
        }
        if world.user:
            self.given["metadata"] = {"user_id": world.user}
        deployment = {
            "model_name": MODEL,
            "litellm_params": {
                name: value for name, value in self.given.items() if name != "tools"
            },
        }
        self.router = (
            litellm.Router(model_list=[deployment], num_retries=0) if "router" in how else None
        )

    def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        while True:
            said = self.runner.run(self._later()) if "async" in self.how else self._now()
            self.history.append(said)
            if not said.tool_calls:
                return str(said.content)
            for call in said.tool_calls:
                result = self.tool(json.loads(call.function.arguments)["number"])
                self.history.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def leave(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        said = self._now()
        (call,) = said.tool_calls
        result = self.tool(json.loads(call.function.arguments)["number"])
        self.history += [said, {"role": "tool", "tool_call_id": call.id, "content": result}]
        stream = self.plug.completion(messages=self.history, stream=True, **self.given)
        first = next(text for chunk in stream if (text := chunk.choices[0].delta.content))
        self.history.append({"role": "assistant", "content": first})

    def _now(self) -> Any:
        if "stream" not in self.how:
            return self.plug.completion(messages=self.history, **self.given).choices[0].message
        return self._whole(
            list(self.plug.completion(messages=self.history, stream=True, **self.given))
        )

    async def _later(self) -> Any:
        if self.router is not None:
            reply: Any = await self.router.acompletion(
                model=MODEL, messages=self.history, tools=self.given["tools"]
            )
            return reply.choices[0].message
        if "stream" not in self.how:
            return (
                (await self.plug.acompletion(messages=self.history, **self.given))
                .choices[0]
                .message
            )
        return self._whole(
            [
                chunk
                async for chunk in await self.plug.acompletion(
                    messages=self.history, stream=True, **self.given
                )
            ]
        )

    def _whole(self, chunks: list[Any]) -> Any:
        whole: Any = litellm.stream_chunk_builder(chunks)
        return whole.choices[0].message

    def close(self) -> None:
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    "how",
    [
        "hook async",
        "hook async stream",
        "hook async router",
        "hook async anthropic",
        "call",
        "call stream",
        "call async",
        "call async stream",
    ],
)
def test_the_story(tmp_path: Path, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(LiteLLM(how), tmp_path)


@pytest.mark.covers("IN-1", "CP-10")
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(LiteLLM("call stream"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(LiteLLM("call"), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("how", ["hook async", "hook async anthropic", "call", "call async"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, how: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(LiteLLM(how), tmp_path)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_users_of_one_server_share_nothing(tmp_path: Path, how: str) -> None:
    """By the `user_id` of the call's metadata."""
    tell_users_apart(LiteLLM(how), tmp_path)


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[MemoristLogger]:
    known = ModelSettings(
        prices={MODEL: ModelPrice(window=20_000, max_output=MAX_OUTPUT, input=3.0, output=15.0)}
    )
    with MemoristLogger(
        home=tmp_path / "home",
        settings=Settings(models=known, compaction=CompactionSettings(schedule="threshold")),
    ) as made:
        litellm.callbacks = [made]
        yield made


def call(server: ScriptedServer, *history: Any, **more: Any) -> dict[str, Any]:
    return {
        "model": f"openai/{MODEL}",
        "api_base": server.openai_url,
        "api_key": "none",
        "messages": list(history),
        "max_retries": 0,
        **more,
    }


def messages(plug: MemoristLogger, session: str = "", format: str = "openai_chat") -> int:
    talk = plug.conversation(session, format)
    return 0 if talk.session is None else talk.session.tracker.messages


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("how", ["sync", "async"])
def test_pictures_go_out_as_they_came(plug: MemoristLogger, how: str) -> None:
    """A picture reaches the provider in each request of its conversation, by the plug's own call
    and by the callback.
    """
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
    with ScriptedServer([Say(text="A ship."), Say(text="Two.")]) as server:
        history: list[Any] = [shown]
        for question in ("How many masts has it?", ""):
            given = call(server, *history, metadata={"session_id": "ship"})
            reply: Any = (
                plug.completion(**given)
                if how == "sync"
                else asyncio.run(litellm.acompletion(**given))
            )
            history += [
                {"role": "assistant", "content": reply.choices[0].message.content},
                {"role": "user", "content": question},
            ]
        bodies = [each.body for each in server.received]

    pictures = [
        [block for block in body["messages"][0]["content"] if "image_url" in block]
        for body in bodies
    ]
    assert pictures == [[image], [image]]


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_request_that_is_refused_as_too_long_goes_out_once_more(
    plug: MemoristLogger, how: str
) -> None:
    """By the plug's own calls; the host hears nothing of the refusal."""
    history: list[Any] = [QUESTION]
    for number in range(30):
        step = f"Step {number} looked at the table of tides and found nothing. " * 30
        history += [
            {"role": "assistant", "content": step},
            {"role": "user", "content": f"Go on with {number}."},
        ]
    with ScriptedServer([Fail(error=ContextTooLong("too long")), Say(text="done")]) as server:
        given = call(server, *history)
        reply: Any = (
            plug.completion(**given) if how == "sync" else asyncio.run(plug.acompletion(**given))
        )

    before, after = (len(json.dumps(request.body)) for request in server.received)
    assert reply.choices[0].message.content == "done"
    assert after < before


@pytest.mark.covers("IN-1")
def test_a_call_of_the_plug_is_not_counted_by_its_callback_again(plug: MemoristLogger) -> None:
    """Each message is there once."""
    with ScriptedServer([Say(text="one")]) as server:
        asyncio.run(plug.acompletion(**call(server, QUESTION)))

    assert messages(plug) == 2


@pytest.mark.covers("IN-1")
def test_a_streamed_reply_is_an_iterator_as_litellms_own_is(
    plug: MemoristLogger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host takes the first piece alone; the whole is recorded, and a stream that cannot be
    joined is the host's all the same.
    """

    async def pieces(server: ScriptedServer) -> list[object]:
        stream: Any = await plug.acompletion(**call(server, QUESTION, stream=True))
        return [await anext(stream), *[piece async for piece in stream]]

    def fail(chunks: object) -> None:
        raise ValueError(chunks)

    with ScriptedServer([Say(text="one two"), Say(text="one two"), Say(text="one two")]) as server:
        stream: Any = plug.completion(**call(server, QUESTION, stream=True))
        blocking = [next(stream), *stream]
        assert messages(plug) == 2
        looped = asyncio.run(pieces(server))
        monkeypatch.setattr(litellm, "stream_chunk_builder", fail)
        unjoined: Any = plug.completion(**call(server, QUESTION, stream=True))
        assert len(list(unjoined)) == len(looped) == len(blocking)


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("api", ["acompletion", "aresponses"])
def test_the_last_streamed_reply_is_waited_for_on_its_loop(tmp_path: Path, api: str) -> None:
    """LiteLLM reports it when the loop is free, which was after `close`, and to the first logger of
    the process, though another took its place, as in a notebook: it was lost.
    """

    async def main(server: ScriptedServer) -> None:
        async with MemoristLogger(home=tmp_path / "home", session="s") as made:
            litellm.callbacks = [made]
            given = call(server, QUESTION, stream=True)
            if api == "aresponses":
                given["input"] = given.pop("messages")
            stream: Any = await getattr(litellm, api)(**given)
            assert [piece async for piece in stream]

    with ScriptedServer([Say(text="one two three"), Say(text="four five six")]) as server:
        asyncio.run(main(server))
        asyncio.run(main(server))

    (transcript,) = (tmp_path / "home").rglob("s/transcript.jsonl")
    assert all(text in transcript.read_text("utf-8") for text in ("two three", "five six"))


@pytest.mark.covers("IN-1")
def test_a_call_belongs_to_the_session_that_it_names(plug: MemoristLogger) -> None:
    """By LiteLLM's own names for it, else to the plug's; and to none within `apart`."""

    async def main(server: ScriptedServer) -> None:
        await litellm.acompletion(**call(server, QUESTION, litellm_session_id="a"))
        await litellm.acompletion(**call(server, QUESTION, metadata={"session_id": "b"}))
        await litellm.acompletion(**call(server, QUESTION))
        with plug.bypass():
            await litellm.acompletion(**call(server, {"role": "user", "content": "A title."}))

    with ScriptedServer(lambda request: Say(text="yes")) as server:
        asyncio.run(main(server))

    assert [messages(plug, session) for session in ("a", "b", "")] == [2, 2, 2]


@pytest.mark.covers("IN-1")
async def test_on_the_proxy_server_nobody_meets_anothers_conversation(plug: MemoristLogger) -> None:
    """A call that names no session passes as it is; one name under two keys is two sessions."""
    body = {"model": f"openai/{MODEL}", "messages": [QUESTION], "proxy_server_request": {}}

    assert await plug.async_pre_call_deployment_hook(body, "acompletion") is None
    for key in ("key-one-hashed-0123", "key-two-hashed-0123"):
        named = {
            **body,
            "litellm_call_id": key,
            "metadata": {"session_id": "talk", "user_api_key_hash": key},
        }
        assert await plug.async_pre_call_deployment_hook(named, "acompletion") is not None

    assert [
        messages(plug, session)
        for session in ("key-one-hashed-0-talk", "key-two-hashed-0-talk", "talk", "")
    ] == [1, 1, 0, 0]


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    ("wire", "format"), [("aresponses", "openai_responses"), ("anthropic_messages", "anthropic")]
)
def test_the_other_wires_are_followed_too(plug: MemoristLogger, wire: str, format: str) -> None:
    """Responses and Anthropic's Messages, by LiteLLM's calls of these names."""
    with ScriptedServer([Say(text="one")]) as server:
        if wire == "aresponses":
            given: dict[str, Any] = {
                "model": f"openai/{MODEL}",
                "api_base": server.openai_url,
                "api_key": "none",
                "input": "Fix it, please.",
            }
            asyncio.run(litellm.aresponses(**given))
        else:
            given = {
                "model": f"anthropic/{MODEL}",
                "api_base": server.url,
                "api_key": "none",
                "max_tokens": MAX_OUTPUT,
                "messages": [QUESTION],
            }
            asyncio.run(litellm.anthropic_messages(**given))

    assert messages(plug, "", format) == 2


@pytest.mark.covers("IN-1")
async def test_odd_calls_are_let_alone(plug: MemoristLogger) -> None:
    """A history by place, an embedding, a history that the provider keeps."""
    for kwargs, kind in (
        ({"model": "m"}, "acompletion"),
        ({"model": "m", "input": ["a"]}, "aembedding"),
        ({"model": "m", "input": [QUESTION], "previous_response_id": "resp_1"}, "aresponses"),
        ({"model": "m", "messages": None}, None),
    ):
        assert await plug.async_pre_call_deployment_hook(kwargs, kind) is None
