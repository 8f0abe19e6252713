"""A project with a home of its own, a session recorded in it, and a client of the real SDK that
speaks to the server without a process.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client

from memorist.engine.engine import Memorist
from memorist.mcp_server.stdio_server import McpServer
from memorist.settings import AutoMemorySettings, Settings

Mode = Literal["auto", "legacy"]
Connect = Callable[..., AbstractAsyncContextManager["Asker"]]


@dataclass
class Asker:
    """A client, and short ways to ask."""

    client: Client

    async def ask(self, tool: str, **arguments: Any) -> str:
        """What a tool says; it must not be an error."""
        said, wrong = await self.tried(tool, **arguments)
        assert not wrong, said
        return said

    async def tried(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """What a tool says, and whether it is an error."""
        return said(await self.client.call_tool(tool, arguments))

    async def resource(self, uri: str) -> str:
        """The text of a resource."""
        (found,) = (await self.client.read_resource(uri)).contents
        assert isinstance(found, types.TextResourceContents)
        return found.text

    async def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt."""
        (message,) = (await self.client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text


def said(result: types.CallToolResult) -> tuple[str, bool]:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text, bool(result.is_error)


def folder(path: Path) -> Path:
    """A project of its own."""
    (path / ".git").mkdir(parents=True)
    return path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return folder(tmp_path / "shop")


@pytest.fixture
def connect(shop: Path) -> Connect:
    """Connects a client to a server that was started in a folder, the shop's unless told otherwise.
    With `roots` the client says where it works.
    """

    @asynccontextmanager
    async def connected(
        working: Path = shop,
        *,
        named: Path | None = None,
        roots: Sequence[str] | None = None,
        mode: Mode = "auto",
    ) -> AsyncIterator[Asker]:
        async def told(context: object) -> types.ListRootsResult:
            return types.ListRootsResult(
                roots=[types.Root.model_validate({"uri": root}) for root in roots or ()]
            )

        reception = McpServer(named, working)
        info = types.Implementation(name="Test Client/1", version="1")
        try:
            async with Client(
                reception.build_server(),
                mode=mode,
                client_info=info,
                list_roots_callback=None if roots is None else told,
            ) as client:
                yield Asker(client)
        finally:
            reception.close()

    return connected


async def recorded(project: Path, session: str, words: Sequence[str], *, result: str = "") -> None:
    """A session in which the user typed these words; with `result` a tool answers at the end.
    Nothing is remembered of it.
    """
    home = os.environ["MEMORIST_HOME"]
    async with Memorist(
        settings=Settings(home=home, auto_memory=AutoMemorySettings(policy="off"))
    ) as engine:
        live = await engine.open(session, project=str(project))
        messages: list[Any] = []
        for each in words:
            messages += [
                {"role": "user", "content": each},
                {"role": "assistant", "content": "Done."},
            ]
        if result:
            messages += [
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "call_1",
                            "name": "Bash",
                            "input": {"command": "ls"},
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "call_1", "content": result}
                    ],
                },
            ]
        await live.prepare({"model": "m", "max_tokens": 100, "messages": messages})
        await live.update_notes()
