"""Pydantic AI: the story on three providers' wires, blocking, async and streaming; parts, pictures,
retries, refusals.
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
    "pydantic_ai",
    reason="pydantic-ai-slim is not installed; `make test-plugs PLUGS=pydantic-ai` brings it",
)

from anthropic import AsyncAnthropic
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelRetry, RunContext, UsageLimits
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from memorist.adapters.engine_thread import EngineThread
from memorist.adapters.message_map import MessageMap
from memorist.adapters.pydantic_ai import MemoristCapability, find_model_with_smallest_window
from memorist.adapters.pydantic_ai_messages import (
    MessagePiece,
    decode_wire_items_to_pieces,
    join_message_pieces,
    split_and_encode_messages,
)
from memorist.engine.fetch_tool import FETCH_TOOL_NAME
from memorist.formats.codec_registry import find_codec
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, Say, Step


class Wired:
    """A model of Pydantic AI on the loopback server."""

    def __init__(self, server: ScriptedServer, wire: str) -> None:
        self.client: AsyncAnthropic | AsyncOpenAI
        self.model: Model
        if wire == "anthropic":
            self.client = anthropic = AsyncAnthropic(
                base_url=server.url, api_key="none", max_retries=0
            )
            self.model = AnthropicModel(
                MODEL, provider=AnthropicProvider(anthropic_client=anthropic)
            )
        else:
            self.client = openai = AsyncOpenAI(
                base_url=server.openai_url, api_key="none", max_retries=0
            )
            kind = OpenAIChatModel if wire == "chat" else OpenAIResponsesModel
            self.model = kind(MODEL, provider=OpenAIProvider(openai_client=openai))


class PydanticAI:
    reaches = EVERYTHING

    def __init__(self, wire: str, how: str) -> None:
        self.wire = wire
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        wired = Wired(world.server, self.wire)
        capabilities = (
            []
            if world.attached is None
            else [MemoristCapability(project=world.project, attached=world.attached)]
        )
        agent = Agent(
            wired.model,
            instructions="You help.",
            capabilities=capabilities,
            model_settings={"max_tokens": MAX_OUTPUT},
        )
        agent.tool_plain(world.tool)
        return Conversation(agent, session, self.how, wired, world.user)


class Conversation:
    def __init__(
        self, agent: Agent[None, str], session: str, how: str, wired: Wired, user: str = ""
    ) -> None:
        self.agent = agent
        self.session = session
        self.how = how
        self.wired = wired
        self.metadata = {"user_id": user}
        self.history: list[ModelMessage] = []
        self.runner = asyncio.Runner()

    def say(self, text: str) -> str:
        return self.runner.run(self._say(text))

    async def _say(self, text: str) -> str:
        given: dict[str, Any] = {
            "message_history": self.history, "conversation_id": self.session, "usage_limits": UsageLimits(request_limit=200), "metadata": self.metadata
        }  # fmt: skip
        if self.how == "stream":
            async with self.agent.run_stream(text, **given) as stream:
                said = await stream.get_output()
            self.history = stream.all_messages()
            return said
        result = await self.agent.run(text, **given)
        self.history = result.all_messages()
        return result.output

    def leave(self, text: str) -> None:
        self.runner.run(self._leave(text))

    async def _leave(self, text: str) -> None:
        given: dict[str, Any] = {
            "message_history": self.history, "conversation_id": self.session, "metadata": self.metadata
        }  # fmt: skip
        async with self.agent.run_stream(text, **given) as stream:
            async for _ in stream.stream_text(debounce_by=None):
                break
        self.history = stream.all_messages()

    def close(self) -> None:
        self.runner.run(self.wired.client.close())
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    ("wire", "how"),
    sampled(
        [
            ("chat", "async"),
            ("responses", "stream"),
            ("anthropic", "async"),
            ("anthropic", "stream"),
        ],
        {("responses", "stream"), ("anthropic", "async")},
    ),
)
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(PydanticAI(wire, how), tmp_path)


@IGNORES_GENERATORS
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
    leave_streams(PydanticAI(wire, "stream"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(PydanticAI("chat", "async"), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, wire: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(PydanticAI(wire, "async"), tmp_path)


@pytest.mark.parametrize("how", ["async", "stream"])
def test_users_of_one_server_share_nothing(tmp_path: Path, how: str) -> None:
    """By the `user_id` of the metadata, with nothing said to the capability."""
    tell_users_apart(PydanticAI("chat", how), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose memory holds one lesson."""
    folder = tmp_path / "harbour"
    (folder / ".git").mkdir(parents=True)
    with EngineThread(home=tmp_path / "home") as engine:
        talk = engine.conversation("before", project=str(folder), format="openai_chat")
        talk.prepare(
            {
                "model": MODEL,
                "messages": [
                    {"role": "user", "content": "Install it."},
                    {"role": "user", "content": CORRECTION},
                ],
            }
        )
    return folder


def back(messages: list[ModelMessage], changed: Any) -> list[ModelMessage]:
    """The messages after `changed` had the entries."""
    originals: MessageMap[MessagePiece] = MessageMap(split_and_encode_messages(messages))
    return join_message_pieces(
        originals.build_host_messages(
            changed(originals.wire_items),
            lambda run: decode_wire_items_to_pieces(run, originals.messages),
        )
    )


HISTORY: list[ModelMessage] = [
    ModelRequest(
        [SystemPromptPart("Be brief."), UserPromptPart(["Look at both.", CachePoint()])],
        instructions="You help.",
        run_id="r1",
    ),
    ModelResponse(
        [
            ThinkingPart("Hm.", signature="c2ln"),
            TextPart("I look."),
            ToolCallPart("look", {"at": 1}, "c1"),
            ToolCallPart("look", "{}", "c2"),
        ]
    ),
    ModelRequest(
        [
            ToolReturnPart("look", {"rows": [1]}, "c1", metadata="mine"),
            ToolReturnPart("look", "long", "c2", metadata="mine too"),
        ]
    ),
    ModelRequest([UserPromptPart("And now?")], metadata={"mark": 1}),
]


def test_what_memorist_leaves_is_pydantic_ais_own_object() -> None:
    """Unchanged, or with something between: every message is the one that came, with its thinking,
    marks and metadata.
    """
    between = back(HISTORY, lambda items: [*items, {"role": "user", "content": "memory"}])

    assert all(one is other for one, other in zip(back(HISTORY, list), HISTORY, strict=True))
    assert all(one is other for one, other in zip(between[:-1], HISTORY, strict=True))
    assert isinstance(between[-1].parts[0], UserPromptPart)
    assert between[-1].parts[0].content == "memory"


def test_one_of_two_results_made_smaller_leaves_the_other() -> None:
    """The request is made anew around the very same part; the changed one keeps its name, id and
    metadata; nothing is changed in place.
    """

    def shorter(items: list[Any]) -> list[Any]:
        return [
            {**item, "content": "short"} if item.get("tool_call_id") == "c2" else item
            for item in items
        ]

    (*_, results, last) = back(HISTORY, shorter)

    first, second = results.parts
    assert first is HISTORY[2].parts[0]
    assert isinstance(second, ToolReturnPart)
    assert (second.content, second.tool_name, second.tool_call_id, second.metadata) == (
        "short",
        "look",
        "c2",
        "mine too",
    )
    assert isinstance(HISTORY[2].parts[1], ToolReturnPart)
    assert HISTORY[2].parts[1].content == "long"
    assert last is HISTORY[3]


def test_what_the_program_says_is_not_the_persons_word() -> None:
    """Feedback of a validator and a prompt for one request only: the first is no user's message,
    the second no part of the conversation.
    """
    feedback = RetryFeedbackPart(
        "No, never do that; always do this.", retry=RetryInfo(cause="model_retry")
    )
    messages: list[ModelMessage] = [
        ModelRequest([feedback, SystemPromptPart("3 left", scope="request")])
    ]

    ((_, entries), (_, none)) = split_and_encode_messages(messages)

    assert entries[0]["role"] == "developer"
    assert none == ()


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
async def test_pictures_and_calls_side_by_side_go_through(
    tmp_path: Path, project: Path, wire: str
) -> None:
    """A picture reaches the provider in each wire's form, beside what memorist shows; several calls
    of one reply are answered.
    """
    pixel = BinaryContent(b"\x89PNG made up", media_type="image/png")
    with ScriptedServer(Reader(9)) as server, EngineThread(home=tmp_path / "home") as engine:
        wired = Wired(server, wire)
        agent = Agent(
            wired.model, capabilities=[MemoristCapability(project=project, attached=engine)]
        )
        agent.tool_plain(read_page)
        result = await agent.run(["What is this, and what do we install with?", pixel])
        await wired.client.close()

    assert not server.refusals
    assert all(
        pixel.base64 in words(request.body) and LESSON in words(request.body)
        for request in server.received
    )
    assert (
        sum(
            isinstance(part, ToolReturnPart)
            for message in result.all_messages()
            for part in message.parts
        )
        == 9
    )
    assert LESSON not in str(result.all_messages())


@pytest.mark.parametrize(
    ("wire", "how"),
    sampled(
        [("chat", "async"), ("responses", "stream"), ("anthropic", "async")], {("chat", "async")}
    ),
)
def test_a_refusal_as_too_long_is_answered_once(tmp_path: Path, wire: str, how: str) -> None:
    """The provider's window is smaller than memorist was told: the request is sent again, smaller,
    and the agent never notices.
    """
    with ScriptedServer(Reader(20), window=15_000) as server, EngineThread(home=tmp_path) as engine:
        talk = PydanticAI(wire, how).begin(
            World(server=server, project=tmp_path, attached=engine), "one"
        )
        said = talk.say("Read every page of the harbour report.")
        talk.close()

    assert "came last" in said
    assert server.refusals
    assert len(server.received) == len(server.refusals) + 20


async def test_a_refusal_by_all_of_several_models_is_answered_too(tmp_path: Path) -> None:
    """A `FallbackModel` raises the refusals of its models as one group."""
    with ScriptedServer(Reader(20), window=15_000) as server, EngineThread(home=tmp_path) as engine:
        wires = [Wired(server, "chat"), Wired(server, "anthropic")]
        agent = Agent(
            FallbackModel(*(each.model for each in wires)),
            capabilities=[MemoristCapability(project=tmp_path, attached=engine)],
        )
        agent.tool_plain(read_page)
        result = await agent.run(
            "Read every page of the harbour report.", usage_limits=UsageLimits(request_limit=200)
        )
        for each in wires:
            await each.client.close()

    assert "came last" in result.output
    assert server.refusals


@pytest.mark.parametrize("order", [("gpt-4.1", "gpt-4"), ("gpt-4", "gpt-4.1")])
def test_the_smallest_window_of_several_models_counts(order: tuple[str, str]) -> None:
    """What a `FallbackModel` sends has to fit into each of its models, also one within another."""
    first, second = (TestModel(model_name=name) for name in order)

    among = FallbackModel(FallbackModel(first, second), first)

    assert find_model_with_smallest_window(among, ModelSettings()).model_name == "gpt-4"
    assert find_model_with_smallest_window(first, ModelSettings()) is first


async def test_system_prompts_survive_and_turns_end(tmp_path: Path) -> None:
    """Static and dynamic prompts stand first after every compaction; a validator's retries are no
    trouble; the made id can be read.
    """
    told = Told()
    tries: list[str] = []
    with (
        ScriptedServer(Reader()) as server,
        attached(tmp_path, PydanticAI("chat", "async"), told) as engine,
    ):
        wired = Wired(server, "chat")
        capability = MemoristCapability(attached=engine)
        agent = Agent(
            wired.model,
            system_prompt="Be brief.",
            instructions="You help.",
            capabilities=[capability],
            retries=2,
        )
        agent.tool_plain(read_page)
        agent.system_prompt(lambda: "It is Sunday.")

        @agent.output_validator
        def twice(output: str) -> str:
            tries.append(output)
            if len(tries) == 1:
                raise ModelRetry("No, never so; always say it twice.")
            return output

        result = await agent.run(
            "Read every page of the harbour report.", usage_limits=UsageLimits(request_limit=100)
        )
        await wired.client.close()

    assert "came last" in result.output
    assert told.compactions()
    assert not server.refusals
    assert len(tries) == 2
    for request in server.received:
        said = words(request.body)
        assert all(
            text in said for text in ("Be brief.", "It is Sunday.", "You help.", "harbour report")
        )
        assert request.body["messages"][0]["role"] == "system"
    assert capability.session == result.conversation_id != ""


async def test_an_agent_within_an_agent_has_a_session_of_its_own(tmp_path: Path) -> None:
    """A tool asks another agent with the same capability, also with the history of the outer one:
    two conversations, and what the model asks for is not the person's rule.
    """

    def answer(request: Request) -> Step:
        said = words(request.body)
        if "You are within" in said:
            return Say(text="inner answer")
        return (
            Say(text="done")
            if "inner answer" in said
            else CallTool(name="ask", input={"text": CORRECTION})
        )

    with ScriptedServer(answer) as server, EngineThread(home=tmp_path) as engine:
        wired = Wired(server, "responses")
        capability = MemoristCapability(attached=engine, project=tmp_path)
        inner = Agent(wired.model, capabilities=[capability], instructions="You are within.")
        outer = Agent(wired.model, capabilities=[capability])

        @outer.tool
        async def ask(ctx: RunContext[None], text: str) -> str:
            """Ask the other agent."""
            history = ctx.messages[:1] if ctx.metadata else []
            return (await inner.run(text, message_history=history)).output

        for metadata in ({}, {"with": "the history"}):
            result = await outer.run("outer words", conversation_id="out", metadata=metadata)
        notes = await capability.conversation("out").aupdate_notes()
        lessons = engine.engine.memory(str(tmp_path)).headers()
        await wired.client.close()

    assert result.output == "done"
    assert "outer words" in notes
    assert not lessons
    assert len(list(tmp_path.glob("projects/*/*/transcript.jsonl"))) == 3


async def test_the_fetch_tool_answers_whatever_it_is_asked(
    tmp_path: Path, unusable_home: Path
) -> None:
    """A known call's result and an unknown id; and a memorist that cannot work stops no agent."""
    steps: list[Step] = [
        CallTool(name="read_page", input={"number": 1}, id="call-1"),
        CallTool(name=FETCH_TOOL_NAME, input={"id": "call-1"}),
        CallTool(name=FETCH_TOOL_NAME, input={"id": "unknown"}),
        Say(text="Thank you."),
    ]
    for home, first in ((tmp_path / "home", read_page(1)), (unusable_home, "Nothing has this id.")):
        with ScriptedServer(list(steps)) as server, EngineThread(home=home) as engine:
            wired = Wired(server, "chat")
            agent = Agent(
                wired.model, capabilities=[MemoristCapability(attached=engine, fetch=True)]
            )
            agent.tool_plain(read_page)
            assert (await agent.run("Fetch things.")).output == "Thank you."
            await wired.client.close()
        results = [
            message["content"]
            for message in server.received[-1].body["messages"]
            if message["role"] == "tool"
        ]
        assert results == [read_page(1), first, "Nothing has this id."]


text = st.text(max_size=5)
arguments = st.dictionaries(text, st.integers(), max_size=2)
files = st.sampled_from(
    [
        ImageUrl("https://example.com/a.png"),
        BinaryContent(b"a", media_type="image/png"),
        CachePoint(),
    ]
)
prompts: st.SearchStrategy[Any] = st.one_of(text, st.lists(st.one_of(text, files), max_size=3))
answers = st.one_of(text, arguments, st.none()).map(
    lambda content: ToolReturnPart("look", content, "c1")
)
requests = st.lists(
    st.one_of(prompts.map(UserPromptPart), text.map(SystemPromptPart), answers), max_size=3
).map(ModelRequest)
calls = arguments.map(lambda given: ToolCallPart("look", given, "c1"))
replies = st.lists(st.one_of(text.map(TextPart), text.map(ThinkingPart), calls), max_size=3).map(
    ModelResponse
)


@given(st.lists(st.one_of(requests, replies), max_size=4), st.randoms())
def test_every_history_has_a_wire_form_and_a_way_back(
    messages: list[ModelMessage], chance: Any
) -> None:
    """Whatever is cut out or put in: what comes back says what was asked for, in order, and a whole
    history comes back as it was.
    """
    items = MessageMap(split_and_encode_messages(messages)).wire_items
    for number, item in enumerate(items):
        assert find_codec("openai_chat").decode_item(item, id=str(number))
    wanted = [item for item in items if chance.random() < 0.7]
    wanted.insert(chance.randint(0, len(wanted)), {"role": "user", "content": "memory"})

    assert all(one is other for one, other in zip(back(messages, list), messages, strict=True))
    assert (
        MessageMap(split_and_encode_messages(back(messages, lambda _: list(wanted)))).wire_items
        == wanted
    )
