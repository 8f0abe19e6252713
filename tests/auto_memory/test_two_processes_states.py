"""Two processes work with one memory folder for long: whatever one does between two looks of the
other at the disk, no word of either is lost, and both know the same in the end.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.git_objects import compute_memory_version
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import Trust
from memorist.errors import InputError, NothingToDo, StoreError
from memorist.ports import FileInfo
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.process_lock import hold_lock
from memorist.testing import FrozenClock
from support.home_states import run_states, statement, token

WHO, STEP, AT = st.integers(0, 1), st.integers(1, 28), st.integers(0, 9)
WHAT = st.sampled_from(["add", "edit", "forget", "undo", "propose", "accept", "mute", "hand"])
PROGRAM = ChangeReason(actor="agent", what="an agent's change")


def find_numbers(text: str) -> set[int]:
    """The statements that a text holds."""
    return {int(number) for number in re.findall(token(0).replace("0", r"(\d+)"), text)}


class WatchedFiles(DiskFiles):
    """Has another process act at the so many-th access, or the first one after it at which that
    one need not wait for the folder's lock.
    """

    def __init__(self, lock: Path) -> None:
        super().__init__(durable=False)
        self._lock = lock
        self.left = 0
        self.act: Callable[[], object] = int

    def _step(self) -> None:
        self.left -= 1
        if self.left > 0 or self.act is int:
            return
        with contextlib.suppress(StoreError):
            with hold_lock(self._lock, wait_seconds=0):
                act, self.act = self.act, int
            act()

    def read(self, path: Path, *, limit: int | None = None) -> bytes:
        self._step()
        return super().read(path, limit=limit)

    def lstat(self, path: Path) -> FileInfo | None:
        self._step()
        return super().lstat(path)

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        self._step()
        super().write(path, data, expect=expect)


def propose(memory: AutoMemory, number: int, at: int) -> None:
    """What an agent wants to add waits."""
    text = f"---\nname: r{at % 3}\ntype: project\n---\n\n{statement(number)}\n"
    change = MemoryChange(path=f"r{at % 3}.md", before=None, after=text.encode())
    memory.add_proposals([change], PROGRAM, "an agent says it")


class TwoProcesses(RuleBasedStateMachine):
    """The model: the statements that stand, by whoever made them."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.clock, self.number = FrozenClock(), 0
        layout = Layout(Path(self._folder.name)).memory_layout("/home/dev/shop")
        self.folder = layout.folder
        self.files = [WatchedFiles(layout.lock) for _ in range(2)]
        self.memories = [
            AutoMemory(layout, files=files, clock=self.clock, settings=AutoMemorySettings())
            for files in self.files
        ]
        self.stands: set[int] = set()

    def teardown(self) -> None:
        for memory in self.memories:
            memory.close()
        self._folder.cleanup()

    def texts(self) -> dict[str, str]:
        files = self.folder.glob("*.md") if self.folder.exists() else ()
        return {path.name: path.read_text() for path in files if path.name != "MEMORY.md"}

    def seen(self) -> set[int]:
        return find_numbers("\n".join(self.texts().values()))

    def do(self, who: int, what: str, at: int) -> None:
        """One act of a process; what it refuses has changed nothing."""
        memory, paths = self.memories[who], sorted(self.texts())
        path = paths[at % len(paths)] if paths else ""
        self.clock.advance(1)
        with contextlib.suppress(InputError, NothingToDo, StoreError):
            if what in ("add", "propose"):
                self.number += 1
                number = self.number
                if what == "add":
                    memory.add(statement(number), name=f"r{at % 3}")
                    self.stands.add(number)
                else:
                    propose(memory, number, at)
            elif what == "undo":
                memory.undo()
                self.stands = self.seen()
            elif what == "accept":
                waiting = memory.list_proposals()
                if waiting:
                    given = waiting[at % len(waiting)]
                    memory.accept(given.id)
                    before, after = (
                        find_numbers(each or "") for each in (given.before, given.after)
                    )
                    self.stands = self.stands - before | after & self.seen()
            elif path:
                self.change(memory, what, path)

    def change(self, memory: AutoMemory, what: str, path: str) -> None:
        text = self.texts()[path]
        if what == "forget":
            # What the other wrote into it meanwhile goes with it, and the history has it.
            history, change = memory.folder.history, memory.forget([path]).change_id
            forgotten = history.read_file(path, history.find_parent_id(change)) or b""
            self.stands -= find_numbers(forgotten.decode())
        elif what == "mute":
            memory.set_muted(path, muted=True)
        else:
            self.number += 1
            number = self.number
            more = f"{text.rstrip()}\n\n{statement(number)}\n"
            if what == "hand":
                (self.folder / path).write_text(more)
                self.stands.add(number)
            elif memory.edit(path, more, version=compute_memory_version(text)).paths:
                self.stands.add(number)

    @rule(who=WHO, what=WHAT, at=AT)
    def act(self, who: int, what: str, at: int) -> None:
        self.do(who, what, at)

    @rule(who=WHO, what=WHAT, at=AT, step=STEP, other=WHAT, other_at=AT)
    def act_while_the_other_acts(
        self, who: int, what: str, at: int, step: int, other: str, other_at: int
    ) -> None:
        files = self.files[who]
        files.left, files.act = step, lambda: self.do(1 - who, other, other_at)
        self.do(who, what, at)
        files.act = int

    @invariant()
    def both_know_what_stands(self) -> None:
        assert self.stands <= self.seen(), (self.stands - self.seen(), self.texts())
        one, other = ([*each.headers_by_path().values()] for each in self.memories)
        assert one == other
        assert [head.path for head in one] == sorted(self.texts())
        recorded = self.memories[0].folder.history.map_paths_to_blob_ids()
        files = self.memories[1].folder._current.files
        assert recorded == {path: seen.recorded_blob_id for path, seen in files.items()}
        index = (self.folder / "MEMORY.md").read_text() if one else ""
        assert all(f"({head.path})" in index for head in one if head.status == "active")
        assert not self.memories[0].layout.pending_change.exists()
        for head in one:
            assert head.trust in (Trust.REVIEWED, Trust.UNKNOWN), head


@pytest.mark.covers("AM-10", "SF-4", "SF-5")
def test_two_processes_lose_no_word_of_each_other() -> None:
    """Each adds, edits, forgets, takes back, proposes and accepts while the other does."""
    run_states(TwoProcesses, sample=(12, 10), whole=(100, 30))
