"""Recorded sessions that grow, are imported again, said to be the user's or not, and left out, in
any order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from rollouts.conftest import codex
from support.home_states import HomeStates, run_states, token
from support.killed_process import run_killed

WHICH = st.integers(0, 9)


class PastSessions(HomeStates):
    """The model: whose each session is, and whether it is left out or deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[int, list[str]] = {}
        """By session what was said in it."""
        self.is_foreign: dict[int, bool] = {}
        """Sessions that were recorded elsewhere."""
        self.mine: dict[int, bool] = {}
        """What the user last said of it, or what was shown at first."""
        self.unclear: set[int] = set()
        """Sessions of which a lost database knew whose they are."""
        self.out: set[int] = set()
        self.erased: set[int] = set()
        self.known: set[int] = set()

    def path(self, n: int) -> Path:
        return (
            (self.top / "got" / f"{n}.jsonl")
            if self.is_foreign[n]
            else (self.top / ".codex" / "sessions" / f"rollout-{n}.jsonl")
        )

    def id(self, n: int) -> str:
        return f"session{n}z"

    def write(self, n: int) -> None:
        codex(
            self.path(n),
            self.words[n],
            session=self.id(n),
            cwd="/Users/colleague/shop" if self.is_foreign[n] else str(self.project),
        )

    def pick(self, among: Collection[int], at: int) -> int | None:
        found = sorted(among)
        return found[at % len(found)] if found else None

    def disturbed(self, step: int, *words: str) -> None:
        if step < 60:
            run_killed(lambda: self.run(*words), step * 3)
        self.must(*words)

    @initialize()
    def begin(self) -> None:
        self.record(False)
        self.record(True)
        self.bring_in_own(200)

    @rule(is_foreign=st.booleans())
    def record(self, is_foreign: bool) -> None:
        self.number += 1
        n = self.number
        self.words[n] = [f"Never build part{n} without {token(n)}."]
        self.is_foreign[n] = is_foreign
        self.write(n)

    @rule(at=WHICH)
    def go_on(self, at: int) -> None:
        n = self.pick(self.words, at)
        if n is not None:
            self.words[n].append(f"Never sweep part{n} before step{len(self.words[n])}.")
            self.write(n)

    @rule(said=st.sampled_from([None, True, False]), step=st.integers(0, 200))
    def bring_in_the_others(self, said: bool | None, step: int) -> None:
        found = [n for n in self.words if self.is_foreign[n]]
        if not found:
            return
        flag = {None: [], True: ["--mine"], False: ["--not-mine"]}[said]
        self.disturbed(step, "import", str(self.top / "got"), *flag, "--yes")
        for n in found:
            if said is not None:
                self.mine[n] = said
            else:
                self.mine.setdefault(n, False)
            self.known.add(n)
        self.check()

    @rule(step=st.integers(0, 200))
    def bring_in_own(self, step: int) -> None:
        if all(self.is_foreign[n] for n in self.words):
            return
        self.disturbed(step, "import", "--yes")
        for n in self.words:
            if not self.is_foreign[n]:
                self.mine[n] = True
                self.known.add(n)
        self.check()

    @rule(at=WHICH, how=st.sampled_from(["soft", "soft", "hard", "in"]), step=st.integers(0, 200))
    def leave_out(self, at: int, how: str, step: int) -> None:
        n = self.pick(self.known, at)
        if n is None:
            return
        flag = {"soft": [], "hard": ["--hard", "--yes"], "in": ["--take-in"]}[how]
        self.disturbed(step, "rollouts", "leave-out", self.id(n), *flag)
        if how == "in":
            self.out.discard(n)
            self.erased.discard(n)
            self.known.discard(n)  # until it is read again
        else:
            self.out.add(n)
            if how == "hard":
                self.erased.add(n)

    @rule(
        what=st.sampled_from(["session-index.sqlite*", "state.sqlite*"]), is_damaged=st.booleans()
    )
    def lose_a_database(self, what: str, is_damaged: bool) -> None:
        for path in self.home.glob(what):
            if is_damaged and path.suffix == ".sqlite":
                path.write_bytes(b"damaged" * 1_000)
            else:
                path.unlink()
        if is_damaged:
            self.run("doctor", "--fix")
        if what.startswith("state"):
            self.unclear |= {n for n in self.known if self.is_foreign[n]}
            self.known.clear()
            self.mine.clear()

    @rule()
    def check_search(self) -> None:
        for n in self.known:
            found = json.loads(self.must("search", token(n), "--all", "--json"))
            sessions = {each["session"] for each in found["passages"]}
            if n in self.out:
                assert self.id(n) not in sessions, (n, found)
            else:
                assert self.id(n) in sessions, (n, found, self.must("rollouts", "status"))

    def check(self) -> None:
        """After an import: what is remembered is what is to be."""
        self.must("rollouts", "sync")
        book = self.home / "memories" / "MEMORY.md"
        text = book.read_text() if book.exists() else ""
        summary = "".join(p.read_text() for p in (self.home / "memories").rglob("*.md"))
        for n in self.known:
            if n in self.out:
                assert token(n) not in summary, (
                    f"{n} is left out and in the memory of past sessions"
                )
            elif n not in self.unclear:
                is_said = bool(re.search(rf"{token(n)}.*\[said", text))
                assert is_said is self.mine[n], (
                    n,
                    is_said,
                    self.must("rollouts", "status", "--json"),
                    text,
                )
        self.check_search()
        for n in self.erased:
            assert not self.copies(token(n)), self.copies(token(n))


@pytest.mark.timeout(3_600)
def test_a_session_is_remembered_as_what_was_said_of_it_and_not_where_it_is_left_out() -> None:
    """In the memory of past sessions and in a search; of what was left out for good the home has no
    copy.
    """
    run_states(PastSessions, (1, 8), (20, 25))
