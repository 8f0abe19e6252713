"""`memorist setup`, one line in an empty home, and the real Claude Code and Codex remember."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from clients.plugged import PluggedClaude, PluggedCodex, a_home, accept_what_waits, command
from memorist.testing import Say, ScriptedServer

pytestmark = pytest.mark.real_client

TOLD = "Remember that invoices are kept in the folder ledger, one file for each year."
WORDS = "kept in the folder ledger"


def set_up(agent: PluggedClaude | PluggedCodex, name: str) -> str:
    """What `memorist setup` prints in the agent's project."""
    words = ["setup", "--only", name, "--yes", "--home", str(agent.home)]
    return command(words, agent.where, agent._project)


def test_one_line_joins_claude_code(claude_program: Path, tmp_path: Path) -> None:
    """Setup proves its hooks by a real answer, what is told in one session is in the first request
    of the next one, a second run knows the past session, and uninstall leaves nothing behind.
    """
    with a_home(tmp_path) as home, ScriptedServer((Say(text="Noted."), Say(text="Yes."))) as server:
        agent = PluggedClaude(claude_program, tmp_path, server, home)
        joined = set_up(agent, "claude-code")
        agent.ask(TOLD)
        accept_what_waits(home, agent._project)
        again = set_up(agent, "claude-code")
        agent.again(str(uuid4()))
        agent.ask("Where are the invoices?")
        command(["uninstall", "claude-code", "--home", str(home)], agent.where)

        assert "Claude Code: joined (hooks and MCP server answered)" in joined
        assert "from 1 past session" in again
        assert any(WORDS in text for text in agent.texts(server.received[-1].body))
        assert agent.files() == {}


def test_one_line_joins_codex(codex_program: Path, tmp_path: Path) -> None:
    """The same with Codex, which knows what was told from its past session too."""
    with a_home(tmp_path) as home, ScriptedServer((Say(text="Noted."), Say(text="Yes."))) as server:
        agent = PluggedCodex(codex_program, tmp_path, server, home)
        joined = set_up(agent, "codex")
        agent.ask(TOLD)
        accept_what_waits(home, agent._project)
        again = set_up(agent, "codex")
        agent.again()
        agent.ask("Where are the invoices?")

        assert "Codex: joined (hooks and MCP server answered)" in joined
        assert "from 1 past session" in again
        assert any(WORDS in text for text in agent.texts(server.received[-1].body))
