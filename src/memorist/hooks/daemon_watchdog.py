"""A watchdog for the daemon's event loop: a blocked process exits, so that the next hook starts
another.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable

HEARTBEAT_CHECK_SECONDS = 10.0
HEARTBEAT_INTERVAL_SHARE = 0.2
"""Time between two beats, as a share of the time between two checks."""
MAX_MISSED_CHECKS = 6
"""Consecutive checks without a beat and without work after which the process counts as hung: one
minute.

Checks are counted instead of reading a clock, so that a process that was stopped, or a machine that
slept, is not late when it resumes.
"""
IDLE_CPU_SECONDS = 0.1
"""CPU seconds between two checks below which the process did no work.

A process that works on something long is left alone, however busy the machine is.
"""
BUSY_CPU_SECONDS = 120.0
"""CPU seconds without a beat after which the work counts as endless; reading a 300 MB session takes
a sixth of it.
"""


class EventLoopWatchdog:
    """Calls `on_hang`, from the watchdog thread, when the loop is blocked or runs without end.

    `cpu_seconds` returns the CPU time of the process.
    """

    def __init__(
        self,
        on_hang: Callable[[], None],
        missed_checks: int = MAX_MISSED_CHECKS,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        self._hangs = on_hang
        self._looks = missed_checks
        self._spent = cpu_seconds
        self._beaten = False
        self._idle = 0
        self._beat_at = self._looked_at = cpu_seconds()

    def record_heartbeat(self) -> None:
        """Record that the loop is running."""
        self._beaten = True

    def check_heartbeat(self) -> None:
        """Check whether the loop has run since the last check."""
        now = self._spent()
        worked = now - self._looked_at >= IDLE_CPU_SECONDS
        self._looked_at = now
        if self._beaten:
            self._beaten, self._idle, self._beat_at = False, 0, now
            return
        self._idle = 0 if worked else self._idle + 1
        if self._idle >= self._looks or now - self._beat_at > BUSY_CPU_SECONDS:
            self._hangs()

    def start(
        self, loop: asyncio.AbstractEventLoop, seconds: float = HEARTBEAT_CHECK_SECONDS
    ) -> None:
        """Schedule beats in the loop, and check them in a daemon thread that ends with the
        process.
        """

        def beating() -> None:
            self.record_heartbeat()
            loop.call_later(seconds * HEARTBEAT_INTERVAL_SHARE, beating)

        def watching() -> None:
            while True:
                time.sleep(seconds)
                self.check_heartbeat()

        beating()
        threading.Thread(target=watching, name="memorist-heartbeat", daemon=True).start()


def exit_process() -> None:
    """Exit the process, whatever it waits for."""
    os._exit(1)
