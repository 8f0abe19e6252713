"""OpenAI Agents: the story on both of its wires, blocking, async and streaming; sessions, hooks,
handoffs, agents as tools.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plugs.story import (
    CORRECTION,
    EVERYTHING,
    IGNORES_GENERATORS,
    LESSON,
    MAX_OUTPUT,
    MODEL,
    PAGES,
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

pytest.importorskip(
    "agents",
    reason="openai-agents is not installed; `make test-plugs PLUGS=openai-agents` brings it",
)

from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    RunHooks,
    Runner,
    Session,
    SQLiteSession,
    function_tool,
)
from agents.run import CallModelData, ModelInputData
from openai import AsyncOpenAI

from memorist.adapters.engine_thread import EngineThread
from memorist.adapters.openai_agents import MemoristSession
from memorist.engine.fetch_tool import FETCH_TOOL_NAME
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, ReplyParts, Say, Step, Think

TURNS = 100
QUIET = RunConfig(tracing_disabled=True)


def model(server: ScriptedServer, wire: str) -> Model:
    client = AsyncOpenAI(base_url=server.openai_url, api_key="none", max_retries=0)
    return (
        OpenAIChatCompletionsModel(MODEL, client)
        if wire == "chat"
        else OpenAIResponsesModel(MODEL, client)
    )


def agent(server: ScriptedServer, wire: str, *tools: Any, name: str = "Clerk") -> Agent[Any]:
    return Agent(
        name=name,
        instructions="You help.",
        model=model(server, wire),
        tools=list(tools),
        model_settings=ModelSettings(max_tokens=MAX_OUTPUT),
    )


def client_of(clerk: Agent[Any]) -> AsyncOpenAI:
    assert isinstance(clerk.model, OpenAIChatCompletionsModel | OpenAIResponsesModel)
    return clerk.model._client


class OpenAIAgents:
    reaches = EVERYTHING

    def __init__(self, wire: str, how: str) -> None:
        self.wire = wire
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        clerk = agent(world.server, self.wire, function_tool(world.tool))
        kept = (
            None
            if world.attached is None
            else MemoristSession(
                session, project=world.project, user=world.user, attached=world.attached
            )
        )
        return Conversation(clerk, session, kept, self.how)


class Conversation:
    def __init__(
        self, clerk: Agent[Any], session: str, kept: MemoristSession | None, how: str
    ) -> None:
        self.clerk = clerk
        self.how = how
        self.session: Session = SQLiteSession(session) if kept is None else kept
        self.config = QUIET if kept is None else kept.run_config(QUIET)
        self.hooks = None if kept is None else kept.hooks()
        self.runner = asyncio.Runner()

    def say(self, text: str) -> str:
        return self.runner.run(self._say(text))

    async def _say(self, text: str) -> str:
        given: dict[str, Any] = {
            "session": self.session,
            "run_config": self.config,
            "hooks": self.hooks,
            "max_turns": TURNS,
        }
        if self.how == "stream":
            stream = Runner.run_streamed(self.clerk, text, **given)
            async for _ in stream.stream_events():
                pass
            return str(stream.final_output)
        return str((await Runner.run(self.clerk, text, **given)).final_output)

    def leave(self, text: str) -> None:
        self.runner.run(self._leave(text))

    async def _leave(self, text: str) -> None:
        stream = Runner.run_streamed(
            self.clerk,
            text,
            session=self.session,
            run_config=self.config,
            hooks=self.hooks,
            max_turns=TURNS,
        )
        async for event in stream.stream_events():
            if getattr(getattr(event, "data", None), "type", "") == "response.output_text.delta":
                stream.cancel()

    def close(self) -> None:
        self.runner.run(client_of(self.clerk).close())
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    ("wire", "how"),
    sampled(
        [("responses", "async"), ("responses", "stream"), ("chat", "async"), ("chat", "stream")],
        {("responses", "stream"), ("chat", "async")},
    ),
)
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(OpenAIAgents(wire, how), tmp_path)


@IGNORES_GENERATORS
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["responses", pytest.param("chat", marks=pytest.mark.slow)])
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path, wire: str) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(OpenAIAgents(wire, "stream"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(OpenAIAgents("responses", "async"), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["responses", "chat"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, wire: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(OpenAIAgents(wire, "async"), tmp_path)


@pytest.mark.parametrize("how", ["async", "stream"])
def test_users_of_one_server_share_nothing(tmp_path: Path, how: str) -> None:
    """Each session is given its user."""
    tell_users_apart(OpenAIAgents("responses", how), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose memory holds one lesson."""
    folder = tmp_path / "harbour"
    (folder / ".git").mkdir(parents=True)
    with EngineThread(home=tmp_path / "home") as engine:
        talk = engine.conversation("before", project=str(folder), format="openai_responses")
        talk.prepare(
            {
                "model": MODEL,
                "input": [
                    {"role": "user", "content": "Install it."},
                    {"role": "user", "content": CORRECTION},
                ],
            }
        )
    return folder


async def run(
    clerk: Agent[Any],
    text: Any,
    kept: MemoristSession,
    hooks: RunHooks[Any] | None = None,
    config: RunConfig | None = None,
) -> str:
    base = config or RunConfig(tracing_disabled=True)
    return str(
        (
            await Runner.run(
                clerk,
                text,
                session=kept,
                run_config=kept.run_config(base),
                hooks=kept.hooks(hooks),
                max_turns=TURNS,
            )
        ).final_output
    )


async def test_what_memorist_leaves_is_the_sdks_own_item(tmp_path: Path, project: Path) -> None:
    """Ids, statuses and encrypted reasoning go out as they came, as the very same objects, though
    something is shown between them.
    """
    items: list[Any] = [
        {"role": "user", "content": "Look."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "look",
            "arguments": "{}",
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "c1", "output": "It is there."},
        {"role": "user", "content": "Install it with npm, or with what we use."},
    ]
    with EngineThread(home=tmp_path / "home") as engine:
        kept = MemoristSession("s", project=project, attached=engine)
        filtered: Any = kept.run_config().call_model_input_filter
        given = ModelInputData(input=list(items), instructions="You help.")
        data: CallModelData[Any] = CallModelData(
            model_data=given, agent=Agent(name="Clerk", model=MODEL), context=None
        )
        shown = await filtered(data)

    assert [item for item in shown.input if any(item is own for own in items)] == items
    assert LESSON in str([item for item in shown.input if not any(item is own for own in items)])
    assert shown.instructions == "You help."
    assert given.input == items


class Counting(RunHooks[Any]):
    """Hooks of the host, which count."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def on_agent_start(self, *given: Any) -> None:
        self.heard.append(f"start {given[1].name}")

    async def on_agent_end(self, *given: Any) -> None:
        self.heard.append(f"end {given[1].name}")

    async def on_llm_start(self, *given: Any) -> None:
        self.heard.append(f"{given[1].name} asks")

    async def on_llm_end(self, *given: Any) -> None:
        self.heard.append(f"{given[1].name} answers")

    async def on_handoff(self, *given: Any) -> None:
        self.heard.append(f"{given[1].name} to {given[2].name}")

    async def on_tool_start(self, *given: Any) -> None:
        self.heard.append(f"calls {given[2].name}")

    async def on_tool_end(self, *given: Any) -> None:
        self.heard.append(f"has {given[2].name}")


async def test_handoffs_stay_and_agents_as_tools_are_left_alone(
    tmp_path: Path, project: Path
) -> None:
    """One conversation with two agents; the third, a tool, is shown nothing of it. The host's own
    hooks hear all, and its own filter is asked.
    """
    asked: list[str] = []

    def answer(request: Request) -> Step:
        said = words(request.body)
        if "for the weigher" in said and "first words" not in said:
            return Say(text="weighed")
        if '"weighed"' in said or "weighed" in said:
            return Say(text="done")
        if (
            "transfer_to" in said
            and "Pilot, take over" not in said
            and "function_call_output" not in said
        ):
            return CallTool(name="transfer_to_pilot", input={})
        return CallTool(name="weigh", input={"input": "for the weigher"})

    def own(data: CallModelData[Any]) -> ModelInputData:
        asked.append(data.agent.name)
        return data.model_data

    with ScriptedServer(answer) as server, EngineThread(home=tmp_path / "home") as engine:
        kept = MemoristSession("s", project=project, attached=engine)
        weigher = agent(server, "responses", name="Weigher")
        pilot = agent(server, "responses", weigher.as_tool("weigh", "Weigh it."), name="Pilot")
        clerk = agent(server, "responses", name="Clerk")
        clerk.handoffs = [pilot]
        heard = Counting()
        config = RunConfig(tracing_disabled=True, call_model_input_filter=own)
        assert (
            await run(clerk, "first words: what do we install with?", kept, heard, config) == "done"
        )
        notes = await kept.conversation.aupdate_notes()
        for each in (weigher, pilot, clerk):
            await client_of(each).close()

    inner = [request for request in server.received if "first words" not in words(request.body)]
    assert len(inner) == 1
    assert LESSON not in words(inner[0].body)
    assert all(
        LESSON in words(request.body) for request in server.received if request is not inner[0]
    )
    assert "first words" in notes
    assert heard.heard[0] == "start Clerk"
    assert "Clerk to Pilot" in heard.heard
    assert heard.heard[-1] == "end Pilot"
    assert {"calls weigh", "has weigh", "Pilot asks", "Pilot answers"} <= set(heard.heard)
    assert "Pilot" in asked

    resumed = MemoristSession("s", project=project, home=tmp_path / "again")
    context: Any = None
    await resumed.hooks().on_tool_start(context, clerk, weigher.as_tool("weigh", "Weigh it."))
    assert list(resumed.agents.values()) == [clerk]
    resumed.attached.close()


@pytest.mark.parametrize("given", ["same", "own", "bare"])
async def test_what_an_agent_is_asked_by_another_is_not_the_persons_rule(
    tmp_path: Path, given: str
) -> None:
    """An agent as a tool with the session of the one that asks, or with one of its own; afterwards
    the user is heard in the same task.
    """

    def answer(request: Request) -> Step:
        said = words(request.body)
        if not request.body.get("tools"):
            return Say(text="inner answer")
        is_answered = "inner answer" in said
        return (
            Say(text="done") if is_answered else CallTool(name="clerk", input={"input": CORRECTION})
        )

    with ScriptedServer(answer) as server, EngineThread(home=tmp_path / "home") as engine:
        outer = MemoristSession("outer", project=tmp_path, attached=engine)
        inner = outer if given == "same" else MemoristSession(project=tmp_path, attached=engine)
        clerk, later = (agent(server, "responses", name=name) for name in ("Clerk", "Later"))
        hooks = None if given == "bare" else inner.hooks()
        tool = clerk.as_tool(
            "clerk", "Ask it.", session=inner, run_config=inner.run_config(QUIET), hooks=hooks
        )
        asker = agent(server, "responses", tool, name="Asker")
        for text in ("Please ask the clerk, and say what he wants.", "Thank you."):
            await run(asker, text, outer)
        learnt = list((tmp_path / "home").rglob("memory/*.md"))
        other = MemoristSession("other", project=tmp_path, attached=engine)
        await run(later, CORRECTION, other)
        for each in (asker, clerk, later):
            await client_of(each).close()

    assert not learnt
    assert list((tmp_path / "home").rglob("memory/*.md"))


async def test_the_history_stays_whole_and_the_sdks(tmp_path: Path) -> None:
    """Everything is in the underlying session, whatever was made smaller; limit, pop and clear are
    its own; a made id can be read.
    """
    told = Told()
    with (
        ScriptedServer(Reader()) as server,
        attached(tmp_path, OpenAIAgents("responses", "async"), told) as engine,
    ):
        under = SQLiteSession("under")
        kept = MemoristSession(attached=engine, underlying=under)
        clerk = agent(server, "responses", function_tool(read_page))
        await run(clerk, "Read every page.", kept)
        await client_of(clerk).close()
        items = await kept.get_items()
        assert items == await under.get_items()
        assert sum("function_call_output" in str(item) for item in items) == PAGES
        assert len(await kept.get_items(3)) == 3
        assert await kept.pop_item() == items[-1]
        await kept.clear_session()
        assert await under.get_items() == []

    assert told.compactions()
    assert kept.session == kept.session_id != ""
    assert kept.session_settings is under.session_settings
    under.close()


async def test_reasoning_stays_beside_what_it_led_to(tmp_path: Path) -> None:
    """Each reply thinks before it calls; after compactions every reasoning item still stands right
    before its call.
    """
    told = Told()
    reader = Reader(30)

    def answer(request: Request) -> Step:
        step = reader(request)
        return (
            ReplyParts(parts=(Think(text="The next page."), step))
            if isinstance(step, CallTool)
            else step
        )

    with (
        ScriptedServer(answer, window=30_000) as server,
        attached(tmp_path, OpenAIAgents("responses", "async"), told) as engine,
    ):
        clerk = agent(server, "responses", function_tool(read_page))
        await run(clerk, "Read every page.", MemoristSession("s", attached=engine))
        await client_of(clerk).close()

    assert told.compactions()
    assert not server.refusals
    for request in server.received:
        kinds = [item.get("type") for item in request.body["input"]]
        assert all(
            kinds[at + 1] == "function_call" for at, kind in enumerate(kinds) if kind == "reasoning"
        ), kinds


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_pictures_go_through(tmp_path: Path, project: Path, wire: str) -> None:
    """A picture reaches the provider beside what memorist shows."""
    link = "data:image/png;base64,iVBORw0KGgo="
    question = {"type": "input_text", "text": "What is this, and what do we install with?"}
    with (
        ScriptedServer(lambda request: Say(text="A ship.")) as server,
        EngineThread(home=tmp_path / "home") as engine,
    ):
        clerk = agent(server, wire)
        kept = MemoristSession("s", project=project, attached=engine)
        given: Any = [
            {
                "role": "user",
                "content": [question, {"type": "input_image", "image_url": link, "detail": "auto"}],
            }
        ]
        result = await Runner.run(
            clerk, given, run_config=kept.run_config(QUIET), hooks=kept.hooks()
        )
        await client_of(clerk).close()

    assert result.final_output == "A ship."
    assert link in words(server.received[0].body)
    assert LESSON in words(server.received[0].body)


async def test_the_fetch_tool_answers_whatever_it_is_asked(
    tmp_path: Path, unusable_home: Path
) -> None:
    """A known call's result, an unknown id, arguments that are no JSON; and a memorist that cannot
    work stops no agent.
    """
    steps: list[Step] = [
        CallTool(name="read_page", input={"number": 1}, id="call-1"),
        CallTool(name=FETCH_TOOL_NAME, input={"id": "call-1"}),
        CallTool(name=FETCH_TOOL_NAME, input={"id": "unknown"}),
        CallTool(name=FETCH_TOOL_NAME, arguments="{"),
        Say(text="Thank you."),
    ]
    for home, first in ((tmp_path / "home", read_page(1)), (unusable_home, "Nothing has this id.")):
        with ScriptedServer(list(steps)) as server, EngineThread(home=home) as engine:
            kept = MemoristSession("s", attached=engine)
            clerk = agent(server, "responses", function_tool(read_page), kept.fetch_tool)
            assert await run(clerk, "Fetch things.", kept) == "Thank you."
            await client_of(clerk).close()
        outputs = [
            item["output"]
            for item in server.received[-1].body["input"]
            if item.get("type") == "function_call_output"
        ]
        assert outputs[0] == read_page(1)
        assert outputs[1:] == [first, "Nothing has this id.", "Nothing has this id."]


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # the SDK shuts a loop's generators down after each run
def test_run_sync(tmp_path: Path) -> None:
    """A program without a loop."""
    with (
        ScriptedServer(lambda request: Say(text="Yes.")) as server,
        EngineThread(home=tmp_path) as engine,
    ):
        kept = MemoristSession("s", attached=engine)
        clerk = agent(server, "responses")
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        for text in ("one thing", "another thing"):
            Runner.run_sync(
                clerk, text, session=kept, run_config=kept.run_config(QUIET), hooks=kept.hooks()
            )
        loop.run_until_complete(client_of(clerk).close())
        asyncio.set_event_loop(None)
        loop.close()
        assert "another thing" in kept.conversation.update_notes()
