"""OpenAI Agents: the story on both of its wires, blocking, async and streaming; sessions, hooks, handoffs, agents as tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plugs.story import EVERYTHING, MAX_OUTPUT, MODEL, Talk, World, run_story

pytest.importorskip("agents", reason="openai-agents is not installed; `make test-plugs PLUGS=openai-agents` brings it")

from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Session,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI

from memorist.adapters.openai_agents import MemoristSession
from memorist.testing.server import ScriptedServer

TURNS = 100


def model(server: ScriptedServer, wire: str) -> Model:
    client = AsyncOpenAI(base_url=server.openai_url, api_key="none", max_retries=0)
    return OpenAIChatCompletionsModel(MODEL, client) if wire == "chat" else OpenAIResponsesModel(MODEL, client)


def agent(server: ScriptedServer, wire: str, *tools: Any) -> Agent[Any]:
    return Agent(
        name="Clerk",
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
        kept = None if world.attached is None else MemoristSession(session, project=world.project, attached=world.attached)
        return Conversation(clerk, session, kept, self.how)


class Conversation:
    def __init__(self, clerk: Agent[Any], session: str, kept: MemoristSession | None, how: str) -> None:
        self.clerk = clerk
        self.how = how
        self.session: Session = SQLiteSession(session) if kept is None else kept
        self.config = RunConfig(tracing_disabled=True) if kept is None else kept.run_config(RunConfig(tracing_disabled=True))
        self.hooks = None if kept is None else kept.hooks()
        self.runner = asyncio.Runner()

    def say(self, text: str) -> str:
        return self.runner.run(self._say(text))

    async def _say(self, text: str) -> str:
        given: dict[str, Any] = {"session": self.session, "run_config": self.config, "hooks": self.hooks, "max_turns": TURNS}
        if self.how == "stream":
            stream = Runner.run_streamed(self.clerk, text, **given)
            async for _ in stream.stream_events():
                pass
            return str(stream.final_output)
        return str((await Runner.run(self.clerk, text, **given)).final_output)

    def close(self) -> None:
        self.runner.run(client_of(self.clerk).close())
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(("wire", "how"), [("responses", "async"), ("responses", "stream"), ("chat", "async"), ("chat", "stream")])
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(OpenAIAgents(wire, how), tmp_path)
