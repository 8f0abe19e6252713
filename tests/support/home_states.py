"""One home that a state machine works in: its commands, and every copy of words below it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from pathlib import Path
from unittest import mock

from click.testing import CliRunner, Result
from dulwich.repo import Repo
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from memorist.cli.main import memorist_group
from support.sweeps import count_examples


def token(number: int) -> str:
    """The word by which a statement is known again."""
    return f"tool{number}x"


def statement(number: int) -> str:
    """A statement of its own."""
    return f"Part{number} is built by {token(number)}"


class HomeCommands:
    """A home and a project's folder, with the command line in it."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.top = Path(self._folder.name)
        self.home = self.top / ".memorist"
        self.project = self.make_project("shop")
        self.number = 0

    def teardown(self) -> None:
        self._folder.cleanup()

    def make_project(self, name: str) -> Path:
        """A folder of a project with a repository."""
        root = self.top / "work" / name
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "config").write_text("[core]\n")
        return root

    def run(self, *words: str, root: Path | None = None) -> Result:
        """One command in a project."""
        known = {"HOME": str(self.top), "MEMORIST_HOME": str(self.home)}
        before = Path.cwd()
        os.chdir(root or self.project)
        try:
            with mock.patch.dict(os.environ, known):
                return CliRunner().invoke(memorist_group, list(words))
        finally:
            os.chdir(before)

    def must(self, *words: str, root: Path | None = None) -> str:
        """What a command says that has to succeed."""
        done = self.run(*words, root=root)
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    def memory_files(self) -> dict[Path, bytes]:
        """Every memory of the home but the indexes."""
        return {
            path: path.read_bytes()
            for path in self.home.glob("**/memory/**/*.md")
            if path.name != "MEMORY.md"
        }

    def where(self, number: int) -> list[Path]:
        """The memories that state it."""
        word = token(number).encode()
        return [path for path, data in self.memory_files().items() if word in data]

    def copies(self, word: str) -> list[str]:
        """Every file of the home with a word, packed or not."""
        found = [
            str(path.relative_to(self.home))
            for path in self.home.rglob("*")
            if path.is_file() and word.encode() in _unpack(path.read_bytes())
        ]
        for folder in self.home.rglob("*.idx"):
            with contextlib.closing(Repo(str(folder.parents[2]))) as repository:
                found += [
                    f"{folder.relative_to(self.home)}:{id.decode()}"
                    for id in repository.object_store
                    if word.encode() in repository.object_store[id].as_raw_string()
                ]
        return found


class HomeStates(HomeCommands, RuleBasedStateMachine):
    """The same, as a state machine."""


def _unpack(data: bytes) -> bytes:
    try:
        return data + zlib.decompress(data)
    except zlib.error:
        return data


def run_states(
    machine: type[RuleBasedStateMachine], sample: tuple[int, int], whole: tuple[int, int]
) -> None:
    """Run a machine with so many examples of so many steps."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=count_examples(sample[0], whole=whole[0]),
            stateful_step_count=count_examples(sample[1], whole=whole[1]),
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
