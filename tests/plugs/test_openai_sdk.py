"""The OpenAI SDK: the story through Responses and Chat Completions, blocking, streamed and async;
and what is its own.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Iterator
from itertools import product
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
from support.sweeps import sampled

pytest.importorskip(
    "openai", reason="openai is not installed; `make test-plugs PLUGS=openai-sdk` brings it"
)

import openai
from openai import DefaultHttpxClient

from memorist.adapters.openai_sdk import FEATURES, MemoristOpenAI
from memorist.errors import ContextTooLong
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import CompactionSettings, Settings
from memorist.testing import Fail, HttpError, InterruptedReply, Say, ScriptedServer

QUESTION = {"role": "user", "content": "Fix the importer, please."}
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}}


class OpenAISDK:
    """A loop of one's own over the client."""

    reaches = FEATURES

    def __init__(self, wire: str, how: str) -> None:
        self.wire = wire
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        given: dict[str, Any] = {
            "base_url": world.server.openai_url,
            "api_key": "none",
            "max_retries": 0,
        }
        plug = None
        if world.attached is not None:
            plug = MemoristOpenAI(
                project=world.project,
                user=(lambda _: world.user) if world.user else None,
                attached=world.attached,
                session=session,
            )
        if self.how == "async":
            client: Any = openai.AsyncOpenAI(
                **given, http_client=None if plug is None else plug.async_http_client()
            )
        else:
            client = openai.OpenAI(
                **given, http_client=None if plug is None else plug.http_client()
            )
        return (Responses if self.wire == "responses" else Chat)(client, world, self.how)


class Conversation:
    def __init__(self, client: Any, world: World, how: str) -> None:
        self.client = client
        self.tool = world.tool
        self.how = how
        self.runner = asyncio.Runner()
        self.history: list[Any] = []

    def close(self) -> None:
        if self.how == "async":
            self.runner.run(self.client.close())
        else:
            self.client.close()
        self.runner.close()


class Chat(Conversation):
    def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        while True:
            said = self.runner.run(self._later()) if self.how == "async" else self._now()
            self.history.append(said)
            if not said.tool_calls:
                return str(said.content)
            for call in said.tool_calls:
                result = self.tool(json.loads(call.function.arguments)["number"])
                self.history.append({"role": "tool", "tool_call_id": call.id, "content": result})

    @property
    def given(self) -> dict[str, Any]:
        tool = {
            "type": "function",
            "function": {"name": TOOL, "description": self.tool.__doc__, "parameters": SCHEMA},
        }
        return {
            "model": MODEL,
            "max_completion_tokens": MAX_OUTPUT,
            "tools": [tool],
            "messages": self.history,
        }

    def leave(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        said = self.client.chat.completions.create(**self.given).choices[0].message
        (call,) = said.tool_calls
        result = self.tool(json.loads(call.function.arguments)["number"])
        self.history += [said, {"role": "tool", "tool_call_id": call.id, "content": result}]
        with self.client.chat.completions.create(**self.given, stream=True) as stream:
            first = next(chunk for chunk in stream if chunk.choices[0].delta.content)
        self.history.append({"role": "assistant", "content": first.choices[0].delta.content})

    def _now(self) -> Any:
        if self.how == "stream":
            with self.client.chat.completions.stream(**self.given) as stream:
                return stream.get_final_completion().choices[0].message
        return self.client.chat.completions.create(**self.given).choices[0].message

    async def _later(self) -> Any:
        async with self.client.chat.completions.stream(**self.given) as stream:
            return (await stream.get_final_completion()).choices[0].message


class Responses(Conversation):
    def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        while True:
            reply = self.runner.run(self._later()) if self.how == "async" else self._now()
            self.history += reply.output
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                return str(reply.output_text)
            for call in calls:
                result = self.tool(json.loads(call.arguments)["number"])
                self.history.append(
                    {"type": "function_call_output", "call_id": call.call_id, "output": result}
                )

    @property
    def given(self) -> dict[str, Any]:
        tool = {
            "type": "function",
            "name": TOOL,
            "description": self.tool.__doc__,
            "parameters": SCHEMA,
            "strict": False,
        }
        return {
            "model": MODEL,
            "max_output_tokens": MAX_OUTPUT,
            "tools": [tool],
            "input": self.history,
        }

    def leave(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        said = self.client.responses.create(**self.given)
        (call,) = said.output
        result = self.tool(json.loads(call.arguments)["number"])
        self.history += [
            call,
            {"type": "function_call_output", "call_id": call.call_id, "output": result},
        ]
        with self.client.responses.create(**self.given, stream=True) as stream:
            first = next(each for each in stream if each.type == "response.output_text.delta")
        self.history.append({"role": "assistant", "content": first.delta})

    def _now(self) -> Any:
        if self.how == "stream":
            with self.client.responses.stream(**self.given) as stream:
                return stream.get_final_response()
        return self.client.responses.create(**self.given)

    async def _later(self) -> Any:
        async with self.client.responses.stream(**self.given) as stream:
            return await stream.get_final_response()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    ("wire", "how"),
    sampled(
        product(["responses", "chat"], ["create", "stream", "async"]),
        {("responses", "stream"), ("responses", "async"), ("chat", "create")},
    ),
)
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(OpenAISDK(wire, how), tmp_path)


@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["responses", pytest.param("chat", marks=pytest.mark.slow)])
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path, wire: str) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(OpenAISDK(wire, "create"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(OpenAISDK("responses", "create"), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["responses", "chat"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, wire: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(OpenAISDK(wire, "create"), tmp_path)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_users_of_one_server_share_nothing(tmp_path: Path, how: str) -> None:
    """By a function of the request."""
    tell_users_apart(OpenAISDK("responses", how), tmp_path)


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[MemoristOpenAI]:
    known = ModelSettings(
        prices={MODEL: ModelPrice(window=20_000, max_output=MAX_OUTPUT, input=3.0, output=15.0)}
    )
    with MemoristOpenAI(
        home=tmp_path / "home",
        settings=Settings(models=known, compaction=CompactionSettings(schedule="threshold")),
    ) as made:
        yield made


OPENED: list[Any] = []
"""Clients to be closed at a test's end: a connection that the collector finds later fails another
test.
"""


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    """Close what `client_of` opened."""
    yield
    while OPENED:
        OPENED.pop().close()


def client_of(server: ScriptedServer, plug: MemoristOpenAI, retries: int = 0) -> Any:
    client = openai.OpenAI(
        base_url=server.openai_url,
        api_key="none",
        max_retries=retries,
        http_client=plug.http_client(),
    )
    OPENED.append(client)
    return client


def ask(client: Any, wire: str, *history: Any, **given: Any) -> Any:
    if wire == "chat":
        return client.chat.completions.create(model=MODEL, messages=list(history), **given)
    return client.responses.create(model=MODEL, input=list(history), **given)


def text_of(reply: Any) -> str:
    return str(
        reply.output_text if hasattr(reply, "output_text") else reply.choices[0].message.content
    )


def messages(plug: MemoristOpenAI, wire: str, session: str | None = None) -> int:
    talk = plug.conversation(
        session or "", {"chat": "openai_chat", "responses": "openai_responses"}[wire]
    )
    assert talk.session is not None
    return talk.session.tracker.messages


both = pytest.mark.parametrize("wire", ["responses", "chat"])


@pytest.mark.covers("IN-1")
@both
def test_a_request_that_is_refused_as_too_long_goes_out_once_more(
    plug: MemoristOpenAI, wire: str
) -> None:
    """The host gets the reply to the smaller one, and hears nothing of the refusal."""
    history: list[Any] = [QUESTION]
    for number in range(30):
        step = f"Step {number} looked at the table of tides and found nothing. " * 30
        history += [
            {"role": "assistant", "content": step},
            {"role": "user", "content": f"Go on with {number}."},
        ]
    with ScriptedServer([Fail(error=ContextTooLong("too long")), Say(text="done")]) as server:
        reply = ask(client_of(server, plug), wire, *history)

    before, after = (len(json.dumps(request.body)) for request in server.received)
    assert text_of(reply) == "done"
    assert after < before


@pytest.mark.covers("IN-1")
@both
@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_that_change_with_each_request_go_out_as_they_are_now(
    plug: MemoristOpenAI, wire: str, role: str
) -> None:
    """The first message tells the time: also where the history is shown smaller."""
    history: list[Any] = []
    with ScriptedServer(lambda request: Say(text="done")) as server:
        for number in range(12):
            log = f"Log {number}: " + "the ship Marigold came in with timber. " * 300
            history.append({"role": "user", "content": log})
            clock = {"role": role, "content": f"It is {number} o'clock."}
            reply = ask(client_of(server, plug), wire, clock, *history)
            history.append({"role": "assistant", "content": text_of(reply)})

    field = "messages" if wire == "chat" else "input"
    sent = [request.body[field] for request in server.received]
    assert len(sent[-1]) < len(history)
    assert [each[0]["content"] for each in sent] == [f"It is {at} o'clock." for at in range(12)]


@pytest.mark.covers("IN-1", "CP-10")
def test_chats_without_a_name_are_compacted_as_if_each_were_alone(plug: MemoristOpenAI) -> None:
    """What goes out for each of two that alternate is what would without the other."""

    def talk(client: Any, *names: str) -> dict[str, list[int]]:
        chats: dict[str, list[Any]] = {name: [] for name in names}
        sent: dict[str, list[int]] = {name: [] for name in names}
        for number in range(9):
            for name, history in chats.items():
                log = f"Log {number} of {name}: " + "a ship came in with timber. " * 300
                history.append({"role": "user", "content": log})
                reply = ask(client, "chat", *history)
                history.append({"role": "assistant", "content": text_of(reply)})
                sent[name].append(len(server.received[-1].body["messages"]))
        return sent

    with ScriptedServer(lambda request: Say(text="done")) as server:
        client = client_of(server, plug)
        together = talk(client, "north", "south")
        alone = talk(client, "west")["west"]

    assert min(after - before for before, after in itertools.pairwise(alone)) < 0
    assert together == {"north": alone, "south": alone}


@pytest.mark.covers("IN-1")
@both
def test_a_refusal_for_another_reason_is_the_hosts(plug: MemoristOpenAI, wire: str) -> None:
    """It is raised as the SDK raises it, and nothing is sent again."""
    with (
        ScriptedServer([HttpError(code=400, message="no such tool")]) as server,
        pytest.raises(openai.BadRequestError, match="no such tool"),
    ):
        ask(client_of(server, plug), wire, QUESTION)

    assert len(server.received) == 1


@pytest.mark.covers("IN-1")
@both
def test_the_sdks_own_retries_are_one_call(plug: MemoristOpenAI, wire: str) -> None:
    """The request that is tried again is the same, and the conversation holds each message once."""
    with ScriptedServer([HttpError(code=503, retry_after="0"), Say(text="done")]) as server:
        ask(client_of(server, plug, retries=1), wire, QUESTION)

    assert server.received[0].body == server.received[1].body
    assert messages(plug, wire) == 2


@pytest.mark.covers("IN-1")
@both
def test_a_stream_that_breaks_off_is_the_hosts_affair(plug: MemoristOpenAI, wire: str) -> None:
    """The host gets the error that it gets without memorist; what there was of a reply is not taken
    for one, and the next call works.
    """
    with ScriptedServer(
        [
            InterruptedReply(step=Say(text="a long reply that ends early"), then="close"),
            Say(text="done"),
        ]
    ) as server:
        client = client_of(server, plug)
        with pytest.raises(openai.APIConnectionError):
            list(ask(client, wire, QUESTION, stream=True))
        seen = messages(plug, wire)
        ask(client, wire, QUESTION)

    assert seen == 1
    assert messages(plug, wire) == 2


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("field", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_a_history_that_the_provider_keeps_passes_as_it_is(
    plug: MemoristOpenAI, field: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Memorist sees what is new alone: it says so once, and keeps out."""
    with (
        ScriptedServer(lambda request: Say(text="done"), strict=False) as server,
        caplog.at_level(logging.WARNING),
    ):
        client = client_of(server, plug)
        for _ in range(2):
            ask(client, "responses", QUESTION, **field)

    assert [request.body["input"] for request in server.received] == [[QUESTION]] * 2
    assert plug.attached.conversation(plug.session, format="openai_responses").session is None
    assert (
        len(
            [record for record in caplog.records if f"`{next(iter(field))}`" in record.getMessage()]
        )
        == 1
    )


@pytest.mark.covers("IN-1")
def test_calls_belong_to_the_conversation_that_they_are_made_in(plug: MemoristOpenAI) -> None:
    """By `within`, and to none within `apart`; both hold for the task that entered them."""

    async def talk(client: Any, name: str) -> None:
        with plug.within(name):
            history: list[Any] = []
            for number in range(3):
                history.append({"role": "user", "content": f"{name} {number}"})
                reply = await client.responses.create(model=MODEL, input=history)
                history += reply.output
                with plug.bypass():
                    await client.responses.create(model=MODEL, input="A title.")

    async def main(server: ScriptedServer) -> None:
        given: dict[str, Any] = {
            "base_url": server.openai_url,
            "api_key": "none",
            "http_client": plug.async_http_client(),
        }
        async with openai.AsyncOpenAI(**given) as client:
            await asyncio.gather(*(talk(client, f"talk-{number}") for number in range(5)))

    with ScriptedServer(lambda request: Say(text="yes")) as server:
        asyncio.run(main(server))

    assert [messages(plug, "responses", f"talk-{number}") for number in range(5)] == [6] * 5


@pytest.mark.covers("IN-1")
@both
def test_raw_answers_and_other_paths_stay_what_they_are(plug: MemoristOpenAI, wire: str) -> None:
    """`with_raw_response` gives its object, and a list of models is no call of a model."""
    with ScriptedServer([Say(text="one")]) as server:
        client = client_of(server, plug)
        assert [model.id for model in client.models.list()] == ["scripted-model"]
        if wire == "chat":
            raw: Any = client.chat.completions.with_raw_response.create(
                model=MODEL, messages=[{"role": "user", "content": "Fix it."}]
            )
        else:
            raw = client.responses.with_raw_response.create(model=MODEL, input="Fix it.")

    assert text_of(raw.parse()) == "one"
    assert raw.headers["content-type"].startswith("application/json")
    assert messages(plug, wire) == 2


@pytest.mark.covers("IN-1")
@both
def test_a_request_with_a_picture_and_nothing_to_add_goes_out_byte_for_byte(
    plug: MemoristOpenAI, wire: str
) -> None:
    """Pictures, unknown fields, the order of keys and blanks are the host's."""
    sent: list[bytes] = []
    watched = plug.http_client(
        event_hooks={"request": [lambda request: sent.append(request.content)]}
    )
    bare: list[bytes] = []
    other = DefaultHttpxClient(
        event_hooks={"request": [lambda request: bare.append(request.content)]}
    )
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    if wire == "responses":
        picture = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    question = {"role": "user", "content": [picture], "depth": 3}
    with ScriptedServer(lambda request: Say(text="A ship."), strict=False) as server:
        for http_client in (watched, other):
            with openai.OpenAI(
                base_url=server.openai_url, api_key="none", http_client=http_client
            ) as client:
                ask(client, wire, question, extra_body={"x": 1})

    assert sent == bare


@pytest.mark.covers("IN-1")
def test_a_reply_that_is_made_in_the_background_is_no_reply_yet(plug: MemoristOpenAI) -> None:
    """A queued response is not taken for what the model said."""
    with ScriptedServer([Say(text="soon")]) as server:
        client = client_of(server, plug)
        reply = ask(client, "responses", QUESTION)

    exchange = plug.begin_call("openai_responses", {}, "queued")
    assert exchange is not None
    exchange.prepare({"model": MODEL, "input": [QUESTION]})
    exchange.observe_body(
        "application/json",
        json.dumps({**reply.model_dump(mode="json"), "status": "queued"}).encode(),
    )
    assert messages(plug, "responses", "queued") == 1
