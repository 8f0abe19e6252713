"""The process behind the hooks, killed (SIGKILL) before what it does to the disk; the client goes
on, and so does the next process.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import pytest

from hooks.recordings import FOLDER, ClaudeFile, Recording
from hooks.test_session import Agent, both
from memorist.engine.engine import Memorist
from memorist.hooks.hook_event import Client
from memorist.store.home_layout import Layout
from support.killed_process import kill_points

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FIRST = "Remember that the tests run with pytest -n 2."
NEXT = (
    f"Always use pnpm, never npm. The token is {KEY}.",
    "No, that's wrong: we deploy on Thursdays, not on Fridays.",
)
LAST = "Remember that Anna checks the invoices."
STRIDE = 7
"""A session of this length changes the disk about 700 times."""


class WholeFile(Agent):
    """A client whose own file is whole when memorist's process dies."""

    def write(self) -> None:
        path = Path(self._event.transcript_path or "")
        new = path.with_suffix(".new")
        new.write_bytes(b"".join(self.file.lines))
        new.replace(path)


async def play(
    folder: Path, client: Client, file: Recording, said: Sequence[str], source: str = "resume"
) -> None:
    """A process: the session is started or resumed, these prompts are given that its file does not
    hold yet, it compacts and ends.
    """
    async with Memorist(model="structural", home=folder / "home") as engine:
        agent = WholeFile(engine, client, file, folder / "rollout-1.jsonl")
        await agent.start(source)
        written = b"".join(file.lines)
        for prompt in said:
            if prompt[:20].encode() not in written:
                await agent.turn(prompt)
        await agent.call("PreCompact")
        await agent.call("SessionStart", source="compact")
        await agent.call("SessionEnd")
        await agent.session.close()


def kept(folder: Path) -> list[str]:
    """The memories' texts, and how many lines their index has."""
    memory = Layout(folder / "home").memory_layout(FOLDER).folder
    texts = {path.name: path.read_text("utf-8") for path in memory.glob("*.md")}
    index = texts.pop("MEMORY.md", "").splitlines()
    return [*sorted(text.split("---\n")[-1].strip() for text in texts.values()), str(len(index))]


def copies_of_key(folder: Path) -> list[Path]:
    return [
        path
        for path in (folder / "home").rglob("*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.covers("IN-2", "AM-5", "SF-1", "SF-4")
@both
def test_a_kill_of_the_process_behind_the_hooks_loses_and_doubles_nothing(
    client: Client, kind: type[Recording], tmp_path: Path
) -> None:
    """Whenever it is killed, no key stands on the disk, and the next process of the resumed session
    leaves the memories that an undisturbed one leaves, each once.
    """
    begun, folder = tmp_path / "begun", tmp_path / "folder"
    begun.mkdir()
    file = kind()
    asyncio.run(play(begun, client, file, [FIRST], "startup"))

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(begun, folder)

    def go_on() -> None:
        again = deepcopy(file)
        again.lines = (folder / "rollout-1.jsonl").read_bytes().splitlines(keepends=True)
        if isinstance(again, ClaudeFile):
            again.back_to(json.loads(again.lines[-1])["uuid"])
        asyncio.run(play(folder, client, again, [*NEXT, LAST]))

    def work() -> None:
        asyncio.run(play(folder, client, deepcopy(file), NEXT))

    prepare()
    work()
    go_on()
    wanted = kept(folder)
    assert len(wanted) == 5
    killed = 0
    for at in kill_points(work, prepare, stride=STRIDE):
        killed += 1
        assert not copies_of_key(folder), at
        go_on()
        assert kept(folder) == wanted, at
    assert killed > 40
