"""A memory's changes in a real process that is killed (SIGKILL) before each thing it does to the
disk.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from auto_memory.conftest import memory
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.testing import FrozenClock
from support.killed_process import kill_points
from support.sweeps import sampled

SCRIPT = """
import os, signal, sys
from pathlib import Path
from memorist.auto_memory.memory_changes import MemoryChange, ChangeReason
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.testing import FrozenClock

def memory(home):
    where = Layout(home).memory_layout("/home/dev/shop")
    return AutoMemory(where, files=DiskFiles(durable=False), clock=FrozenClock(1_790_000_000.0), settings=AutoMemorySettings())

def write(own, name, body):
    text = f"---\\nname: {name}\\ndescription: d\\ntype: project\\n---\\n\\n{body}\\n".encode()
    own.write([MemoryChange(path=name, before=None, after=text)], ChangeReason(actor="user", what="x"))

def mortal(left):
    def before(name):
        real = getattr(os, name)
        def counted(*given, **more):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)
        setattr(os, name, counted)
    for name in ("replace", "rename", "link", "unlink", "mkdir", "fsync", "write"):
        before(name)

for at in range(0, 1_000, int(sys.argv[2])):
    home = Path(sys.argv[1]) / str(at)
    child = os.fork()
    if not child:
        try:
            own = memory(home)
            mortal(at)
            write(own, "a.md", "We cut releases on Mondays.")
        finally:
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    own = memory(home)
    if not own.headers():
        write(own, "a.md", "We cut releases on Mondays.")
    write(own, "b.md", "The port is 8080.")
    assert [head.path for head in sorted(own.headers(), key=lambda head: head.path)] == ["a.md", "b.md"], at
    assert own.folder.history.map_paths_to_blob_ids().keys() >= {"a.md", "b.md"}, at
    assert not list(home.rglob("*.damaged*")), at
    own.close()
    if status == 0:
        break
print(at)
"""


@pytest.mark.covers("AM-10", "SF-4", "SF-5")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
def test_a_kill_before_anything_that_a_first_change_does_stops_no_later_one(
    tmp_path: Path, stride: int
) -> None:
    """Killed while the history is made, while a file of it is written, while its branch moves: the
    next change is recorded, whatever was left there.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), str(stride)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def _open(home: Path) -> AutoMemory:
    return AutoMemory(
        Layout(home).memory_layout("/home/dev/shop"),
        files=DiskFiles(durable=False),
        clock=FrozenClock(1_790_000_000.0),
        settings=AutoMemorySettings(),
    )


def _propose(own: AutoMemory, text: str) -> None:
    change = MemoryChange(path="tabs.md", before=None, after=memory("tabs", text))
    own.add_proposals([change], ChangeReason(actor="agent", what="write"), "it is doubtful")


def _accept(own: AutoMemory) -> None:
    own.accept(own.list_proposals()[0].id)


def _state(own: AutoMemory) -> tuple[list[str], list[str]]:
    """What the memories say, and what waits."""
    said = [own.folder.read_memory_file(head.path).body for head in own.headers()]
    return sorted(said), sorted(each.one_line_text for each in own.list_proposals())


def _prepare_accepted(own: AutoMemory) -> None:
    _propose(own, "Use tabs.")
    _accept(own)


def _prepare_forgotten(own: AutoMemory) -> None:
    _prepare_accepted(own)
    own.forget(["tabs.md"])


DECISIONS: dict[str, tuple[Callable[[AutoMemory], object], Callable[[AutoMemory], object]]] = {
    "accept": (lambda own: _propose(own, "Use tabs."), _accept),
    "accept with other words": (
        lambda own: _propose(own, "Use tabs."),
        lambda own: own.accept(own.list_proposals()[0].id, memory("tabs", "Use spaces.").decode()),
    ),
    "reject": (
        lambda own: _propose(own, "Use tabs."),
        lambda own: own.reject(own.list_proposals()[0].id),
    ),
    "undo": (_prepare_accepted, lambda own: own.undo()),
    "edit": (
        _prepare_accepted,
        lambda own: own.edit("tabs.md", memory("tabs", "Use spaces.").decode()),
    ),
    "forget": (_prepare_accepted, lambda own: own.forget(["tabs.md"])),
    "undo of a forgotten one": (_prepare_forgotten, lambda own: own.undo()),
}
"""What stands before, and what the user does."""


@pytest.mark.covers("AM-10", "SF-4", "SF-5")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
@pytest.mark.parametrize("name", DECISIONS)
def test_a_kill_in_any_decision_loses_neither_a_memory_nor_what_waits(
    tmp_path: Path, name: str, stride: int
) -> None:
    """Afterwards each text stands where it did before or where the decision puts it, as a memory or
    as one that waits, and the decision made again ends as it does without a kill.
    """
    prepare, decide = DECISIONS[name]
    began, whole, home = tmp_path / "began", tmp_path / "whole", tmp_path / "home"

    def run(where: Path, do: Callable[[AutoMemory], object]) -> tuple[list[str], list[str]]:
        own = _open(where)
        do(own)
        state = _state(own)
        own.close()
        return state

    before = run(began, prepare)
    shutil.copytree(began, whole)
    after = run(whole, decide)

    def restore() -> None:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(began, home)

    points = 0
    for at in kill_points(lambda: run(home, decide), restore, stride):
        points += 1
        said, waiting = run(home, lambda own: None)
        assert said in (before[0], after[0]), at
        assert {*before[0], *before[1]} & {*after[0], *after[1]} <= {*said, *waiting}, at
        assert said != before[0] or set(before[1]) <= set(waiting), at
        assert said != after[0] or set(after[1]) <= set(waiting), at
        if said == before[0]:
            ended = run(home, decide)
            assert ended == after, at
    assert points
