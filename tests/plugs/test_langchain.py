"""LangChain: the story with `create_agent` and `create_deep_agent`, on three providers' wires,
blocking and async.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from plugs.story import (
    CORRECTION,
    EVERYTHING,
    LESSON,
    MAX_OUTPUT,
    MODEL,
    TASK,
    WINDOW,
    Reader,
    Talk,
    Told,
    World,
    attached,
    go_on_while_locked,
    leave_streams,
    read_large_pages,
    read_page,
    run_story,
    tell_users_apart,
    words,
)
from support.sweeps import sampled

for package in ("langchain", "langchain_openai", "langchain_anthropic"):
    pytest.importorskip(
        package, reason=f"{package} is not installed; `make test-plugs PLUGS=langchain` brings it"
    )

from hypothesis import example, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, SecretStr

from memorist.adapters.engine_thread import EngineThread
from memorist.adapters.host_conversation import HostConversation as Ground
from memorist.adapters.langchain import MemoristMiddleware
from memorist.adapters.langchain_messages import (
    decode_wire_items_to_messages,
    encode_message_as_wire_json,
    encode_reply_as_wire_json,
)
from memorist.engine.fetch_tool import FETCH_TOOL_NAME
from memorist.formats.codec_registry import find_codec
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, Say, Step

KEY = SecretStr("none")
FIRST = "0b5cf0de-5d5b-4f0c-9d5c-3f1f6f6f0a01"
"""Id of a first message, as LangGraph makes them."""


def chat_model(server: Any, wire: str) -> BaseChatModel:
    if wire == "anthropic":
        return ChatAnthropic(
            model_name=MODEL,
            base_url=server.url,
            api_key=KEY,
            max_tokens_to_sample=MAX_OUTPUT,
            max_retries=0,
            timeout=300,
            stop=None,
        )
    return ChatOpenAI(
        model=MODEL,
        base_url=server.openai_url,
        api_key=KEY,
        max_completion_tokens=MAX_OUTPUT,
        max_retries=0,
        use_responses_api=wire == "responses",
    )


class LangChain:
    """An agent of `create_agent`."""

    reaches = EVERYTHING

    def __init__(self, wire: str, how: str) -> None:
        self.wire = wire
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        middleware = (
            []
            if world.attached is None
            else [MemoristMiddleware(project=world.project, attached=world.attached)]
        )
        agent = create_agent(
            chat_model(world.server, self.wire),
            [tool(world.tool)],
            system_prompt="You help.",
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        return Conversation(agent, session, self.how, world.user)


class Conversation:
    def __init__(self, agent: Any, session: str, how: str, user: str = "") -> None:
        self.agent = agent
        self.how = how
        named = {"user_id": user} if user else {}
        self.config: RunnableConfig = {
            "configurable": {"thread_id": session, **named},
            "recursion_limit": 200,
        }
        self.runner = asyncio.Runner()

    def say(self, text: str) -> str:
        given = {"messages": [HumanMessage(text)]}
        match self.how:
            case "sync":
                state = self.agent.invoke(given, self.config)
            case "async":
                state = self.runner.run(self.agent.ainvoke(given, self.config))
            case _:
                *_, state = self.agent.stream(given, self.config, stream_mode="values")
        return str(state["messages"][-1].text)

    def leave(self, text: str) -> None:
        given = {"messages": [HumanMessage(text)]}
        stream = self.agent.stream(given, self.config, stream_mode="messages")
        next(part for part, _ in stream if isinstance(part, AIMessage) and part.text)
        stream.close()

    def close(self) -> None:
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    ("wire", "how"),
    sampled(
        [("chat", "sync"), ("responses", "async"), ("anthropic", "async"), ("anthropic", "stream")],
        {("chat", "sync"), ("anthropic", "stream")},
    ),
)
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(LangChain(wire, how), tmp_path)


@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize(
    "wire",
    [
        "chat",
        pytest.param("responses", marks=pytest.mark.slow),
        pytest.param("anthropic", marks=pytest.mark.slow),
    ],
)
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path, wire: str) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(LangChain(wire, "stream"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(LangChain("chat", "async"), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, wire: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(LangChain(wire, "async"), tmp_path)


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_users_of_one_server_share_nothing(tmp_path: Path, how: str) -> None:
    """By the `user_id` of the configuration, with nothing said to the middleware."""
    tell_users_apart(LangChain("chat", how), tmp_path)


class Webserver(LangChain):
    """A server without threads: the client sends its whole history as dicts, each time anew."""

    def begin(self, world: World, session: str) -> Talk:
        del session
        assert world.attached is not None
        middleware = MemoristMiddleware(
            project=lambda runtime: runtime.context["project"],
            user=lambda runtime: runtime.context["who"],
            attached=world.attached,
        )
        agent = create_agent(
            chat_model(world.server, self.wire),
            [tool(world.tool)],
            middleware=[middleware],
            context_schema=dict,
        )
        context = {"who": world.user, "project": str(world.project)}
        return WebConversation(agent, context, middleware)


class WebConversation:
    def __init__(self, agent: Any, context: Any, middleware: MemoristMiddleware) -> None:
        self.agent = agent
        self.context = context
        self.middleware = middleware
        self.history: list[dict[str, str]] = []
        self.sessions: set[str] = set()

    def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        state = self.agent.invoke(
            {"messages": list(self.history)}, {"recursion_limit": 200}, context=self.context
        )
        self.sessions.add(self.middleware.session)
        self.history.append({"role": "assistant", "content": str(state["messages"][-1].text)})
        return self.history[-1]["content"]

    def close(self) -> None:
        pass


def test_users_and_projects_come_from_functions_of_the_run(tmp_path: Path) -> None:
    """A server gives its own fields of the context."""
    tell_users_apart(Webserver("chat", "sync"), tmp_path)


def test_a_history_of_dicts_without_a_thread_stays_one_session(tmp_path: Path) -> None:
    """Two clients say the same at first; each goes on in a session of its own, past the window,
    where the prefix breaks only at compactions.
    """
    told = Told()
    plug = Webserver("chat", "sync")
    with (
        ScriptedServer(Reader(3), window=WINDOW) as server,
        attached(tmp_path / "home", plug, told) as engine,
    ):
        talks = [
            plug.begin(
                World(server=server, project=tmp_path / "harbour", attached=engine, user="u"), ""
            )
            for _ in range(2)
        ]
        for number in range(6):
            for each, talk in enumerate(talks):
                talk.say(
                    TASK if not number else f"Client {each} says {number}: {read_page(number) * 5}"
                )
        sessions = [talk.sessions for talk in talks if isinstance(talk, WebConversation)]

    assert [len(each) for each in sessions] == [1, 1], sessions
    assert sessions[0] != sessions[1]
    assert not server.refusals
    assert not told.failures()
    assert told.compactions()


class Deep(LangChain):
    """An agent of `create_deep_agent`, which brings middlewares, tools and a summarisation of its
    own.
    """

    def begin(self, world: World, session: str) -> Talk:
        deepagents = pytest.importorskip(
            "deepagents",
            reason="deepagents is not installed; `make test-plugs PLUGS=langchain` brings it",
        )
        middleware = (
            []
            if world.attached is None
            else [MemoristMiddleware(project=world.project, attached=world.attached)]
        )
        agent = deepagents.create_deep_agent(
            chat_model(world.server, self.wire),
            [tool(world.tool)],
            system_prompt="You help.",
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        return Conversation(agent, session, self.how, world.user)


@pytest.mark.parametrize(("wire", "how"), [("chat", "sync"), ("anthropic", "async")])
def test_the_story_of_a_deep_agent(tmp_path: Path, wire: str, how: str) -> None:
    """The same story beside the middlewares of deepagents, with its own summarisation."""
    run_story(Deep(wire, how), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose memory holds one lesson."""
    folder = tmp_path / "harbour"
    (folder / ".git").mkdir(parents=True)
    with EngineThread(home=tmp_path / "home") as engine:
        asked(
            MemoristMiddleware(project=folder, attached=engine),
            [HumanMessage("Install it.", id="a"), AIMessage("Done."), HumanMessage(CORRECTION)],
        )
    return folder


def asked(
    middleware: MemoristMiddleware, messages: list[AnyMessage], reply: AIMessage | None = None
) -> list[AnyMessage]:
    """What a model is shown for these messages."""
    shown: list[AnyMessage] = []

    def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        shown.extend(request.messages)
        return ModelResponse(result=[reply or AIMessage("I will.")])

    middleware.wrap_model_call(
        ModelRequest(model=FakeListChatModel(responses=["unused"]), messages=messages), handler
    )
    return shown


def test_what_memorist_leaves_is_langchains_own_object(tmp_path: Path, project: Path) -> None:
    """Thinking, artifacts, metadata and ids go out as they came, though something is shown between
    them; the given list stays as it was.
    """
    given: list[AnyMessage] = [
        HumanMessage("Look at the file.", id="h1", additional_kwargs={"mark": 1}),
        AIMessage(
            [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
            ],
            tool_calls=[{"name": "look", "args": {}, "id": "c1"}],
            response_metadata={"model_name": "m"},
        ),
        ToolMessage("It is there.", tool_call_id="c1", artifact={"rows": [1, 2]}),
        HumanMessage("Install it with npm, or with what we use.", id="h2"),
    ]
    before = list(given)

    with MemoristMiddleware(project=project, home=tmp_path / "home").attached as engine:
        shown = asked(MemoristMiddleware(project=project, attached=engine), given)

    assert given == before
    assert [message for message in shown if any(message is own for own in given)] == given
    added = [message for message in shown if not any(message is own for own in given)]
    assert LESSON in "".join(str(message.text) for message in added)
    assert all(isinstance(message, HumanMessage) for message in added)


def test_a_request_that_memorist_leaves_as_it_is_is_the_very_same(tmp_path: Path) -> None:
    """Nothing learnt, nothing to cut: the handler gets the request that came."""
    request: ModelRequest[Any] = ModelRequest(
        model=FakeListChatModel(responses=["unused"]), messages=[HumanMessage("Hello.", id=FIRST)]
    )
    got: list[ModelRequest[Any]] = []

    def handler(given: ModelRequest[Any]) -> ModelResponse[Any]:
        got.append(given)
        return ModelResponse(result=[AIMessage("Hello.")])

    middleware = MemoristMiddleware(home=tmp_path)
    with middleware.attached:
        middleware.wrap_model_call(request, handler)

    assert got[0] is request
    assert middleware.session == FIRST


def test_a_result_that_was_made_smaller_keeps_what_langchain_knows_of_it() -> None:
    """Id, name, artifact and status of the tool's message stay; its content is the shorter one."""
    own = ToolMessage(
        "long " * 1_000, tool_call_id="c1", name="look", artifact=[1], id="t1", status="error"
    )

    (made,) = decode_wire_items_to_messages(
        [{"role": "tool", "tool_call_id": "c1", "content": "short"}], [own]
    )

    assert isinstance(made, ToolMessage)
    assert (made.content, made.id, made.name, made.artifact, made.status) == (
        "short",
        "t1",
        "look",
        [1],
        "error",
    )
    assert own.content != "short"


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_pictures_and_calls_side_by_side_go_through(
    tmp_path: Path, project: Path, wire: str
) -> None:
    """A picture reaches the provider in each wire's form, beside what memorist shows; several calls
    of one reply are answered.
    """
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    picture = HumanMessage(
        [
            {"type": "text", "text": "What is this, and what do we install with?"},
            {"type": "image", "base64": pixel, "mime_type": "image/png"},
        ]
    )
    with ScriptedServer(Reader(9)) as server, EngineThread(home=tmp_path / "home") as engine:
        agent = create_agent(
            chat_model(server, wire),
            [tool(read_page)],
            middleware=[MemoristMiddleware(project=project, attached=engine)],
        )
        state = agent.invoke({"messages": [picture]})

    assert not server.refusals
    assert all(
        pixel in words(request.body) and LESSON in words(request.body)
        for request in server.received
    )
    assert state["messages"][0].content == picture.content
    assert sum(isinstance(message, ToolMessage) for message in state["messages"]) == 9


@pytest.mark.parametrize(
    ("wire", "how"),
    sampled(
        product(["chat", "responses", "anthropic"], ["sync", "async"]),
        {("responses", "async"), ("anthropic", "sync")},
    ),
)
def test_a_refusal_as_too_long_is_answered_once(tmp_path: Path, wire: str, how: str) -> None:
    """The provider's window is smaller than memorist was told: the request is sent again, smaller,
    and the agent never notices.
    """
    with ScriptedServer(Reader(20), window=15_000) as server, EngineThread(home=tmp_path) as engine:
        world = World(server=server, project=tmp_path, attached=engine)
        talk = LangChain(wire, how).begin(world, "one")
        said = talk.say("Read every page of the harbour report.")
        talk.close()

    assert "came last" in said
    assert server.refusals
    assert len(server.received) == len(server.refusals) + 20


def test_another_refusal_is_the_hosts_to_see(tmp_path: Path) -> None:
    """An error that has nothing to do with the window passes through, and is not tried again."""
    calls: list[int] = []

    def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        calls.append(1)
        raise ValueError("no such model")

    middleware = MemoristMiddleware(home=tmp_path)
    with middleware.attached, pytest.raises(ValueError, match="no such model"):
        middleware.wrap_model_call(
            ModelRequest(
                model=FakeListChatModel(responses=["unused"]), messages=[HumanMessage("Hello.")]
            ),
            handler,
        )

    assert calls == [1]


def test_turns_end_once_and_threads_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight threads at once through one middleware: each has its own session, with its own words in
    its notes, and each turn ends once.
    """
    ended: list[str] = []
    end = Ground.end_turn

    def counted(self: Ground) -> None:
        ended.append(self.id)
        end(self)

    monkeypatch.setattr(Ground, "end_turn", counted)
    with (
        ScriptedServer(lambda request: Say(text="Yes.")) as server,
        EngineThread(home=tmp_path) as engine,
    ):
        middleware = MemoristMiddleware(attached=engine)
        agent = create_agent(
            chat_model(server, "chat"), middleware=[middleware], checkpointer=InMemorySaver()
        )

        def talk(number: int) -> str:
            for part in ("one", "two"):
                agent.invoke(
                    {"messages": [HumanMessage(f"Task {number}, part {part}.")]},
                    {"configurable": {"thread_id": f"t{number}"}},
                )
            return middleware.conversation(f"t{number}").update_notes()

        with ThreadPoolExecutor(8) as pool:
            notes = list(pool.map(talk, range(8)))

    assert sorted(ended) == sorted([f"t{number}" for number in range(8)] * 2)
    for number, text in enumerate(notes):
        assert f"Task {number}, part two." in text
        assert not any(f"Task {other}, part" in text for other in range(8) if other != number)


@pytest.mark.parametrize("has_thread", [False, True])
def test_an_agent_within_an_agent_has_a_session_of_its_own(
    tmp_path: Path, *, has_thread: bool
) -> None:
    """A tool asks another agent, in the thread of the outer one or in one of its own: the two
    conversations are two, and what the model asks for is not the person's rule.
    """

    def answer(request: Request) -> Step:
        said = words(request.body)
        if "outer words" not in said:
            return Say(text="inner answer")
        return (
            Say(text="done")
            if "inner answer" in said
            else CallTool(name="ask", input={"text": CORRECTION})
        )

    with ScriptedServer(answer) as server, EngineThread(home=tmp_path) as engine:
        middleware = MemoristMiddleware(attached=engine, project=tmp_path)
        inner = create_agent(chat_model(server, "chat"), middleware=[middleware])

        @tool
        def ask(text: str) -> str:
            """Ask the other agent."""
            own: RunnableConfig = {"configurable": {"thread_id": "inner"}} if has_thread else {}
            return str(inner.invoke({"messages": [HumanMessage(text)]}, own)["messages"][-1].text)

        outer = create_agent(
            chat_model(server, "chat"), [ask], middleware=[middleware], checkpointer=InMemorySaver()
        )
        state = outer.invoke(
            {"messages": [HumanMessage("outer words")]}, {"configurable": {"thread_id": "t"}}
        )
        notes = middleware.conversation("t").update_notes()
        lessons = engine.engine.memory(str(tmp_path)).headers()

    assert state["messages"][-1].text == "done"
    assert "outer words" in notes
    assert not lessons
    transcripts = {
        path.parent.name: path.read_text("utf-8")
        for path in tmp_path.glob("projects/*/*/transcript.jsonl")
    }
    assert len(transcripts) == 2
    assert (
        sum(CORRECTION in text and "outer words" not in text for text in transcripts.values()) == 1
    )


def test_an_agent_in_a_graph_says_whether_persons_speak_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A node learns nothing and says so once, until it is named the main agent; then its session
    is the thread.
    """
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        for main in (False, True):
            with EngineThread(home=tmp_path / str(main)) as engine:
                middleware = MemoristMiddleware(attached=engine, project=tmp_path, main=main)
                agent = create_agent(chat_model(server, "chat"), middleware=[middleware])
                graph = StateGraph(MessagesState).add_node("clerk", agent).add_edge(START, "clerk")
                app = graph.compile(checkpointer=InMemorySaver())
                thread: RunnableConfig = {"configurable": {"thread_id": "t"}}
                app.invoke({"messages": [HumanMessage(CORRECTION)]}, thread)
                app.invoke({"messages": [HumanMessage("Thanks.")]}, thread)
                assert (middleware.session == "t") == main
                middleware.attached.close()
            learnt = list((tmp_path / str(main)).rglob("memory/*.md"))
            assert bool(learnt) == main

    assert caplog.text.count("main=True") == 1


def test_messages_that_a_client_numbers_from_one_are_not_one_conversation(tmp_path: Path) -> None:
    """Without a thread, the id of the first message alone says nothing."""
    with (
        ScriptedServer(lambda request: Say(text="Yes.")) as server,
        EngineThread(home=tmp_path) as engine,
    ):
        middleware = MemoristMiddleware(attached=engine)
        agent = create_agent(chat_model(server, "chat"), middleware=[middleware])
        sessions = set()
        for text in ("What is tar?", "What is rope?"):
            agent.invoke({"messages": [HumanMessage(text, id="1")]})
            sessions.add(middleware.session)

    assert len(sessions) == 2


def test_a_message_that_another_agent_signs_is_not_the_persons(tmp_path: Path) -> None:
    """As the supervisors of LangGraph's guides hand an agent's answer on: in the role of a user."""
    answer = HumanMessage(CORRECTION, name="researcher")
    with (
        ScriptedServer(lambda request: Say(text="Yes.")) as server,
        EngineThread(home=tmp_path / "home") as engine,
    ):
        middleware = MemoristMiddleware(attached=engine, project=tmp_path)
        agent = create_agent(chat_model(server, "chat"), middleware=[middleware])
        agent.invoke({"messages": [HumanMessage("Look at the harbour."), answer]})

    assert server.received[0].body["messages"][-1]["name"] == "researcher"
    kept = [path.read_text("utf-8") for path in tmp_path.rglob("memory/*.md")]
    assert not [text for text in kept if "trust: stated" in text]


def test_a_structured_answer_is_no_trouble(tmp_path: Path) -> None:
    """LangChain puts a tool's message behind the model's; the next turn goes on."""

    class Ship(BaseModel):
        name: str

    with (
        ScriptedServer(lambda request: CallTool(name="Ship", input={"name": "Marigold"})) as server,
        EngineThread(home=tmp_path) as engine,
    ):
        agent = create_agent(
            chat_model(server, "chat"),
            middleware=[MemoristMiddleware(attached=engine)],
            response_format=ToolStrategy(Ship),
            checkpointer=InMemorySaver(),
        )
        for _ in range(2):
            state = agent.invoke(
                {"messages": [HumanMessage("Which ship?")]}, {"configurable": {"thread_id": "t"}}
            )

    assert state["structured_response"] == Ship(name="Marigold")
    assert not server.refusals


def test_the_model_fetches_back_what_was_taken_out(tmp_path: Path) -> None:
    """With `fetch=True` it has a tool for it, sync and async; an id that is not known is answered
    too.
    """
    told = Told()
    reader = Reader()
    wanted: list[str] = []

    def answer(request: Request) -> Step:
        (*_, last) = request.body["messages"]
        if last["role"] == "user" and last["content"].startswith("Fetch"):
            return CallTool(name=FETCH_TOOL_NAME, input={"id": wanted.pop()})
        return Say(text=last["content"]) if not reader.left else reader(request)

    with (
        ScriptedServer(answer) as server,
        attached(tmp_path, LangChain("chat", "sync"), told) as engine,
    ):
        middleware = MemoristMiddleware(attached=engine, fetch=True)
        agent = create_agent(
            chat_model(server, "chat"),
            [tool(read_page)],
            middleware=[middleware],
            checkpointer=InMemorySaver(),
        )
        talk = Conversation(agent, "t", "sync")
        talk.say("Read every page.")
        results = [
            message
            for message in agent.get_state(talk.config).values["messages"]
            if isinstance(message, ToolMessage)
        ]
        assert told.compactions()
        assert read_page(1) not in words(server.received[-1].body)
        wanted += [results[0].tool_call_id, "unknown", results[0].tool_call_id]
        fetched = [talk.say("Fetch the first."), talk.say("Fetch another.")]
        talk.how = "async"
        fetched.append(talk.say("Fetch the first again."))
        talk.close()

    assert [text.startswith("Page 1. ") for text in fetched] == [True, False, True]
    assert fetched[1] == "Nothing has this id."


KINDS = ["text", "image", "thinking", "tool_use", "odd", "image_url", "file"]
blocks = st.one_of(
    st.text(max_size=5),
    st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS)},
        optional={
            "text": st.text(max_size=5), "url": st.just("https://example.com/a.png"), "base64": st.just("AA=="), "data": st.binary(max_size=3),
        },
    ),
)  # fmt: skip
contents = st.one_of(st.text(max_size=8), st.lists(blocks, max_size=3))
spoken = st.one_of(
    contents.map(HumanMessage),
    contents.map(SystemMessage),
    contents.map(lambda content: ToolMessage(content, tool_call_id="c1")),
    contents.map(lambda content: ChatMessage(content=content, role="critic")),
    st.tuples(contents, st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)).map(
        lambda given: AIMessage(given[0], tool_calls=[{"name": "look", "args": given[1], "id": "c1"}])
    ),
    st.text(max_size=5).map(
        lambda text: AIMessage("", invalid_tool_calls=[{"type": "invalid_tool_call", "name": None, "args": text, "id": None, "error": "cut"}])
    ),
)  # fmt: skip


@given(spoken)
@example(AIMessage([{"type": "text"}]))
def test_every_message_has_a_wire_form_and_a_way_back(message: BaseMessage) -> None:
    """Whatever LangChain lets a message hold: the form can be read by the codec, and what is made
    of it says the same.
    """
    item = encode_message_as_wire_json(message)

    (read,) = find_codec("openai_chat").decode_item(item, id="1")
    if not item.get("tool_calls") or all(
        call["function"]["arguments"].startswith("{") for call in item["tool_calls"]
    ):
        (back,) = decode_wire_items_to_messages([item], [])
        assert (encode_message_as_wire_json(back).get("content") or "") == (
            item.get("content") or ""
        )
    if isinstance(message, AIMessage):
        assert (
            find_codec("openai_chat")
            .decode_reply(encode_reply_as_wire_json(message))
            .messages[0]
            .blocks
            == read.blocks
        )


def test_words_edited_in_a_fork_reach_the_model(tmp_path: Path) -> None:
    """The user travels back, changes a message of the checkpoint and goes on, after memorist has
    made the history smaller: the model is shown the new words.
    """
    with (
        ScriptedServer(
            lambda request: Say(text="Yes. " + "word " * 1_500), window=15_000
        ) as server,
        EngineThread(home=tmp_path) as engine,
    ):
        middleware = MemoristMiddleware(attached=engine)
        agent = create_agent(
            chat_model(server, "chat"), middleware=[middleware], checkpointer=InMemorySaver()
        )
        config: RunnableConfig = {"configurable": {"thread_id": "t"}}
        first = HumanMessage("The harbour code is plover.", id="first")
        agent.invoke({"messages": [first]}, config)
        for number in range(12):
            agent.invoke({"messages": [HumanMessage(f"Question {number}?")]}, config)
        fork = agent.update_state(
            config, {"messages": [HumanMessage("The harbour code is heron.", id="first")]}
        )
        agent.invoke({"messages": [HumanMessage("Which code?")]}, fork)
        asked = words(server.received[-1].body)

    assert "The harbour code is heron." in asked
    assert "Which code?" in asked
