"""The first sample session: the real Codex CLI, a scripted model, a real project."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from invoice_project import FILES
from invoice_story import TURNS
from scratch import make_project, tool_environment

from memorist.testing import ScriptedServer

TURN_SECONDS = 90
MODEL = "scripted"

_CONFIG = """\
model = "{model}"
model_provider = "scripted"
model_catalog_json = "{catalogue}"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[tools]
update_plan = {{ enabled = true }}

[features]
plugins = false
apps = false

[analytics]
enabled = false
"""

_INSTRUCTIONS = """\
You are a careful programmer who works in a shell on the project in the current folder. Look before you change anything. Say in a \
sentence what each step is \
for. Change files with apply_patch. Run the tests after each change. Report only what you have seen."""

_MODEL = {
    "slug": MODEL,
    "display_name": "Scripted",
    "description": "Answers from a script.",
    "base_instructions": _INSTRUCTIONS,
    "context_window": 200_000,
    "max_context_window": 200_000,
    "truncation_policy": {"mode": "tokens", "limit": 10_000},
    "shell_type": "shell_command",
    "apply_patch_tool_type": "freeform",
    "supports_parallel_tool_calls": True,
    "supported_reasoning_levels": [{"effort": "medium", "description": "The only one."}],
    "default_reasoning_level": "medium",
    "default_reasoning_summary": "none",
    "supports_reasoning_summaries": True,
    "supports_reasoning_summary_parameter": True,
    "support_verbosity": False,
    "default_verbosity": None,
    "input_modalities": ["text"],
    "experimental_supported_tools": [],
    "visibility": "list",
    "supported_in_api": True,
    "priority": 1,
    "upgrade": None,
    "availability_nux": None,
}


def run_codex(program: Path, scratch: Path) -> Path:
    """Run the whole story in `scratch` and give the rollout file that Codex wrote. Raises
    RuntimeError when a turn fails.
    """
    project = scratch / "invoices"
    make_project(project, FILES, commit="Two VAT rates on one invoice")
    home = scratch / "codex"
    home.mkdir()
    catalogue = home / "models.json"
    catalogue.write_text(json.dumps({"models": [_MODEL]}), encoding="utf-8")
    steps = [step for _, turn in TURNS for step in turn]
    environment = tool_environment(scratch) | {"CODEX_HOME": str(home), "SCRIPTED_KEY": "any"}
    with ScriptedServer(steps) as server:
        (home / "config.toml").write_text(
            _CONFIG.format(model=MODEL, catalogue=catalogue, url=server.openai_url),
            encoding="utf-8",
        )
        for number, (ask, _) in enumerate(TURNS):
            resumed = ["resume", "--last"] if number else []
            _turn(
                [str(program), "exec", *resumed, "--skip-git-repo-check", ask], project, environment
            )
        used = len(server.received)
        if used != len(steps) or server.refusals:
            raise RuntimeError(
                f"the story has {len(steps)} steps and Codex made {used} calls; refused: "
                f"{server.refusals}"
            )
    (rollout,) = (home / "sessions").rglob("rollout-*.jsonl")
    return rollout


def _turn(command: Sequence[str], project: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TURN_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"codex ended with {done.returncode}: {done.stderr[-2000:]}")
