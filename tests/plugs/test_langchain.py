"""LangChain: the story with `create_agent` and `create_deep_agent`, on three providers' wires, blocking and async."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plugs.story import EVERYTHING, MAX_OUTPUT, MODEL, Talk, World, run_story

for package in ("langchain", "langchain_openai", "langchain_anthropic"):
    pytest.importorskip(package, reason=f"{package} is not installed; `make test-plugs PLUGS=langchain` brings it")

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from memorist.adapters.langchain import MemoristMiddleware

KEY = SecretStr("none")


def chat_model(server: Any, wire: str) -> BaseChatModel:
    if wire == "anthropic":
        return ChatAnthropic(
            model_name=MODEL, base_url=server.url, api_key=KEY, max_tokens_to_sample=MAX_OUTPUT, max_retries=0, timeout=30, stop=None
        )
    return ChatOpenAI(
        model=MODEL,
        base_url=server.openai_url,
        api_key=KEY,
        max_completion_tokens=MAX_OUTPUT,
        max_retries=0,
        use_responses_api=wire == "responses",
    )


class LangChain:
    """An agent of `create_agent`."""

    reaches = EVERYTHING

    def __init__(self, wire: str, how: str) -> None:
        self.wire = wire
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        middleware = [] if world.attached is None else [MemoristMiddleware(project=world.project, attached=world.attached)]
        agent = create_agent(
            chat_model(world.server, self.wire),
            [tool(world.tool)],
            system_prompt="You help.",
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        return Conversation(agent, session, self.how)


class Conversation:
    def __init__(self, agent: Any, session: str, how: str) -> None:
        self.agent = agent
        self.how = how
        self.config = {"configurable": {"thread_id": session}, "recursion_limit": 200}
        self.runner = asyncio.Runner()

    def say(self, text: str) -> str:
        given = {"messages": [HumanMessage(text)]}
        match self.how:
            case "sync":
                state = self.agent.invoke(given, self.config)
            case "async":
                state = self.runner.run(self.agent.ainvoke(given, self.config))
            case _:
                *_, state = self.agent.stream(given, self.config, stream_mode="values")
        return str(state["messages"][-1].text)

    def close(self) -> None:
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(("wire", "how"), [("chat", "sync"), ("responses", "async"), ("anthropic", "async"), ("anthropic", "stream")])
def test_the_story(tmp_path: Path, wire: str, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(LangChain(wire, how), tmp_path)
