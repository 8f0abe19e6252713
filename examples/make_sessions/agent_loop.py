"""A small agent loop with memorist in it: four tools, one model, notes that grow while it works.

    MODEL=… ANTHROPIC_API_KEY=… python agent_loop.py FOLDER "what to do"

What memorist needs of a loop are the three marked lines, and a session that `main` opens.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from memorist import Memorist, Session

SYSTEM = """\
You are a careful programmer in the project folder. Look before you change anything, say in a sentence what each step is for, run the tests after each \
change, and report only what you have seen."""
COMMAND_SECONDS = 60
OUTPUT_LIMIT = 20_000
NEEDS_A_YES = {"rm", "sudo", "push", "reset"}


def _tool(name: str, about: str, *fields: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {field: {"type": "string"} for field in fields},
        "required": list(fields),
    }
    return {"name": name, "description": about, "input_schema": schema}


TOOLS = [
    _tool("bash", "Run a shell command in the project folder.", "command"),
    _tool("read_file", "Read a text file.", "path"),
    _tool("write_file", "Write a text file, new or over an old one.", "path", "content"),
    _tool("edit_file", "Replace a text that occurs once in a file.", "path", "old_str", "new_str"),
]


class Refused(Exception):
    """The person did not allow it."""


class Tools:
    """The tools, in one folder. `environment` is what commands see; None is this process's own."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._environment = environment

    async def run(self, name: str, given: dict[str, str]) -> str:
        """Do what was called for. Raises Refused, OSError, ValueError, KeyError or TimeoutError
        when it cannot be done.
        """
        match name:
            case "bash":
                return await self._bash(given["command"])
            case "read_file":
                return (self._folder / given["path"]).read_text(encoding="utf-8")
            case "write_file":
                place = self._folder / given["path"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(given["content"], encoding="utf-8")
                return f"wrote {given['path']}"
            case "edit_file":
                return self._edit(self._folder / given["path"], given["old_str"], given["new_str"])
            case _:
                raise ValueError(f"there is no tool {name}")

    def _edit(self, place: Path, old: str, new: str) -> str:
        text = place.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(
                f"the old text occurs {text.count(old)} times in {place.name}; it must occur once"
            )
        place.write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {place.name}"

    async def _bash(self, command: str) -> str:
        if NEEDS_A_YES & set(command.replace(";", " ").split()):
            raise Refused(f"The user refused to run this command: {command}")
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            command,
            cwd=self._folder,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
        text = output.decode("utf-8", "replace")[:OUTPUT_LIMIT]
        if process.returncode:
            raise ValueError(f"{text}exit code {process.returncode}")
        return text


async def converse(
    client: AsyncAnthropic, memory: Session, tools: Tools, asks: list[str], *, model: str
) -> None:
    """Hold a conversation: each ask is worked on until the model calls no tool."""
    messages: list[dict[str, Any]] = []
    for ask in asks:
        messages.append({"role": "user", "content": ask})
        while True:
            body = {
                "model": model,
                "max_tokens": 8_000,
                "system": SYSTEM,
                "tools": TOOLS,
                "messages": messages,
                "cache_control": {"type": "ephemeral"},
            }
            request = await memory.prepare(body)  # memorist 1: what is about to be sent
            reply = await client.messages.create(stream=False, **request)
            await memory.observe(reply)  # memorist 2: what came back
            messages.append(
                {
                    "role": "assistant",
                    "content": [
                        block.model_dump(mode="json", exclude_none=True) for block in reply.content
                    ],
                }
            )
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                await memory.end_turn()  # memorist 3: a natural break
                break
            messages.append(
                {
                    "role": "user",
                    "content": [
                        await _answer(tools, call.id, call.name, dict(call.input)) for call in calls
                    ],
                }
            )


async def _answer(tools: Tools, call: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"type": "tool_result", "tool_use_id": call, "content": await tools.run(name, given)}
    except (Refused, OSError, ValueError, KeyError, TimeoutError) as error:
        return {
            "type": "tool_result",
            "tool_use_id": call,
            "content": str(error) or type(error).__name__,
            "is_error": True,
        }


async def main(folder: Path, ask: str) -> None:
    """Work on one request with a real model, and show the notes."""
    async with Memorist() as engine, AsyncAnthropic() as client:
        memory = await engine.open(f"loop-{os.getpid()}", project=str(folder))
        await converse(client, memory, Tools(folder), [ask], model=os.environ["MODEL"])
        print(await memory.update_notes())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).resolve(), sys.argv[2]))
