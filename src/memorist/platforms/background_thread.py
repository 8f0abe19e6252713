"""Threads that work in the background: they give way to prompts, and the end of the program waits
for them.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TypeVar
from weakref import WeakKeyDictionary

EXIT_WAIT_SECONDS = 5.0
"""How long the end of the program waits for all of them together. What they do between two looks
at their event takes a second at most; more would be a disk that hangs.
"""


PROMPT_SWITCH_SECONDS = 0.0001
"""How long a thread of ours keeps the interpreter's lock while a prompt waits for it. With Python's
own 0.005 a prompt that opens fifty files beside a dream of ten thousand memories took 0.6 s, not
0.02.
"""
MAX_PROMPT_WAIT_SECONDS = 0.05
"""Longest wait of background work for a prompt, in seconds: a compaction may wait for a model."""
MIN_WORK_SECONDS = 0.004
"""Seconds that background work goes on for after it waited: prompts of many users may never end."""

T = TypeVar("T")


class PromptInProgress:
    """Held while a prompt is answered, by any thread and several times at once.

    The interpreter changes threads sooner only while a prompt and background work of ours meet: a
    host's process is otherwise left as it is, for code of its own may not be made for it.
    """

    def __init__(self) -> None:
        self._answering = 0
        self._working = 0
        self._host_switch_seconds: float | None = None
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()

    def __enter__(self) -> None:
        with self._lock:
            self._answering += 1
            self._idle.clear()
            self._adjust_switch_interval()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._answering -= 1
            if not self._answering:
                self._idle.set()
            self._adjust_switch_interval()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no prompt is being answered; returns whether that was within `seconds`."""
        return self._idle.wait(seconds)

    def iterate_between_prompts(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items of a long loop, each once no prompt is being answered."""
        resumed = 0.0
        for item in items:
            if not self._idle.is_set() and time.monotonic() - resumed >= MIN_WORK_SECONDS:
                self.wait_until_idle(MAX_PROMPT_WAIT_SECONDS)
                resumed = time.monotonic()
            yield item

    @contextlib.contextmanager
    def background_work(self) -> Iterator[None]:
        """Within it the calling thread gives way to prompts."""
        self._count_work(1)
        try:
            yield
        finally:
            self._count_work(-1)

    def _count_work(self, change: int) -> None:
        with self._lock:
            self._working += change
            self._adjust_switch_interval()

    def _adjust_switch_interval(self) -> None:
        """Under the lock: shorten the host's interval where both meet, and set it again after."""
        host = self._host_switch_seconds
        if self._answering and self._working:
            if host is None:
                self._host_switch_seconds = host = sys.getswitchinterval()
                sys.setswitchinterval(min(PROMPT_SWITCH_SECONDS, host))
        elif host is not None:
            sys.setswitchinterval(host)
            self._host_switch_seconds = None


PROMPT_IN_PROGRESS = PromptInProgress()
"""Of all prompts of the process."""


def start_thread_awaited_at_exit(
    target: Callable[..., object], *args: object, name: str, stopping: threading.Event | None = None
) -> threading.Thread:
    """Start a thread that does not keep the program alive, but is not cut off by its end either.

    At the end of the program `stopping` is set and the thread is waited for. Otherwise Python ends
    it at whatever line it has reached; in the embedding runtime's own code that aborts the process.
    """
    work = PROMPT_IN_PROGRESS.background_work()(target)
    thread = threading.Thread(target=work, args=args, name=name, daemon=True)
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
