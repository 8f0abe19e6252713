"""Microsoft Agent Framework alone, with its compaction strategies, and with memorist's provider.
Run in its own environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_framework import (
    Agent,
    CharacterEstimatorTokenizer,
    CompactionStrategy,
    ContextProvider,
    ContextWindowCompactionStrategy,
    InMemoryHistoryProvider,
    SlidingWindowStrategy,
    SummarizationStrategy,
    TokenBudgetComposedStrategy,
    ToolResultCompactionStrategy,
)
from agent_framework.openai import OpenAIChatCompletionClient

from benchmarks.host_task import WINDOW, HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld
from memorist.adapters.agent_framework import MemoristProvider

PACKAGES = ("agent-framework-core",)
BUDGET = WINDOW * 7 // 10
OUTPUT = 1_000
"""Tokens of the longest reply, for the strategy that asks for them."""
GROUPS = 20
"""Groups (a message, or calls with their results) that the sliding window keeps."""

_tokenizer = CharacterEstimatorTokenizer()


class _Talk:
    def __init__(
        self,
        world: HostWorld,
        *providers: ContextProvider,
        strategy: CompactionStrategy | None = None,
    ) -> None:
        self._client = _client(world)
        self._agent = Agent(
            self._client,
            instructions="You help.",
            tools=[read_page],
            default_options={"store": False},
            context_providers=[InMemoryHistoryProvider(), *providers],
            tokenizer=_tokenizer,
            compaction_strategy=strategy,
        )
        self._session = self._agent.create_session(session_id="task")
        self._loop = asyncio.Runner()

    def say(self, text: str) -> object:
        return self._loop.run(self._say(text))

    async def _say(self, text: str) -> str:
        return str((await self._agent.run(text, session=self._session)).text)

    def close(self) -> None:
        self._loop.run(self._client.client.close())
        self._loop.close()


def _client(world: HostWorld) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(model=MODEL, base_url=world.server.openai_url, api_key="none")


def _slide(world: HostWorld) -> HostTalk:
    return _Talk(world, strategy=SlidingWindowStrategy(keep_last_groups=GROUPS))


def _collapse(world: HostWorld) -> HostTalk:
    return _Talk(world, strategy=ToolResultCompactionStrategy())


def _summarise(world: HostWorld) -> HostTalk:
    return _Talk(world, strategy=SummarizationStrategy(client=_client(world)))


def _compose(world: HostWorld) -> HostTalk:
    strategies = [
        ToolResultCompactionStrategy(),
        SummarizationStrategy(client=_client(world)),
        SlidingWindowStrategy(keep_last_groups=GROUPS),
    ]
    return _Talk(
        world,
        strategy=TokenBudgetComposedStrategy(
            token_budget=BUDGET, tokenizer=_tokenizer, strategies=strategies
        ),
    )


def _fit_window(world: HostWorld) -> HostTalk:
    return _Talk(
        world,
        strategy=ContextWindowCompactionStrategy(
            max_context_window_tokens=WINDOW, max_output_tokens=OUTPUT, tokenizer=_tokenizer
        ),
    )


def _memorist(world: HostWorld) -> HostTalk:
    return _Talk(
        world,
        MemoristProvider(project=world.folder, home=world.folder / "home", settings=world.settings),
    )


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "alone": _Talk,
    "`SlidingWindowStrategy`, 20 groups": _slide,
    "`ToolResultCompactionStrategy`": _collapse,
    "`SummarizationStrategy`": _summarise,
    "`TokenBudgetComposedStrategy` of these three": _compose,
    "`ContextWindowCompactionStrategy`": _fit_window,
    "memorist": _memorist,
}
