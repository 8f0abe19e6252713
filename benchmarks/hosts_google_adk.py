"""Google ADK alone, with its events compaction, and with memorist's plug-in; its Gemini client
speaks to a Gemini endpoint on loopback before the server of the task. Run in its own environment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models.google_llm import Gemini
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from benchmarks.host_task import WINDOW, HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld
from memorist.adapters.google_adk import MemoristPlugin
from plugs.gemini import GeminiGateway

PACKAGES = ("google-adk",)
TRIGGER = WINDOW * 7 // 10
APP, USER, SESSION = "harbour", "ada", "task"


class _Talk:
    def __init__(
        self,
        world: HostWorld,
        compaction: EventsCompactionConfig | None = None,
        plugins: tuple[BasePlugin, ...] = (),
    ) -> None:
        # The client of Gemini wants a key, and no cloud.
        os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GENAI_USE_ENTERPRISE": "FALSE"}
        self._server = world.server
        self._stack = ExitStack()
        self._gateway = self._stack.enter_context(GeminiGateway(world.server))
        self._loop = self._stack.enter_context(asyncio.Runner())
        agent = LlmAgent(
            name="reader",
            model=Gemini(model=MODEL, base_url=self._gateway.url),
            instruction="You help.",
            tools=[read_page],
        )
        app = App(
            name=APP, root_agent=agent, plugins=list(plugins), events_compaction_config=compaction
        )
        sessions = InMemorySessionService()
        self._runner = Runner(app=app, session_service=sessions)
        self._loop.run(sessions.create_session(app_name=APP, user_id=USER, session_id=SESSION))

    def say(self, text: str) -> object:
        return self._loop.run(self._say(text))

    async def _say(self, text: str) -> None:
        content = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in self._runner.run_async(
            user_id=USER, session_id=SESSION, new_message=content
        ):
            pass

    def close(self) -> None:
        self._server.refusals += self._gateway.refusals
        self._stack.close()


def _compact(world: HostWorld, **options: int) -> HostTalk:
    return _Talk(world, EventsCompactionConfig(**options))


def _memorist(world: HostWorld) -> HostTalk:
    plugin = MemoristPlugin(
        project=world.folder, user="", home=world.folder / "home", settings=world.settings
    )
    return _Talk(world, plugins=(plugin,))


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "alone": _Talk,
    "`EventsCompactionConfig`, every 3 invocations, overlap 1": partial(
        _compact, compaction_interval=3, overlap_size=1
    ),
    "`EventsCompactionConfig`, by tokens, 10 events kept": partial(
        _compact, token_threshold=TRIGGER, event_retention_size=10
    ),
    "memorist": _memorist,
}
