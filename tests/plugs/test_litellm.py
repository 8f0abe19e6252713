"""LiteLLM: the story through its callbacks, blocking calls and the router; and what is its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugs.story import MAX_OUTPUT, MODEL, TOOL, Talk, World, run_story

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks for a list of prices on the network
pytest.importorskip("litellm", reason="litellm is not installed; `make test-plugs PLUGS=litellm` brings it")

import litellm

from memorist.adapters.litellm import REACHES, MemoristLogger

pytestmark = [pytest.mark.filterwarnings("default")]
QUESTION = {"role": "user", "content": "Fix the importer, please."}
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def no_callbacks() -> Iterator[None]:
    """No test's callbacks outlive it."""
    yield
    litellm.callbacks = []


class LiteLLM:
    """A loop of one's own over LiteLLM."""

    reaches = REACHES

    def __init__(self, how: str) -> None:
        self.how = how

    def begin(self, world: World, session: str) -> Talk:
        plug = None
        if world.attached is not None:
            plug = MemoristLogger(project=world.project, attached=world.attached, session=session)
        litellm.callbacks = [] if plug is None or not self.how.startswith("hook") else [plug]
        return Conversation(world, plug, self.how)


class Conversation:
    def __init__(self, world: World, plug: MemoristLogger | None, how: str) -> None:
        self.tool = world.tool
        self.plug: Any = plug if plug is not None and not how.startswith("hook") else litellm
        self.how = how
        self.runner = asyncio.Runner()
        self.history: list[Any] = []
        tool = {"type": "function", "function": {"name": TOOL, "description": world.tool.__doc__, "parameters": SCHEMA}}
        anthropic = "anthropic" in how
        self.given: dict[str, Any] = {
            "model": f"{'anthropic' if anthropic else 'openai'}/{MODEL}",
            "api_base": world.server.url if anthropic else world.server.openai_url,
            "api_key": "none",
            "max_tokens": MAX_OUTPUT,
            "max_retries": 0,
            "tools": [tool],
        }
        deployment = {"model_name": MODEL, "litellm_params": {name: value for name, value in self.given.items() if name != "tools"}}
        self.router = litellm.Router(model_list=[deployment], num_retries=0) if "router" in how else None

    def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        while True:
            said = self.runner.run(self._later()) if "async" in self.how else self._now()
            self.history.append(said)
            if not said.tool_calls:
                return str(said.content)
            for call in said.tool_calls:
                result = self.tool(json.loads(call.function.arguments)["number"])
                self.history.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def _now(self) -> Any:
        if "stream" not in self.how:
            return self.plug.completion(messages=self.history, **self.given).choices[0].message
        return self._whole(list(self.plug.completion(messages=self.history, stream=True, **self.given)))

    async def _later(self) -> Any:
        if self.router is not None:
            reply: Any = await self.router.acompletion(model=MODEL, messages=self.history, tools=self.given["tools"])
            return reply.choices[0].message
        if "stream" not in self.how:
            return (await self.plug.acompletion(messages=self.history, **self.given)).choices[0].message
        return self._whole([chunk async for chunk in await self.plug.acompletion(messages=self.history, stream=True, **self.given)])

    def _whole(self, chunks: list[Any]) -> Any:
        whole: Any = litellm.stream_chunk_builder(chunks)
        return whole.choices[0].message

    def close(self) -> None:
        self.runner.close()


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    "how",
    [
        "hook async",
        "hook async stream",
        "hook async router",
        "hook async anthropic",
        "call",
        "call stream",
        "call async",
        "call async stream",
    ],
)
def test_the_story(tmp_path: Path, how: str) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(LiteLLM(how), tmp_path)
