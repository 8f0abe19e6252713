"""Microsoft Agent Framework: the story with its agent and both OpenAI clients, and what is particular to its messages and its compaction strategy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from plugs.story import EVERYTHING, MAX_OUTPUT, MODEL, Talk, World, run_story

pytest.importorskip("agent_framework", reason="agent-framework-core is not installed; `make test-plugs PLUGS=agent-framework` brings it")

from agent_framework import Agent, ChatContext, ChatMiddleware, InMemoryHistoryProvider, Message
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

from memorist.adapters.agent_framework import MemoristCompaction, MemoristProvider


class Steady(ChatMiddleware):
    """Between two runs the framework changes what it had sent, with memorist and without it: it adds its agent's name to messages of Chat Completions, and
    gives calls of Responses other ids. The story is not about that.
    """

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        for message in context.messages:
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
        providers = [] if world.attached is None else [MemoristProvider(project=world.project, attached=world.attached)]
        return Conversation(world, session, wire=self.wire, stream=self.stream, context_providers=providers)


class Conversation:
    def __init__(self, world: World, session: str, *, wire: str = "chat", stream: bool = False, **more: Any) -> None:
        made_by = OpenAIChatCompletionClient if wire == "chat" else OpenAIChatClient
        self.client = made_by(model=MODEL, base_url=world.server.openai_url, api_key="none")
        providers = [InMemoryHistoryProvider(), *more.pop("context_providers", ())]
        options = {"store": False, "max_tokens": MAX_OUTPUT}
        self.agent = Agent(
            self.client,
            instructions="You help.",
            tools=[world.tool],
            default_options=options,
            context_providers=providers,
            middleware=[Steady()],
            **more,
        )
        self.session = self.agent.create_session(session_id=session)
        self.loop = asyncio.Runner()
        self.stream = stream

    def say(self, text: str) -> str:
        return self.loop.run(self._say(text))

    async def _say(self, text: str | Message) -> str:
        if not self.stream:
            return str((await self.agent.run(text, session=self.session)).text)
        run = self.agent.run(text, session=self.session, stream=True)
        return str((await run.get_final_response()).text)

    def close(self) -> None:
        self.loop.run(self.client.client.close())
        self.loop.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(("wire", "stream"), [("chat", False), ("chat", True), ("responses", False), ("responses", True)])
def test_the_story(tmp_path: Path, wire: str, *, stream: bool) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(Framework(wire, stream=stream), tmp_path)


class StrategyAlone(Framework):
    """An agent with the compaction strategy and no provider."""

    reaches = frozenset({"compaction"})

    def begin(self, world: World, session: str) -> Talk:
        strategy = None if world.attached is None else MemoristCompaction(session=session, agent_model=MODEL, attached=world.attached)
        return Conversation(world, session, compaction_strategy=strategy)


@pytest.mark.covers("IN-1")
def test_the_story_with_the_strategy_alone(tmp_path: Path) -> None:
    """The long task is done within its window; nothing is noted or remembered."""
    run_story(StrategyAlone("chat", stream=False), tmp_path)
