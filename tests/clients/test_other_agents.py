"""What the real opencode and pi record is read, against a scripted model server; and the real
Gemini CLI, opencode and Qwen Code reach the server that `setup` gave them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from clients.agents import TURN_SECONDS, find_program
from memorist.cli.main import memorist_group
from memorist.testing import CallTool, Say, ScriptedServer, Step

pytestmark = pytest.mark.real_client

ASKED = "Show me the heron file."
ANSWERED = "There is no heron file here."
STEPS: list[Step] = [
    CallTool(name="bash", input={"command": "cat heron.txt; exit 3", "description": "show"}),
    *[Say(text=ANSWERED)] * 3,
]


def _configure(agent: str, home: Path, shop: Path, url: str) -> list[str]:
    """Write the agent's settings; the arguments of one turn."""
    if agent == "pi":
        model = {"id": "scripted", "name": "s", "input": ["text"], "contextWindow": 200_000}
        scripted: dict[str, object] = {
            "baseUrl": url,
            "api": "openai-completions",
            "apiKey": "k",
            "models": [model],
        }
        path = home / ".pi/agent/models.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"providers": {"scripted": scripted}}))
        return ["--provider", "scripted", "--model", "scripted", "-p", ASKED]
    provider: dict[str, object] = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": url, "apiKey": "k"},
        "models": {"scripted": {"name": "s"}},
    }
    config: dict[str, object] = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
    }
    (shop / "opencode.json").write_text(json.dumps(config))
    return ["run", "--title", "Herons", ASKED]


@pytest.mark.covers("RO-1")
@pytest.mark.parametrize(
    ("agent", "pattern"), [("opencode", "opencode-linux-x64/bin/opencode"), ("pi", ".bin/pi")]
)
def test_a_real_session_is_imported_and_found(
    agent: str, pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One turn with a failing command, by the program itself, is in the list, found by its answer,
    and handed over with the question.
    """
    program = find_program(f"{agent.upper()}_PROGRAM", pattern)
    shop = tmp_path / "shop"
    shop.mkdir()
    with ScriptedServer(STEPS) as server:
        arguments = _configure(agent, tmp_path, shop, server.openai_url)
        subprocess.run(
            [program, *arguments],
            cwd=shop,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            check=True,
            capture_output=True,
            timeout=TURN_SECONDS,
        )
    monkeypatch.chdir(shop)
    monkeypatch.setenv("HOME", str(tmp_path))
    run = CliRunner().invoke
    run(memorist_group, ["import", "--from", agent, "--yes"])
    (listed,) = json.loads(run(memorist_group, ["sessions", "--json"]).stdout)["sessions"]
    found = json.loads(run(memorist_group, ["search", "heron", "--json"]).stdout)["passages"]
    run(memorist_group, ["handoff", listed["id"], "--to", "handed.md"])

    assert listed["agent"] == agent
    assert [ANSWERED in each["answered"] for each in found] == [True]
    assert "cat heron.txt; exit 3" in found[0]["work"]
    assert ASKED in Path("handed.md").read_text()


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize(
    ("agent", "folder", "pattern"),
    [
        ("gemini-cli", ".gemini", ".bin/gemini"),
        ("qwen-code", ".qwen", ".bin/qwen"),
        ("opencode", ".config/opencode", "opencode-linux-x64/bin/opencode"),
    ],
)
def test_a_real_agent_that_setup_joined_reaches_the_server(
    agent: str, folder: str, pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program's own list of servers says that memorist is connected; Gemini CLI in a folder
    that its user trusts.
    """
    program = find_program(f"{agent.upper().replace('-', '_')}_PROGRAM", pattern)
    (tmp_path / folder).mkdir(parents=True)
    shop = tmp_path / "shop"
    shop.mkdir()
    monkeypatch.chdir(shop)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMORIST_HOME")
    joined = CliRunner().invoke(memorist_group, ["setup", "--only", agent, "--no-past"])
    assert "joined (MCP server answered)" in joined.output

    listed = subprocess.run(
        [program, "mcp", "list"],
        cwd=shop,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TURN_SECONDS,
        check=False,
    )

    assert "memorist" in (said := listed.stdout + listed.stderr)
    assert "connected" in said.lower()
    assert "disconnected" not in said.lower()
