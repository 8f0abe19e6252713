"""Pydantic AI alone, with history processors, and with memorist's capability. Run in its own
environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.host_task import WINDOW, HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld
from memorist.adapters.pydantic_ai import MemoristCapability

PACKAGES = ("pydantic-ai-slim",)
KEPT = 5
"""Messages that the documentation's first processor keeps."""
OLDEST = 10
"""Messages from which the documentation's second processor summarises."""
TRIGGER = WINDOW * 7 // 10
RECENT = 8_000
"""Tokens from which a careful processor acts, and that it leaves as they are."""


class _Talk:
    def __init__(self, world: HostWorld, capabilities: Sequence[Any]) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncOpenAI(base_url=world.server.openai_url, api_key="none", max_retries=0)
        self.model: Model = OpenAIChatModel(
            MODEL, provider=OpenAIProvider(openai_client=self._client)
        )
        self._agent = Agent(self.model, instructions="You help.", capabilities=capabilities)
        self._agent.tool_plain(read_page)
        self._history: list[ModelMessage] = []

    def say(self, text: str) -> object:
        result = self._runner.run(
            self._agent.run(
                text,
                message_history=self._history,
                conversation_id="task",
                usage_limits=UsageLimits(request_limit=200),
            )
        )
        self._history = result.all_messages()
        return result.output

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


def _plain(world: HostWorld) -> HostTalk:
    return _Talk(world, [])


def _keep_last(world: HostWorld) -> HostTalk:
    def keep_last(messages: list[ModelMessage]) -> list[ModelMessage]:
        return messages[-KEPT:]

    return _Talk(world, [ProcessHistory(keep_last)])


def _summarise(world: HostWorld, *, careful: bool) -> HostTalk:
    client = AsyncOpenAI(base_url=world.server.openai_url, api_key="none", max_retries=0)
    summariser = Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
        instructions="Summarise what was said and what is still to do.",
    )

    async def summarise_oldest(messages: list[ModelMessage]) -> list[ModelMessage]:
        """As the documentation shows it: the oldest ten as a summary, and the last message."""
        if len(messages) <= OLDEST:
            return messages
        summary = await summariser.run(message_history=messages[:OLDEST])
        return [*summary.new_messages(), messages[-1]]

    async def summarise_carefully(messages: list[ModelMessage]) -> list[ModelMessage]:
        """By tokens, and cut where no result stands without its call."""
        if _tokens(messages) <= TRIGGER:
            return messages
        cut = len(messages) - 1
        while cut > 0 and _tokens(messages[cut - 1 :]) <= RECENT:
            cut -= 1
        while cut > 0 and _begins_with_results(messages[cut]):
            cut -= 1
        summary = await summariser.run(message_history=messages[:cut])
        return [*summary.new_messages(), *messages[cut:]]

    return _Talk(world, [ProcessHistory(summarise_carefully if careful else summarise_oldest)])


def _tokens(messages: Sequence[ModelMessage]) -> int:
    return len(ModelMessagesTypeAdapter.dump_json(list(messages))) // 4


def _begins_with_results(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(
        isinstance(part, ToolReturnPart) for part in message.parts
    )


def _memorist(world: HostWorld) -> HostTalk:
    return _Talk(
        world,
        [
            MemoristCapability(
                project=world.folder, home=world.folder / "home", settings=world.settings
            )
        ],
    )


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "alone": _plain,
    "a processor that keeps the last 5 messages": _keep_last,
    "a processor that summarises the oldest 10": partial(_summarise, careful=False),
    "a careful one: by tokens, pairs whole": partial(_summarise, careful=True),
    "memorist": _memorist,
}
