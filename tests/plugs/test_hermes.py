"""Hermes Agent: the story with its real agent loop, which loads memorist from its plug-in folder, and what is particular to its two interfaces."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from plugs import hermes_given
from plugs.story import EVERYTHING, MODEL, TOOL, Talk, World, run_story

pytest.importorskip("run_agent", reason="hermes-agent is not installed; `make test-plugs PLUGS=hermes` brings it")

from hermes_cli import plugins
from run_agent import AIAgent
from tools.registry import registry

MANIFEST = 'name: memorist\nkind: standalone\nversion: "0.1"\ndescription: Memory and context engine\n'
PLUGIN = "from memorist.adapters.hermes import MemoristMemoryProvider, plugin\nfrom plugs.hermes_given import OPTIONS\n\nregister = plugin(**OPTIONS)\n"
OWN_MEMORY = {"memory_enabled": False, "user_profile_enabled": False}
CONFIG: dict[str, Any] = {"model": {"context_length": 70_000}, "memory": OWN_MEMORY}
WITH: dict[str, Any] = {
    "memory": OWN_MEMORY | {"provider": "memorist"},
    "context": {"engine": "memorist"},
    "plugins": {"enabled": ["memorist"]},
}


END = "(end)"
"""After each result, whose last space Hermes takes away."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hermes keeps everything in a folder of this test."""
    folder = tmp_path / "hermes"
    monkeypatch.setenv("HERMES_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


def install(folder: Path, options: dict[str, Any] | None) -> None:
    """What the page in the docs tells to write; and forget what this process had loaded."""
    where = folder / "plugins" / "memorist"
    where.mkdir(parents=True, exist_ok=True)
    (where / "plugin.yaml").write_text(MANIFEST)
    (where / "__init__.py").write_text(PLUGIN)
    (folder / "config.yaml").write_text(json.dumps(CONFIG if options is None else CONFIG | WITH))
    hermes_given.OPTIONS = options or {}
    plugins._plugin_manager = None
    for name in [name for name in sys.modules if name.startswith(("_hermes_user_memory", "hermes_plugins"))]:
        del sys.modules[name]


class Hermes:
    """An `AIAgent` with one tool."""

    reaches = EVERYTHING

    def __init__(self, home: Path) -> None:
        self.home = home

    def begin(self, world: World, session: str) -> Talk:
        install(self.home, None if world.attached is None else {"attached": world.attached, "project": world.project})
        return Conversation(world, session)


class Conversation:
    def __init__(self, world: World, session: str, **more: Any) -> None:
        parameters = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
        about = {"name": TOOL, "description": str(world.tool.__doc__), "parameters": parameters}
        registry.register(
            name=TOOL, toolset="harbour", schema=about, handler=lambda given, **_: world.tool(int(given["number"])) + END, override=True
        )
        self.agent = AIAgent(
            base_url=world.server.openai_url,
            api_key="none",
            model=MODEL,
            provider="custom",
            api_mode="chat_completions",
            quiet_mode=True,
            enabled_toolsets=more.pop("toolsets", ["harbour"]),
            skip_context_files=True,
            session_id=session,
            **more,
        )
        self.history: list[dict[str, Any]] = []
        self.server = world.server

    def say(self, text: str) -> str:
        result = self.agent.run_conversation(text, conversation_history=self.history)
        self.history = result["messages"]
        return str(result["final_response"])

    def close(self) -> None:
        self.agent.shutdown_memory_provider(self.history)
        self.agent.close()
        # Hermes asks a server of an unknown kind for paths that only some kinds have.
        self.server.refusals[:] = [each for each in self.server.refusals if "no such path" not in each]


@pytest.mark.covers("IN-1")
def test_the_story(tmp_path: Path, home: Path) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken memorist changes nothing."""
    run_story(Hermes(home), tmp_path)
