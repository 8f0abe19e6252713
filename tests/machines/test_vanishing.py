"""What a folder does not have was not deleted for that, and what has a name is not for that the
same: any order of what people, other programs and faults do to three machines and a team.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from memorist.auto_memory.memory_location import resolve_project_memory_layout
from memorist.cli.main import memorist_group
from memorist.settings import AutoMemorySettings
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.system import SystemClock
from support.killed_process import run_killed
from support.sweeps import count_examples
from team.conftest import MemoryRemote

pytest.importorskip("cryptography")

NAMES = ("desk", "lap", "old")
DAY = 86_400
ADDRESS = "git@example.com:{}/shop.git"


class Clone:
    """A folder of a project on one machine. `project` is what it really is."""

    def __init__(self, machine: str, project: str, root: Path, address: str = "") -> None:
        self.machine = machine
        self.project = project
        self.root = root
        (root / ".git" / "logs").mkdir(parents=True)
        (root / ".git" / "logs" / "HEAD").write_text(f"clone {root} at {machine}\n")
        self.set_address(address)

    def set_address(self, address: str) -> None:
        """Give it another remote."""
        (self.root / ".git" / "config").write_text(
            f'[remote "origin"]\n\turl = {address}\n' if address else "[core]\n"
        )


class Vanishing(RuleBasedStateMachine):
    """The model: which statements stand, which were forgotten, and of which nothing is claimed,
    since the user did two things to them that contradict each other.
    """

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.top = Path(self._folder.name)
        self.place = self.top / "place"
        self.place.mkdir()
        self.offset = 0.0
        self.clones: list[Clone] = []
        self.said: dict[int, str] = {}
        """By number of a statement the project that it was said in."""
        self.forgotten: set[int] = set()
        self.free: set[int] = set()
        self.torn: set[int] = set()
        """Statements of which some folder has a half, which stays there."""
        self.changed: dict[int, set[str]] = {}
        """By statement the machines that changed it since all were last in line."""
        self.kept_folders: dict[str, tuple[Path, int]] = {}
        self.kept_homes: dict[str, tuple[Path, int]] = {}
        self.moved_away: dict[str, Path] = {}
        self.number = 0
        self.remote = MemoryRemote()

    def teardown(self) -> None:
        self._folder.cleanup()

    def run(self, clone: Clone, *words: str) -> Result:
        """One command in a clone."""
        home = self.top / clone.machine
        known = {"HOME": str(home), "MEMORIST_HOME": str(home / ".memorist")}
        team = mock.patch("memorist.cli.team_command.open_remote", return_value=self.remote)
        with mock.patch.dict(os.environ, known), self._at(clone.root), self._clock(), team:
            return CliRunner().invoke(memorist_group, list(words))

    def must(self, clone: Clone, *words: str) -> str:
        """What a command says that has to succeed."""
        done = self.run(clone, *words)
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    @contextmanager
    def _at(self, root: Path) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(root)
        try:
            yield
        finally:
            os.chdir(before)

    @contextmanager
    def _clock(self) -> Iterator[None]:
        real = SystemClock.now
        with mock.patch.object(SystemClock, "now", lambda own: real(own) + self.offset):
            yield

    def layout(self, clone: Clone) -> MemoryLayout:
        """Where its memory is, by its path."""
        layout = Layout(self.top / clone.machine / ".memorist")
        return resolve_project_memory_layout(layout, str(clone.root), AutoMemorySettings())

    def where(self, number: int) -> set[Path]:
        """The memory folders that have a statement, whatever project they are for."""
        words = f"tool{number}x".encode()
        return {
            next(each for each in path.parents if each.name == "memory")
            for path in self.top.glob("*/.memorist/projects/*/memory/**/*.md")
            if path.name != "MEMORY.md" and words in path.read_bytes()
        }

    def harmed(self, work: Callable[[], object]) -> None:
        """Do what takes files away: nothing is claimed of what was there alone, nor of what only
        this machine knew to be forgotten.
        """
        before = {number: self.where(number) for number in self.said}
        work()
        self.free |= {n for n in before if before[n] and not self.where(n)}
        self.free |= {n for n in self.forgotten if not before[n] and self.where(n)}
        for number in self.said:
            if before[number] != self.where(number):
                self.changed.setdefault(number, set()).add("harm")

    @initialize()
    def begin(self) -> None:
        for name in (*NAMES, "mate"):
            root = self.top / name / "work" / "shop"
            self.clones.append(Clone(name, "shop", root, ADDRESS.format("team")))
        for name, client in (("desk", "acme"), ("lap", "zeta"), ("desk", "zeta")):
            self.clones.append(Clone(name, client, self.top / name / client / "app"))
        for name in ("desk", "lap"):
            root = self.top / name / "work" / "web"
            self.clones.append(Clone(name, "web", root, "git@example.com:team/web.git"))
        said = self.must(self.clones[0], "machines", "init", str(self.place))
        self.key = said.split()[1]
        for clone in self.clones[1:3]:
            self.must(clone, "machines", "join", str(self.place), "--key", self.key)

    def clone(self, at: int) -> Clone:
        """One of the clones."""
        return self.clones[at % len(self.clones)]

    def named(self, clone: Clone, at: int) -> int | None:
        """One of the statements that a clone's memory has."""
        folder = self.layout(clone).folder
        there = [n for n in self.said if folder in self.where(n) and self.path(clone, n)]
        return there[at % len(there)] if there else None

    def path(self, clone: Clone, number: int) -> str:
        """Where a clone's memory has a statement."""
        folder = self.layout(clone).folder
        words = f"tool{number}x".encode()
        return next(
            (
                path.relative_to(folder).as_posix()
                for path in sorted(folder.rglob("*.md"))
                if path.name != "MEMORY.md" and words in path.read_bytes()
            ),
            "",
        )

    @rule(at=st.integers(0, 11))
    def say(self, at: int) -> None:
        clone = self.clone(at)
        self.number += 1
        words = f"Part{self.number} is built by tool{self.number}x"
        self.must(clone, "memory", "add", "--kind", "project", "--name", f"r{self.number}", words)
        self.said[self.number] = clone.project

    @rule(at=st.integers(0, 11), which=st.integers(0, 9), how=st.sampled_from(["command", "rm"]))
    def forget(self, at: int, which: int, how: str) -> None:
        clone = self.clone(at)
        number = self.named(clone, which)
        if number is None:
            return
        path = self.path(clone, number)
        if how == "rm":
            self.must(clone, "memory", "list")
            (self.layout(clone).folder / path).unlink()
            self.must(clone, "memory", "list")
        else:
            self.must(clone, "memory", "forget", path, "--yes")
        self.forgotten.add(number)
        if self.changed.get(number, set()) - {clone.machine} or len(self._copies(number)) > 0:
            self.free.add(number)
        self.changed.setdefault(number, set()).add(clone.machine)

    def _copies(self, number: int) -> set[Path]:
        """Folders of the same machine that have it still: two files of one memory."""
        found = self.where(number)
        return {
            one
            for one in found
            for other in found
            if one != other
            and one.relative_to(self.top).parts[0] == other.relative_to(self.top).parts[0]
        }

    @rule(at=st.integers(0, 11), which=st.integers(0, 9))
    def edit(self, at: int, which: int) -> None:
        clone = self.clone(at)
        number = self.named(clone, which)
        if number is None:
            return
        path = self.layout(clone).folder / self.path(clone, number)
        self.number += 1
        path.write_text(f"{path.read_text()}\n\nWhy: reason{self.number}\n")
        if number in self.forgotten:
            self.free.add(number)
        self.changed.setdefault(number, set()).add(clone.machine)

    @rule(at=st.integers(0, 11))
    def sync(self, at: int) -> None:
        clone = self.clone(at)
        if clone.machine != "mate":
            done = self.run(clone, "machines", "sync")
            assert done.exit_code in (0, 1), (done.output, done.exception)

    @rule(at=st.integers(0, 11), which=st.integers(0, 9))
    def share(self, at: int, which: int) -> None:
        clone = self.clone(at)
        number = self.named(clone, which) if clone.project == "shop" else None
        if number is not None and not self.path(clone, number).startswith("team/"):
            done = self.run(clone, "team", "share", self.path(clone, number), "--yes")
            if done.exit_code == 0:
                # It is forgotten on its former path and new on another one.
                self.changed.setdefault(number, set()).add("share")

    @rule(at=st.integers(0, 11), what=st.sampled_from(["push", "pull"]))
    def meet_the_team(self, at: int, what: str) -> None:
        clone = self.clone(at)
        if clone.project == "shop":
            self.run(clone, "team", "init", "https://team.example.com")
            self.must(clone, "team", what)

    @rule(at=st.integers(0, 11), then=st.sampled_from(["", "list", "say"]))
    def drop_the_folder(self, at: int, then: str) -> None:
        clone = self.clone(at)
        folder = self.layout(clone).folder
        self.harmed(lambda: shutil.rmtree(folder, ignore_errors=True))
        if then == "list":
            self.must(clone, "memory", "list")
        elif then == "say":
            self.say(at)

    @rule(at=st.integers(0, 11), is_seen=st.booleans())
    def the_folder_is_away_and_comes_back(self, at: int, is_seen: bool) -> None:
        folder, aside = self.layout(self.clone(at)).folder, self.top / "aside"
        if not folder.is_dir():
            return
        folder.rename(aside)
        if is_seen:
            self.must(self.clone(at), "memory", "list")
            shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)

    @rule(at=st.integers(0, 11))
    def keep_a_backup_of_the_folder(self, at: int) -> None:
        folder = self.layout(self.clone(at)).folder
        if folder.is_dir():
            kept = self.top / f"backup-{at}-{self.number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            self.kept_folders[str(folder)] = (kept, self.number)

    @rule(at=st.integers(0, 11))
    def restore_the_folder(self, at: int) -> None:
        folder = self.layout(self.clone(at)).folder
        kept, _ = self.kept_folders.get(str(folder), (None, 0))
        if kept is not None:

            def work() -> None:
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(kept, folder)

            self.harmed(work)

    @rule(name=st.sampled_from(NAMES))
    def keep_a_backup_of_the_home(self, name: str) -> None:
        kept = self.top / f"backup-{name}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.top / name / ".memorist", kept)
        self.kept_homes[name] = (kept, self.number)

    @rule(name=st.sampled_from(NAMES), is_lost=st.booleans())
    def restore_the_home(self, name: str, is_lost: bool) -> None:
        kept, _ = self.kept_homes.get(name, (None, 0))
        home = self.top / name / ".memorist"

        def work() -> None:
            shutil.rmtree(home)
            if kept is not None and not is_lost:
                shutil.copytree(kept, home)

        if is_lost:
            self.harmed(work)
            clone = next(each for each in self.clones if each.machine == name)
            self.must(clone, "machines", "join", str(self.place), "--key", self.key)
        elif kept is not None:
            self.harmed(work)

    @rule(at=st.integers(0, 11))
    def move_the_project(self, at: int) -> None:
        clone = self.clone(at)
        if clone.root.name == "app":
            return
        old, new = clone.root, clone.root.with_name(f"{clone.root.name}m")
        old.rename(new)
        clone.root = new
        self.run(clone, "memory", "rebind", str(old), "--yes")

    @rule(name=st.sampled_from(["desk", "lap"]), is_taken_over=st.booleans())
    def swap_two_projects(self, name: str, is_taken_over: bool) -> None:
        one, other = (
            each for each in self.clones if each.machine == name and each.project in ("shop", "web")
        )
        one.root.rename(self.top / "swap")
        other.root.rename(one.root)
        (self.top / "swap").rename(other.root)
        one.root, other.root = other.root, one.root
        if is_taken_over:
            for clone, former in ((one, other.root), (other, one.root)):
                self.run(clone, "memory", "rebind", str(former), "--yes")

    @rule(at=st.integers(0, 11), owner=st.sampled_from(["team", "org"]))
    def change_the_remote(self, at: int, owner: str) -> None:
        clone = self.clone(at)
        if clone.project == "shop":
            clone.set_address(ADDRESS.format(owner))

    @rule(step=st.sampled_from([-DAY, DAY]))
    def set_the_clock(self, step: int) -> None:
        self.offset += step

    @rule(at=st.integers(0, 11), which=st.integers(0, 9), whole=st.booleans())
    def tear_a_memory(self, at: int, which: int, whole: bool) -> None:
        clone = self.clone(at)
        number = self.named(clone, which)
        if number is not None:
            path = self.layout(clone).folder / self.path(clone, number)
            data = path.read_bytes()
            self.harmed(lambda: path.write_bytes(b"" if whole else data[: len(data) // 2]))
            self.torn.add(number)

    @rule(
        at=st.integers(0, 9),
        step=st.integers(0, 60),
        what=st.sampled_from(["say", "forget", "sync"]),
    )
    def kill(self, at: int, step: int, what: str) -> None:
        clone = self.clone(at)
        number = self.named(clone, step)
        if clone.machine == "mate" and what == "sync":
            return
        self.number += 1
        new = self.number
        words = {
            "say": ("memory", "add", "--kind", "project", "--name", f"r{new}",
                    f"Part{new} is built by tool{new}x"),
            "forget": ("memory", "forget", self.path(clone, number or 0) or "none.md", "--yes"),
            "sync": ("machines", "sync"),
        }[what]  # fmt: skip
        run_killed(lambda: self.run(clone, *words), step)
        if what == "say":
            if not self.where(new):
                self.must(clone, *words)
            self.said[new] = clone.project
        if what == "forget" and number is not None:
            self.forgotten.add(number)
            if self.path(clone, number):
                self.run(clone, *words)
            if self.path(clone, number) or self.changed.get(number, set()) - {clone.machine}:
                self.free.add(number)
            self.changed.setdefault(number, set()).add(clone.machine)

    @rule()
    def all_are_in_line(self) -> None:
        for _ in range(3):
            for clone in self.clones:
                if clone.machine != "mate":
                    self.must(clone, "machines", "sync")
            for at in range(4):
                self.meet_the_team(at, "push")
        for number in self.forgotten - self.free - self.torn:
            assert not self.where(number), f"{number} came back: {self.where(number)}"
        self.changed.clear()
        for clone in self.clones:
            self.must(clone, "memory", "log")
            words = ("memory", "add", "--kind", "project", "--name", "undone", "It is taken back")
            self.must(clone, *words)
            self.must(clone, "memory", "undo", "--yes")
            assert not (self.layout(clone).folder / "undone.md").exists()

    @invariant()
    def nothing_is_lost_and_nothing_is_mixed(self) -> None:
        for number in self.said.keys() - self.forgotten - self.free:
            assert self.where(number), f"{number} is nowhere"
        for clone in self.clones:
            folder = self.layout(clone).folder
            for number, project in self.said.items():
                if folder in self.where(number):
                    assert project == clone.project, f"{number} of {project} is in {clone.project}"


@pytest.mark.covers("GO-4", "AM-4", "TM-2")
@pytest.mark.timeout(1_800)
def test_nothing_vanishes_and_nothing_is_mixed() -> None:
    """What the user said is somewhere unless they forgot it, what they forgot comes back nowhere, no
    project has another one's memory, and each machine's log and undo work.
    """
    run_state_machine_as_test(
        Vanishing,
        settings=settings(
            max_examples=count_examples(2, whole=20),
            stateful_step_count=count_examples(6, whole=30),
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
