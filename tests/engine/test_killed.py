"""A session in a real process that is killed (SIGKILL) before each thing it does to the disk."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from engine.test_session import NOTE_LIES, PAGE, Play, edits
from memorist.engine.engine import Memorist
from support.killed_process import kill_points
from support.sweeps import sampled

KEPT = "The importer stops one short."
LIE = NOTE_LIES["an invented path"]
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.covers("SM-5", "SM-14", "SF-1", "SF-4")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
def test_a_kill_while_a_model_edits_the_notes_leaves_no_unreviewed_line(
    tmp_path: Path, stride: int
) -> None:
    """Whenever the process is killed, the notes on disk are the former ones or the reviewed ones:
    no invented name, no secret, nothing that was there before lost.
    """
    begun, home = tmp_path / "begun", tmp_path / "home"

    async def play(folder: Path, words: str, said: list[str]) -> None:
        host = Play(folder, fork=lambda notes: edits(notes, words))
        async with Memorist(model=host.model, home=folder) as engine:
            session = await host.open(engine)
            for number, text in enumerate(said):
                await host.turn(session, text, 12_000 + 6_000 * number)
                await session.session_memory.wait_or_cancel(5)

    first = f"Never touch the schema. {PAGE}"
    asyncio.run(play(begun, KEPT, [first]))
    notes = home / "session" / "session-memory" / "summary.md"

    def prepare() -> None:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(begun, home)

    def work() -> None:
        asyncio.run(play(home, f"{LIE}\n- The token is {KEY}.", [first, "And now the tests."]))

    killed = 0
    for at in kill_points(work, prepare, stride):
        killed += 1
        text = notes.read_text("utf-8")
        assert KEPT in text, at
        assert LIE not in text, at
        assert KEY not in text, at
    assert killed > 30 // stride
