"""Sharing a memory in a real process that is killed (SIGKILL) before each thing it does to the
disk.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memorist.errors import InputError
from memorist.team.team_sharing import move_memories_to_team
from support.killed_process import kill_points
from team.conftest import Machine, MemoryRemote, note


def share(home: Path) -> None:
    own = Machine(home, MemoryRemote())
    move_memories_to_team(own.memory, ["bills.md"], convention=False, limit=100_000)
    own.memory.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.covers("TM-1", "AM-10", "SF-4")
def test_a_memory_whose_sharing_is_killed_is_moved_by_the_same_command(tmp_path: Path) -> None:
    """After the second time it stands in the team's folder, whole, and nowhere else; where the
    first was nearly done, the second finds nothing to share.
    """
    begun, home = tmp_path / "begun", tmp_path / "home"
    first = Machine(begun, MemoryRemote())
    text = note("Invoices are checked by Anna.")
    path = first.memory.layout.folder / "bills.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    first.memory.close()

    def prepare() -> None:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(begun, home)

    half = 0
    for at in kill_points(lambda: share(home), prepare):
        own = Machine(home, MemoryRemote())
        both = [own.memory.layout.folder / "bills.md", own.team / "bills.md"]
        half += all(each.exists() for each in both)
        own.memory.close()
        if both[0].exists():
            share(home)
        else:
            with pytest.raises(InputError, match="no memory"):
                share(home)
        assert not both[0].exists(), at
        assert "checked by Anna" in both[1].read_text("utf-8"), at
    assert half
