"""The connection stays awake: while a folder is locked, while many calls wait, and when a client
gives up on one.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from mcp_server.conftest import Connect
from memorist.mcp_server import call_dispatch
from memorist.store.process_lock import hold_lock
from support.waiting import count_lock_waits


async def test_a_locked_folder_holds_up_only_what_needs_it(connect: Connect) -> None:
    """While another process writes, the list of tools is answered; the write is done as soon as the
    lock is free.
    """
    async with connect() as asker:
        await asker.ask(
            "memory_write", text="The door is green.", kind="project", description="The door"
        )
        (state,) = Path(os.environ["MEMORIST_HOME"]).glob("projects/*/memory-state")
        with hold_lock(state / "lock"):
            write = asyncio.create_task(
                asker.ask(
                    "memory_write", text="The roof is red.", kind="project", description="The roof"
                )
            )
            tools = await asker.client.list_tools()
            assert len(tools.tools) == 10
            assert not write.done()
        assert await write == "remembered: the-roof.md"


async def test_a_locked_database_holds_up_no_search(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of the home, where the use of what was found is counted, nor the index: each
    costs a second once.
    """
    async with connect() as asker:
        await asker.ask(
            "memory_write", text="The door is green.", kind="project", description="The door"
        )
        home = Path(os.environ["MEMORIST_HOME"])
        assert "green" in await asker.ask("memory_search", query="which colour has the door?")
        await asker.ask(
            "memory_write", text="The roof is red.", kind="project", description="The roof"
        )
        with ExitStack() as locks:
            for path in (home / "state.sqlite", *home.glob("projects/*/*/recall.sqlite")):
                other = locks.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
                other.execute("begin exclusive")
            waits = count_lock_waits(monkeypatch)
            answers = [await asker.ask("memory_search", query="the red roof") for _ in range(4)]

    assert all("The roof is red" in answer for answer in answers)
    assert len(waits) == 2


async def test_calls_at_once_are_all_answered(connect: Connect) -> None:
    """Twenty writes and twenty searches of one client at the same time: each has its own answer,
    and nothing is lost.
    """
    async with connect() as asker:
        texts = [f"The bird number {number} eats fish." for number in range(20)]
        writes = [
            asker.ask("memory_write", text=text, kind="project", description=f"Bird {number}")
            for number, text in enumerate(texts)
        ]
        answers = await asyncio.gather(
            *writes, *(asker.ask("memory_search", query="which bird eats fish?") for _ in texts)
        )
        status = await asker.ask("status")

    assert sorted(answers[:20]) == sorted(f"remembered: bird-{number}.md" for number in range(20))
    assert "memories: 20 " in status


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_is_given_up_is_finished(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """A client that does not wait for its write gets an error, the write is whole, and the next
    call is answered.
    """
    begun, going = threading.Event(), threading.Event()
    told = call_dispatch._call_memory_tool

    def slowly(*given: Any) -> str:
        begun.set()
        going.wait(30)
        return told(*given)

    async with connect(mode=mode) as asker:
        await asker.ask("status")
        monkeypatch.setattr(call_dispatch, "_call_memory_tool", slowly)
        write = {"text": "The door is green.", "kind": "project", "description": "The door"}
        for seconds in (0.05, 0.5, 5):  # one given up before it began writes nothing
            with pytest.raises(MCPError):
                await asker.client.call_tool("memory_write", write, read_timeout_seconds=seconds)
            if begun.is_set():
                break
        going.set()
        read = await asker.client.call_tool("memory_read", {"path": "the-door.md"})

    assert not read.is_error
    assert isinstance(read.content[0], types.TextContent)
    assert "The door is green." in read.content[0].text
