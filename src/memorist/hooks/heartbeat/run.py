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
"""Looks without a beat after which the process counts as hanging: a minute. They are counted, and no clock is read, since a process that was stopped, or a
machine that slept, must not find itself late when it goes on."""


class Heartbeat:
    """`hangs` is called, beside the loop, after so many looks without a beat of the loop between them."""

    def __init__(self, hangs: Callable[[], None], looks: int = LOOKS) -> None:
        self._hangs = hangs
        self._looks = looks
        self._beaten = False
        self._missed = 0

    def beat(self) -> None:
        """The loop goes."""
        self._beaten = True

    def look(self) -> None:
        """See whether it went since the last look."""
        self._missed = 0 if self._beaten else self._missed + 1
        self._beaten = False
        if self._missed >= self._looks:
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
