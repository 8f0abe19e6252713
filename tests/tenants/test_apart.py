"""Two hundred sessions at once: nothing of one tenant or project comes up in another's requests or
files, and every transcript is whole.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import zlib
from collections import Counter, defaultdict
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.sessions import Agent, Guest, SessionsLoad, guests, play_agents
from memorist.context.git_state import read_git_state
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.engine.tenants import Tenants
from memorist.formats.transcript_format import read_session
from memorist.ports import Request
from memorist.settings import Settings
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import CallTool, Say, Step
from support.sweeps import sampled

SIGN = re.compile(r"zq(t\d+)x(p\d+)qz")
SIZE = SessionsLoad(turns=3, page=16_000, pause=0.01)


def signs(data: str | bytes) -> set[tuple[str, str]]:
    """The tenants and projects whose words stand in it."""
    return set(SIGN.findall(data if isinstance(data, str) else data.decode("utf-8", "replace")))


def answer(request: Request) -> Step:
    """A model that repeats what it was shown, so that what it should not have seen would come back
    in what is written.
    """
    words = msgspec.json.encode(request.body).decode()
    seen = " ".join(sorted({match[0] for match in SIGN.finditer(words)}))
    return Say(
        text=f"<summary>\n1. The user wants {seen} mended.\n</summary>\n"
        + f"The work goes on with {seen}. " * 40
    )


@pytest.mark.parametrize(
    ("sessions", "tenants", "projects"), sampled([(16, 4, 2), (200, 5, 4)], {(16, 4, 2)})
)
async def test_sessions_at_once_stay_apart(
    tmp_path: Path, sessions: int, tenants: int, projects: int
) -> None:
    """Tenants with several projects each, three wire formats, notes and memories by a model that
    repeats all it sees, a compaction each, and so few places that sessions are closed and opened
    again while they are at work.
    """
    sent: dict[tuple[str, str, str], list[JsonObject]] = defaultdict(list)

    def seen(guest: Guest, request: JsonObject) -> None:
        sent[guest.tenant, guest.project, guest.id].append(request)

    model = ScriptedModel(answer, strict=False, window=2_000_000)
    agents = [
        Agent(guest, SIZE, seen) for guest in guests(sessions, tenants=tenants, projects=projects)
    ]
    async with Tenants(
        tmp_path, settings=Settings(), model=model, most_open=sessions // 4
    ) as served:
        await play_agents(served, agents)

        assert served.open_sessions <= sessions
    forks = [signs(msgspec.json.encode(request.body)) for request in model.requests]
    requests = {
        key: [signs(msgspec.json.encode(body)) for body in bodies] for key, bodies in sent.items()
    }

    assert len(requests) == sessions
    assert all(found == {key[:2]} for key, bodies in requests.items() for found in bodies)
    assert len(forks) >= 2 * sessions
    assert all(len(found) == 1 for found in forks)
    assert all(agent.compacted for agent in agents)
    assert any(b'"resumed":true' in path.read_bytes() for path in tmp_path.rglob("events.jsonl")), (
        "some were closed and opened again meanwhile"
    )
    recalled = Counter(
        key[:2]
        for key, bodies in sent.items()
        if "earlier sessions in this project" in str(bodies[0])
    )
    assert len(recalled) == tenants * projects, (
        "sessions of a project were shown what others in it had learned"
    )
    _files_stay_apart(tmp_path, tenants * projects)
    for agent in agents:
        _whole(tmp_path, agent)


def _files_stay_apart(root: Path, count: int) -> None:
    """Below a project's folder only its own words; in what a home has beside its projects only the
    tenant's.
    """
    found: dict[Path, set[tuple[str, str]]] = defaultdict(set)
    for path in (path for path in root.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if "objects" in path.parts:
            data = zlib.decompress(data)
        parts = path.relative_to(root).parts
        found[root.joinpath(*parts[: 3 if parts[1] == "projects" else 1])] |= signs(data) | signs(
            str(path.relative_to(root))
        )
    projects = {
        folder: marks for folder, marks in found.items() if folder.parent.name == "projects"
    }

    assert len(projects) == count
    assert all(
        len(marks) == 1 and next(iter(marks))[0] == folder.parents[1].name
        for folder, marks in projects.items()
    )
    assert len({mark for marks in projects.values() for mark in marks}) == count
    assert all(
        {tenant for tenant, _ in marks} <= {folder.name}
        for folder, marks in found.items()
        if folder not in projects
    )


def _whole(root: Path, agent: Agent) -> None:
    """All that its user said is in the transcript, once and in order, and each call has its answer."""
    (path,) = root.glob(
        f"{agent.guest.tenant}/projects/*{agent.guest.project}*/{agent.guest.id}/transcript.jsonl"
    )
    messages: list[Any] = [
        entry for entry in read_session(UnpackedUtf8Lines(path)) if hasattr(entry, "blocks")
    ]
    texts = [
        message.text
        for message in messages
        if message.role == "user" and message.text and not message.tool_results
    ]
    calls = [call.id for message in messages for call in message.tool_uses]
    results = [result.tool_use_id for message in messages for result in message.tool_results]

    assert [text for text in texts if agent.guest.id in text] == agent.said
    assert calls == results
    assert len(calls) == agent.size.turns


class Thief:
    """A model that, when it is asked to keep memories, first asks for a file of somebody else."""

    def __init__(self, wanted: Path) -> None:
        self.wanted = wanted
        self.model = ScriptedModel(self._next, name="scripted:m")

    def _next(self, request: Request) -> Step:
        asked = "stolen" in msgspec.json.encode(request.body).decode()
        return (
            Say(text="Nothing to keep.")
            if asked
            else CallTool(name="Read", input={"file_path": str(self.wanted)}, id="stolen")
        )

    @property
    def saw(self) -> bool:
        return any(
            b"their secret plan" in msgspec.json.encode(request.body)
            for request in self.model.requests
        )


async def _turn(session: Session) -> None:
    said = [
        {
            "role": "user",
            "content": "Could you run the slow tests as well when you touch the parser? It broke "
            "twice.",
        }
    ]
    await session.prepare(
        {
            "model": "m",
            "max_tokens": 1000,
            "messages": said,
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        }
    )
    await session.observe(
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Yes."}],
            "usage": {"input_tokens": 20, "output_tokens": 1},
        }
    )
    await session.end_turn()


@pytest.mark.covers("SF-2")
async def test_extraction_cannot_be_talked_into_reading_another_tenants_files(
    tmp_path: Path,
) -> None:
    """What a tenant says steers the fork that keeps memories; alone on a machine it may read, among
    tenants it may not.
    """
    other = tmp_path / "homes" / "bob" / "projects" / "plan.md"
    other.parent.mkdir(parents=True)
    other.write_text("their secret plan")
    alone, among = Thief(other), Thief(other)
    async with Memorist(home=tmp_path / "own", model=alone.model, settings=Settings()) as engine:
        await _turn(await engine.open("s", project=str(tmp_path / "shop")))
    async with (
        Tenants(tmp_path / "homes", settings=Settings(), model=among.model) as tenants,
        tenants.session("alice", "s", project="shop") as session,
    ):
        await _turn(session)

    assert alone.saw
    assert len(among.model.requests) >= 2
    assert not among.saw


async def test_what_is_closed_later_is_closed_in_nobodys_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variables of the task that used a session last, or needed its place, do not reach what
    closes it.
    """
    name: ContextVar[str] = ContextVar("user", default="nobody")
    seen: list[str] = []

    async def use(tenants: Tenants, user: str) -> None:
        name.set(user)
        async with tenants.session(user, "s") as session:
            end = session.close

            async def noted() -> None:
                seen.append(name.get())
                await end()

            monkeypatch.setattr(session, "close", noted)

    async with Tenants(tmp_path, settings=Settings(), most_open=1) as tenants:
        for user in ("alice", "bob", "carol"):
            await asyncio.create_task(use(tenants, user))

    assert seen == ["nobody"] * 3


def test_git_is_asked_as_the_tenant(tmp_path: Path) -> None:
    """The name that a snapshot of a repository tells is that of the home, not of whoever runs the
    process.
    """
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitconfig").write_text("[user]\nname = Alice\n")

    state = read_git_state(tmp_path, {**os.environ, "HOME": str(tmp_path)})

    assert state is not None
    assert state.user == "Alice"
