"""A process behind the hooks that hangs ends itself, and no other does."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.hooks.heartbeat.run import Heartbeat

HANGS = """
import asyncio, time
from memorist.hooks.heartbeat.run import Heartbeat, end_at_once

async def main():
    Heartbeat(end_at_once, looks=2).watch(asyncio.get_running_loop(), 0.01)
    time.sleep(3600)

asyncio.run(main())
"""
WAITS = """
import asyncio
from memorist.hooks.heartbeat.run import Heartbeat

class Counted(Heartbeat):
    beats = 0

    def beat(self):
        super().beat()
        self.beats += 1
        if self.beats == 5:
            enough.set()

async def main():
    global enough
    enough = asyncio.Event()
    Counted(print, looks=10**9).watch(asyncio.get_running_loop(), 0.01)
    await enough.wait()

asyncio.run(main())
"""


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 6))
@pytest.mark.covers("IN-2")
def test_only_so_many_looks_in_a_row_without_a_beat_are_a_hang(beaten: list[bool], looks: int) -> None:
    """One that beats between any so many looks is left alone, however long it is watched and however late the looks come."""
    hung: list[int] = []
    heart = Heartbeat(lambda: hung.append(len(hung)), looks)
    missed = longest = 0
    for beat in beaten:
        if beat:
            heart.beat()
        heart.look()
        missed = 0 if beat else missed + 1
        longest = max(longest, missed)

    assert bool(hung) == (longest >= looks)


@pytest.mark.covers("IN-2")
def test_a_process_whose_loop_stands_still_ends_itself() -> None:
    """Whatever the loop waits for; without that it would be waited for an hour."""
    assert subprocess.run([sys.executable, "-c", HANGS], timeout=300, check=False).returncode == 1


@pytest.mark.covers("IN-2")
def test_a_loop_that_waits_goes_on_beating() -> None:
    """A loop that does nothing but wait, as while sessions are closed, beats all the same; without that it would wait for ever."""
    assert subprocess.run([sys.executable, "-c", WAITS], timeout=300, check=False).returncode == 0
