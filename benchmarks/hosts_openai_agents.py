"""OpenAI Agents alone, with its own sessions and filters, and with memorist's session. Run in its
own environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agents import (
    Agent,
    OpenAIResponsesModel,
    RunConfig,
    RunHooks,
    Runner,
    Session,
    SessionSettings,
    SQLiteSession,
    function_tool,
)
from agents.extensions import ToolOutputTrimmer
from agents.memory import OpenAIResponsesCompactionSession
from openai import AsyncOpenAI

from benchmarks.host_task import HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld
from memorist.adapters.openai_agents import MemoristSession

PACKAGES = ("openai-agents",)
LIMIT = 20
"""Items that a session with a limit gives back."""
COMPACTING_MODEL = "gpt-4.1"
"""The default of the compacting session, which takes names of OpenAI's models alone."""


class _Talk:
    def __init__(
        self,
        client: AsyncOpenAI,
        session: Session,
        config: RunConfig | None = None,
        hooks: RunHooks[Any] | None = None,
    ) -> None:
        self._client = client
        self._session = session
        self._config = config or RunConfig(tracing_disabled=True)
        self._hooks = hooks
        self._runner = asyncio.Runner()
        self._agent = Agent(
            name="Clerk",
            instructions="You help.",
            model=OpenAIResponsesModel(MODEL, client),
            tools=[function_tool(read_page)],
        )

    def say(self, text: str) -> object:
        return self._runner.run(
            Runner.run(
                self._agent,
                text,
                session=self._session,
                run_config=self._config,
                hooks=self._hooks,
                max_turns=200,
            )
        ).final_output

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


def _client(world: HostWorld) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=world.server.openai_url, api_key="none", max_retries=0)


def _alone(world: HostWorld) -> HostTalk:
    return _Talk(_client(world), SQLiteSession("task"))


def _limit(world: HostWorld) -> HostTalk:
    config = RunConfig(tracing_disabled=True, session_settings=SessionSettings(limit=LIMIT))
    return _Talk(_client(world), SQLiteSession("task"), config)


def _trim(world: HostWorld) -> HostTalk:
    config = RunConfig(tracing_disabled=True, call_model_input_filter=ToolOutputTrimmer())
    return _Talk(_client(world), SQLiteSession("task"), config)


def _compact(world: HostWorld) -> HostTalk:
    client = _client(world)
    session = OpenAIResponsesCompactionSession(
        "task",
        SQLiteSession("task"),
        client=client,
        model=COMPACTING_MODEL,
        compaction_mode="input",
    )
    return _Talk(client, session)


def _memorist(world: HostWorld) -> HostTalk:
    session = MemoristSession(
        "task", project=world.folder, home=world.folder / "home", settings=world.settings
    )
    config = session.run_config(RunConfig(tracing_disabled=True))
    return _Talk(_client(world), session, config, session.hooks())


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "alone (`SQLiteSession`)": _alone,
    "`SessionSettings(limit=20)`": _limit,
    "`ToolOutputTrimmer`": _trim,
    "`OpenAIResponsesCompactionSession`": _compact,
    "memorist": _memorist,
}
