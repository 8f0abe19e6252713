"""The agents' programs, and the sessions that several tests look at; each session is run once."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients import stories
from clients.agents import ClaudeCode, Codex, Ran, converse, find_program
from memorist.testing import ScriptedServer


@pytest.fixture(scope="session")
def codex_program() -> Path:
    """Codex CLI."""
    return find_program("CODEX_PROGRAM", "@openai/codex-*/vendor/*/bin/codex")


@pytest.fixture(scope="session")
def claude_program() -> Path:
    """Claude Code."""
    return find_program("CLAUDE_PROGRAM", "@anthropic-ai/claude-code-*/claude")


@pytest.fixture(scope="session")
def codex_session(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two turns of Codex with tools, the second one resumed."""
    folder = tmp_path_factory.mktemp("codex-session")
    with ScriptedServer(stories.CODEX_STEPS) as server:
        return converse(
            Codex(codex_program, folder, server), server, stories.ASKED, stories.CODEX_STEPS, folder
        )


@pytest.fixture(scope="session")
def codex_compaction(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Three turns of Codex; its context is full in the middle of the second."""
    folder = tmp_path_factory.mktemp("codex-compaction")
    with ScriptedServer(stories.CODEX_FULL_STEPS) as server:
        return converse(
            Codex(codex_program, folder, server),
            server,
            stories.ASKED_AROUND,
            stories.CODEX_FULL_STEPS,
            folder,
        )


@pytest.fixture(scope="session")
def claude_session(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two turns of Claude Code with tools, `/compact`, and one more turn; all but the first
    resumed.
    """
    folder = tmp_path_factory.mktemp("claude-session")
    with ScriptedServer(stories.CLAUDE_STEPS) as server:
        return converse(
            ClaudeCode(claude_program, folder, server),
            server,
            stories.CLAUDE_ASKED,
            stories.CLAUDE_STEPS,
            folder,
        )
