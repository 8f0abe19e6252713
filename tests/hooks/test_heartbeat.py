"""A process behind the hooks that hangs ends itself, and no other does."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.hooks.daemon_watchdog import BUSY_CPU_SECONDS, IDLE_CPU_SECONDS, EventLoopWatchdog

HANGS = """
import asyncio, time
from memorist.hooks.hook_daemon import EventLoopWatchdog, exit_process

async def main():
    EventLoopWatchdog(exit_process, missed_checks=2).start(asyncio.get_running_loop(), 0.01)
    time.sleep(3600)

asyncio.run(main())
"""
WAITS = """
import asyncio
from memorist.hooks.hook_daemon import EventLoopWatchdog

class Counted(EventLoopWatchdog):
    beats = 0

    def record_heartbeat(self):
        super().record_heartbeat()
        self.beats += 1
        if self.beats == 5:
            enough.set()

async def main():
    global enough
    enough = asyncio.Event()
    Counted(print, missed_checks=10**9).start(asyncio.get_running_loop(), 0.01)
    await enough.wait()

asyncio.run(main())
"""


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 6))
@pytest.mark.covers("IN-2")
def test_only_so_many_looks_in_a_row_without_a_beat_are_a_hang(
    beaten: list[bool], looks: int
) -> None:
    """One that does nothing and beats between any so many looks is left alone, however long it is
    watched and however late the looks come.
    """
    hung: list[int] = []
    heart = EventLoopWatchdog(lambda: hung.append(len(hung)), looks, lambda: 0.0)
    missed = longest = 0
    for beat in beaten:
        if beat:
            heart.record_heartbeat()
        heart.check_heartbeat()
        missed = 0 if beat else missed + 1
        longest = max(longest, missed)

    assert bool(hung) == (longest >= looks)


@example([20.0] * 7)
@example([20.0, 0.0, 0.0])
@given(st.lists(st.just(0.0) | st.floats(IDLE_CPU_SECONDS * 1.1, 20.0), max_size=40))
@pytest.mark.covers("IN-2")
def test_work_that_takes_long_is_left_to_its_end_and_endless_work_is_not(
    portions: list[float],
) -> None:
    """Without a beat, whoever works goes on for as much processor time as no session needs; whoever
    worked and then does nothing hangs all the same.
    """
    spent, idle, longest = 0.0, 0, 0
    hung: list[float] = []
    heart = EventLoopWatchdog(lambda: hung.append(spent), 2, lambda: spent)
    for portion in portions:
        spent += portion
        heart.check_heartbeat()
        idle = 0 if portion else idle + 1
        longest = max(longest, idle)

    assert bool(hung) == (spent > BUSY_CPU_SECONDS or longest >= 2)


@pytest.mark.covers("IN-2")
def test_a_process_whose_loop_stands_still_ends_itself() -> None:
    """Whatever the loop waits for; without that it would be waited for an hour."""
    assert subprocess.run([sys.executable, "-c", HANGS], timeout=300, check=False).returncode == 1


@pytest.mark.covers("IN-2")
def test_a_loop_that_waits_goes_on_beating() -> None:
    """A loop that does nothing but wait, as while sessions are closed, beats all the same; without
    that it would wait for ever.
    """
    assert subprocess.run([sys.executable, "-c", WAITS], timeout=300, check=False).returncode == 0
