"""A process whose loop stands still ends itself, so that the next hook starts another: else each event would be waited for in vain, for ever.

Nothing is lost by that: what was not taken in yet stands in the agent's own file.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable

LOOK_SECONDS = 10.0
BEAT_SHARE = 0.2
"""Of the time between two looks, that between two beats."""
LOOKS = 6
"""Looks in a row without a beat, and without work, after which the process counts as hanging: a minute. They are counted, and no clock is read, since a
process that was stopped, or a machine that slept, must not find itself late when it goes on."""
IDLE_SECONDS = 0.1
"""Processor time between two looks below which there was no work. One that works on something long is left to it, however busy the machine is."""
ENDLESS_SECONDS = 120.0
"""Processor time without a beat after which the work counts as endless; a session of 300 MB is read in a sixth of it."""


class Heartbeat:
    """`hangs` is called, beside the loop, where it stands still or runs without end. `spent` is the processor time of the process in seconds."""

    def __init__(self, hangs: Callable[[], None], looks: int = LOOKS, spent: Callable[[], float] = time.process_time) -> None:
        self._hangs = hangs
        self._looks = looks
        self._spent = spent
        self._beaten = False
        self._idle = 0
        self._beat_at = self._looked_at = spent()

    def beat(self) -> None:
        """The loop goes."""
        self._beaten = True

    def look(self) -> None:
        """See whether it went since the last look."""
        now = self._spent()
        worked = now - self._looked_at >= IDLE_SECONDS
        self._looked_at = now
        if self._beaten:
            self._beaten, self._idle, self._beat_at = False, 0, now
            return
        self._idle = 0 if worked else self._idle + 1
        if self._idle >= self._looks or now - self._beat_at > ENDLESS_SECONDS:
            self._hangs()

    def watch(self, loop: asyncio.AbstractEventLoop, seconds: float = LOOK_SECONDS) -> None:
        """Have the loop beat, whatever else it waits for, and look at that in a thread, which ends with the process."""

        def beating() -> None:
            self.beat()
            loop.call_later(seconds * BEAT_SHARE, beating)

        def watching() -> None:
            while True:
                time.sleep(seconds)
                self.look()

        beating()
        threading.Thread(target=watching, name="memorist-heartbeat", daemon=True).start()


def end_at_once() -> None:
    """End the process, whatever it waits for."""
    os._exit(1)
