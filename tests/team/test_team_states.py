"""Two machines of a team at any step of which somebody else writes, another process of the same
machine synchronises, or the process is killed.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.errors import RemoteUnavailable, StoreError
from memorist.settings import AutoMemorySettings, TeamSettings
from memorist.store.disk_files import DiskFiles
from memorist.team.team_sync import TeamSync
from memorist.testing import FrozenClock
from support.home_states import run_states
from team.conftest import Machine, MemoryRemote, note

WHO, STEP = st.integers(0, 1), st.integers(1, 9)
KEY = st.sampled_from(["x.md", "below/y.md"])


class Killed(BaseException):
    """Stands for SIGKILL."""


class DisturbedFiles(DiskFiles):
    """Does something else right before the so many-th change of a file, or look at the remote."""

    def __init__(self) -> None:
        super().__init__(durable=False)
        self.left = -1
        self.disturb: Callable[[], object] = Killed

    @contextlib.contextmanager
    def disturbed(self, at: int, disturb: Callable[[], object]) -> Iterator[None]:
        self.left, self.disturb = at, disturb
        try:
            yield
        finally:
            self.left = -1

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.disturb()

    def write(self, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        self.step()
        super().write(path, data, expect=expect)

    def create(self, path: Path, data: bytes) -> bool:
        self.step()
        return super().create(path, data)

    def remove(self, path: Path) -> None:
        self.step()
        super().remove(path)


class TeamStates(RuleBasedStateMachine):
    """The model: what stands nowhere else but where it was written last."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.remote, self.number = MemoryRemote(), 0
        self.machines = [Machine(self.home(who), self.remote) for who in (0, 1)]

    def home(self, who: int) -> Path:
        return Path(self._folder.name) / f"m{who}"

    def teardown(self) -> None:
        self.come_to_rest()
        for machine in self.machines:
            machine.memory.close()
        self._folder.cleanup()

    def text(self) -> str:
        self.number += 1
        return note(f"Number {self.number} is the newest.")

    @rule(who=WHO, key=KEY)
    def edit(self, who: int, key: str) -> None:
        self.machines[who].write(key, self.text())

    @rule(who=WHO, key=KEY)
    def edit_and_send(self, who: int, key: str) -> None:
        self.edit(who, key)
        self.machines[who].sync.pull_and_push()

    @rule(who=WHO, key=KEY)
    def delete(self, who: int, key: str) -> None:
        (self.machines[who].team / key).unlink(missing_ok=True)

    @rule(who=WHO, key=KEY)
    def rename(self, who: int, key: str) -> None:
        path = self.machines[who].team / key
        if path.exists():
            self.number += 1
            path.rename(path.with_name(f"n{self.number}.md"))

    @rule(who=WHO, step=STEP, key=KEY, how=st.sampled_from(["edit", "delete", "killed"]))
    def receive(self, who: int, step: int, key: str, how: str) -> None:
        """While a change of the other machine is received somebody edits or deletes the same memory
        here, or the process is killed.
        """
        self.edit_and_send(1 - who, key)
        machine, files = self.machines[who], DisturbedFiles()
        memory = AutoMemory(
            machine.where, files=files, clock=FrozenClock(), settings=AutoMemorySettings()
        )
        sync = TeamSync(memory, self.remote, files=files, settings=TeamSettings())

        def disturb() -> None:
            if how == "killed":
                raise Killed
            if how == "edit":
                self.edit(who, key)
            elif how == "delete":
                self.delete(who, key)

        with (
            contextlib.closing(memory),
            files.disturbed(step, disturb),
            contextlib.suppress(Killed, StoreError, RemoteUnavailable),
        ):
            sync.pull_and_push()

    @rule(who=WHO, key=KEY)
    def synchronise_while_another_pushes(self, who: int, key: str) -> None:
        """The other machine changes a memory and pushes it before ours arrives."""
        other = self.machines[1 - who]

        def push() -> None:
            other.write(key, self.text())
            with contextlib.suppress(StoreError):
                other.sync.pull_and_push()

        self.remote.before_put = push
        with contextlib.suppress(StoreError, RemoteUnavailable):
            self.machines[who].sync.pull_and_push()
        self.remote.before_put = int

    def come_to_rest(self) -> None:
        """Both hold the same in the end, and with it what each had yet to send."""
        unsent = {
            machine.body(key)
            for machine in self.machines
            for key in machine.sync.plan_pending_sends().send
        }
        for machine in (*self.machines, *self.machines, *self.machines):
            machine.sync.pull_and_push()
        one, other = ({key: each.body(key) for key in each.names()} for each in self.machines)
        assert one == other
        assert unsent <= set(one.values()), unsent
        for machine in self.machines:
            assert not machine.sync.pull_and_push().changed


@pytest.mark.covers("TM-2", "SF-4", "SF-5")
def test_a_team_comes_to_the_same_whatever_happens_meanwhile() -> None:
    """Both hold the same in the end: what somebody wrote while a pull ran counted as received, and
    was never sent.
    """
    run_states(TeamStates, sample=(15, 10), whole=(150, 25))


@pytest.mark.covers("TM-2")
@pytest.mark.parametrize("step", range(1, 10))
def test_what_is_written_while_a_change_is_received_is_sent(step: int) -> None:
    """The same at each change of a file that receiving makes."""
    states = TeamStates()
    states.edit_and_send(0, "x.md")
    states.receive(1, step, "x.md", "edit")
    states.teardown()
