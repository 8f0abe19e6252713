"""Microsoft Agent Framework: the story with its agent and both OpenAI clients, and what is
particular to its messages and its compaction strategy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugs.story import (
    CORRECTION,
    EVERYTHING,
    IGNORES_GENERATORS,
    LESSON,
    MAX_OUTPUT,
    MODEL,
    TASK,
    Reader,
    Talk,
    World,
    go_on_while_locked,
    leave_streams,
    read_large_pages,
    read_page,
    run_story,
    settings,
    tell_users_apart,
    words,
)

for package in ("agent_framework", "agent_framework_openai"):
    pytest.importorskip(
        package,
        reason=f"{package} is not installed; `make test-plugs PLUGS=agent-framework` brings it",
    )

from agent_framework import (
    EXCLUDED_KEY,
    Agent,
    ChatContext,
    ChatMiddleware,
    Content,
    ContextProvider,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
)
from agent_framework.exceptions import ChatClientException
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

from memorist.adapters import agent_framework as adapter
from memorist.adapters.agent_framework import MemoristCompaction, MemoristProvider
from memorist.adapters.agent_framework_messages import (
    decode_wire_items_to_messages,
    map_messages_to_items,
)
from memorist.adapters.engine_thread import EngineThread
from memorist.core.messages import JsonObject
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, Say, Step

pytestmark = pytest.mark.timeout(600)
"""A story makes two hundred requests, on a machine that may be busy."""


class Steady(ChatMiddleware):
    """Between two runs the framework gives calls of Responses other ids, with memorist and without
    it. The story is not about that. Nor is it about the names that it adds to what the agent had
    said, where a strategy alone cannot leave them out: `names` says to.
    """

    def __init__(self, *, names: bool = False) -> None:
        self.names = names

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        for message in context.messages:
            if self.names:
                message.author_name = None
            for content in message.contents:
                if content.type == "function_call":
                    content.additional_properties.clear()
        await call_next()


class Framework:
    """An agent with a client of Chat Completions or of Responses."""

    reaches = EVERYTHING

    def __init__(self, wire: str, *, stream: bool) -> None:
        self.wire = wire
        self.stream = stream

    def begin(self, world: World, session: str) -> Talk:
        providers = (
            []
            if world.attached is None
            else [MemoristProvider(project=world.project, attached=world.attached)]
        )
        return Conversation(
            world, session, wire=self.wire, stream=self.stream, context_providers=providers
        )


class Conversation:
    def __init__(
        self, world: World, session: str, *, wire: str = "chat", stream: bool = False, **more: Any
    ) -> None:
        made_by = OpenAIChatCompletionClient if wire == "chat" else OpenAIChatClient
        self.client = made_by(model=MODEL, base_url=world.server.openai_url, api_key="none")
        providers = [InMemoryHistoryProvider(), *more.pop("context_providers", ())]
        options = {"max_tokens": MAX_OUTPUT} | more.pop("options", {"store": False})
        self.agent = Agent(
            self.client,
            instructions="You help.",
            tools=[world.tool],
            default_options=options,
            context_providers=providers,
            middleware=[more.pop("steady", None) or Steady()],
            **more,
        )
        self.session = self.agent.create_session(session_id=session)
        self.session.state["user_id"] = world.user
        self.loop = asyncio.Runner()
        self.stream = stream

    def say(self, text: str | Message) -> str:
        return self.loop.run(self._say(text))

    async def _say(self, text: str | Message) -> str:
        if not self.stream:
            return str((await self.agent.run(text, session=self.session)).text)
        run = self.agent.run(text, session=self.session, stream=True)
        return str((await run.get_final_response()).text)

    def leave(self, text: str) -> None:
        self.loop.run(self._leave(text))

    async def _leave(self, text: str) -> None:
        run = self.agent.run(text, session=self.session, stream=True)
        async for update in run:
            if update.text:
                break
        await run.close()

    def close(self) -> None:
        self.loop.run(self.client.client.close())
        self.loop.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    ("wire", "stream"), [("chat", False), ("chat", True), ("responses", False), ("responses", True)]
)
def test_the_story(tmp_path: Path, wire: str, *, stream: bool) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(Framework(wire, stream=stream), tmp_path)


@IGNORES_GENERATORS
@pytest.mark.covers("IN-1", "CP-10")
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(Framework("chat", stream=True), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(Framework("chat", stream=False), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, wire: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(Framework(wire, stream=False), tmp_path)


@pytest.mark.parametrize("stream", [False, True])
def test_users_of_one_server_share_nothing(tmp_path: Path, stream: bool) -> None:
    """By the `user_id` in the session's state."""
    tell_users_apart(Framework("chat", stream=stream), tmp_path)


class StrategyAlone(Framework):
    """An agent with the compaction strategy and no provider."""

    reaches = frozenset({"compaction"})

    def begin(self, world: World, session: str) -> Talk:
        strategy = (
            None
            if world.attached is None
            else MemoristCompaction(session=session, agent_model=MODEL, attached=world.attached)
        )
        return Conversation(world, session, compaction_strategy=strategy, steady=Steady(names=True))


@pytest.mark.covers("IN-1")
def test_the_story_with_the_strategy_alone(tmp_path: Path) -> None:
    """The long task is done within its window; nothing is noted or remembered."""
    run_story(StrategyAlone("chat", stream=False), tmp_path)


texts = st.text(max_size=8)
contents = st.one_of(
    texts.map(Content.from_text),
    texts.map(lambda text: Content.from_text_reasoning(text=text)),
    st.just(Content.from_uri("https://pictures.invalid/ship.png", media_type="image/png")),
    st.binary(max_size=8).map(lambda data: Content.from_data(data, media_type="application/pdf")),
    st.builds(
        lambda id, name: Content.from_function_call(id, name, arguments={"n": 1}), texts, texts
    ),
    st.builds(
        lambda id, given: Content.from_function_result(id, result=given),
        texts,
        st.none() | texts | st.just({"n": [1]}),
    ),
    st.just(Content.from_error(message="it failed")),
)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool", "odd"]),
    st.lists(contents, max_size=4),
)


@given(st.lists(messages, max_size=8))
def test_whatever_is_left_alone_comes_back_as_the_frameworks_own_object(
    history: list[Message],
) -> None:
    """Odd roles, messages without contents, results without a call: the way there and back loses
    nothing.
    """
    mapped = map_messages_to_items(history)

    assert [
        id(message)
        for message in mapped.build_host_messages(mapped.wire_items, decode_wire_items_to_messages)
    ] == [id(message) for message in history]


def test_a_result_that_was_cut_keeps_its_call() -> None:
    """Two results in one message: the one that was cut and the other one both stay, each with its
    call's id.
    """
    both = Message(
        "tool",
        [
            Content.from_function_result("a", result="first"),
            Content.from_function_result("b", result="second"),
        ],
    )
    calls = Message(
        "assistant", [Content.from_function_call(id, "read", arguments="{}") for id in ("a", "b")]
    )
    mapped = map_messages_to_items([Message("user", ["go"]), calls, both])

    back = mapped.build_host_messages(
        [
            {**item, "content": "cut"} if item["content"] == "first" else item
            for item in mapped.wire_items
        ],
        decode_wire_items_to_messages,
    )

    assert back[1] is calls
    found = [
        (content.call_id, content.result) for message in back[2:] for content in message.contents
    ]
    assert found == [("a", "cut"), ("b", "second")]


@given(st.lists(messages, max_size=6), st.data())
def test_the_strategy_keeps_every_message_of_the_framework(
    history: list[Message], data: st.DataObject
) -> None:
    """In their order, those left out marked, ours among them; a second time with the same outcome
    changes nothing.
    """
    kept = [message for message in history if data.draw(st.booleans())]
    shown = [Message("user", ["a summary"]), *kept]
    given_list = list(history)

    first = adapter._apply_view(given_list, history, shown)
    again = adapter._apply_view(given_list, history, [Message("user", ["a summary"]), *kept])

    assert first
    assert not again
    assert [
        message for message in given_list if any(message is host for host in history)
    ] == history
    going = [
        message for message in given_list if not message.additional_properties.get(EXCLUDED_KEY)
    ]
    assert [message.text for message in going] == [message.text for message in shown]


def test_the_agents_own_name_costs_no_cache(tmp_path: Path) -> None:
    """The framework adds it to what the agent had said before; what another agent said keeps its
    name, and so does the framework's own history.
    """
    other = Message("assistant", ["Ask the pilot."], author_name="Harbour")
    with (
        ScriptedServer(lambda request: Say(text="A ship.")) as server,
        EngineThread(home=tmp_path / "home") as engine,
    ):
        talk = Conversation(
            World(server=server, project=tmp_path, attached=engine),
            "s",
            context_providers=[MemoristProvider(attached=engine)],
        )
        talk.loop.run(talk.agent.run([other, "What came in?"], session=talk.session))
        talk.say("Sure?")
        talk.close()

    named = [
        [message.get("name") for message in request.body["messages"]] for request in server.received
    ]
    assert named[1][: len(named[0])] == named[0]
    assert [name for name in named[1] if name] == ["Harbour"]


def test_a_picture_goes_out_as_it_came(tmp_path: Path) -> None:
    """The address of a picture, also in the next request."""
    address = "https://pictures.invalid/ship.png"
    with (
        ScriptedServer(lambda request: Say(text="A ship.")) as server,
        EngineThread(home=tmp_path / "home") as engine,
    ):
        talk = Conversation(
            World(server=server, project=tmp_path, attached=engine),
            "s",
            context_providers=[MemoristProvider(attached=engine)],
        )
        talk.say(
            Message(
                "user",
                [
                    Content.from_text("What is this?"),
                    Content.from_uri(address, media_type="image/png"),
                ],
            )
        )
        talk.say("Sure?")
        talk.close()

    parts = [
        [part for message in request.body["messages"] for part in message["content"]]
        for request in server.received
    ]
    pictures = [
        [
            part["image_url"]["url"]
            for part in each
            if isinstance(part, dict) and part["type"] == "image_url"
        ]
        for each in parts
    ]
    assert pictures == [[address]] * 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_as_too_long_is_answered_once_where_it_is_not_streamed(
    tmp_path: Path, *, stream: bool
) -> None:
    """The provider's window is smaller than memorist knows."""
    with (
        ScriptedServer(Reader(8), window=6_000) as server,
        EngineThread(home=tmp_path / "home", settings=settings()) as engine,
    ):
        world = World(server=server, project=tmp_path, attached=engine)
        talk = Conversation(
            world, "s", stream=stream, context_providers=[MemoristProvider(attached=engine)]
        )
        if stream:
            with pytest.raises(ChatClientException):
                talk.say(TASK)
        else:
            assert "came last" in talk.say(TASK)
        talk.close()

    assert len(server.refusals) == 1
    assert stream or TASK in words(server.received[-1].body)


def test_a_history_that_the_provider_keeps_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without `store=False` a request of Responses holds only what is new: it goes out as it is,
    and the log says so.
    """

    def bodies(providers: list[Any]) -> list[JsonObject]:
        with ScriptedServer(Reader(2), strict=False) as server:
            world = World(server=server, project=tmp_path, attached=None)
            talk = Conversation(
                world, "s", wire="responses", context_providers=providers, options={"store": True}
            )
            talk.say(TASK)
            talk.say("Sure?")
            talk.close()
            return [request.body for request in server.received]

    with (
        EngineThread(home=tmp_path / "home") as engine,
        caplog.at_level(logging.WARNING, "memorist.adapters"),
    ):
        with_it = bodies([MemoristProvider(attached=engine)])

    assert with_it == bodies([])
    assert "store=False" in caplog.text


def test_a_message_that_cannot_be_read_goes_out_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later framework with other messages: the agent answers, with the provider and with the
    strategy, and memorist is told to have failed.
    """
    monkeypatch.setattr(adapter, "map_messages_to_items", lambda *_: 1 / 0)
    told: list[object] = []
    with (
        ScriptedServer(Reader(2)) as server,
        EngineThread(home=tmp_path / "home", listener=told.append) as engine,
    ):
        strategy = MemoristCompaction(attached=engine)
        world = World(server=server, project=tmp_path, attached=engine)
        talk = Conversation(
            world,
            "s",
            context_providers=[MemoristProvider(attached=engine)],
            compaction_strategy=strategy,
        )
        assert "came last" in talk.say(TASK)
        talk.close()

    assert read_page(2) in words(server.received[-1].body)
    assert {(getattr(event, "session", ""), getattr(event, "point", "")) for event in told} >= {
        ("s", "prepare"),
        (strategy.session, "prepare"),
    }


@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("own_provider", [False, True])
def test_what_an_agent_is_asked_by_another_is_not_the_persons_rule(
    tmp_path: Path, *, propagate: bool, own_provider: bool
) -> None:
    """An agent as a tool has a session of its own without the user's name, so what it learnt was
    everybody's; or it writes into the history of the one that asks.
    """

    def answer(request: Request) -> Step:
        said = words(request.body)
        if "ask the clerk" not in said:
            return Say(text="inner answer")
        return (
            Say(text="done")
            if "inner answer" in said
            else CallTool(name="clerk", input={"task": CORRECTION})
        )

    with ScriptedServer(answer) as server, EngineThread(home=tmp_path / "home") as engine:
        provider = MemoristProvider(project=tmp_path, attached=engine)
        client = OpenAIChatCompletionClient(model=MODEL, base_url=server.openai_url, api_key="none")
        clerk = Agent(
            client,
            name="clerk",
            context_providers=[InMemoryHistoryProvider(), *([provider] if own_provider else [])],
            default_options={"store": False},
        )
        talk = Conversation(
            World(server=server, project=tmp_path, attached=engine),
            "s",
            context_providers=[provider],
        )
        run = talk.agent.run(
            "Please ask the clerk, and say what he wants.",
            session=talk.session,
            tools=clerk.as_tool(propagate_session=propagate),
        )
        assert str(talk.loop.run(run).text) == "done"
        assert talk.say("Thank you.") == "done"
        talk.loop.run(client.client.close())
        talk.close()
    assert len(list((tmp_path / "home").rglob("transcript.jsonl"))) == 1 + own_provider
    assert not list((tmp_path / "home").rglob("memory/*.md"))


class Library(ContextProvider):
    """A host's own provider, which shows what it found in the role of a user."""

    async def before_run(self, *, context: SessionContext, **_: Any) -> None:
        context.extend_messages(self, [Message("user", ["Never use npm in this harbour."])])


def test_what_a_provider_or_another_agent_puts_into_a_conversation_is_not_the_persons(
    tmp_path: Path,
) -> None:
    """Both have the role of a user. What the person said and a history loads again is theirs."""
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        engine = EngineThread(home=tmp_path / "home")
        own = MemoristProvider(project=tmp_path, attached=engine)
        world = World(server=server, project=tmp_path, attached=engine, user="")
        talk = Conversation(world, "s", context_providers=[Library("library"), own])
        talk.say("Look at the harbour.")
        talk.say(Message("user", ["Always commit to the main."], author_name="researcher"))
        talk.say(CORRECTION)
        talk.close()
        engine.close()
    kept = [path.read_text("utf-8") for path in tmp_path.rglob("memory/*.md")]

    assert "Never use npm" in str(server.received[0].body["messages"])
    stated = [text for text in kept if "trust: stated" in text]
    assert [LESSON in text for text in stated] == [True]
    recorded = next(tmp_path.rglob("transcript.jsonl")).read_text("utf-8")
    assert recorded.count("Look at the harbour.") == 1
