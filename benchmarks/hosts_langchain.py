"""LangChain alone, with its own middlewares, and with memorist's. Run in its own environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from benchmarks.host_task import WINDOW, HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld
from memorist.adapters.langchain import MemoristMiddleware

PACKAGES = ("langchain",)
TRIGGER = WINDOW * 7 // 10
"""Tokens from which a middleware acts: as far below the window as its documentation's example of
a share, and room for one large page.
"""


def _model(world: HostWorld) -> BaseChatModel:
    return ChatOpenAI(
        model=MODEL, base_url=world.server.openai_url, api_key=SecretStr("none"), max_retries=0
    )


class _Talk:
    def __init__(self, world: HostWorld, middleware: Sequence[Any]) -> None:
        @tool
        def read_page_tool(number: int) -> str:
            """Read one page of the harbour report."""
            return read_page(number)

        read_page_tool.name = "read_page"
        self._agent = create_agent(
            _model(world),
            [read_page_tool],
            system_prompt="You help.",
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )

    def say(self, text: str) -> object:
        return self._agent.invoke(
            {"messages": [{"role": "user", "content": text}]},
            {"configurable": {"thread_id": "task"}, "recursion_limit": 200},
        )

    def close(self) -> None:
        pass


def _alone(world: HostWorld) -> HostTalk:
    return _Talk(world, [])


def _summarise(world: HostWorld, **options: Any) -> HostTalk:  # noqa: ANN401 - as the host has them
    middleware = SummarizationMiddleware(
        model=_model(world), trigger=("tokens", TRIGGER), **options
    )
    return _Talk(world, [middleware])


def _clear(world: HostWorld) -> HostTalk:
    edit = ClearToolUsesEdit(trigger=TRIGGER, keep=3)
    return _Talk(world, [ContextEditingMiddleware(edits=[edit])])


def _memorist(world: HostWorld) -> HostTalk:
    return _Talk(
        world,
        [
            MemoristMiddleware(
                project=world.folder, home=world.folder / "home", settings=world.settings
            )
        ],
    )


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "alone": _alone,
    "`SummarizationMiddleware`, keep 20 messages": partial(_summarise, keep=("messages", 20)),
    "`SummarizationMiddleware`, keep 8,000 tokens": partial(_summarise, keep=("tokens", 8_000)),
    "the same, the summariser given all": partial(
        _summarise, keep=("tokens", 8_000), trim_tokens_to_summarize=None
    ),
    "`ContextEditingMiddleware`, keep 3 results": _clear,
    "memorist": _memorist,
}
