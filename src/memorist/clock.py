"""The system clock, which implements the `Clock` port."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Real time."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        await asyncio.sleep(seconds)
