"""A clock that moves only when told to."""

from __future__ import annotations

import asyncio


class FrozenClock:
    """`ports.Clock` for tests.

    `sleep` advances the clock at once and records the wait in `slept`; nothing really waits.
    """

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now
        self._monotonic = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock was created."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both times forward.

        Raises ValueError for a negative step: use `set_wall` for a clock that was set back.
        """
        if seconds < 0:
            raise ValueError(
                "A monotonic clock does not go back; give a positive number of seconds."
            )
        self._now += seconds
        self._monotonic += seconds

    def set_wall(self, now: float) -> None:
        """Set the wall clock, as a user or a time server does; the monotonic time stays."""
        self._now = now

    async def sleep(self, seconds: float) -> None:
        """Advance at once, and let other tasks run."""
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))
        await asyncio.sleep(0)
