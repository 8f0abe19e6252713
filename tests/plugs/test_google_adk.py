"""Google ADK: the story with its real runner and Gemini client, and what is particular to its contents, its memory service and its compaction."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from plugs.story import EVERYTHING, MAX_OUTPUT, MODEL, Talk, World, run_story

pytest.importorskip("google.adk", reason="google-adk is not installed; `make test-plugs PLUGS=google-adk` brings it")

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models.google_llm import Gemini
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from memorist.adapters.google_adk import MemoristPlugin
from plugs.gemini import GeminiGateway

USER = {"app_name": "harbour", "user_id": "ada"}


@pytest.fixture(autouse=True)
def gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of Gemini wants a key, and no cloud."""
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "FALSE")


class Adk:
    """A runner with one agent."""

    reaches = EVERYTHING

    def __init__(self, mode: StreamingMode) -> None:
        self.mode = mode

    def begin(self, world: World, session: str) -> Talk:
        return Conversation(world, session, self.mode)


class Conversation:
    def __init__(self, world: World, session: str, mode: StreamingMode = StreamingMode.NONE, **more: Any) -> None:
        self.stack = ExitStack()
        self.gateway = self.stack.enter_context(GeminiGateway(world.server))
        self.loop = self.stack.enter_context(asyncio.Runner())
        plugins = [] if world.attached is None else [MemoristPlugin(project=world.project, attached=world.attached)]
        self.model = Gemini(model=MODEL, base_url=self.gateway.url)
        agent = LlmAgent(
            name="reader",
            model=self.model,
            instruction="You help.",
            tools=[world.tool, *more.pop("tools", ())],
            generate_content_config=types.GenerateContentConfig(max_output_tokens=MAX_OUTPUT),
        )
        app = App(name="harbour", root_agent=agent, plugins=plugins, events_compaction_config=more.pop("compaction", None))
        self.sessions = InMemorySessionService()
        self.runner = Runner(app=app, session_service=self.sessions, **more)
        self.session = session
        self.mode = mode
        self.loop.run(self.sessions.create_session(session_id=session, **USER))

    def say(self, text: str, *parts: types.Part) -> str:
        return self.loop.run(self._say(types.Content(role="user", parts=[types.Part(text=text), *parts])))

    async def _say(self, content: types.Content) -> str:
        last = ""
        run = self.runner.run_async(
            user_id="ada", session_id=self.session, new_message=content, run_config=RunConfig(streaming_mode=self.mode)
        )
        async for event in run:
            if event.is_final_response() and not event.partial and event.content and event.content.parts:
                last = "".join(part.text or "" for part in event.content.parts)
        return last

    def close(self) -> None:
        self.loop.run(self._end())
        self.stack.close()
        assert not self.gateway.refusals, self.gateway.refusals

    async def _end(self) -> None:
        await self.runner.close()
        await self.model.api_client.aio.aclose()  # a client of the running loop, which ADK leaves open


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
def test_the_story(tmp_path: Path, mode: StreamingMode) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(Adk(mode), tmp_path)
