"""The real Claude Code and Codex through the proxy: past the window, with what memorist added
visible in the requests that the provider got.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from clients import stories
from clients.agents import ID_LENGTH, Agent, ClaudeCode, Codex
from clients.plugged import accept_what_waits
from memorist.auto_memory.memory_file import MemoryKind
from memorist.core.token_count import estimate_text_tokens
from memorist.engine.engine import Memorist
from memorist.settings import CompactionSettings, ProxySettings, Settings
from memorist.testing import CallTool, Say, ScriptedServer, Step, check_prefix
from proxy.conftest import RunningProxy

pytestmark = pytest.mark.real_client

WINDOWS = {"claude": 60_000, "codex": 30_000}
"""Tokens that the provider takes; the agents believe in far larger windows. Their fixed beginnings
take about 22,000 and 10,000 of it.
"""
RULE = "Never change invoices.txt. Remember that amounts are in cents here."
TURNS = 8


@dataclass
class Through:
    """What an agent is given in place of its provider."""

    url: str

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"


@contextmanager
def before(server: ScriptedServer, home: Path, window: int) -> Iterator[RunningProxy]:
    """A proxy in a thread, whose engine knows the provider's window."""
    chosen = ProxySettings(port=0, upstreams={"anthropic": server.url, "openai": server.url})
    settings = Settings(compaction=CompactionSettings(window=window), proxy=chosen)
    with RunningProxy(
        home,
        chosen,
        engine=lambda where: Memorist(home=where, settings=replace(settings, home=str(where))),
    ) as proxy:
        yield proxy


def answers(request: Any) -> Step:
    """A model that lists the numbers that it is asked for, and says so when it has seen them."""
    claude = request.format == "anthropic"
    last = said(request.body["messages" if claude else "input"][-1])
    if "tool_result" in last or "function_call_output" in last:
        return Say(text="That part is read.")
    if "list the numbers" not in last:
        return Say(text="Noted.")
    number = last.partition("Part ")[2].partition(":")[0]
    command = f"seq {number}00000 {number}03500"
    return (
        CallTool(name="Bash", input={"command": command})
        if claude
        else CallTool(name="exec_command", input={"cmd": command})
    )


def said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class Made:
    """One of the agents, and where it is made before an address."""

    def __init__(self, name: str, program: Path, folder: Path) -> None:
        self.window = WINDOWS[name]
        self._kind: Any = ClaudeCode if name == "claude" else Codex
        self._program = program
        self._folder = folder

    def before(self, url: str) -> Agent:
        agent: Agent = self._kind(self._program, self._folder / "agent", Through(url))
        return agent


def begin_anew(agent: Any) -> None:
    """Its next words begin another session."""
    agent._begun = False
    agent._session = str(uuid4())


@pytest.fixture(params=["claude", "codex"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """The agents, one after the other."""
    return Made(request.param, request.getfixturevalue(f"{request.param}_program"), tmp_path)


@pytest.mark.timeout(400)
@pytest.mark.covers("IN-3", "CP-15")
def test_an_agent_works_on_past_its_window_and_what_memorist_did_is_seen_at_the_provider(
    made: Made, tmp_path: Path
) -> None:
    """Every request fits the provider's window and holds the user's rule; from some turn on
    memorist's text stands for what is old. The agent itself never compacts, though what it holds
    has grown past the window, and all of it is one session.
    """
    with (
        ScriptedServer(answers, window=made.window) as server,
        before(server, tmp_path / "home", made.window) as proxy,
    ):
        agent = made.before(proxy.url)
        agent.ask(RULE)
        for number in range(1, TURNS + 1):
            agent.ask(f"Part {number}: list the numbers.")
        proxy.close()

    bodies = [said(request.body) for request in server.received]
    events = b"".join(data for name, data in proxy.files().items() if name.endswith("events.jsonl"))
    own = agent.session_file()
    assert not server.refusals
    assert len(bodies) >= 1 + 2 * TURNS
    assert all(RULE in body for body in bodies)
    assert "Part 1: list" in bodies[1]
    assert f"Part {TURNS}: list" in bodies[-1]
    assert (
        max(map(estimate_text_tokens, bodies))
        < made.window
        < estimate_text_tokens(own.read_text("utf-8"))
    )
    assert b"conversation_compacted" in events
    assert not any(
        words in own.read_text("utf-8") for words in ("compact_boundary", '"type":"compacted"')
    )
    assert [name.split("/")[2] for name in proxy.files() if name.endswith("transcript.jsonl")] == [
        own.stem[-ID_LENGTH:]
    ]


@pytest.mark.timeout(200)
@pytest.mark.covers("IN-3", "RC-1")
def test_what_a_user_said_to_one_session_is_shown_to_the_next_one_of_the_project(
    made: Made, tmp_path: Path
) -> None:
    """Once the user has accepted what print mode was told. The project is the folder that the agent
    names by itself; the memory stands in the new session's first request, and the agent's own words
    go out as they are.
    """
    with ScriptedServer(answers) as server, before(server, tmp_path / "home", 200_000) as proxy:
        agent = made.before(proxy.url)
        agent.ask("No, always use pnpm in this repo, never npm.")
        accept_what_waits(tmp_path / "home", tmp_path / "agent" / "project", "pnpm")
        begin_anew(agent)
        agent.ask("Add the package left-pad to the shop.")

    later = said(server.received[-1].body)
    assert "Add the package left-pad to the shop." in later
    assert "always use pnpm in this repo" in later
    assert "[memorist]" in later


@pytest.mark.timeout(200)
@pytest.mark.covers("IN-3", "CP-18")
def test_the_providers_cache_serves_an_agent_as_well_through_the_proxy(
    made: Made, tmp_path: Path
) -> None:
    """While nothing is made smaller each request begins with all of the one before, memories that
    are shown included.
    """
    engine = Memorist(home=tmp_path / "home", model="structural")
    engine.memory(str(tmp_path / "agent" / "project")).add(
        RULE, kind=MemoryKind.FEEDBACK, name="invoices", description=RULE
    )
    asyncio.run(engine.close())
    with ScriptedServer(answers) as server, before(server, tmp_path / "home", 200_000) as proxy:
        agent = made.before(proxy.url)
        for words in (RULE, "Part 1: list the numbers.", "Part 2: list the numbers."):
            agent.ask(words)

    check_prefix(request.body for request in server.received)
    assert "[memorist]" in said(server.received[-1].body)
    assert len(server.received) >= 5


@pytest.mark.timeout(200)
@pytest.mark.covers("IN-3")
def test_a_subagent_has_a_session_of_its_own_and_a_summary_is_no_turn(
    claude_program: Path, tmp_path: Path
) -> None:
    """Claude Code sends both under its session's id. What is said stands in the transcript of the
    agent that said it; the request for a summary stands in none, and what follows it is the main
    session again.
    """

    def delegates(request: Any) -> Step:
        text = said(request.body["messages"])
        if "CRITICAL: Respond with TEXT ONLY" in text:
            return Say(text="<summary>All is well.</summary>")
        if "Look into it yourself." in text and "Please delegate." not in text:
            return Say(text="The helper has looked.")
        if len(request.body["messages"]) == 1 or "tool_result" not in text:
            given = {
                "description": "look",
                "prompt": "Look into it yourself.",
                "subagent_type": "general-purpose",
            }
            return (
                CallTool(name="Agent", input=given)
                if "Thanks." not in text
                else Say(text="Gladly.")
            )
        return Say(text="The main one is done.")

    with ScriptedServer(delegates) as server, before(server, tmp_path / "home", 200_000) as proxy:
        agent = Made("claude", claude_program, tmp_path).before(proxy.url)
        for words in ("Please delegate.", "/compact", "Thanks."):
            agent.ask(words)
        proxy.close()

    found = {
        name: data.decode()
        for name, data in proxy.files().items()
        if name.endswith("transcript.jsonl")
    }
    main = next(data for name, data in found.items() if f"/{agent.session_file().stem}/" in name)
    others = "".join(data for data in found.values() if data is not main)
    asked = [said(request.body) for request in server.received]
    assert len(found) == 2
    assert any("CRITICAL: Respond with TEXT ONLY" in text for text in asked)
    assert "CRITICAL: Respond" not in main + others
    assert ("The helper has looked." in others, "Please delegate." in others) == (True, False)
    assert all(
        words in main
        for words in ("Please delegate.", "The main one is done.", "Thanks.", "Gladly.")
    )


@pytest.mark.timeout(200)
@pytest.mark.covers("IN-3")
def test_the_compaction_of_codex_is_passed_on_and_its_session_goes_on(
    codex_program: Path, tmp_path: Path
) -> None:
    """The agent is told a usage past its limit and compacts: that request is no turn, and what it
    sends afterwards is the same session.
    """
    with (
        ScriptedServer(stories.CODEX_FULL_STEPS) as server,
        before(server, tmp_path / "home", 200_000) as proxy,
    ):
        agent = Made("codex", codex_program, tmp_path).before(proxy.url)
        for words in stories.ASKED_AROUND:
            agent.ask(words)
        proxy.close()

    (transcript,) = [
        data.decode() for name, data in proxy.files().items() if name.endswith("transcript.jsonl")
    ]
    assert not server.refusals
    assert server.received[2].body["tools"] == []
    assert "CONTEXT CHECKPOINT COMPACTION" not in transcript
    assert all(
        words in transcript
        for words in ("Good morning", "Birch is the oldest.", "Who is the other one?", "Alder.")
    )
