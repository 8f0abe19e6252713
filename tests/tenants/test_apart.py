"""Two hundred sessions at once: nothing of one tenant or project comes up in another's requests or files, and every transcript is whole."""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import msgspec

from memorist.bench.sessions_play import Agent, Guest, Size, guests, play
from memorist.core.messages import JsonObject
from memorist.formats.memorist_jsonl import read
from memorist.ports import Request
from memorist.settings import Settings
from memorist.store.lines import LineFile
from memorist.tenants import Tenants
from memorist.testing.scripted import ScriptedModel
from memorist.testing.steps import Say, Step

SIGN = re.compile(r"zq(t\d+)x(p\d+)qz")
SIZE = Size(turns=3, page=16_000, pause=0.01)


def signs(data: str | bytes) -> set[tuple[str, str]]:
    """The tenants and projects whose words stand in it."""
    return set(SIGN.findall(data if isinstance(data, str) else data.decode("utf-8", "replace")))


def answer(request: Request) -> Step:
    """A model that repeats what it was shown, so that what it should not have seen would come back in what is written."""
    words = msgspec.json.encode(request.body).decode()
    seen = " ".join(sorted({match[0] for match in SIGN.finditer(words)}))
    return Say(text=f"<summary>\n1. The user wants {seen} mended.\n</summary>\n" + f"The work goes on with {seen}. " * 40)


async def test_two_hundred_sessions_at_once_stay_apart(tmp_path: Path) -> None:
    """Five tenants with four projects each, three wire formats, notes and memories by a model that repeats all it sees, a compaction each, and so few
    places that sessions are closed and opened again while they are at work.
    """
    sent: dict[tuple[str, str, str], list[JsonObject]] = defaultdict(list)

    def seen(guest: Guest, request: JsonObject) -> None:
        sent[guest.tenant, guest.project, guest.id].append(request)

    model = ScriptedModel(answer, strict=False, window=2_000_000)
    agents = [Agent(guest, SIZE, seen) for guest in guests(200, tenants=5, projects=4)]
    async with Tenants(tmp_path, settings=Settings(), model=model, most_open=150) as tenants:
        await play(tenants, agents)

        assert tenants.open_sessions <= 200
    forks = [signs(msgspec.json.encode(request.body)) for request in model.requests]
    requests = {key: [signs(msgspec.json.encode(body)) for body in bodies] for key, bodies in sent.items()}

    assert len(requests) == 200
    assert all(found == {key[:2]} for key, bodies in requests.items() for found in bodies)
    assert len(forks) >= 400
    assert all(len(found) == 1 for found in forks)
    assert all(agent.compacted for agent in agents)
    assert any(b'"resumed":true' in path.read_bytes() for path in tmp_path.rglob("events.jsonl")), (
        "some were closed and opened again meanwhile"
    )
    recalled = Counter(key[:2] for key, bodies in sent.items() if "earlier sessions in this project" in str(bodies[0]))
    assert len(recalled) == 20, "sessions of a project were shown what others in it had learned"
    _files_stay_apart(tmp_path)
    for agent in agents:
        _whole(tmp_path, agent)


def _files_stay_apart(root: Path) -> None:
    """Below a project's folder only its own words; in what a home has beside its projects only the tenant's."""
    found: dict[Path, set[tuple[str, str]]] = defaultdict(set)
    for path in (path for path in root.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if "objects" in path.parts:
            data = zlib.decompress(data)
        parts = path.relative_to(root).parts
        found[root.joinpath(*parts[: 3 if parts[1] == "projects" else 1])] |= signs(data) | signs(str(path.relative_to(root)))
    projects = {folder: marks for folder, marks in found.items() if folder.parent.name == "projects"}

    assert len(projects) == 20
    assert all(len(marks) == 1 and next(iter(marks))[0] == folder.parents[1].name for folder, marks in projects.items())
    assert len({mark for marks in projects.values() for mark in marks}) == 20
    assert all({tenant for tenant, _ in marks} <= {folder.name} for folder, marks in found.items() if folder not in projects)


def _whole(root: Path, agent: Agent) -> None:
    """All that its user said is in the transcript, once and in order, and each call has its answer."""
    (path,) = root.glob(f"{agent.guest.tenant}/projects/*{agent.guest.project}*/{agent.guest.id}/transcript.jsonl")
    messages: list[Any] = [entry for entry in read(LineFile(path)) if hasattr(entry, "blocks")]
    texts = [message.text for message in messages if message.role == "user" and message.text and not message.tool_results]
    calls = [call.id for message in messages for call in message.tool_uses]
    results = [result.tool_use_id for message in messages for result in message.tool_results]

    assert [text for text in texts if agent.guest.id in text] == agent.said
    assert calls == results
    assert len(calls) == agent.size.turns
