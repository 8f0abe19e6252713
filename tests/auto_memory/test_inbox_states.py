"""The user decides by number on what waits, while another process adds to it and withdraws."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from auto_memory.conftest import memory
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.inbox import MAX_LISTING_AGE_SECONDS, build_proposal
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.errors import InputError
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.testing import FrozenClock
from support.home_states import run_states


class InboxStates(RuleBasedStateMachine):
    """The model: what waits, and what the user saw last under which number."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.clock = FrozenClock()
        layout = Layout(Path(self._folder.name))
        self.user, self.other = self._open(layout), self._open(layout)
        self.number = 0
        self.waiting: set[str] = set()
        self.accepted: set[str] = set()
        self.seen: list[str] = []
        """Paths in the order of the last listing."""

    def _open(self, layout: Layout) -> AutoMemory:
        opened, opened_user = (
            AutoMemory(each, files=DiskFiles(), clock=self.clock, settings=AutoMemorySettings())
            for each in (layout.memory_layout("/home/dev/shop"), layout.user_memory_layout)
        )
        opened.everywhere = opened_user
        return opened

    def teardown(self) -> None:
        self.user.close()
        self.other.close()
        self._folder.cleanup()

    @rule(everywhere=st.booleans(), seconds=st.integers(-5, 5))
    def another_process_proposes(self, everywhere: bool, seconds: int) -> None:
        self.number += 1
        path = f"part{self.number}.md"
        owner = self.other.everywhere if everywhere else self.other
        assert owner is not None
        change = MemoryChange(
            path=path,
            before=None,
            after=memory(f"part{self.number}", f"Part{self.number} is built by tool{self.number}."),
        )
        given = build_proposal(
            change,
            reasons=("it is from outside",),
            change_reason=ChangeReason(actor="import", what="import"),
            timestamp=self.clock.now() + seconds,
        )
        owner.inbox.add([given])
        self.waiting.add(f"everywhere/{path}" if everywhere else path)

    @rule(at=st.integers(0, 9))
    def another_process_withdraws(self, at: int) -> None:
        waiting = self.other.list_proposals()
        if waiting:
            given = waiting[at % len(waiting)]
            self.other.reject(given.id)
            self.waiting.discard(given.path)

    @rule()
    def the_user_lists(self) -> None:
        waiting = self.user.list_proposals_for_user()
        if waiting:
            self.seen = [each.path for each in waiting]

    @rule(seconds=st.sampled_from([60.0, 60.0, MAX_LISTING_AGE_SECONDS + 60]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if seconds > MAX_LISTING_AGE_SECONDS:
            self.seen = []

    @rule(number=st.integers(1, 6), is_accepted=st.booleans())
    def the_user_decides(self, number: int, is_accepted: bool) -> None:
        wanted = self.seen[number - 1] if number <= len(self.seen) else ""
        before = {each.path for each in self.user.list_proposals()}
        try:
            if is_accepted:
                self.user.accept(str(number))
            else:
                self.user.reject(str(number))
        except InputError:
            assert wanted not in self.waiting or not before
            return
        (decided,) = before - {each.path for each in self.user.list_proposals()}
        assert decided == wanted or (not wanted and decided not in self.seen)
        self.waiting.remove(decided)
        if is_accepted:
            self.accepted.add(decided)

    @invariant()
    def what_waits_and_what_holds_is_as_decided(self) -> None:
        assert {each.path for each in self.user.list_proposals()} == self.waiting
        assert self.user.everywhere is not None
        held = set(self.user.headers_by_path())
        held |= {f"everywhere/{path}" for path in self.user.everywhere.headers_by_path()}
        assert held == self.accepted


@pytest.mark.covers("AM-10")
@pytest.mark.timeout(900)
def test_a_number_means_what_the_user_was_shown_under_it() -> None:
    """What came later, came first by its time, holds everywhere or was withdrawn shifts none."""
    run_states(InboxStates, (6, 15), (300, 40))
