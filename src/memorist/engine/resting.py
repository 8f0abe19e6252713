"""A pool of open things that nobody uses at the moment: closed after an idle time, or earlier to
make room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
from typing import Any, Generic, TypeVar

from memorist.ports import Clock

Thing = TypeVar("Thing", bound=Hashable)


class Resting(Generic[Thing]):
    """Idle items, the least recently used first. Belongs to one event loop.

    Items are closed in an empty `contextvars` context: the context of the task that happened to release
    one may name another user.

    Args:
        close_item: closes one item. Its errors go to the loop's exception handler, since nobody awaits it.
        idle_seconds: how long an item may be idle.
        clock: the clock that measures it.
    """

    def __init__(self, closing: Callable[[Thing], Coroutine[Any, Any, None]], *, idle_seconds: float, clock: Clock) -> None:
        self._closing = closing
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._since: dict[Thing, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._since)

    @property
    def closing(self) -> int:
        """Number of items that are being closed."""
        return len(self._tasks)

    def add(self, thing: Thing) -> None:
        """Add an item that is idle from now on."""
        self._since.pop(thing, None)
        self._since[thing] = self._clock.monotonic()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._watching(), context=Context())

    def take(self, thing: Thing) -> None:
        """Remove an item: it is in use, or gone."""
        self._since.pop(thing, None)

    def close_first(self) -> None:
        """Begin to close the least recently used item."""
        self.close_one(next(iter(self._since)))

    def close_one(self, thing: Thing) -> None:
        """Begin to close an item, whether it is idle or not."""
        self.take(thing)
        task = asyncio.get_running_loop().create_task(self._closing(thing), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._closed)

    async def close(self, seconds: float) -> None:
        """Close all idle items and wait for those being closed, at most `seconds`; then cancel the
        rest.
        """
        for thing in list(self._since):
            self.close_one(thing)
        if self._watch is not None:
            self._watch.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            about = {"message": "what rested could not be closed", "exception": error, "task": task}
            task.get_loop().call_exception_handler(about)

    async def _watching(self) -> None:
        while self._since:
            left = next(iter(self._since.values())) + self._idle_seconds - self._clock.monotonic()
            if left > 0:
                await self._clock.sleep(left)
            else:
                self.close_one(next(iter(self._since)))
