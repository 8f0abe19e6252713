"""The second sample session: our own agent loop with memorist in it, a scripted model, a real
project.
"""

from __future__ import annotations

from pathlib import Path

from agent_loop import Tools, converse
from anthropic import AsyncAnthropic
from rotation_project import FILES
from rotation_story import TURNS
from scratch import make_project, tool_environment

from memorist import Memorist, Settings
from memorist.testing import ScriptedServer

SESSION = "log-rotation"


async def run_loop(scratch: Path) -> Path:
    """Run the whole story in `scratch` and give memorist's transcript of it. Raises RuntimeError
    when not all steps were used.
    """
    project = scratch / "logkeep"
    make_project(project, FILES, commit="Settings in a file")
    steps = [step for _, turn in TURNS for step in turn]
    tools = Tools(project, tool_environment(scratch))
    asks = [ask for ask, _ in TURNS]
    with ScriptedServer(steps) as server:
        async with Memorist(home=scratch / "memorist", settings=Settings()) as engine:
            memory = await engine.open(SESSION, project=str(project))
            async with AsyncAnthropic(base_url=server.url, api_key="any", max_retries=0) as client:
                await converse(client, memory, tools, asks, model="scripted")
        if len(server.received) != len(steps) or server.refusals:
            raise RuntimeError(
                f"the story has {len(steps)} steps and the loop made {len(server.received)} "
                f"calls; refused: {server.refusals}"
            )
    return memory.layout.transcript
