"""A story in two sessions with the real SDKs: corrected once in the first, remembered in the
second, blamed, undone, forgotten for good.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import Say

CORRECTION = (
    "No, always use pnpm in this repo, never npm. Our lock file is shared with the design team."
)


class Agent:
    """A small loop over a real SDK, as a host writes it."""

    def __init__(self, format: str, server: ScriptedServer) -> None:
        self.format = format
        self.history: list[Any] = []
        self._anthropic = AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0)
        self._openai = AsyncOpenAI(base_url=server.openai_url, api_key="none", max_retries=0)

    async def ask(self, session: Session, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        match self.format:
            case "anthropic":
                request = await session.prepare(
                    {"model": "claude-sonnet-5", "max_tokens": 500, "messages": self.history}
                )
                message = await self._anthropic.messages.create(**request)
                await session.observe(message)
                self.history.append({"role": "assistant", "content": message.content})
            case "openai_responses":
                request = await session.prepare({"model": "gpt-5", "input": self.history})
                response = await self._openai.responses.create(**request)
                await session.observe(response)
                self.history += response.output
            case _:
                request = await session.prepare({"model": "gpt-5", "messages": self.history})
                completion = await self._openai.chat.completions.create(**request)
                await session.observe(completion)
                self.history.append(completion.choices[0].message)
        await session.end_turn()

    async def close(self) -> None:
        await self._anthropic.close()
        await self._openai.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return tmp_path / "shop"


@asynccontextmanager
async def talking(
    engine: Memorist, id: str, project: Path, agent: Agent
) -> AsyncIterator[Callable[[str], Any]]:
    agent.history = []
    session = await engine.open(id, project=str(project), format=agent.format)

    async def ask(text: str) -> None:
        await agent.ask(session, text)

    yield ask
    await session.close()


@pytest.mark.covers("AM-8", "AM-10", "RC-1")
@pytest.mark.parametrize("format", ["anthropic", "openai_responses", "openai_chat"])
async def test_corrected_once_and_remembered_then_forgotten_for_good(
    tmp_path: Path, project: Path, format: str
) -> None:
    """The second session's first request tells what the first was corrected in; after an undo it
    does not; after forgetting for good no file holds it.
    """
    seen: list[str] = []

    def answer(request: Request) -> Say:
        seen.append(msgspec.json.encode(request.body).decode())
        return Say(text="I will.")

    home = tmp_path / "home"
    with ScriptedServer(answer) as server:
        agent = Agent(format, server)
        async with Memorist(model="structural", home=home) as engine:
            async with talking(engine, "first", project, agent) as ask:
                await ask("Install the dependencies, please.")
                await ask(CORRECTION)
            async with talking(engine, "second", project, agent) as ask:
                await ask("Add the package left-pad, please.")
            memory = engine.memory(str(project))
            (head,) = memory.headers()
            (change,) = memory.folder.history.list_changes(head.path)
            memory.undo()
            async with talking(engine, "third", project, agent) as ask:
                await ask("Add the package right-pad, please.")
            memory.undo(memory.folder.history.list_changes()[0].id)
            assert [each.path for each in memory.headers()] == [head.path]
            memory.purge([head.path])
        await agent.close()

    assert "always use pnpm in this repo, never npm" in seen[2]
    assert (change.why.actor, change.why.session) == ("said", "first")
    assert change.why.quote in CORRECTION
    assert "pnpm" not in seen[3]
    for file in (home / "projects").glob("*/memory*/**/*"):
        if file.is_file():
            data = file.read_bytes()
            assert b"pnpm" not in data, file
            if "objects" in file.parts:
                assert b"pnpm" not in zlib.decompress(data), file
