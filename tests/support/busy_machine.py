"""A pytest plugin that makes threads, disk and callbacks late at random, as a busy machine does.

What holds only where a background task is quick fails under it: `make test-busy`.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import thread as pool
from typing import Any

_CHANCE = random.Random()


def _seed() -> None:
    _CHANCE.seed(f"{os.environ.get('BUSY_SEED', '1')}-{os.getpid()}")


def _delay(call: Callable[..., Any], *, share: float, seconds: float) -> Callable[..., Any]:
    """The same call, of which a share begins up to so many seconds late."""

    def delayed(*given: Any) -> Any:
        if _CHANCE.random() < share:
            time.sleep(_CHANCE.random() * seconds)
        return call(*given)

    return delayed


def pytest_configure() -> None:
    """Delay the calls of this process and of its forks: half of all threads, a third of what pools run, a tenth of
    what the disk confirms, and one callback of the event loop in a hundred.
    """
    _seed()
    for owner, name, share, seconds in (
        (threading.Thread, "run", 0.5, 0.08),
        (pool._WorkItem, "run", 0.3, 0.06),
        (asyncio.events.Handle, "_run", 0.01, 0.03),
        (os, "fsync", 0.1, 0.05),
    ):
        setattr(owner, name, _delay(getattr(owner, name), share=share, seconds=seconds))
    os.register_at_fork(after_in_child=_seed)
