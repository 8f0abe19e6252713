"""Memory in a session when something goes wrong: restarts, rewritten histories, requests of odd
shape, disks and databases that refuse.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.test_memory import LONG, Loop, project, remembered
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.store.home_layout import SessionLayout
from memorist.testing import request_checks

__all__ = ["project"]

ASKED = "Why does the invoice importer round the totals?"
INDEX = "What earlier sessions"
BEARS = "bear on the last message"


def said(body: JsonObject, key: str = "messages") -> list[str]:
    return [msgspec.json.encode(item).decode() for item in body[key]]


def count(body: JsonObject, words: str) -> int:
    return sum(text.count(words) for text in said(body))


@pytest.mark.covers("CX-8")
async def test_the_hosts_instructions_stay_first(tmp_path: Path, project: Path) -> None:
    """Many providers take a system message only at the start: the index comes after it."""
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        await remembered(engine, Loop(project, engine), LONG)
        session = await engine.open("two", project=str(project), format="openai_chat")
        messages = [
            {"role": "system", "content": "You are an agent."},
            {"role": "user", "content": ASKED},
        ]
        sent = await session.prepare({"model": "gpt-5", "messages": messages})

    assert [item["role"] for item in sent["messages"]] == ["system", "user", "user", "user"]
    assert [INDEX in said(sent)[1], ASKED in said(sent)[2], BEARS in said(sent)[3]] == [
        True,
        True,
        True,
    ]
    assert (
        request_checks.find_request_problem("openai_chat", sent, window=100_000, tokens=1) is None
    )


@pytest.mark.covers("RC-1")
async def test_nothing_is_put_behind_words_that_the_host_wants_continued(
    tmp_path: Path, project: Path
) -> None:
    """A session that is taken up in the middle, with the start of a reply at the end: what is shown
    waits for the next request.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        await remembered(engine, Loop(project, engine), LONG)
        session = await engine.open("two", project=str(project))
        history: list[dict[str, Any]] = [
            {"role": "user", "content": "Hello there"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": "Because of"},
        ]
        first = await session.prepare({"model": "m", "max_tokens": 9, "messages": history})
        assert first["messages"][-1] == history[-1]
        assert len(first["messages"]) == 4
        history[-1] = {"role": "assistant", "content": "Because of a rule."}
        history.append({"role": "user", "content": "And where does that rule stand?"})
        second = await session.prepare({"model": "m", "max_tokens": 9, "messages": history})

    assert count(second, INDEX) == 1


@pytest.mark.covers("RC-1", "CX-8")
@pytest.mark.parametrize("rewritten", [False, True])
async def test_after_a_restart_each_thing_is_shown_once(
    tmp_path: Path, project: Path, rewritten: bool
) -> None:
    """The same bytes again where the host goes on; the index anew where the host comes back with
    another history, in which nothing of ours stands.
    """
    host = Loop(project)
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host.engine = engine
        await remembered(engine, host, LONG)
        session = await host.open("two")
        await host.turn(session, ASKED)
        await session.close()
    history = (
        [{"role": "user", "content": "A summary of what was said."}]
        if rewritten
        else list(host.messages)
    )
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        session = await engine.open("two", project=str(project))
        history.append({"role": "user", "content": "Now please look at the other importer too"})
        after = (await session.prepare({"model": "m", "max_tokens": 1000, "messages": history}))[
            "messages"
        ]
        await session.close()

    assert count({"messages": after}, INDEX) == 1
    if not rewritten:
        assert count({"messages": after}, BEARS) == 1


@pytest.mark.covers("SF-5", "RC-1")
async def test_a_kill_between_window_and_inserts_shows_nothing_twice(
    tmp_path: Path, project: Path
) -> None:
    """The window was saved with what had been inserted, and the list of inserts not yet thrown
    away.
    """
    host = Loop(project)
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host.engine = engine
        await remembered(engine, host, LONG)
        session = await host.open("two")
        await host.turn(session, "Hello there, my friend")
        await host.turn(session, ASKED)
        layout: SessionLayout = session.layout
        inserts = layout.injected_messages.read_bytes()
        await session.close()
    history = list(host.messages)
    for again in range(2):
        async with Memorist(model="structural", home=tmp_path / "home") as engine:
            session = await engine.open("two", project=str(project))
            history.append({"role": "user", "content": f"Thanks {again}"})
            sent = await session.prepare({"model": "m", "max_tokens": 1000, "messages": history})
            await session.close()
        layout.injected_messages.write_bytes(inserts)

    assert (count(sent, INDEX), count(sent, BEARS)) == (1, 1)


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    "harm", ["no ledger", "locked", "no folder", "folder is a file", "no state", "bad history"]
)
async def test_the_host_sees_no_error_of_memory(tmp_path: Path, project: Path, harm: str) -> None:
    """Whatever becomes of folder and database while the session runs, every call of the session
    goes through.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        await remembered(engine, host, LONG)
        session = await host.open("two")
        where = engine.memory(str(project)).layout
        locking = sqlite3.connect(engine.layout.database, isolation_level=None)
        match harm:
            case "no ledger":
                locking.execute("drop table memory_uses")
            case "locked":
                engine.database().execute("pragma busy_timeout = 10")
                locking.execute("begin immediate")
            case "no state":
                shutil.rmtree(where.state)
            case "bad history":
                for path in (where.history / "objects").rglob("*"):
                    if path.is_file():
                        path.chmod(0o600)
                        path.write_bytes(b"")
                (where.folder / "new.md").write_text("Something new about the parser.")
            case _:
                shutil.rmtree(where.folder)
                if harm == "folder is a file":
                    where.folder.write_text("x")
        await host.turn(session, ASKED)
        await host.turn(session, "Remember that the staging database runs on port 5433.")
        await host.turn(session, "Forget that the staging database runs on port 5433.")
        locking.close()
        await session.close()

    if harm in ("no ledger", "locked", "no state", "bad history"):
        assert count(host.sent[-3], INDEX) == 1
        assert count(host.sent[-3], BEARS) == 1


@pytest.mark.covers("CP-8", "RC-1", "CX-8")
async def test_a_request_that_is_sent_again_smaller_shows_the_index(
    tmp_path: Path, project: Path
) -> None:
    """After the provider refused a request as too long, the new window begins with the index at
    once, so that the next request extends it.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        await remembered(engine, host, LONG)
        session = await host.open("two")
        for number in range(12):
            await host.turn(
                session,
                f"Read this page {number}: " + "some words about nothing much at all " * 400,
            )
        host.messages.append({"role": "user", "content": "Now the last of the pages"})
        await session.prepare({"model": "m", "max_tokens": 1000, "messages": host.messages})
        smaller = await session.shrink_refused_request()
        assert smaller is not None
        again = list(smaller["messages"])
        host.messages += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "And once more"},
        ]
        then = await session.prepare({"model": "m", "max_tokens": 1000, "messages": host.messages})
        await session.close()

    assert INDEX in said({"messages": again})[0]
    assert said(then)[0] == said({"messages": again})[0]
    assert [item["role"] for item in then["messages"][: len(again)]] == [
        item["role"] for item in again
    ]
    assert count(then, INDEX) == 1


@pytest.mark.covers("AM-8", "EN-1")
async def test_a_second_wish_reads_no_memory_again(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a wish may mean is found among memories that were read for the wish before; one that
    changed meanwhile is read anew.
    """
    read: list[str] = []
    plain = MemoryFolder.read_memory_file

    def noted(self: MemoryFolder, path: str) -> MemoryFile:
        read.append(path)
        return plain(self, path)

    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        memory = engine.memory(str(project))
        for number in range(8):
            memory.add(
                f"The number {number} stands for the port of machine {number}",
                kind=MemoryKind.PROJECT,
                name=f"n{number}",
                description="d",
            )
        session = await host.open("one")
        await host.turn(session, "Remember that the staging database runs on port 5433.")
        (memory.layout.folder / "n3.md").write_text("Changed by hand.")
        monkeypatch.setattr(MemoryFolder, "read_memory_file", noted)
        await host.turn(session, "Remember that the backup runs every night at two.")
        await session.close()

    assert "n3.md" in read
    assert not {"n0.md", "n1.md", "n7.md"}.intersection(read)
    assert len(engine.memory(str(project)).headers()) == 10
