"""Waiting for what happens in the background, for as long as it takes on a busy machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LIMIT_SECONDS = 120.0


async def wait_until(holds: Callable[[], bool]) -> None:
    """Let other tasks and threads run until this holds; fails where it never does."""
    ends = time.monotonic() + LIMIT_SECONDS
    while not holds():
        if time.monotonic() > ends:
            raise AssertionError("it did not happen")
        await asyncio.sleep(0.005)
