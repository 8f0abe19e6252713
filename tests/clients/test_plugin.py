"""The plugin in this repository, installed by the real Claude Code and Codex from a local
marketplace.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from clients.agents import _run
from clients.plugged import PluggedClaude, PluggedCodex, accept_what_waits, end
from memorist.testing import Say, ScriptedServer

pytestmark = pytest.mark.real_client

ROOT = Path(__file__).parents[2]
TOLD = "Remember that invoices are kept in the folder ledger, one file for each year."
WORDS = "kept in the folder ledger"
COMMAND = "Call the tool `memory_write` of the server memorist once."


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program `memorist`, as an installation puts it on the search path."""
    program = tmp_path / "bin" / "memorist"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m memorist "$@"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("on_path")
def test_claude_code_installs_the_plugin_and_remembers(
    claude_program: Path, tmp_path: Path
) -> None:
    """It finds no fault in the plugin, and what is told in one session is in the first request of
    the next one; a command reaches the model. Removing the plugin leaves no settings behind.
    """
    home = tmp_path / "home" / ".memorist"
    with ScriptedServer((Say(text="Noted."), Say(text="In ledger."), Say(text="Kept."))) as server:
        agent = PluggedClaude(claude_program, tmp_path, server, home)

        def plugin(*words: str) -> None:
            _run([str(claude_program), "plugin", *words], agent._project, agent._environment)

        plugin("validate", "--strict", str(ROOT / "plugin"))
        plugin("marketplace", "add", str(ROOT))
        plugin("install", "memorist@memorist")
        try:
            agent.ask(TOLD)
            accept_what_waits(home, agent._project)
            agent.again(str(uuid4()))
            agent.ask("Where are the invoices?")
            assert any(WORDS in text for text in agent.texts(server.received[-1].body))
            agent.ask("/memorist:remember that ledgers are yearly")
            assert COMMAND in json.dumps(server.received[-1].body)
        finally:
            end(home)
        plugin("uninstall", "memorist@memorist")
        plugin("marketplace", "remove", "memorist")
        assert "memorist" not in agent.files()["settings.json"].decode()


@pytest.mark.usefixtures("on_path")
def test_codex_installs_the_same_plugin_and_remembers(codex_program: Path, tmp_path: Path) -> None:
    """Codex reads the marketplace of Claude Code, and runs the plugin's hooks. The commands are
    skills there, which the user calls by name, and the model is not offered.
    """
    home = tmp_path / "home" / ".memorist"
    with ScriptedServer((Say(text="Noted."), Say(text="In ledger."), Say(text="Kept."))) as server:
        agent = PluggedCodex(codex_program, tmp_path, server, home)
        config = agent._home / "config.toml"
        config.write_text(
            config.read_text("utf-8").replace("plugins = false", "plugins = true"), "utf-8"
        )

        def plugin(*words: str) -> None:
            _run([str(codex_program), "plugin", *words], agent._project, agent._environment)

        plugin("marketplace", "add", str(ROOT))
        plugin("add", "memorist@memorist")
        try:
            agent.ask(TOLD)
            accept_what_waits(home, agent._project)
            agent.again()
            agent.ask("Where are the invoices?")
            assert any(WORDS in text for text in agent.texts(server.received[-1].body))
            offered = json.dumps(server.received[-1].body)
            agent.ask("$memorist:remember that ledgers are yearly")
            assert COMMAND in json.dumps(server.received[-1].body)
        finally:
            end(home)
        assert "memorist:memorist" in offered
        assert not [each for each in ("memorist:off", "source-command") if each in offered]
        plugin("remove", "memorist@memorist")
        plugin("marketplace", "remove", "memorist")
        assert "memorist" not in config.read_text("utf-8")
