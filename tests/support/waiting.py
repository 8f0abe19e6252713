"""Waiting for what happens in the background, for as long as it takes on a busy machine, and
counting what the product waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from memorist.store.sqlite_database import LockWaitCircuitBreaker

LIMIT_SECONDS = 120.0


async def wait_until(holds: Callable[[], bool]) -> None:
    """Let other tasks and threads run until this holds; fails where it never does."""
    ends = time.monotonic() + LIMIT_SECONDS
    while not holds():
        if time.monotonic() > ends:
            raise AssertionError("it did not happen")
        await asyncio.sleep(0.005)


def count_lock_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times at which a connection has waited for a locked database in vain; grows."""
    begun: list[float] = []
    begin = LockWaitCircuitBreaker.start_pause

    def count(wait: LockWaitCircuitBreaker) -> None:
        begun.append(time.monotonic())
        begin(wait)

    monkeypatch.setattr(LockWaitCircuitBreaker, "start_pause", count)
    return begun
