"""Google ADK: the story with its real runner and Gemini client, and what is particular to its
contents, its memory service and its compaction.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugs.story import (
    CORRECTION,
    EVERYTHING,
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

pytest.importorskip(
    "google.adk", reason="google-adk is not installed; `make test-plugs PLUGS=google-adk` brings it"
)

from google.adk.agents import BaseAgent, LlmAgent, RunConfig, SequentialAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from google.genai.errors import ClientError

from memorist.adapters.engine_thread import EngineThread
from memorist.adapters.google_adk import (
    MemoristMemory,
    MemoristPlugin,
    MemoristSummarizer,
    resolve_adk_user_and_project,
)
from memorist.adapters.google_adk_messages import AdkContentMap
from memorist.adapters.run_identity import UserAndProject
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, Say, Step
from plugs.gemini import GeminiGateway

pytestmark = pytest.mark.timeout(600)
"""A story makes two hundred requests, on a machine that may be busy."""

USER: dict[str, Any] = {"app_name": "harbour", "user_id": "ada"}


@pytest.fixture(autouse=True)
def gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of Gemini wants a key, and no cloud."""
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "FALSE")


class Adk:
    """A runner with one agent."""

    reaches = EVERYTHING

    def __init__(self, mode: str | None) -> None:
        self.mode = mode

    def begin(self, world: World, session: str) -> Talk:
        return Conversation(world, session, self.mode)


class Conversation:
    def __init__(self, world: World, session: str, mode: str | None = None, **more: Any) -> None:
        self.stack = ExitStack()
        self.gateway = self.stack.enter_context(GeminiGateway(world.server))
        self.loop = self.stack.enter_context(asyncio.Runner())
        plugins: list[BasePlugin] = (
            []
            if world.attached is None
            # Where the story names no user, the app is an agent of one person's own machine.
            else [
                MemoristPlugin(
                    project=world.project, user=None if world.user else "", attached=world.attached
                )
            ]
        )
        self.agents: list[BaseAgent] = []
        self.model = Gemini(model=MODEL, base_url=self.gateway.url)
        agent = LlmAgent(
            name="reader",
            model=self.model,
            instruction="You help.",
            tools=[world.tool, *more.pop("tools", ())],
            sub_agents=more.pop("sub_agents", []),
            generate_content_config=types.GenerateContentConfig(max_output_tokens=MAX_OUTPUT),
        )
        app = App(
            name="harbour",
            root_agent=agent,
            plugins=plugins,
            events_compaction_config=more.pop("compaction", None),
        )
        self.sessions = InMemorySessionService()
        self.runner = Runner(app=app, session_service=self.sessions, **more)
        self.session = session
        self.mode = mode
        self.user = world.user or USER["user_id"]
        self.loop.run(
            self.sessions.create_session(session_id=session, **USER | {"user_id": self.user})
        )

    def say(self, text: str, *parts: types.Part) -> str:
        return self.loop.run(
            self._say(types.Content(role="user", parts=[types.Part(text=text), *parts]))
        )

    async def _say(self, content: types.Content) -> str:
        last = ""
        run = self.runner.run_async(
            user_id=self.user,
            session_id=self.session,
            new_message=content,
            run_config=RunConfig.model_validate(
                {} if self.mode is None else {"streaming_mode": self.mode}
            ),
        )
        async for event in run:
            if (
                event.is_final_response()
                and not event.partial
                and event.content
                and event.content.parts
            ):
                last = "".join(part.text or "" for part in event.content.parts)
        return last

    def leave(self, text: str) -> None:
        self.loop.run(self._leave(types.Content(role="user", parts=[types.Part(text=text)])))

    async def _leave(self, content: types.Content) -> None:
        run = self.runner.run_async(
            user_id=self.user,
            session_id=self.session,
            new_message=content,
            run_config=RunConfig.model_validate({"streaming_mode": self.mode}),
        )
        async for event in run:
            if event.content and any(part.text for part in event.content.parts or ()):
                break
        await run.aclose()

    def close(self) -> None:
        self.loop.run(self._end())
        self.stack.close()
        assert not self.gateway.refusals, self.gateway.refusals
        assert {":streamGenerateContent" in request.path for request in self.gateway.requests} == {
            self.mode == "sse"
        }

    async def _end(self) -> None:
        await self.runner.close()
        await (
            self.model.api_client.aio.aclose()
        )  # a client of the running loop, which ADK leaves open


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("mode", [None, "sse"])
def test_the_story(tmp_path: Path, mode: str | None) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(Adk(mode), tmp_path)


@pytest.mark.covers("IN-1", "CP-10")
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(Adk("sse"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(Adk(None), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("mode", [None, "sse"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(
    tmp_path: Path, mode: str | None
) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(Adk(mode), tmp_path)


def test_users_of_one_server_share_nothing(tmp_path: Path) -> None:
    """By the user of ADK's session."""
    tell_users_apart(Adk(None), tmp_path)


def said(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def calling(*names: str) -> types.Content:
    calls = [
        types.Part(
            function_call=types.FunctionCall(name=name, args={"n": 1}), thought_signature=b"signed"
        )
        for name in names
    ]
    return types.Content(role="model", parts=calls)


def results(*pairs: tuple[str, str]) -> types.Content:
    found = [
        types.Part(function_response=types.FunctionResponse(name=name, response={"result": text}))
        for name, text in pairs
    ]
    return types.Content(role="user", parts=found)


names = st.sampled_from(["read", "write", ""])
texts = st.text(max_size=8)
parts = st.one_of(
    texts.map(lambda text: types.Part(text=text)),
    texts.map(lambda text: types.Part(text=text, thought=True)),
    st.binary(max_size=8).map(
        lambda data: types.Part(inline_data=types.Blob(data=data, mime_type="image/png"))
    ),
    st.just(
        types.Part(
            file_data=types.FileData(file_uri="gs://bucket/plan.pdf", mime_type="application/pdf")
        )
    ),
    st.just(
        types.Part(
            executable_code=types.ExecutableCode(code="1 + 1", language=types.Language.PYTHON)
        )
    ),
    st.builds(
        lambda name, id: types.Part(
            function_call=types.FunctionCall(name=name, id=id, args={"n": 1})
        ),
        names,
        st.none() | names,
    ),
    st.builds(
        lambda name, id, text: types.Part(
            function_response=types.FunctionResponse(name=name, id=id, response={"result": text})
        ),
        names,
        st.none() | names,
        texts,
    ),
    st.just(types.Part()),
)
contents = st.builds(
    lambda role, given: types.Content(role=role, parts=given),
    st.sampled_from(["user", "model", None]),
    st.none() | st.lists(parts, max_size=4),
)


@given(st.lists(contents, max_size=8))
def test_whatever_is_left_alone_comes_back_as_adks_own_object(history: list[types.Content]) -> None:
    """Odd roles, empty parts, results without a call: the way there and back loses nothing."""
    mapped = AdkContentMap(history)

    back = mapped.decode(mapped.message_map.wire_items)

    assert [id(content) for content in back] == [id(content) for content in history]


@given(st.lists(contents, max_size=8), st.data())
def test_a_shortened_history_is_made_of_contents_that_gemini_takes(
    history: list[types.Content], data: st.DataObject
) -> None:
    """Whatever items are taken out, no content of ours is empty, and results stand with the user."""
    mapped = AdkContentMap(history)
    items = mapped.message_map.wire_items
    kept = [item for item in items if data.draw(st.booleans())]

    ours = [
        content for content in mapped.decode(kept) if not any(content is host for host in history)
    ]

    for content in ours:
        assert content.role in {"user", "model"}
        assert content.role == "user" or not any(
            part.function_response for part in content.parts or ()
        )


def test_a_result_that_was_cut_stays_beside_the_other_results_of_its_turn() -> None:
    """Gemini counts the responses of one turn: two calls at once are answered by one content,
    before and after.
    """
    mapped = AdkContentMap(
        [said("go"), calling("read", "read"), results(("read", "first"), ("read", "second"))]
    )
    sent = [
        {**item, "content": "cut"} if item.get("content") == "first" else item
        for item in mapped.message_map.wire_items
    ]

    back: list[Any] = mapped.decode(sent)
    given_parts: Any = mapped.message_map.messages[2].parts

    assert back[1] is mapped.message_map.messages[1]
    assert [part.function_response.response for part in back[2].parts] == [
        {"result": "cut"},
        {"result": "second"},
    ]
    assert back[2].parts[1] is given_parts[1]


def test_a_reply_has_the_ids_that_its_calls_have_in_the_next_request() -> None:
    """ADK takes its ids away before a request, so both sides are numbered by their order."""
    history = [said("go"), calling("read"), results(("read", "one"))]
    reply = AdkContentMap(history).encode_reply(LlmResponse(content=calling("read", "write")))
    following = AdkContentMap(
        [*history, calling("read", "write"), results(("write", "two"), ("read", "three"))]
    )

    assert reply["choices"][0]["message"] == following.message_map.wire_items[3]
    assert [item["tool_call_id"] for item in following.message_map.wire_items[4:]] == [
        "call_3",
        "call_2",
    ]


@given(texts, texts, texts, texts)
def test_users_are_kept_apart_whatever_their_names_are(
    app: str, user: str, other_app: str, other_user: str
) -> None:
    """Two have one memory only when app and user are the same, and an app without a project has one
    of its own; no name leads out of the folder.
    """
    one = resolve_adk_user_and_project(None, None, app, user)
    other = resolve_adk_user_and_project(None, None, other_app, other_user)

    assert (one.user == other.user) == ((app, user) == (other_app, other_user))
    assert (one.project == other.project) == (app == other_app)
    assert len(Path(one.project).parts) == 3
    assert ".." not in Path(one.project).parts


def test_a_function_names_the_user_and_nobody_is_remembered_as_nobody() -> None:
    """Several apps of one person share a memory where the program says so."""
    known = {"ada": "Ada Lovelace"}

    def person(app: str, name: str) -> str:
        del app
        return known.get(name, "")

    assert resolve_adk_user_and_project(person, "/srv/shop", "a", "ada") == UserAndProject(
        "Ada Lovelace", "/srv/shop"
    )
    assert resolve_adk_user_and_project(person, "/srv/shop", "b", "eve") == UserAndProject("", "")
    assert resolve_adk_user_and_project("", "/srv/shop", "a", "ada") == UserAndProject(
        "", "/srv/shop"
    )


def world(server: ScriptedServer, attached: EngineThread | None, project: Path) -> World:
    return World(server=server, project=project, attached=attached)


def test_a_picture_goes_out_as_it_came(tmp_path: Path) -> None:
    """The bytes and the type of a picture, also in the next request."""
    picture = types.Part(inline_data=types.Blob(data=b"\x89PNG made up", mime_type="image/png"))
    with (
        ScriptedServer(lambda request: Say(text="A ship.")) as server,
        EngineThread(home=tmp_path / "home") as engine,
    ):
        talk = Conversation(world(server, engine, tmp_path), "s")
        talk.say("What is this?", picture)
        talk.say("Sure?")
        bodies = talk.gateway.bodies
        talk.close()

    pictures = [body["contents"][0]["parts"][1]["inlineData"] for body in bodies]
    assert [base64.urlsafe_b64decode(each["data"]) for each in pictures] == [b"\x89PNG made up"] * 2
    assert {each.get("mimeType") or each.get("mime_type") for each in pictures} == {"image/png"}


def test_the_memory_service_finds_what_one_user_said_and_no_other(tmp_path: Path) -> None:
    """A session without the plugin, given to the service: the lesson is found by words for that
    user, and for nobody else.
    """
    with (
        ScriptedServer(Reader(0)) as server,
        EngineThread(home=tmp_path / "home", settings=settings()) as engine,
    ):
        memory = MemoristMemory(attached=engine)
        talk = Conversation(world(server, None, tmp_path), "s", memory_service=memory)
        talk.say(TASK)
        talk.say(CORRECTION)
        session: Any = talk.loop.run(talk.sessions.get_session(session_id="s", **USER))
        talk.loop.run(memory.add_session_to_memory(session))
        found: Any = talk.loop.run(memory.search_memory(query="npm or pnpm?", **USER))
        other = talk.loop.run(
            memory.search_memory(app_name="harbour", user_id="eve", query="npm or pnpm?")
        )
        talk.close()

    assert [LESSON in str(entry.content.parts[0].text) for entry in found.memories] == [True]
    assert other.memories == []


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL:UserWarning")
def test_adks_own_compaction_can_have_its_summary_from_memorist(tmp_path: Path) -> None:
    """After each turn ADK asks for a summary of the turn, keeps it in its session, and shows it in
    the place of the events. Nothing of any user is learnt by it.
    """
    with ScriptedServer(Reader(4)) as server, EngineThread(home=tmp_path / "home") as engine:
        config = EventsCompactionConfig(
            summarizer=MemoristSummarizer(project=tmp_path, attached=engine),
            compaction_interval=1,
            overlap_size=0,
        )
        talk = Conversation(world(server, None, tmp_path), "s", compaction=config)
        talk.say(f"{TASK}\n\n{CORRECTION}")
        session: Any = talk.loop.run(talk.sessions.get_session(session_id="s", **USER))
        talk.say("And what else?")
        talk.close()
        learnt = engine.engine.memory(str(tmp_path)).headers()

    assert learnt == [], "a summary belongs to no user"
    assert [bool(event.actions.compaction) for event in session.events].count(True) == 1
    assert TASK in words(server.received[-1].body)
    assert len(server.received[-1].body["messages"]) < len(server.received[-2].body["messages"])


def test_a_refusal_as_too_long_makes_the_next_request_smaller(tmp_path: Path) -> None:
    """ADK tells the error, as no hook can send again; the person's next words go out with a history
    that fits.
    """
    with (
        ScriptedServer(Reader(8), window=6_000) as server,
        EngineThread(home=tmp_path / "home", settings=settings()) as engine,
    ):
        talk = Conversation(world(server, engine, tmp_path), "s")
        with pytest.raises(ClientError):
            talk.say(TASK)
        refused = len(server.received)
        talk.say("Go on, please.")
        talk.close()

    assert len(server.received[refused].raw) < len(server.received[refused - 1].raw)
    assert TASK in words(server.received[refused].body)


def test_a_content_that_cannot_be_read_goes_out_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later ADK with other contents: the agent answers, and memorist is told to have failed."""
    monkeypatch.setattr(AdkContentMap, "encode_content", lambda *_: 1 / 0)
    told: list[object] = []
    with (
        ScriptedServer(Reader(2)) as server,
        EngineThread(home=tmp_path / "home", listener=told.append) as engine,
    ):
        talk = Conversation(world(server, engine, tmp_path), "s")
        last = talk.say(TASK)
        talk.close()

    assert "came last" in last
    assert read_page(2) in words(server.received[-1].body)
    assert {getattr(event, "point", "") for event in told} >= {"prepare"}


async def test_an_engine_of_its_own_is_closed_with_the_plugin(tmp_path: Path) -> None:
    """And a shared one is not. The next run opens it again: a server has a runner per request."""
    own, engine = MemoristPlugin(home=tmp_path / "own"), EngineThread(home=tmp_path / "shared")
    sharing = MemoristPlugin(attached=engine)
    await own.close()
    await sharing.close()

    assert own.attached.conversation("s", format="openai_chat").prepare({"messages": []}) == {
        "messages": []
    }
    assert await engine.arun(lambda: asyncio.sleep(0, "alive")) == "alive"
    engine.close()
    context: Any = None
    await own.before_run_callback(invocation_context=context)
    assert await own.attached.arun(lambda: asyncio.sleep(0, "alive")) == "alive"
    await own.close()


@pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")  # ADK's own call
@pytest.mark.parametrize("mode", [None, "single_turn", "task"])
def test_what_an_agent_is_asked_by_another_is_not_the_persons_rule(
    tmp_path: Path, mode: str | None
) -> None:
    """An agent as a tool has a session and a user message of its own, both made by ADK; a task or
    a single turn stands in the session of the one that asks.
    """

    def answer(request: Request) -> Step:
        said = words(request.body)
        if "ask the clerk" not in said:
            return Say(text="inner answer")
        return (
            Say(text="done")
            if "inner answer" in said
            else CallTool(name="clerk", input={"request": CORRECTION})
        )

    with ScriptedServer(answer) as server, EngineThread(home=tmp_path / "home") as engine:
        inner = LlmAgent(name="clerk", description="Knows the office.", mode=mode)
        nested: dict[str, Any] = {"sub_agents": [inner]}
        if mode is None:
            nested = {"tools": [AgentTool(inner)]}
        talk = Conversation(world(server, engine, tmp_path), "s", **nested)
        inner.model = talk.model
        for text in ("Please ask the clerk, and say what he wants.", "Thank you."):
            assert talk.say(text) in {"done", "inner answer"}  # a task answers the user itself
        talk.close()
    assert len(list((tmp_path / "home").rglob("transcript.jsonl"))) == 2
    assert not list((tmp_path / "home").rglob("memory/*.md"))


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
def test_what_adk_puts_into_the_users_content_is_not_the_users_word(tmp_path: Path) -> None:
    """The reply of another agent, with ADK's own sentence about it, and an agent's instruction
    beside a static one: nothing of them is kept, and nothing waits. What the user says is.
    """
    with ScriptedServer(lambda request: Say(text=CORRECTION)) as server:
        engine = EngineThread(home=tmp_path / "home")
        talk = Conversation(world(server, engine, tmp_path), "s")
        for agent, rest in (("clerk", {}), ("guide", {"static_instruction": "You are a guide."})):
            talk.agents.append(
                LlmAgent(name=agent, model=talk.model, instruction="Never use npm here.", **rest)
            )
        team = SequentialAgent(name="team", sub_agents=talk.agents)
        talk.runner = Runner(
            app=App(name="harbour", root_agent=team, plugins=talk.runner.app.plugins),
            session_service=talk.sessions,
        )
        talk.say("Look at the office.")
        waiting = [path.name for path in (tmp_path / "home").rglob("inbox/*.json")]
        kept = [path.name for path in (tmp_path / "home").rglob("memory/*.md")]
        talk.say("From now on, always answer in French.")
        talk.close()
        engine.close()
    said = [path.read_text("utf-8") for path in (tmp_path / "home").rglob("memory/*.md")]

    assert "Never use npm here." in str(talk.gateway.bodies[-1]["contents"])
    assert [*waiting, *kept] == []
    assert any("answer in French" in text for text in said)


def test_runs_that_never_end_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK does not report a run that was cancelled."""
    monkeypatch.setattr("memorist.adapters.google_adk._MAX_OPEN_RUNS", 2)
    with EngineThread(home=tmp_path) as engine:
        plugin = MemoristPlugin(attached=engine)
        for number in range(5):
            plugin._open_run(str(number))

        assert list(plugin._runs) == ["3", "4"]
