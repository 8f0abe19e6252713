"""Real agents as people use them: folders with other letters, spaces and quotes in their names, a
start below the repository's root, and a session that is forked after something was forgotten.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from clients.agents import _run
from clients.plugged import PluggedClaude, PluggedCodex, a_home, accept_what_waits, command
from memorist.testing import Say, ScriptedServer

pytestmark = pytest.mark.real_client

FOLDER = "Ann's projects – „neu“ $HOME (日本)"
TOLD = "Remember that invoices are kept in the folder ledger, one file for each year."
WORDS = "kept in the folder ledger"
STEPS = (Say(text="Noted."), Say(text="Yes."))


@pytest.mark.parametrize("agent_name", ["claude-code", "codex"])
def test_what_is_told_below_a_repository_is_known_at_its_root(
    request: pytest.FixtureRequest, tmp_path: Path, agent_name: str
) -> None:
    """The hooks run by the agent's own shell, whatever the home, the project and the folder below
    are called; the whole repository has one memory.
    """
    folder = tmp_path / FOLDER
    program = request.getfixturevalue(agent_name.replace("-code", "") + "_program")
    plugged = PluggedClaude if agent_name == "claude-code" else PluggedCodex
    with a_home(folder) as home, ScriptedServer(STEPS) as server:
        agent = plugged(program, folder, server, home)
        (agent._project / ".git").mkdir()
        (agent._project / "pkg" / "a b").mkdir(parents=True)
        words = ["setup", "--only", agent_name, "--yes", "--home", str(home)]
        joined = command(words, agent.where, agent._project)
        agent.ask(TOLD, folder="pkg/a b")
        accept_what_waits(home, agent._project)
        if isinstance(agent, PluggedClaude):
            agent.again(str(uuid4()))
        else:
            agent.again()
        agent.ask("Where are the invoices?")

        assert "joined (hooks and MCP server answered)" in joined
        assert any(WORDS in text for text in agent.texts(server.received[-1].body))


def test_what_was_forgotten_comes_back_by_no_fork_and_no_past_session(
    claude_program: Path, tmp_path: Path
) -> None:
    """A fork begins with the whole conversation, in which it was told: it is neither remembered
    again nor proposed, and a new session is not shown the sentence that the user took back.
    """
    steps = tuple(Say(text=f"Yes {number}.") for number in range(3))
    with a_home(tmp_path) as home, ScriptedServer(steps) as server:
        agent = PluggedClaude(claude_program, tmp_path, server, home)
        set_up = ["setup", "--only", "claude-code", "--yes", "--home", str(home)]
        command(set_up, agent.where, agent._project)
        where = {**agent.where, "MEMORIST_HOME": str(home)}
        agent.ask(TOLD)
        name = accept_what_waits(home, agent._project).name
        command(["memory", "forget", "--yes", name], where, agent._project)
        forked = ["--resume", agent._session, "--fork-session", "--model", "claude-sonnet-4-5"]
        _run(
            [str(claude_program), "-p", "Which colour has it?", *forked],
            agent._project,
            agent._environment,
        )
        agent.again(str(uuid4()))
        agent.ask("Where are the invoices kept, in which folder?")

        assert "no memories yet" in command(["memory", "list"], where, agent._project)
        assert "nothing waits" in command(["memory", "inbox"], where, agent._project)
        assert not any(WORDS in text for text in agent.texts(server.received[-1].body))
