"""What the user says, forgets and forgets for good in one home, at any step of which the process
may be killed.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from memorist.errors import MemoristError
from support.home_states import HomeStates, run_states, statement, token
from support.killed_process import run_killed, run_refused

STEPS = st.integers(0, 120)
HOW = st.sampled_from(["whole", "killed", "refused"])


class OneHome(HomeStates):
    """The model: which statements stand, which were forgotten, and which for good."""

    def __init__(self) -> None:
        super().__init__()
        self.stands: set[int] = set()
        self.forgotten: set[int] = set()
        self.purged: set[int] = set()

    def do(self, how: str, step: int, *words: str) -> None:
        """A command; one that is killed is given again, and so is one that says that it failed,
        as where the disk refuses one of its writes.
        """
        if self.is_whole(how, step, *words):
            return
        self.must(*words)

    def is_whole(self, how: str, step: int, *words: str) -> bool:
        """Disturb a command; whether it says that it has done what was asked."""
        if how == "killed":
            run_killed(lambda: self.run(*words), step)
            return False
        done = run_refused(lambda: self.run(*words), step) if how == "refused" else self.run(*words)
        assert isinstance(done.exception, MemoristError | SystemExit | None), done.exception
        return done.exit_code == 0

    def pick(self, among: set[int], at: int) -> int | None:
        found = sorted(among)
        return found[at % len(found)] if found else None

    def name_of(self, number: int) -> str:
        paths = self.where(number)
        assert paths, f"{number} is nowhere"
        path = paths[0]
        folder = next(each for each in path.parents if each.name == "memory")
        return path.relative_to(folder).as_posix()

    @rule(how=HOW, step=STEPS, kind=st.sampled_from(["project", "feedback", "user"]))
    def say(self, how: str, step: int, kind: str) -> None:
        self.number += 1
        n = self.number
        self.do(how, step, "memory", "add", "--kind", kind, "--name", f"r{n}", statement(n))
        self.stands.add(n)

    @rule(how=HOW, step=STEPS, at=st.integers(0, 9))
    def forget(self, how: str, step: int, at: int) -> None:
        n = self.pick(self.stands, at)
        if n is not None:
            words = ("memory", "forget", self.name_of(n), "--yes")
            self.stands.remove(n)
            self.forgotten.add(n)
            self.disturbed_forget(how, step, n, words)

    def disturbed_forget(self, how: str, step: int, n: int, words: tuple[str, ...]) -> None:
        if how == "whole" or (not self.is_whole(how, step, *words) and self.where(n)):
            self.must(*words)

    @rule(how=HOW, step=STEPS, at=st.integers(0, 9))
    def purge(self, how: str, step: int, at: int) -> None:
        n = self.pick(self.stands | self.forgotten, at)
        if n is None:
            return
        name = self.name_of(n) if n in self.stands else f"r{n}.md"
        words = ("memory", "forget", name, "--hard", "--yes")
        self.stands.discard(n)
        self.forgotten.discard(n)
        self.purged.add(n)
        if how == "whole":
            self.must(*words)
        elif not self.is_whole(how, step * 4, *words):
            done = self.run(*words)
            assert done.exit_code == 0 or not self.copies(token(n)), (done.output, done.exception)
        for each in self.purged:
            assert not self.copies(token(each)), (each, self.copies(token(each)))

    @rule(how=HOW, step=STEPS)
    def undo(self, how: str, step: int) -> None:
        words = ("memory", "undo", "--yes")
        if how != "whole":
            is_done = self.is_whole(how, step, *words)
            if not is_done and any(len(self.where(n)) > 1 for n in self.stands):
                self.must(*words)  # a move that is half taken back: its memory is in both folders
        else:
            before = {n for n in self.stands | self.forgotten if self.where(n)}
            done = self.run(*words)
            after = {n for n in self.stands | self.forgotten if self.where(n)}
            assert len(before ^ after) <= 1, (before, after)
            if done.exit_code:
                assert before == after, done.output
        for n in self.stands | self.forgotten:
            is_there = bool(self.where(n))
            (self.stands if is_there else self.forgotten).add(n)
            (self.forgotten if is_there else self.stands).discard(n)

    @rule(how=HOW, step=STEPS, at=st.integers(0, 9))
    def move(self, how: str, step: int, at: int) -> None:
        n = self.pick(self.stands, at)
        if n is None:
            return
        path = self.where(n)[0]
        here = "projects" in path.relative_to(self.home).parts
        words = ("memory", "move", self.name_of(n), "--everywhere" if here else "--here", "--yes")
        if how == "whole":
            self.must(*words)
        elif not self.is_whole(how, step, *words):
            self.run(*words)

    @rule(at=st.integers(0, 9), how=st.sampled_from(["append", "rewrite", "rename"]))
    def edit_by_hand(self, at: int, how: str) -> None:
        n = self.pick(self.stands, at)
        if n is None:
            return
        path = self.where(n)[0]
        self.number += 1
        if how == "append":
            path.write_text(f"{path.read_text()}\n\nWhy: reason{self.number}\n")
        elif how == "rewrite":
            path.write_text(path.read_text().replace("is built by", "is made by"))
        elif how == "rename":
            path.rename(path.with_name(f"n{self.number}.md"))

    @rule(at=st.integers(0, 9), is_seen=st.booleans())
    def delete_by_hand(self, at: int, is_seen: bool) -> None:
        n = self.pick(self.stands, at)
        if n is not None:
            if is_seen:
                self.must("memory", "list")
            for path in self.where(n):
                path.unlink()
            self.stands.remove(n)
            self.forgotten.add(n)
            self.must("memory", "list")

    @rule(
        what=st.sampled_from(
            [
                "doctor --fix",
                "recall tool1x",
                "search tool1x",
                "memory check",
                "context .",
                "dream --now",
            ]
        )
    )
    def look(self, what: str) -> None:
        done = self.run(*what.split())
        assert done.exception is None or isinstance(done.exception, SystemExit), (
            what,
            done.exception,
        )

    @rule()
    def lose_the_scan(self) -> None:
        for path in self.home.glob("**/memory-state/scan*.json"):
            path.unlink()

    @invariant()
    def all_is_as_said(self) -> None:
        if not self.home.exists():
            return
        for n in self.stands:
            assert len(self.where(n)) == 1, (n, self.where(n))
        for n in self.forgotten | self.purged:
            assert not self.where(n), (n, self.where(n))
        self.must("memory", "list")
        self.must("memory", "log")
        for folder in self.home.glob("**/memory"):
            if not folder.is_dir():
                continue
            files = {
                p.relative_to(folder).as_posix()
                for p in folder.rglob("*.md")
                if p.name != "MEMORY.md"
            }
            index = folder / "MEMORY.md"
            text = index.read_text() if index.exists() else ""
            named = set(re.findall(r"\]\(([^)]+)\)", text))
            assert named == files, (folder, named ^ files)
        assert not list(self.home.rglob(".memorist-*.tmp")), list(
            self.home.rglob(".memorist-*.tmp")
        )
        for each in self.purged:
            assert not self.copies(token(each)), (each, self.copies(token(each)))


@pytest.mark.covers("AM-10")
@pytest.mark.timeout(3_600)
def test_what_was_said_stays_and_what_was_forgotten_comes_back_nowhere() -> None:
    """The index names exactly the files, undo changes one thing, and of what was forgotten for good
    no file of the home has a copy, packed or not.
    """
    run_states(OneHome, (3, 12), (20, 30))
