"""Hermes with its own compression, without it, and with memorist's plug-in. Run in its own
environment.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.host_task import TOOL, HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld

PACKAGES = ("hermes-agent",)
_MANIFEST = (
    'name: memorist\nkind: standalone\nversion: "0.1"\ndescription: Memory and context engine\n'
)
_PLUGIN = """from pathlib import Path
from memorist.adapters.hermes import MemoristMemoryProvider, plugin
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings

register = plugin(
    project=Path({project!r}),
    home=Path({home!r}),
    settings=Settings(models=ModelSettings(window={window})),
)
"""
_OWN_MEMORY = {"memory_enabled": False, "user_profile_enabled": False}
_PARAMETERS = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
}


class _Talk:
    def __init__(self, world: HostWorld, config: dict[str, Any], plugin: str = "") -> None:
        folder = Path(tempfile.mkdtemp(dir=world.folder))
        os.environ |= {"HERMES_HOME": str(folder), "HOME": str(folder)}
        limit = {"context_length": world.window}
        limits = {"model": limit, "auxiliary": {"compression": limit}}
        (folder / "config.yaml").write_text(json.dumps({"memory": _OWN_MEMORY} | limits | config))
        if plugin:
            where = folder / "plugins" / "memorist"
            where.mkdir(parents=True)
            (where / "plugin.yaml").write_text(_MANIFEST)
            (where / "__init__.py").write_text(plugin)
        # Loaded here: Hermes reads its home while it is imported.
        from hermes_cli import plugins  # noqa: PLC0415
        from run_agent import AIAgent  # noqa: PLC0415
        from tools.registry import registry  # noqa: PLC0415

        plugins._plugin_manager = None  # noqa: SLF001 - it holds the plug-ins of the run before
        registry.register(
            name=TOOL,
            toolset="harbour",
            schema={
                "name": TOOL,
                "description": "Read one page of the harbour report.",
                "parameters": _PARAMETERS,
            },
            handler=lambda given, **_: read_page(int(given["number"])),
            override=True,
        )
        self._server = world.server
        self._agent = AIAgent(
            base_url=world.server.openai_url,
            api_key="none",
            model=MODEL,
            provider="custom",
            api_mode="chat_completions",
            quiet_mode=True,
            enabled_toolsets=["harbour"],
            skip_context_files=True,
            session_id="task",
        )
        self._history: list[dict[str, Any]] = []

    def say(self, text: str) -> object:
        result = self._agent.run_conversation(text, conversation_history=self._history)
        self._history = result["messages"]
        return result["final_response"]

    def close(self) -> None:
        self._agent.shutdown_memory_provider(self._history)
        self._agent.close()
        # Hermes asks a server of an unknown kind for paths that only some kinds have.
        refusals = self._server.refusals
        refusals[:] = [each for each in refusals if "no such path" not in each]


def _plain(world: HostWorld, *, compression: bool) -> HostTalk:
    return _Talk(world, {"compression": {"enabled": compression}})


def _memorist(world: HostWorld) -> HostTalk:
    plugin = _PLUGIN.format(
        project=str(world.folder), home=str(world.folder / "home"), window=world.window
    )
    config = {
        "memory": _OWN_MEMORY | {"provider": "memorist"},
        "context": {"engine": "memorist"},
        "plugins": {"enabled": ["memorist"]},
    }
    return _Talk(world, config, plugin)


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "compression off": partial(_plain, compression=False),
    "its own compression": partial(_plain, compression=True),
    "memorist": _memorist,
}
