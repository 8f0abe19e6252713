"""The Anthropic SDK: the story through `messages.create`, `messages.stream` and the tool runner,
blocking and async; and what is its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
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
from support.sweeps import sampled

pytest.importorskip(
    "anthropic",
    reason="anthropic is not installed; `make test-plugs PLUGS=anthropic-sdk` brings it",
)

import anthropic
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import ToolError

from memorist.adapters.anthropic_sdk import (
    FEATURES,
    AsyncMemoristMemoryTool,
    MemoristAnthropic,
    MemoristMemoryTool,
)
from memorist.adapters.engine_thread import EngineThread
from memorist.errors import ContextTooLong, UsageError
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.settings import CompactionSettings, Settings
from memorist.testing import (
    CallTool,
    Fail,
    GivenReplyBody,
    HttpError,
    InterruptedReply,
    ReplyParts,
    Say,
    ScriptedServer,
)
from memorist.testing.steps import Step

QUESTION: Any = {"role": "user", "content": "Fix the importer, please."}


class AnthropicSDK:
    """A loop of one's own over the client."""

    reaches = FEATURES

    def __init__(self, how: str) -> None:
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        plug = None
        if world.attached is not None:
            plug = MemoristAnthropic(
                project=world.project, attached=world.attached, session=session
            )
        middleware = [] if plug is None else [plug]
        if self.how.startswith("async"):
            client: Any = anthropic.AsyncAnthropic(
                base_url=world.server.url, api_key="none", max_retries=0, middleware=middleware
            )
        else:
            client = anthropic.Anthropic(
                base_url=world.server.url, api_key="none", max_retries=0, middleware=middleware
            )
        return Conversation(client, world, self.how)


class Conversation:
    def __init__(self, client: Any, world: World, how: str) -> None:
        self.client = client
        self.tool = world.tool
        self.how = how
        self.runner = asyncio.Runner()
        self.messages: list[Any] = []
        schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
        definition = {"name": TOOL, "description": world.tool.__doc__, "input_schema": schema}
        self.given: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": MAX_OUTPUT,
            "tools": [definition],
        }
        if world.user:
            self.given["metadata"] = {"user_id": world.user}

    def say(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        if self.how.endswith("runner"):
            return self._by_the_runner()
        while True:
            reply = self.runner.run(self._later()) if self.how == "async" else self._now()
            self.messages.append({"role": "assistant", "content": reply.content})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return str(reply.content[-1].text)
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": each.id,
                    "content": self.tool(each.input["number"]),
                }
                for each in calls
            ]
            self.messages.append({"role": "user", "content": results})

    def leave(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})
        said = self.client.messages.create(messages=self.messages, **self.given)
        (call,) = said.content
        result = self.tool(call.input["number"])
        block = {"type": "tool_result", "tool_use_id": call.id, "content": result}
        self.messages += [
            {"role": "assistant", "content": said.content},
            {"role": "user", "content": [block]},
        ]
        with self.client.messages.stream(messages=self.messages, **self.given) as stream:
            first = next(iter(stream.text_stream))
        self.messages.append({"role": "assistant", "content": first})

    def _now(self) -> Any:
        if self.how == "stream":
            with self.client.messages.stream(messages=self.messages, **self.given) as stream:
                return stream.get_final_message()
        return self.client.messages.create(messages=self.messages, **self.given)

    async def _later(self) -> Any:
        async with self.client.messages.stream(messages=self.messages, **self.given) as stream:
            return await stream.get_final_message()

    def _by_the_runner(self) -> str:
        if self.how == "runner":
            found = self.client.beta.messages.tool_runner(
                model=MODEL,
                max_tokens=MAX_OUTPUT,
                messages=list(self.messages),
                tools=[beta_tool(self.tool)],
                thread=False,
            )
            last = found.until_done()
            self.messages = list(found._params["messages"])
        else:
            last = self.runner.run(self._by_the_runner_later())
        return str(last.content[-1].text)

    async def _by_the_runner_later(self) -> Any:
        async def read_page(number: int) -> str:
            """Read one page of the harbour report."""
            return self.tool(number)

        found = self.client.beta.messages.tool_runner(
            model=MODEL,
            max_tokens=MAX_OUTPUT,
            messages=list(self.messages),
            tools=[beta_async_tool(read_page)],
            thread=False,
        )
        last = await found.until_done()
        self.messages = list(found._params["messages"])
        return last

    def close(self) -> None:
        if self.how.startswith("async"):
            self.runner.run(self.client.close())
        else:
            self.client.close()
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    "how",
    sampled(
        ["create", "stream", "async", "runner", "async runner"],
        {"create", "stream", "async runner"},
    ),
)
def test_the_story(tmp_path: Path, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(AnthropicSDK(how), tmp_path)


@pytest.mark.covers("IN-1", "CP-10")
def test_a_host_that_leaves_its_streams_keeps_its_window(tmp_path: Path) -> None:
    """The last reply of each turn is never read to its end."""
    leave_streams(AnthropicSDK("stream"), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(AnthropicSDK("stream"), tmp_path)


@pytest.mark.slow
@pytest.mark.covers("IN-1", "CP-10")
@pytest.mark.parametrize("how", ["create", "async"])
def test_a_model_that_goes_by_its_last_results_repeats_no_call(tmp_path: Path, how: str) -> None:
    """Results of 25,000 characters, three at once: no page is asked for twice."""
    read_large_pages(AnthropicSDK(how), tmp_path)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_users_of_one_server_share_nothing(tmp_path: Path, how: str) -> None:
    """By the `user_id` of the request's metadata."""
    tell_users_apart(AnthropicSDK(how), tmp_path)


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[MemoristAnthropic]:
    with MemoristAnthropic(home=tmp_path / "home", settings=small()) as made:
        yield made


def small(*, provider: bool = False) -> Settings:
    known = ModelSettings(
        prices={MODEL: ModelPrice(window=20_000, max_output=MAX_OUTPUT, input=3.0, output=15.0)}
    )
    return Settings(
        models=known, compaction=CompactionSettings(schedule="threshold", provider=provider)
    )


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


def client_of(server: ScriptedServer, *middleware: Any, retries: int = 0) -> Any:
    client = anthropic.Anthropic(
        base_url=server.url, api_key="none", max_retries=retries, middleware=middleware
    )
    OPENED.append(client)
    return client


def ask(client: Any, *messages: Any, **given: Any) -> Any:
    return client.messages.create(
        model=MODEL, max_tokens=MAX_OUTPUT, messages=list(messages), **given
    )


def following(plug: MemoristAnthropic, session: str | None = None) -> Any:
    talk = plug.conversation(session or "")
    assert talk.session is not None
    return talk.session.tracker


@pytest.mark.covers("IN-1")
def test_a_request_that_is_refused_as_too_long_goes_out_once_more(plug: MemoristAnthropic) -> None:
    """The host gets the reply to the smaller one, and hears nothing of the refusal."""
    messages: list[Any] = [QUESTION]
    for number in range(30):
        step = f"Step {number} looked at the table of tides and found nothing. " * 30
        messages += [
            {"role": "assistant", "content": step},
            {"role": "user", "content": f"Go on with {number}."},
        ]
    with ScriptedServer([Fail(error=ContextTooLong("too long")), Say(text="done")]) as server:
        reply = ask(client_of(server, plug), *messages)

    before, after = (json.dumps(request.body["messages"]) for request in server.received)
    assert reply.content[0].text == "done"
    assert len(after) < len(before)


@pytest.mark.covers("IN-1")
def test_a_refusal_for_another_reason_is_the_hosts(plug: MemoristAnthropic) -> None:
    """It is raised as the SDK raises it, and nothing is sent again."""
    with (
        ScriptedServer([HttpError(code=400, message="max_tokens is missing")]) as server,
        pytest.raises(anthropic.BadRequestError, match="max_tokens"),
    ):
        ask(client_of(server, plug), QUESTION)

    assert len(server.received) == 1


@pytest.mark.covers("IN-1")
def test_the_sdks_own_retries_are_one_call(plug: MemoristAnthropic) -> None:
    """The request that is tried again is the same, and the conversation holds each message once."""
    with ScriptedServer([HttpError(code=529, retry_after="0"), Say(text="done")]) as server:
        ask(client_of(server, plug, retries=1), QUESTION)

    assert server.received[0].body == server.received[1].body
    assert following(plug).messages == 2


@pytest.mark.covers("CP-6")
def test_the_betas_of_the_providers_own_compaction_go_beside_the_hosts(tmp_path: Path) -> None:
    """The header names both, and the edits stand in the request."""
    with (
        MemoristAnthropic(home=tmp_path / "home", settings=small(provider=True)) as plug,
        ScriptedServer([Say(text="one"), Say(text="two")]) as server,
    ):
        client = client_of(server, plug)
        ask(client, QUESTION, extra_headers={"anthropic-beta": "files-api-2025-04-14"})
        client.beta.messages.create(
            model=MODEL, max_tokens=MAX_OUTPUT, messages=[QUESTION], betas=["files-api-2025-04-14"]
        )

    for request in server.received:
        assert "compact_20260112" in json.dumps(request.body["context_management"])
        betas = request.headers["anthropic-beta"].split(",")
        assert betas[0] == "files-api-2025-04-14"
        assert any(beta.startswith("compact") for beta in betas)


@pytest.mark.covers("IN-1")
def test_a_stream_that_breaks_off_is_the_hosts_affair(plug: MemoristAnthropic) -> None:
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
        with pytest.raises(Exception, match=r"peer closed|closed|incomplete") as raised:
            list(ask(client, QUESTION, stream=True))
        seen = following(plug).messages
        ask(client, QUESTION)

    assert "memorist" not in type(raised.value).__module__
    assert seen == 1
    assert following(plug).messages == 2


@pytest.mark.covers("IN-1")
def test_a_stream_that_the_host_leaves_early_is_no_reply(plug: MemoristAnthropic) -> None:
    """Closing it early is no error."""
    with (
        ScriptedServer([Say(text="one two three four five six seven")]) as server,
        client_of(server, plug).messages.stream(
            model=MODEL, max_tokens=MAX_OUTPUT, messages=[QUESTION]
        ) as stream,
    ):
        next(iter(stream))

    assert following(plug).messages == 1


@pytest.mark.covers("IN-1")
def test_raw_and_streamed_answers_stay_what_they_are(plug: MemoristAnthropic) -> None:
    """`with_raw_response` and `with_streaming_response` give their objects, and memorist follows
    all the same.
    """
    with ScriptedServer([Say(text="one"), Say(text="two")]) as server:
        client = client_of(server, plug)
        raw = client.messages.with_raw_response.create(
            model=MODEL, max_tokens=MAX_OUTPUT, messages=[QUESTION]
        )
        answer = {"role": "assistant", "content": "one"}
        given: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": MAX_OUTPUT,
            "messages": [QUESTION, answer, QUESTION],
        }
        with client.messages.with_streaming_response.create(**given) as streamed:
            body = json.loads(b"".join(streamed.iter_bytes()))

    assert raw.headers["content-type"].startswith("application/json")
    assert body["content"][0]["text"] == "two"
    assert following(plug).messages == 4


@pytest.mark.covers("IN-1")
def test_a_history_that_the_provider_keeps_passes_as_it_is(
    plug: MemoristAnthropic, caplog: pytest.LogCaptureFixture
) -> None:
    """The tool runner's message threads send what is new alone: memorist says so once, and keeps
    out.
    """

    @beta_tool
    def look() -> str:
        """Look."""
        return "nothing"

    with (
        ScriptedServer([CallTool(name="look"), Say(text="done")], strict=False) as server,
        caplog.at_level(logging.WARNING),
    ):
        runner = client_of(server, plug).beta.messages.tool_runner(
            model=MODEL, max_tokens=MAX_OUTPUT, messages=[QUESTION], tools=[look]
        )
        assert runner.until_done().content[0].text == "done"

    assert all("thread" in request.body for request in server.received)
    assert plug.attached.conversation(plug.session, format="anthropic").session is None
    assert len([record for record in caplog.records if "`thread`" in record.getMessage()]) == 1


@pytest.mark.covers("IN-1")
def test_calls_belong_to_the_conversation_that_they_are_made_in(plug: MemoristAnthropic) -> None:
    """By `within`, and to none within `apart`; both hold for the task that entered them."""

    async def talk(client: Any, name: str) -> None:
        with plug.within(name):
            history: list[Any] = []
            for number in range(3):
                history.append({"role": "user", "content": f"{name} {number}"})
                reply = await client.messages.create(
                    model=MODEL, max_tokens=MAX_OUTPUT, messages=history
                )
                history.append({"role": "assistant", "content": reply.content})
                with plug.bypass():
                    await client.messages.create(
                        model=MODEL,
                        max_tokens=MAX_OUTPUT,
                        messages=[{"role": "user", "content": "A title."}],
                    )

    async def main(server: ScriptedServer) -> None:
        async with anthropic.AsyncAnthropic(
            base_url=server.url, api_key="none", middleware=[plug]
        ) as client:
            await asyncio.gather(*(talk(client, f"talk-{number}") for number in range(5)))

    with ScriptedServer(lambda request: Say(text="yes")) as server:
        asyncio.run(main(server))

    assert [following(plug, f"talk-{number}").messages for number in range(5)] == [6] * 5
    assert plug.attached.conversation(plug.session, format="anthropic").session is None


@pytest.mark.covers("IN-1")
def test_pictures_and_unknown_blocks_go_out_as_they_came(plug: MemoristAnthropic) -> None:
    """Blocks that memorist does not know, marks, and replies that hold thinking stand in the next
    request as the host gave them.
    """
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    strange = {"type": "hologram", "depth": 3}
    first: dict[str, Any] = {
        "role": "user",
        "content": [
            picture,
            strange,
            {"type": "text", "text": "What is it?", "cache_control": {"type": "ephemeral"}},
        ],
    }
    with ScriptedServer(
        lambda request: ReplyParts(parts=(Say(text="A ship."),)), strict=False
    ) as server:
        client = client_of(server, plug)
        reply = ask(client, first)
        ask(client, first, {"role": "assistant", "content": reply.content}, QUESTION)

    assert server.received[0].body["messages"] == [first]
    sent = server.received[1].body["messages"]
    assert sent[0]["content"][:2] == [picture, strange]
    assert sent[1]["content"][0]["text"] == "A ship."


MARK = {"cache_control": {"type": "ephemeral"}}


def marked(history: list[Any]) -> list[Any]:
    """The history with a cache mark on the last block of its two newest messages of the user."""
    newest = [index for index, each in enumerate(history) if each["role"] == "user"][-2:]
    return [
        {**each, "content": [*each["content"][:-1], each["content"][-1] | MARK]}
        if index in newest
        else each
        for index, each in enumerate(history)
    ]


def marked_places(body: dict[str, Any]) -> list[int]:
    """Messages with a cache mark, counted from the end."""
    messages = body["messages"]
    return [
        index - len(messages) for index, each in enumerate(messages) if "cache_control" in str(each)
    ]


@pytest.mark.covers("IN-1", "CP-18")
def test_a_host_that_moves_its_cache_marks_keeps_all_four_past_its_window(
    plug: MemoristAnthropic,
) -> None:
    """Tools, system and the two newest messages of the user are marked in each request: where one
    of them is shown smaller, the mark stands on what is shown in its place while the host has it
    there, and no longer, as a fifth would be refused.
    """
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    tool = {"name": TOOL, "description": "", "input_schema": {"type": "object"}, **MARK}

    def answer(request: Request) -> Step:
        asked = len(server.received) % 3
        return CallTool(name=TOOL, input={"number": asked}) if asked else Say(text="I see.")

    history: list[Any] = []
    with ScriptedServer(answer, window=20_000) as server:
        client = client_of(server, plug)
        for number in range(1, 9):
            text = f"Log {number}: " + f"The ship Marigold-{number} came in with timber. " * 300
            content: list[Any] = [{"type": "text", "text": text}]
            while content:
                history.append({"role": "user", "content": content})
                system = [{"type": "text", "text": f"It is {len(history)} o'clock.", **MARK}]
                reply = ask(client, *marked(history), system=system, tools=[tool])
                history.append({"role": "assistant", "content": reply.content})
                content = [
                    {
                        "type": "tool_result",
                        "tool_use_id": block.id,
                        "content": [{"type": "text", "text": "A page."}, picture],
                    }
                    for block in reply.content
                    if block.type == "tool_use"
                ]

    assert not server.refusals
    assert len(server.received[-1].body["messages"]) < len(history) - 1
    for each in server.received:
        assert marked_places(each.body) in ([-3, -1], [-1])  # the other one is in the summary


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    "body",
    [
        {"type": "message"},
        {"content": "x", "type": "message"},
        {"type": "message", "role": "assistant", "content": [{"type": 5}]},
    ],
)
def test_an_odd_reply_stops_nothing(plug: MemoristAnthropic, body: dict[str, Any]) -> None:
    """What is no message reaches the host as the SDK reads it, and the next call goes through."""
    steps: list[Step] = [GivenReplyBody(body=body), Say(text="done")]
    with ScriptedServer(steps) as server:
        client = client_of(server, plug)
        ask(client, QUESTION)
        assert ask(client, QUESTION).content[0].text == "done"


@pytest.mark.covers("IN-1")
def test_other_requests_are_let_alone(plug: MemoristAnthropic) -> None:
    """Counting tokens is no call of a model."""
    with ScriptedServer([]) as server:
        assert (
            client_of(server, plug)
            .messages.count_tokens(model=MODEL, messages=[QUESTION])
            .input_tokens
            > 0
        )

    assert plug.attached.conversation(plug.session, format="anthropic").session is None


@pytest.mark.covers("IN-1", "SF-2")
@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_memory_tool_in_the_tool_runner(tmp_path: Path, how: str) -> None:
    """The model views, writes and reads; what a tool's result says comes from outside, by the
    conversation; a refusal is a tool's error.
    """
    project = tmp_path / "harbour"
    (project / ".git").mkdir(parents=True)
    page = "The harbour office opens at nine on weekdays and at ten on the other days of the week."
    commands = [
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": "/memories/office.md", "file_text": page},
        {"command": "view", "path": "/memories/office.md"},
        {"command": "view", "path": "/memories/../../etc/passwd"},
        {"command": "fly", "path": "/memories"},
    ]
    steps: list[Step] = [
        CallTool(name="look"),
        *(CallTool(name="memory", input=command) for command in commands),
        Say(text="done"),
    ]

    def look() -> str:
        """Look at the page of the office."""
        return page

    async def look_later() -> str:
        """Look at the page of the office."""
        return page

    async def later(server: ScriptedServer, plug: MemoristAnthropic) -> None:
        async with anthropic.AsyncAnthropic(
            base_url=server.url, api_key="none", middleware=[plug]
        ) as client:
            tools: list[Any] = [
                beta_async_tool(look_later, name="look"),
                AsyncMemoristMemoryTool(plug),
            ]
            given: dict[str, Any] = {
                "model": MODEL,
                "max_tokens": MAX_OUTPUT,
                "messages": [QUESTION],
                "tools": tools,
                "thread": False,
            }
            await client.beta.messages.tool_runner(**given).until_done()

    with (
        ScriptedServer(steps) as server,
        MemoristAnthropic(project=project, home=tmp_path / "home") as plug,
    ):
        if how == "sync":
            tools: list[Any] = [beta_tool(look), MemoristMemoryTool(plug)]
            given: dict[str, Any] = {
                "model": MODEL,
                "max_tokens": MAX_OUTPUT,
                "messages": [QUESTION],
                "tools": tools,
                "thread": False,
            }
            client_of(server, plug).beta.messages.tool_runner(**given).until_done()
        else:
            asyncio.run(later(server, plug))
        heads = plug.attached.engine.memory(str(project)).headers()

    blocks = [
        block
        for message in server.received[-1].body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    results = [
        (bool(block.get("is_error")), block["content"])
        for block in blocks
        if block["type"] == "tool_result"
    ]
    assert [error for error, _ in results] == [False, False, False, False, True, True]
    assert page in results[3][1]
    assert {"type": "memory_20250818", "name": "memory"} in server.received[0].body["tools"]
    assert [(head.path, head.trust.value) for head in heads] == [("office.md", "outside")]


@pytest.mark.covers("IN-1")
def test_a_memory_tool_needs_a_project(tmp_path: Path) -> None:
    """It says so when it is made, and works without a client's middleware."""
    with pytest.raises(UsageError, match="project"):
        MemoristMemoryTool(home=tmp_path / "home")
    with EngineThread(home=tmp_path / "home") as engine:
        tool = MemoristMemoryTool(project=tmp_path, attached=engine)
        assert "/memories" in str(tool.call({"command": "view", "path": "/memories"}))
        with pytest.raises(ToolError, match="file_text"):
            tool.call({"command": "create", "path": "/memories/x.md"})
