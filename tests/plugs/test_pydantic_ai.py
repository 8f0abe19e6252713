"""Pydantic AI: the story on three providers' wires, blocking, async and streaming; parts, pictures, retries, refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plugs.story import EVERYTHING, MAX_OUTPUT, MODEL, Talk, World, run_story

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed; `make test-plugs PLUGS=pydantic-ai` brings it")

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from memorist.adapters.pydantic_ai import MemoristCapability
from memorist.testing.server import ScriptedServer


class Wired:
    """A model of Pydantic AI on the loopback server."""

    def __init__(self, server: ScriptedServer, wire: str) -> None:
        self.client: AsyncAnthropic | AsyncOpenAI
        self.model: Model
        if wire == "anthropic":
            self.client = anthropic = AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0)
            self.model = AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=anthropic))
        else:
            self.client = openai = AsyncOpenAI(base_url=server.openai_url, api_key="none", max_retries=0)
            kind = OpenAIChatModel if wire == "chat" else OpenAIResponsesModel
            self.model = kind(MODEL, provider=OpenAIProvider(openai_client=openai))


class PydanticAI:
    reaches = EVERYTHING

    def __init__(self, wire: str, how: str) -> None:
        self.wire = wire
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        wired = Wired(world.server, self.wire)
        capabilities = [] if world.attached is None else [MemoristCapability(project=world.project, attached=world.attached)]
        agent = Agent(wired.model, instructions="You help.", capabilities=capabilities, model_settings={"max_tokens": MAX_OUTPUT})
        agent.tool_plain(world.tool)
        return Conversation(agent, session, self.how, wired)


class Conversation:
    def __init__(self, agent: Agent[None, str], session: str, how: str, wired: Wired) -> None:
        self.agent = agent
        self.session = session
        self.how = how
        self.wired = wired
        self.history: list[ModelMessage] = []
        self.runner = asyncio.Runner()

    def say(self, text: str) -> str:
        return self.runner.run(self._say(text))

    async def _say(self, text: str) -> str:
        given: dict[str, Any] = {
            "message_history": self.history, "conversation_id": self.session, "usage_limits": UsageLimits(request_limit=200)
        }  # fmt: skip
        if self.how == "stream":
            async with self.agent.run_stream(text, **given) as stream:
                said = await stream.get_output()
            self.history = stream.all_messages()
            return said
        result = await self.agent.run(text, **given)
        self.history = result.all_messages()
        return result.output

    def close(self) -> None:
        self.runner.run(self.wired.client.close())
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(("wire", "how"), [("chat", "async"), ("responses", "stream"), ("anthropic", "async"), ("anthropic", "stream")])
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(PydanticAI(wire, how), tmp_path)
