"""Threads that work in the background and that the end of the program waits for."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from functools import cache
from weakref import WeakKeyDictionary

EXIT_WAIT_SECONDS = 5.0
"""How long the end of the program waits for all of them together. What they do between two looks
at their event takes a second at most; more would be a disk that hangs.
"""


def start_background_thread(
    target: Callable[..., object], *args: object, name: str, stopping: threading.Event | None = None
) -> threading.Thread:
    """Start a thread that does not keep the program alive, but is not cut off by its end either.

    At the end of the program `stopping` is set and the thread is waited for. Otherwise Python ends
    it at whatever line it has reached; in the embedding runtime's own code that aborts the process.
    """
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    with _LOCK:
        _register_at_exit()
        _RUNNING[thread] = stopping
    thread.start()
    return thread


_RUNNING: WeakKeyDictionary[threading.Thread, threading.Event | None] = WeakKeyDictionary()
_LOCK = threading.Lock()


@cache
def _register_at_exit() -> None:
    atexit.register(_stop_at_exit)


def _stop_at_exit() -> None:
    with _LOCK:
        running = dict(_RUNNING)
    for stopping in running.values():
        if stopping is not None:
            stopping.set()
    deadline = time.monotonic() + EXIT_WAIT_SECONDS
    for thread in running:
        if thread.ident is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
